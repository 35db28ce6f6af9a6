//! The answers of operations, as programs get them: one type for each, with its JSON and its schema.
//!
//! `--json`, the HTTP API and its OpenAPI document, and the tables of `docs/formats/json-output.md` are made from these types. Begin
//! with `document.rs`, which wraps every answer, and `values.rs`, which has what many answers hold; the others have the answers by
//! subject. Nothing here finds anything out: an answer is filled with what an operation returned.

pub mod access;
mod careful;
pub mod claims;
pub mod document;
pub mod history;
pub mod jobs;
pub mod lists;
pub mod maintenance;
pub mod setup;
pub mod tasks;
pub mod teams;
pub mod values;
pub mod words;
