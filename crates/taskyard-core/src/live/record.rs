//! What is remembered of one task.

use crate::rules::claims::readiness::{RankKey, SOON};
use crate::{Image, Priority, Rules, Status, Task, TaskId, Timestamp};

/// Where a task stands in the memory of its list.
pub(crate) type Slot = u32;

/// Where a task stands among others: numbers rise, then come names by their bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Key {
    Number(u64),
    Name(Box<str>),
}

impl Key {
    pub(super) fn of(id: &TaskId) -> Self {
        id.as_number().map_or_else(|| Self::Name(id.as_str().into()), Self::Number)
    }

    pub(super) fn id(&self) -> TaskId {
        match self {
            Self::Number(number) => TaskId::number(*number),
            Self::Name(name) => TaskId::stored(&**name),
        }
    }
}

/// One task, or only its name where others name a task that is not there.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) key: Key,
    pub(super) facts: Option<Facts>,
    /// The tasks that wait for this one, by their own word, each once.
    pub(super) waiting: Vec<Slot>,
    /// The tasks that say they are parts of this one.
    pub(super) parts: Vec<Slot>,
    /// How many open tasks stand in the longest chain behind it.
    pub(super) chain: u32,
    /// What it is ranked by among those that can start; none where it cannot.
    pub(super) ranked: Option<RankKey>,
}

/// What decides where a task stands.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) image: Image,
    pub(super) status: Status,
    pub(super) priority: Priority,
    pub(super) is_internal: bool,
    /// Whether it says who may take it.
    pub(super) is_for_some: bool,
    pub(super) owner: Option<Box<str>>,
    /// When it is due, and the moment to which it is deferred; to the client there is neither.
    pub(super) due: Option<Timestamp>,
    pub(super) defer: Option<Timestamp>,
    /// The tasks this one waits for, each once.
    pub(super) blocked_by: Box<[Slot]>,
    pub(super) parent: Option<Slot>,
}

impl Record {
    /// Returns the memory of a task that is only named so far.
    pub(super) fn named(key: Key) -> Self {
        Self { key, facts: None, waiting: Vec::new(), parts: Vec::new(), chain: 0, ranked: None }
    }

    /// Tells whether nothing is known of it and no task names it.
    pub(super) fn is_forgotten(&self) -> bool {
        self.facts.is_none() && self.waiting.is_empty() && self.parts.is_empty()
    }

    pub(super) fn is_open(&self) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.status.is_open())
    }

    /// Tells whether it counts in a chain.
    pub(super) fn is_open_and_visible(&self) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.status.is_open() && !facts.is_internal)
    }

    pub(super) fn blocked_by(&self) -> &[Slot] {
        self.facts.as_ref().map(|facts| &*facts.blocked_by).unwrap_or_default()
    }

    pub(super) fn parent(&self) -> Option<Slot> {
        self.facts.as_ref()?.parent
    }
}

impl Facts {
    /// Returns the moments at which it is judged otherwise than before: it may start, or is due soon.
    pub(super) fn moments(&self) -> impl Iterator<Item = Timestamp> {
        self.defer.into_iter().chain(self.due.map(|due| Timestamp(due.0.saturating_sub(SOON))))
    }

    /// Takes the facts from a task, its neighbours being in these slots.
    pub(super) fn of(task: &Task, image: Image, blocked_by: Vec<Slot>, parent: Option<Slot>, rules: Rules) -> Self {
        let times = !rules.is_client() && task.status.is_open();
        Self {
            image,
            status: task.status,
            priority: task.priority(),
            is_internal: task.is_internal(),
            is_for_some: !task.assignable_to().is_empty(),
            owner: task.owner().map(Into::into),
            due: times.then(|| task.due()).flatten(),
            defer: times.then(|| task.defer()).flatten(),
            blocked_by: blocked_by.into_boxed_slice(),
            parent,
        }
    }
}
