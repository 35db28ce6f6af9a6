//! The small process that looks after a command. What all of them do is in `supervision.rs`: begin reading there. The supervisor of a job is
//! `supervisor.rs`, that of a command of `work` is `tied_command.rs`. A command begins in `trampoline.rs`; `reporting.rs` tells other machines
//! of a job.

mod reporting;
mod supervision;
mod supervisor;
mod tied_command;
mod trampoline;

pub(crate) use reporting::{DELIVER, deliver, leave_to_another};
pub(crate) use supervisor::supervise;
pub(crate) use tied_command::supervise_tied;
pub(crate) use trampoline::trampoline;
