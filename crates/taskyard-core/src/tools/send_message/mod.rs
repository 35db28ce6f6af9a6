//! `SendMessage`

mod answers;
mod form;
mod generation;
mod message;
mod old_form;

pub use answers::{Routed, answered_plan, answered_shutdown, asked_to_end, broadcast, plan_shown, sent, unreachable};
pub use form::TOOL;
pub use generation::read;
pub(crate) use generation::tool;
pub use message::{SendMessage, Unsendable};
