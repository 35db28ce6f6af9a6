//! What can be done with jobs.

use clap::{Args, Subcommand};

use super::gc::Gc;
use super::list::List;
use super::output::ShowOutput;
use super::run::Run;
use super::stop::Stop;
use super::wait::Wait;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Run commands in the background: start, look at, read, wait for, stop and tidy them away
///
/// A job goes on when the program that started it ends, and the next command finds it again. Its output goes to one
/// file, in the place and the form of Claude Code's own background tasks, and never grows beyond its limit: the
/// beginning and the newest are kept. When its command ends or is stopped, everything it started is ended too. Name a
/// job by its id or its name; a name means the newest job of that name.
#[derive(Debug, Args)]
pub(crate) struct Job {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    Run(Box<Run>),
    List(List),
    Output(ShowOutput),
    Wait(Wait),
    Stop(Stop),
    Gc(Gc),
}

impl Job {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        match self.action {
            Action::Run(command) => command.run(context, output),
            Action::List(command) => command.run(context, output),
            Action::Output(command) => command.run(context, output),
            Action::Wait(command) => command.run(context, output),
            Action::Stop(command) => command.run(context, output),
            Action::Gc(command) => command.run(context, output),
        }
    }
}
