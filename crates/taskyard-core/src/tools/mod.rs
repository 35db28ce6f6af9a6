//! The tools agents call: what each is for, what it takes, and what it answers.
//!
//! Everything here is words and decisions. Reading an input gives something typed; the caller does what it asks for and hands
//! what came of it to the tool's answers. The client's tools have its schemas and texts; ours speak to a model in the same way.
//! How tools are offered and called over a wire is not known here.

pub mod answer;
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

mod fitting;
mod input_error;
mod refusing;
mod repairing;
mod said;
mod tool;

pub use answer::Answer;
pub use fitting::unreadable_line;
pub use input_error::InputError;
pub use refusing::{Surroundings, ToolNames, explain};
pub use tool::{Annotations, Scope, Tool, ToolSet};
