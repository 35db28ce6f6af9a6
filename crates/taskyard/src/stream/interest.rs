//! What a follower wants to be told of.

use std::collections::BTreeSet;

use taskyard_core::{AgentName, ListId};

/// What a follower wants to be told of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    /// Whose commits.
    pub lists: ListsFollowed,
    /// Whose messages; none where messages are never told. Other agents may come to be followed later: see
    /// [`super::StreamControl::follow_inboxes`].
    pub inboxes: Option<BTreeSet<AgentName>>,
    /// Whether that jobs of these lists have ended.
    pub jobs: bool,
    /// Whether who comes and goes in the teams of these lists.
    pub agents: bool,
}

/// The lists that a stream follows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListsFollowed {
    /// These, whether or not they are there yet.
    These(BTreeSet<ListId>),
    /// All there are, and those that come; that they come and go is told, too.
    All,
}

impl Default for ListsFollowed {
    fn default() -> Self {
        Self::These(BTreeSet::new())
    }
}

impl Interest {
    /// Returns an interest in the commits of one list.
    pub fn in_list(list: &ListId) -> Self {
        Self { lists: ListsFollowed::These(BTreeSet::from([list.clone()])), ..Self::default() }
    }

    /// Returns an interest in whatever happens on a list, and in the messages of these agents.
    pub fn in_all_of(list: &ListId, inboxes: impl IntoIterator<Item = AgentName>) -> Self {
        Self { jobs: true, agents: true, inboxes: Some(inboxes.into_iter().collect()), ..Self::in_list(list) }
    }

    /// Returns an interest in the messages of these agents.
    pub fn in_inboxes(agents: impl IntoIterator<Item = AgentName>) -> Self {
        Self { inboxes: Some(agents.into_iter().collect()), ..Self::default() }
    }

    /// Returns an interest in everything that happens in a store: all its lists, those that come, their jobs and their teams.
    pub fn in_everything() -> Self {
        Self { lists: ListsFollowed::All, jobs: true, agents: true, inboxes: None }
    }
}

impl ListsFollowed {
    /// Tells whether a list is among them.
    pub(crate) fn contains(&self, list: &ListId) -> bool {
        match self {
            Self::These(lists) => lists.contains(list),
            Self::All => true,
        }
    }
}
