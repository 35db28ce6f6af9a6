//! The OpenAPI document, generated from the operations of `api/`. Begin with `document.rs`.

mod document;

pub(crate) use document::{document, schema_of_input};
