//! What people write for Taskyard by hand: many tasks at once, one task in an editor or in one line, ids, and what is said
//! of a task besides its texts.

pub mod batch;
pub mod edit_form;
pub mod extras;
pub mod id_range;
pub mod inline;
