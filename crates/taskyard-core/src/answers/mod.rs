//! The answers of operations, as programs receive them: one type for each, with its JSON and its schema.
//!
//! `--json`, the HTTP API and its OpenAPI document, and the tables of `docs/formats/json-output.md` are made from these
//! types. Begin with `answer_document.rs`, which wraps every answer, and `answer_values.rs`, which has what many
//! answers hold; the other files have the answers by subject. Nothing here reads anything: an answer is filled with
//! what an operation returned.

pub mod answer_document;
pub mod answer_values;
pub mod answer_words;
pub mod claim_answers;
pub mod history_answers;
pub mod list_answers;
pub mod maintenance_answers;
pub mod task_answers;
pub mod team_answers;
pub mod worktrees;
