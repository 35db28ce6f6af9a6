//! The events of a stream, a follower's selection of them, and its cursor.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use taskyard_core::rules::teams::mailing::Delivery;
use taskyard_core::{AgentName, Event, JobId, ListId, Member, MessageKey, Revision, TeamName};

use crate::notices::Notice;
use crate::process::Waker;
use crate::store::Moved;

/// An event in a stream.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Happening {
    /// A commit on a list, by Taskyard or by another program.
    Commit(Event),
    /// A message for an agent whose inbox is followed.
    Message {
        /// The agent that received it.
        agent: AgentName,
        /// The team in which it was sent.
        team: TeamName,
        /// The message, and the keys with which it is acknowledged.
        delivery: Box<Delivery>,
    },
    /// A job that was started on a list has ended.
    JobEnded(Box<Notice>),
    /// An agent has joined a team.
    AgentCame {
        /// The team it joined.
        team: TeamName,
        /// The agent's entry in the team.
        member: Box<Member>,
    },
    /// An agent has left a team, or the team was deleted.
    AgentWent {
        /// The team it left.
        team: TeamName,
        /// The agent's name in that team.
        name: String,
    },
    /// A list was created.
    ListCame(ListId),
    /// A list was removed.
    ListWent(ListId),
    /// The database of a list was reset to an earlier state, or another server took over. Earlier events may have been
    /// lost, so a follower that keeps a copy of the list must reload it. The stream continues with commits after
    /// `revision`.
    WentBack {
        /// The list.
        list: ListId,
        /// The newest revision it has now.
        revision: Revision,
    },
}

/// A follower's position in a stream. A stream that starts with it continues where the previous one stopped: no event
/// is repeated, and none is skipped that is still available.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The last revision delivered for each list; a list not named here is followed from its newest revision.
    pub lists: BTreeMap<ListId, Revision>,
    /// The jobs whose end was delivered.
    pub jobs: AlreadyTold<JobId>,
    /// The messages that were delivered.
    pub messages: AlreadyTold<MessageMark>,
    /// The team members that were delivered, each with its team's directory.
    pub members: AlreadyTold<(String, String)>,
}

/// A message in an agent's inbox.
pub(crate) type MessageMark = (AgentName, MessageKey);

/// The items that a follower has already received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AlreadyTold<T> {
    /// Everything that exists when following starts; only later items are delivered.
    #[default]
    Everything,
    /// Exactly these; all other pending items are delivered.
    These(BTreeSet<T>),
}

impl Cursor {
    /// Returns a cursor at the present: only later events are delivered.
    pub fn now() -> Self {
        Self::default()
    }

    /// Returns a cursor that delivers everything still available: all commits of a list after a revision, and pending
    /// messages and notices.
    pub fn after(list: &ListId, revision: Revision) -> Self {
        Self {
            lists: BTreeMap::from([(list.clone(), revision)]),
            jobs: AlreadyTold::nothing(),
            messages: AlreadyTold::nothing(),
            members: AlreadyTold::Everything,
        }
    }

    /// Moves the cursor back to before this event.
    pub(super) fn go_back_before(&mut self, happening: &Happening) {
        match happening {
            Happening::Commit(event) => {
                self.lists.insert(event.list.clone(), Revision(event.revision.0.saturating_sub(1)));
            }
            Happening::Message { agent, delivery, .. } => {
                delivery.keys.iter().for_each(|key| self.messages.remove(&(agent.clone(), key.clone())));
            }
            Happening::JobEnded(notice) => self.jobs.remove(&notice.job.id),
            Happening::AgentCame { team, member } => self.members.remove(&mark_of(team, &member.name)),
            Happening::AgentWent { team, name } => self.members.add([mark_of(team, name)]),
            // No list has such a revision, so the next stream reports the reset again.
            Happening::WentBack { list, .. } => drop(self.lists.insert(list.clone(), Revision(u64::MAX))),
            Happening::ListCame(_) | Happening::ListWent(_) => {}
        }
    }
}

/// Returns the key of a team member in a cursor.
pub(super) fn mark_of(team: &TeamName, name: &str) -> (String, String) {
    (team.directory().to_owned(), name.to_owned())
}

