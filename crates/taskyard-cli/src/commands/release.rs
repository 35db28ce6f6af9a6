//! `taskyard release`

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::json;
use taskyard::core::dialect::native::Shape;
use taskyard::core::{AgentName, TaskId};
use taskyard::operations::{Departed, Departure};

use super::answers::did;
use super::departure_words::{given_back, unassigned_as_json};
use crate::arguments::{LeaseFlags, parse_agent, parse_id};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Give a task back, or everything an agent has
///
/// It is pending again, and nobody's. With --agent, all that agent's unfinished tasks go back in one revision; `bob` and
/// `bob@team` are one agent.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub(crate) struct Release {
    /// The task
    #[arg(value_name = "ID", value_parser = parse_id, group = "which")]
    id: Option<TaskId>,

    /// The agent that is gone
    #[arg(long = "agent", value_name = "AGENT", value_parser = parse_agent, group = "which")]
    departed: Option<AgentName>,

    /// Why it is gone
    #[arg(long, value_name = "REASON", requires = "departed", conflicts_with = "id", default_value = "shutdown")]
    reason: Reason,

    #[command(flatten)]
    lease: LeaseFlags,
}

/// Why an agent is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Reason {
    /// It ended in order
    Shutdown,
    /// It was ended
    Terminated,
}

#[derive(Serialize)]
struct Answer<'a> {
    task: Shape<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u64>,
}

impl Release {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        if let Some(agent) = &self.departed {
            let departure = match self.reason {
                Reason::Shutdown => Departure::Shutdown,
                Reason::Terminated => Departure::Terminated,
            };
            return departed(agent, &yard.depart(agent, departure)?, output);
        }
        let id = self.id.ok_or_else(|| Problem::usage("usage", "name a task or an agent"))?;
        let released = yard.release(&id)?.done()?;
        if output.is_json() {
            let revision = released.revision.map(|revision| revision.0);
            output.document(Answer { task: Shape(&released.task), revision })?;
        } else {
            output.say(&did(if released.revision.is_some() { "Released" } else { "Nobody had" }, &released.task))?;
        }
        Ok(Exit::Done)
    }
}

fn departed(agent: &AgentName, departed: &Departed, output: &mut Output) -> Result<Exit, Problem> {
    if output.is_json() {
        let tasks = unassigned_as_json(departed);
        output.document(json!({"unassignedTasks": tasks, "notificationMessage": departed.notice}))?;
    } else {
        given_back(agent, departed).iter().try_for_each(|line| output.say(line))?;
    }
    Ok(Exit::Done)
}
