//! Supervisor processes. Begin at `supervision.rs`, which has what they share and the start of a command;
//! `supervisor.rs` supervises a job and reports it to other machines, `tied_command.rs` a command of `work`.

mod supervision;
mod supervisor;
mod tied_command;

pub(crate) use supervision::trampoline;
pub(crate) use supervisor::{DELIVER, deliver, leave_to_another, supervise};
pub(crate) use tied_command::supervise_tied;