impl<T> AlreadyTold<T> {
    /// Returns the value for a follower that has received nothing.
    pub const fn nothing() -> Self {
        Self::These(BTreeSet::new())
    }
}

impl<T: Ord> AlreadyTold<T> {
    /// Adds items; from then on each item is tracked individually.
    pub(super) fn add(&mut self, told: impl IntoIterator<Item = T>) {
        match self {
            Self::Everything => *self = Self::These(told.into_iter().collect()),
            Self::These(these) => these.extend(told),
        }
    }

    fn remove(&mut self, untold: &T) {
        if let Self::These(these) = self {
            these.remove(untold);
        }
    }

    /// Returns the received items, if they are tracked individually.
    pub(super) fn these(&self) -> Option<&BTreeSet<T>> {
        match self {
            Self::Everything => None,
            Self::These(these) => Some(these),
        }
    }
}

/// A follower's selection of events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    /// The lists whose commits are delivered.
    pub lists: ListsFollowed,
    /// The agents whose messages are delivered; `None` if messages are never delivered. The set can be changed later:
    /// see [`super::StreamControl::follow_inboxes`].
    pub inboxes: Option<BTreeSet<AgentName>>,
    /// Whether to deliver the ends of jobs of these lists.
    pub jobs: bool,
    /// Whether to deliver agents joining and leaving the teams of these lists.
    pub agents: bool,
}

/// The lists that a stream follows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListsFollowed {
    /// These lists, whether or not they exist yet.
    These(BTreeSet<ListId>),
    /// All existing and future lists; their creation and removal are also delivered.
    All,
}

impl Default for ListsFollowed {
    fn default() -> Self {
        Self::These(BTreeSet::new())
    }
}

impl Interest {
    /// Selects the commits of one list.
    pub fn in_list(list: &ListId) -> Self {
        Self { lists: ListsFollowed::These(BTreeSet::from([list.clone()])), ..Self::default() }
    }

    /// Selects all events of a list, and the messages to these agents.
    pub fn in_all_of(list: &ListId, inboxes: impl IntoIterator<Item = AgentName>) -> Self {
        Self { jobs: true, agents: true, inboxes: Some(inboxes.into_iter().collect()), ..Self::in_list(list) }
    }

    /// Selects the messages to these agents.
    pub fn in_inboxes(agents: impl IntoIterator<Item = AgentName>) -> Self {
        Self { inboxes: Some(agents.into_iter().collect()), ..Self::default() }
    }

    /// Selects all events of a store: all existing and future lists, their jobs and their teams.
    pub fn in_everything() -> Self {
        Self { lists: ListsFollowed::All, jobs: true, agents: true, inboxes: None }
    }
}

impl ListsFollowed {
    pub(crate) fn contains(&self, list: &ListId) -> bool {
        match self {
            Self::These(lists) => lists.contains(list),
            Self::All => true,
        }
    }
}

/// Controls a stream from another thread.
#[derive(Clone)]
pub struct StreamControl {
    pub(super) waker: Waker,
    pub(super) inboxes: SharedAgents,
    /// Triggers a check of the inboxes; `None` if messages are never delivered.
    pub(super) look_into_inboxes: Option<Moved>,
}

/// The agents whose messages are delivered.
pub(super) type SharedAgents = Arc<Mutex<BTreeSet<AgentName>>>;

impl StreamControl {
    /// Ends the stream; a thread waiting for it is woken and receives no more events.
    pub fn stop(&self) {
        self.waker.stop();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.waker.is_stopped()
    }

    /// Replaces the set of agents whose messages are delivered. For newly added agents, pending messages are delivered
    /// as well. `agents` is called under a lock, so that of two concurrent calls the later one also sees the later
    /// state.
    pub fn follow_inboxes(&self, agents: impl FnOnce() -> BTreeSet<AgentName>) {
        let mut followed = self.inboxes.lock().unwrap_or_else(PoisonError::into_inner);
        *followed = agents();
        drop(followed);
        self.look_into_inboxes.iter().for_each(|look| look());
    }
}

impl fmt::Debug for StreamControl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StreamControl").field("waker", &self.waker).finish_non_exhaustive()
    }
}
