//! A plan in Markdown (`docs/formats/plan.md`): items that are tasks, with fields, text and notes indented below them, and parts as items
//! within items. Checklists, batches, templates and several tasks in an editor have this form.

mod reading;
mod writing;

pub(crate) use reading::{COMMENT, Field, Form, Item, Plan, box_status};
pub(crate) use writing::{Times, write, write_all};
