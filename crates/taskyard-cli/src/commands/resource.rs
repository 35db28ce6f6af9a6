//! What programs ask for over HTTP and nobody types: one list, and the agents on it. Each is one JSON document.

use serde_json::{Value, json};
use taskyard::core::AgentName;
use taskyard::core::render::gone_shape;
use taskyard::core::rules::agents::naming::is_same_agent;
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::view::{AgentRow, HeldTask, LeaseShown};
use taskyard::operations::Filter;
use taskyard::store::HistoryQuery;

use crate::context::Context;
use crate::displays::answers::counts_as_json;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::{Problem, ProblemKind};

/// A thing that has an address of its own over HTTP.
#[derive(Debug)]
pub(crate) enum Resource {
    /// The list of the context, as a whole.
    List,
    /// Every agent on it.
    Agents,
    /// One of them.
    Agent(AgentName),
}

impl Resource {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = context.yard()?;
        let document = match self {
            Self::List => {
                let listing = yard.list(&Filter { limit: Some(0), ..Filter::default() })?;
                if !listing.exists && listing.gone.is_none() {
                    return Err(Refusal::NoSuchList { list: yard.list_id().to_string() }.into());
                }
                let path = context.address()?.path_of_list(yard.list_id(), context.places()?);
                let newest = yard.history(&HistoryQuery { newest: Some(1), ..HistoryQuery::default() })?;
                let mut shape = json!({
                    "list": yard.list_id().as_str(),
                    "path": path.map(|path| path.display().to_string()),
                    "counts": counts_as_json(listing.counts),
                    "revision": listing.revision.0,
                    "changed": newest.last().map(|entry| entry.at.to_string()),
                });
                if let Some(gone) = &listing.gone {
                    shape["gone"] = gone_shape(gone);
                }
                shape
            }
            Self::Agents => {
                let rows = rows(&yard)?;
                json!({ "agents": rows.iter().map(agent_shape).collect::<Vec<_>>() })
            }
            Self::Agent(name) => {
                let rows = rows(&yard)?;
                let found = rows.iter().find(|row| is_same_agent(&row.name, name.as_str()));
                let row = found.ok_or_else(|| {
                    let message = format!("list {} has no agent `{name}`", yard.list_id());
                    Problem::new(ProblemKind::NotFound, "agent_not_found", message)
                        .hint("an agent is on a list while it holds a task or is a member of its team")
                        .detail("agent", name.as_str())
                })?;
                json!({ "agent": agent_shape(row) })
            }
        };
        output.document(document)?;
        Ok(Exit::Done)
    }
}

fn rows(yard: &taskyard::Yard) -> Result<Vec<AgentRow>, Problem> {
    let listing = yard.list(&Filter { internal: true, ..Filter::default() })?;
    Ok(yard.agents_on(&listing.tasks, &listing.leases, usize::MAX))
}

fn agent_shape(row: &AgentRow) -> Value {
    json!({
        "name": row.name,
        "color": row.colour,
        "state": row.state.as_str().replace(' ', "_"),
        "tasks": row.holds.iter().map(held_shape).collect::<Vec<_>>(),
        "unread": row.unread,
        "toolUses": row.tool_uses,
        "tokens": row.tokens,
        "activity": row.activity,
        "seen": row.seen.map(|seen| seen.to_string()),
        "joinedAt": row.joined.map(|joined| joined.to_string()),
    })
}

fn held_shape(held: &HeldTask) -> Value {
    let (lease, ends) = match held.lease {
        LeaseShown::None => ("none", None),
        LeaseShown::Lives(ends) => ("live", ends),
        LeaseShown::Ended => ("ended", None),
    };
    json!({
        "task": held.task.as_str(),
        "subject": held.subject,
        "takenAt": held.since.map(|since| since.to_string()),
        "lease": lease,
        "expiresAt": ends.map(|ends| ends.to_string()),
    })
}
