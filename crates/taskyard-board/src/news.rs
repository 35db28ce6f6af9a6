//! What the thread that draws is told.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::mpsc::Sender;

use taskyard::core::dialect::native::Unreadable;
use taskyard::core::render::escaping;
use taskyard::core::rules::leases::leasing::LeaseState;
use taskyard::core::rules::looking::query::Times;
use taskyard::core::view::{GraphPicture, JobRow, ListRow, Step, Thread, TodosShown, WatchedList};
use taskyard::core::{Entry, Event, Job, JobId, Lease, ListId, Revision, TaskId};
use taskyard::operations::Gone;
use taskyard::process::Waker;
use taskyard::teams::TeamShown;

/// What the thread that draws is told.
#[derive(Debug)]
pub(crate) enum News {
    /// A list as it is now.
    Loaded(Box<Loaded>),
    /// What happened on the list.
    Commits(Vec<Event>),
    /// The leases of a list: the holder of each task, and until when; and the tasks in progress for sessions that have ended.
    Leases(ListId, Vec<(Lease, LeaseState)>, BTreeSet<TaskId>),
    /// Something else has moved.
    Moved(Moved),
    /// The list can no longer be followed, and why; it is tried again.
    Lost(ListId, String),
    /// It can be followed again, and nothing was missed.
    Regained(ListId),
    /// The jobs of the list.
    Jobs(ListId, Vec<JobRow>),
    /// What the end of a job's output is.
    Output(JobId, Vec<String>),
    /// The team of the list; none where it has none.
    Team(ListId, Option<Box<TeamShown>>),
    /// The messages of the user who looks.
    Mail(ListId, Box<Mail>),
    /// Every list of the store.
    Lists(Vec<ListRow>),
    /// What happened on a list, newest first; behind what was told before where that is named.
    History { list: ListId, before: Option<Revision>, steps: Vec<Step> },
    /// What is known of one task beside the task itself.
    Page(Box<PageFacts>),
    /// The tasks of a list by what waits for what.
    Graph(ListId, Box<GraphPicture>),
    /// When the tasks of a list were made and changed.
    Times(ListId, HashMap<TaskId, Times>),
    /// The todo lists of the agents that work on a list, of which something is in progress.
    Todos(ListId, Vec<TodosShown>),
    /// What is gone from a list.
    Gone(ListId, Option<Gone>),
    /// What came of something that was to be done.
    Did(Box<Did>),
}

/// A list as it is now.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) list: ListId,
    pub(crate) watched: WatchedList,
    pub(crate) exists: bool,
    /// What is gone, where no task file is left though no agent deleted the tasks.
    pub(crate) gone: Option<Gone>,
    /// Why files among the tasks cannot be read, by the name of the task.
    pub(crate) unreadable: BTreeMap<TaskId, String>,
}

/// Says that a file among the tasks cannot be read.
pub(super) fn cannot_be_read(file: &str, why: &Unreadable) -> String {
    format!("{} cannot be read: {}", escaping::one_line(file), escaping::one_line(&why.to_string()))
}

/// What has moved, beside the tasks of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) mail: bool,
    pub(crate) jobs: bool,
    pub(crate) team: bool,
}

/// The messages of the user who looks.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    /// The name that the user has in the team of the list; none where it is in none.
    pub(crate) name: Option<String>,
    /// One conversation with each.
    pub(crate) threads: Vec<Thread>,
    /// Why it cannot be read.
    pub(crate) problem: Option<String>,
}

impl Mail {
    /// Returns how many messages wait to be acknowledged.
    pub(crate) fn unread(&self) -> usize {
        self.threads.iter().map(Thread::unread).sum()
    }
}

/// What is known of one task beside the task itself.
#[derive(Debug)]
pub(crate) struct PageFacts {
    pub(crate) list: ListId,
    pub(crate) task: TaskId,
    pub(crate) made: Option<Entry>,
    /// Its newest entries, newest first.
    pub(crate) journal: Vec<Entry>,
    pub(crate) jobs: Vec<Job>,
}

/// What came of something that was to be done.
#[derive(Debug)]
pub(crate) struct Did {
    /// In words, or why not.
    pub(crate) answer: Result<String, Refused>,
    /// The revisions that undos made, which undoing again takes back.
    pub(crate) undid: Vec<Revision>,
    /// All revisions that it made.
    pub(crate) revisions: Vec<Revision>,
    /// The task that was made.
    pub(crate) made: Option<TaskId>,
}

impl Did {
    /// Returns the answer to a deed that changed nothing.
    pub(crate) fn without_changes() -> Self {
        Self { answer: Ok(String::new()), undid: Vec::new(), revisions: Vec::new(), made: None }
    }
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) message: String,
    /// What to do next.
    pub(crate) hint: Option<String>,
}

/// Tells the thread that draws, from any other.
#[derive(Clone, Debug)]
pub(super) struct Teller {
    sender: Sender<News>,
    waker: Waker,
}

impl Teller {
    pub(super) const fn new(sender: Sender<News>, waker: Waker) -> Self {
        Self { sender, waker }
    }

    /// Tells it; once the board has ended, the news is dropped.
    pub(super) fn tell(&self, news: News) {
        if self.sender.send(news).is_ok() {
            self.waker.wake();
        }
    }
}
