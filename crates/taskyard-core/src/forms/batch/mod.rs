//! Many new tasks in one text, with names for each other: JSON lines, or a Markdown list (`docs/formats/batch.md`).

mod entry;
mod lines;
mod markdown;
mod reading;
mod resolving;

pub use entry::{BatchEntry, BatchMistake, BatchParent};
pub use reading::read;
pub use resolving::{Resolved, possible_ids, resolve};
