//! `taskyard release`

use clap::{Args, ValueEnum};
use taskyard::core::answers::claims::{Released, ReleasedTogether};
use taskyard::core::{AgentName, Task, answers};
use taskyard::operations::{Departed, Departure, Possible};

use super::several::{none_is_like_that, tell_rehearsal};
use crate::arguments::{LeaseFlags, WhichTasks, parse_agent};
use crate::context::Context;
use crate::displays::answers::did;
use crate::displays::departures::given_back;
use crate::displays::refused_tasks::{exit_of, tell_refused};
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Give tasks back, or everything an agent has
///
/// They become pending and lose their owner; all of them in one revision, or none. With --agent, all that agent's
/// unfinished tasks go back in one revision; `bob` and `bob@team` are one agent.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub(crate) struct Release {
    #[command(flatten)]
    pub(crate) which: WhichTasks,

    /// The agent that is gone
    #[arg(long = "agent", value_name = "AGENT", value_parser = parse_agent, group = "which")]
    pub(crate) departed: Option<AgentName>,

    /// Why it is gone
    #[arg(long, value_name = "REASON", requires = "departed", conflicts_with = "ids", default_value = "shutdown")]
    pub(crate) reason: Reason,

    #[command(flatten)]
    pub(crate) lease: LeaseFlags,
}

/// Why an agent is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reason {
    /// It ended by itself
    Shutdown,
    /// It was ended
    Terminated,
}

impl Release {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        if let Some(agent) = &self.departed {
            let departure = match self.reason {
                Reason::Shutdown => Departure::Shutdown,
                Reason::Terminated => Departure::Terminated,
            };
            if self.which.dry_run {
                let left = yard.rehearsing().depart(agent, departure)?;
                return tell_rehearsal("Would release", &left.tasks.iter().collect::<Vec<_>>(), &[], output);
            }
            return departed(agent, &yard.depart(agent, departure)?, output);
        }
        let ids = context.ids_of(&self.which, &yard)?;
        if ids.is_empty() {
            return none_is_like_that(output);
        }
        let yard = if self.which.dry_run { yard.rehearsing() } else { yard };
        let released = match self.which.keep_going {
            true => yard.release_possible(&ids)?,
            false => Possible { done: yard.release_together(&ids)?.done()?, refused: Vec::new() },
        };
        if self.which.dry_run {
            let tasks: Vec<&Task> = released.done.iter().map(|released| &released.task).collect();
            return tell_rehearsal("Would release", &tasks, &released.refused, output);
        }
        if output.is_json() {
            match (self.which.only_one(), released.done.as_slice()) {
                (Some(_), [one]) => output.document(Released::from(one))?,
                _ => output.document(ReleasedTogether::from(&released))?,
            }
            return Ok(exit_of(&released.refused));
        }
        for released in &released.done {
            output.say(&did(if released.revision.is_some() { "Released" } else { "Nobody had" }, &released.task))?;
        }
        tell_refused(&released.refused, output)?;
        Ok(exit_of(&released.refused))
    }
}

fn departed(agent: &AgentName, departed: &Departed, output: &mut Output) -> Result<Exit, Problem> {
    if output.is_json() {
        output.document(answers::claims::Departed::from(departed))?;
    } else {
        given_back(agent, departed).iter().try_for_each(|line| output.say(line))?;
    }
    Ok(Exit::Done)
}
