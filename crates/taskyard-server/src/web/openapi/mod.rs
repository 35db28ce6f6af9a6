//! The description of the API, made from its operations.

mod document;

pub(crate) use document::{document, schema_of_input};
