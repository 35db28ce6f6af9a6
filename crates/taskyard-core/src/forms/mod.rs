//! Texts that people type: tasks and ids on one line (`one_line.rs`, begin there), batches of new tasks, templates, and
//! tasks in an editor.

pub mod batch;
pub mod edit_form;
pub mod one_line;
pub mod template;
