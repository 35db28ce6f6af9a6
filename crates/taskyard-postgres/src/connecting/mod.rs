//! Connections: making them, keeping them, and what to do when they break.

mod column;
mod failure;
mod limits;
mod pool;
mod reaching;
mod session;
mod statement;
mod tls;

pub(crate) use column::Column;
pub(crate) use failure::{Failure, FailureKind};
pub(crate) use limits::{ANSWER_TIME, IDLE_TIME, LOCK_WAIT, OWN_NAMES_ONLY, STATEMENT_TIME};
pub(crate) use pool::{Held, Pool, TakesNoConnection, make_this_thread_urgent, reconnects};
pub(crate) use reaching::{NotificationSender, reach};
pub(crate) use session::{Session, round_trips};
pub(crate) use statement::Statement;
