//! What people write for Taskyard by hand: many tasks at once, and one task in an editor.

pub mod batch;
pub mod edit_form;
