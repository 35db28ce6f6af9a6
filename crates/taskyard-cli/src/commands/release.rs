//! `taskyard release`

use clap::{Args, ValueEnum};
use taskyard::core::answers::claims::{Released, ReleasedTogether};
use taskyard::core::answers::values::Shape;
use taskyard::core::{AgentName, Task, answers};
use taskyard::operations::{Departed, Departure, Possible};

use super::several::{none_is_like_that, tell_rehearsal};
use crate::arguments::{LeaseFlags, WhichTasks, parse_agent};
use crate::context::Context;
use crate::displays::answers::did;
use crate::displays::departures::{given_back, unassigned};
use crate::displays::refused_tasks::{exit_of, refused_tasks, tell_refused};
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
        let Possible { done: released, refused } = match self.which.keep_going {
            true => yard.release_possible(&ids)?,
            false => Possible { done: yard.release_together(&ids)?.done()?, refused: Vec::new() },
        };
        if self.which.dry_run {
            let tasks: Vec<&Task> = released.iter().map(|released| &released.task).collect();
            return tell_rehearsal("Would release", &tasks, &refused, output);
        }
        if output.is_json() {
            let revision = released.iter().find_map(|released| released.revision).map(|revision| revision.0);
            match (self.which.only_one(), released.as_slice()) {
                (Some(_), [one]) => output.document(Released { task: Shape(&one.task), revision })?,
                _ => output.document(ReleasedTogether {
                    tasks: released.iter().map(|released| Shape(&released.task)).collect(),
                    refused: refused_tasks(&refused),
                    revision,
                })?,
            }
            return Ok(exit_of(&refused));
        }
        for released in &released {
            output.say(&did(if released.revision.is_some() { "Released" } else { "Nobody had" }, &released.task))?;
        }
        tell_refused(&refused, output)?;
        Ok(exit_of(&refused))
    }
}

fn departed(agent: &AgentName, departed: &Departed, output: &mut Output) -> Result<Exit, Problem> {
    if output.is_json() {
        let notification_message = &departed.notice;
        output.document(answers::claims::Departed { unassigned_tasks: unassigned(departed), notification_message })?;
    } else {
        given_back(agent, departed).iter().try_for_each(|line| output.say(line))?;
    }
    Ok(Exit::Done)
}
