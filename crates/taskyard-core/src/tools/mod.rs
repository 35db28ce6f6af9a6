//! The tools agents call: their texts, schemas, inputs and answers, one file each. Begin with `tool.rs` and `catalogue.rs`.
//!
//! Parsing an input yields a typed value; the caller runs the operation and passes its result to the tool's answer
//! functions. Transports are not handled here.

pub mod catalogue;
pub mod dialects;
pub mod inbox_read;
pub mod list_agents;
pub mod schema;
pub mod send_message;
pub mod task_claim;
pub mod task_create;
pub mod task_get;
pub mod task_list;
pub mod task_output;
pub mod task_release;
pub mod task_run;
pub mod task_stop;
pub mod task_update;
pub mod team_create;
pub mod team_delete;
pub mod todo_write;

mod refusing;
mod tool;
pub mod tool_answer;

pub use refusing::{InputError, Surroundings, ToolNames, explain};
pub use tool::{Annotations, Scope, Tool, ToolSet};
pub use tool_answer::{Answer, unreadable_line};
