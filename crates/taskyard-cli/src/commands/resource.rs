//! What programs ask for over HTTP and nobody types: one list, and the agents on it. Each is one JSON document.

use taskyard::core::AgentName;
use taskyard::core::answers::lists::{AgentShown, Agents, ListShown};
use taskyard::core::rules::agents::naming::is_same_agent;
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::view::AgentRow;
use taskyard::operations::Filter;
use taskyard::store::HistoryQuery;

use crate::context::Context;
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
        match self {
            Self::List => {
                let listing = yard.list(&Filter { limit: Some(0), ..Filter::default() })?;
                if !listing.exists && listing.gone.is_none() {
                    return Err(Refusal::NoSuchList { list: yard.list_id().to_string() }.into());
                }
                let path = context.address()?.path_of_list(yard.list_id(), context.places()?);
                let newest = yard.history(&HistoryQuery { newest: Some(1), ..HistoryQuery::default() })?;
                output.document(ListShown {
                    list: yard.list_id().as_str(),
                    path: path.map(|path| path.display().to_string()),
                    counts: listing.counts.into(),
                    revision: listing.revision.0,
                    changed: newest.last().map(|entry| entry.at.to_string()),
                    gone: listing.gone.as_ref().map(Into::into),
                })?;
            }
            Self::Agents => {
                let rows = rows(&yard)?;
                output.document(Agents { agents: rows.iter().map(Into::into).collect() })?;
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
                output.document(AgentShown { agent: row.into() })?;
            }
        }
        Ok(Exit::Done)
    }
}

fn rows(yard: &taskyard::Yard) -> Result<Vec<AgentRow>, Problem> {
    let listing = yard.list(&Filter { internal: true, ..Filter::default() })?;
    Ok(yard.agents_on(&listing.tasks, &listing.leases, usize::MAX))
}
