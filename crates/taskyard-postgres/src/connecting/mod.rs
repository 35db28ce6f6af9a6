//! Connections to the server: opening, pooling, time limits, and recovering from failures. Begin with `pool.rs`.

pub(crate) mod failure;
mod pool;
mod session;
mod statement;

pub(crate) use failure::{ANSWER_TIME, Failure, FailureKind, IDLE_TIME, LOCK_WAIT, OWN_NAMES_ONLY, STATEMENT_TIME};
pub(crate) use pool::{Held, Pool, TakesNoConnection, make_this_thread_urgent, reconnects};
pub(crate) use session::{NotificationSender, Session, reach, round_trips};
pub(crate) use statement::{Column, Statement};
