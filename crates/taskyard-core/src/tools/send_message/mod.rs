//! `SendMessage`

mod answers;
mod form;
mod old_form;

pub use answers::{Routed, answered_plan, answered_shutdown, asked_to_end, broadcast, plan_shown, sent, unreachable};
pub use form::{SendMessage, TOOL, Unsendable, read, tool};
