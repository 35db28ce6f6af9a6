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
pub(crate) use command::Job;
