//! How far a follower has read.

use std::collections::{BTreeMap, BTreeSet};

use taskyard_core::{AgentName, JobId, ListId, MessageKey, Revision, TeamName};

use super::Happening;

/// How far a follower has read. Another stream that begins with it goes on where this one stopped: nothing is told twice, and nothing is
/// left out that is still known by then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The last revision of each list that was told; a list that is not named is followed from its newest.
    pub lists: BTreeMap<ListId, Revision>,
    /// The jobs of which it was told that they ended.
    pub jobs: AlreadyTold<JobId>,
    /// The messages that were told.
    pub messages: AlreadyTold<MessageMark>,
    /// The members of teams that were told, each with its team's directory.
    pub members: AlreadyTold<(String, String)>,
}

/// A message in an agent's inbox.
pub(crate) type MessageMark = (AgentName, MessageKey);

/// What a follower was told of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AlreadyTold<T> {
    /// Everything there is when the following begins: it is told what comes from then on.
    #[default]
    Everything,
    /// These: it is told of whatever else waits.
    These(BTreeSet<T>),
}

impl Cursor {
    /// Returns a cursor at the present: what happens from now on is told.
    pub fn now() -> Self {
        Self::default()
    }

    /// Returns a cursor from which on everything is told that is known: all commits of a list after a revision, and what waits for a
    /// follower to hear it.
    pub fn after(list: &ListId, revision: Revision) -> Self {
        Self {
            lists: BTreeMap::from([(list.clone(), revision)]),
            jobs: AlreadyTold::nothing(),
            messages: AlreadyTold::nothing(),
            members: AlreadyTold::Everything,
        }
    }

    /// Takes back that something was told, and everything after it.
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
            // No list is that far: the next follower is told that it went back.
            Happening::WentBack { list, .. } => drop(self.lists.insert(list.clone(), Revision(u64::MAX))),
            Happening::ListCame(_) | Happening::ListWent(_) => {}
        }
    }
}

/// Returns what a member of a team is remembered by.
pub(super) fn mark_of(team: &TeamName, name: &str) -> (String, String) {
    (team.directory().to_owned(), name.to_owned())
}

impl<T> AlreadyTold<T> {
    /// Returns what a follower was told of that was told nothing.
    pub const fn nothing() -> Self {
        Self::These(BTreeSet::new())
    }
}

impl<T: Ord> AlreadyTold<T> {
    /// Adds what was told; it is known one by one from then on.
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

    /// Returns what was told, where that is known one by one.
    pub(super) fn these(&self) -> Option<&BTreeSet<T>> {
        match self {
            Self::Everything => None,
            Self::These(these) => Some(these),
        }
    }
}
