//! What people write for Taskyard by hand: many new tasks at once, tasks in an editor or in one line, ids, and what is said of a
//! task besides its texts.

pub mod batch;
pub mod edit_form;
pub mod one_line;
