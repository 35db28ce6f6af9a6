//! A plan in Markdown (`docs/formats/plan.md`): list items that are tasks, with fields, text and notes indented below them,
//! and parts as nested items. Checklists, batches, templates and several tasks in an editor share this form. Begin with
//! `reading.rs`.

mod reading;
mod writing;

pub(crate) use reading::{COMMENT, Field, Form, Item, Plan, box_status};
pub(crate) use writing::{Times, write, write_all};
