//! The tools of other dialects: the same list in other words, specified in `docs/formats/tools.md`. Begin with
//! `teaching_tools.rs`, the simplest.

pub mod document_tools;
pub mod export_tools;
pub mod teaching_tools;

use super::Tool;

/// Every tool of another dialect.
pub const TOOLS: [&Tool; 10] = [
    &document_tools::WRITE,
    &document_tools::READ,
    &teaching_tools::CREATE,
    &teaching_tools::LIST,
    &teaching_tools::GET,
    &teaching_tools::CLAIM,
    &teaching_tools::COMPLETE,
    &export_tools::CREATE,
    &export_tools::UPDATE,
    &export_tools::LIST,
];
