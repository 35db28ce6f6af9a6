//! The OpenAPI document, generated from the operations.

mod document;

pub(crate) use document::{document, schema_of_input};
