//! `taskyard job`: one file per thing to do with a job.

mod acknowledging;
mod background;
mod command;
mod gc;
mod list;
mod meaning;
mod output;
mod run;
mod stop;
mod wait;
mod waiting;

pub(crate) use background::background;
pub(crate) use command::{Action as JobAction, Job};
pub(crate) use gc::Gc as JobGc;
pub(crate) use list::List as JobList;
pub(crate) use meaning::Meant as JobMeant;
pub(crate) use output::ShowOutput as JobOutput;
pub(crate) use run::Run as JobRun;
pub(crate) use stop::Stop as JobStop;
