//! What a follower is told.

use taskyard_core::rules::teams::mailing::Delivery;
use taskyard_core::{AgentName, Event, ListId, Member, Revision, TeamName};

use crate::notices::Notice;

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Happening {
    /// A commit on a list, ours or another program's.
    Commit(Event),
    /// A message has come for an agent that is followed.
    Message {
        /// The agent in whose inbox it is.
        agent: AgentName,
        /// The team in which it was written.
        team: TeamName,
        /// The message, and what it is acknowledged with.
        delivery: Box<Delivery>,
    },
    /// A job that was started on a list has ended.
    JobEnded(Box<Notice>),
    /// An agent has come into a team.
    AgentCame {
        /// The team it came into.
        team: TeamName,
        /// The agent, as the team has it.
        member: Box<Member>,
    },
    /// An agent is no longer in a team, or the team is no longer there.
    AgentWent {
        /// The team it left.
        team: TeamName,
        /// The name it had there.
        name: String,
    },
    /// There is another list.
    ListCame(ListId),
    /// A list is no longer there.
    ListWent(ListId),
    /// The database of a list went back to an earlier state, or another server took over. What was told before may be lost: a follower
    /// that keeps the list reads it anew. Commits after `revision` are told from here on.
    WentBack {
        /// The list.
        list: ListId,
        /// Its newest revision now.
        revision: Revision,
    },
}
