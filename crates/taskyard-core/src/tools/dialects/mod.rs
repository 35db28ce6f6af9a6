//! The tools of other dialects: the same list in other words, specified in `docs/formats/tools.md`.

pub mod document;
pub mod export;
pub mod teaching;

use super::Tool;

/// Every tool of another dialect. Which system each belongs to stands with it.
pub const TOOLS: [&Tool; 10] = [
    &document::WRITE,
    &document::READ,
    &teaching::CREATE,
    &teaching::LIST,
    &teaching::GET,
    &teaching::CLAIM,
    &teaching::COMPLETE,
    &export::CREATE,
    &export::UPDATE,
    &export::LIST,
];
