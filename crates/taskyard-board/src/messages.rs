//! The messages between the board's threads: requests to the threads that execute them, events to the thread that
//! draws.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::mpsc::Sender;

use taskyard::core::dialect::native::Unreadable;
use taskyard::core::render::escaping;
use taskyard::core::rules::leases::leasing::LeaseState;
use taskyard::core::rules::looking::query::Times;
use taskyard::core::view::{GraphPicture, JobRow, ListRow, Property, Step, Thread, TodosShown, WatchedList};
use taskyard::core::{Entry, Event, Job, JobId, Lease, ListId, MessageKey, Revision, Status, TaskId};
use taskyard::operations::{Gone, UndoRange};
use taskyard::process::Waker;
use taskyard::teams::TeamShown;

/// A write operation on a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WriteRequest {
    pub(crate) list: ListId,
    pub(crate) operation: Operation,
    /// Whether to override the leases and rules that people may override.
    pub(crate) is_forced: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create {
        /// The title, which may contain attributes.
        line: String,
        parent: Option<TaskId>,
    },
    Rename {
        task: TaskId,
        subject: String,
    },
    /// Sets a property to a value, parsed as on the command line.
    Set {
        tasks: Vec<TaskId>,
        property: Property,
        value: String,
    },
    Note {
        tasks: Vec<TaskId>,
        text: String,
    },
    Claim(Vec<TaskId>),
    Release(Vec<TaskId>),
    Assign {
        tasks: Vec<TaskId>,
        to: Option<String>,
    },
    Start(Vec<TaskId>),
    Done(Vec<TaskId>),
    Cancel(Vec<TaskId>),
    Reopen(Vec<TaskId>),
    Move {
        tasks: Vec<TaskId>,
        to: Status,
    },
    BlockedBy {
        tasks: Vec<TaskId>,
        on: TaskId,
    },
    Unblock {
        tasks: Vec<TaskId>,
        from: TaskId,
    },
    Delete(Vec<TaskId>),
    Restore,
    /// Reverts these ranges, one after the other.
    Undo(Vec<UndoRange>),
    StopJob(JobId),
    Send {
        to: String,
        text: String,
    },
    Acknowledge(Vec<MessageKey>),
}

/// A query about a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadRequest {
    pub(crate) list: ListId,
    pub(crate) resource: Resource,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Jobs,
    Output(JobId),
    /// The last lines of output of all agents' jobs.
    AgentOutputs,
    Team,
    /// The messages of the user, for the count in the header.
    Mail,
    /// The messages of the user, to be shown on the screen.
    ShownMail,
    Lists,
    /// When tasks were created and changed.
    Times,
    /// The todo lists of the agents that work here, by name.
    Todos(Vec<String>),
    /// The history before a revision, or the newest entries.
    History(Option<taskyard::core::Revision>),
    Page(TaskId),
    /// The dependency graph, with these tasks folded.
    Graph(Vec<TaskId>),
    /// What is gone from the list.
    Gone,
}

/// An event for the thread that draws.
#[derive(Debug)]
pub(crate) enum AppEvent {
    /// The current state of a list.
    Loaded(Box<Loaded>),
    /// Commits to the list.
    Commits(Vec<Event>),
    /// The leases of a list, and the tasks in progress whose sessions have ended.
    Leases(ListId, Vec<(Lease, LeaseState)>, BTreeSet<TaskId>),
    /// Something other than the tasks has changed.
    Invalidated(Invalidated),
    /// The list can no longer be followed, and why. Following is retried.
    Lost(ListId, String),
    /// The list can be followed again, and nothing was missed.
    Regained(ListId),
    Jobs(ListId, Vec<JobRow>),
    /// The last lines of a job's output.
    Output(JobId, Vec<String>),
    /// The last lines of output of the newest job of each agent of the list.
    AgentOutputs(ListId, Vec<AgentOutput>),
    /// The team of the list; `None` if it has none.
    Team(ListId, Option<Box<TeamShown>>),
    /// The messages of the user.
    Mail(ListId, Box<Mail>),
    Lists(Vec<ListRow>),
    /// The history of a list, newest first: the part before `before`, or the newest part.
    History {
        list: ListId,
        before: Option<Revision>,
        steps: Vec<Step>,
    },
    /// Details of a task beyond the task itself.
    Page(Box<PageFacts>),
    /// The dependency graph of a list.
    Graph(ListId, Box<GraphPicture>),
    /// When the tasks of a list were created and changed.
    Times(ListId, HashMap<TaskId, Times>),
    /// The todo lists with an item in progress, of the agents that work on a list.
    Todos(ListId, Vec<TodosShown>),
    /// What is gone from a list.
    Gone(ListId, Option<Gone>),
    /// Lines written by the command in the pane.
    PaneLines(Vec<String>),
    /// The command in the pane has ended.
    PaneEnded(PaneEnd),
    /// The answer to a write request.
    Answered(Box<Answer>),
}

/// The last lines of output of an agent's newest job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AgentOutput {
    pub(crate) agent: String,
    pub(crate) job: JobRow,
    pub(crate) lines: Vec<String>,
}

/// The current state of a list.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) list: ListId,
    pub(crate) watched: WatchedList,
    pub(crate) exists: bool,
    /// Set if no task file is left although no agent deleted the tasks.
    pub(crate) gone: Option<Gone>,
    /// Why task files cannot be read, keyed by task.
    pub(crate) unreadable: BTreeMap<TaskId, String>,
}

/// Formats the message that a task file cannot be read.
pub(super) fn cannot_be_read(file: &str, why: &Unreadable) -> String {
    format!("{} cannot be read: {}", escaping::one_line(file), escaping::one_line(&why.to_string()))
}

/// What has changed besides the tasks of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Invalidated {
    pub(crate) mail: bool,
    pub(crate) jobs: bool,
    pub(crate) team: bool,
}

/// The messages of the user.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    /// The user's name in the team of the list; `None` if the user is not in a team.
    pub(crate) name: Option<String>,
    /// The conversations, one per member.
    pub(crate) threads: Vec<Thread>,
    /// Why the messages cannot be read.
    pub(crate) problem: Option<String>,
}

impl Mail {
    /// Returns the number of unacknowledged messages.
    pub(crate) fn unread(&self) -> usize {
        self.threads.iter().map(Thread::unread).sum()
    }
}

/// Details of a task beyond the task itself.
#[derive(Debug)]
pub(crate) struct PageFacts {
    pub(crate) list: ListId,
    pub(crate) task: TaskId,
    pub(crate) made: Option<Entry>,
    /// Its newest journal entries, newest first.
    pub(crate) journal: Vec<Entry>,
    pub(crate) jobs: Vec<Job>,
}

/// The answer to a write request.
#[derive(Debug)]
pub(crate) struct Answer {
    /// A description of what was done, or why it was refused.
    pub(crate) answer: Result<String, Refused>,
    /// The revisions made by undos, which redo reverts.
    pub(crate) undone: Vec<Revision>,
    /// All revisions that the operation made.
    pub(crate) revisions: Vec<Revision>,
    /// The task that was created.
    pub(crate) made: Option<TaskId>,
    /// The operation that the user can repeat with force.
    pub(crate) forcible: Option<Operation>,
}

impl Answer {
    /// Returns the answer to an operation that changed nothing.
    pub(crate) fn without_changes() -> Self {
        Self { answer: Ok(String::new()), undone: Vec::new(), revisions: Vec::new(), made: None, forcible: None }
    }
}

/// How the command in the pane ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PaneEnd {
    Code(i32),
    /// Ended by a signal, or could not be started.
    Other(String),
}

/// Why an operation was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The machine-readable code of the refusal; empty if it has none.
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// What the user can do next.
    pub(crate) hint: Option<String>,
}

/// Sends events to the thread that draws.
#[derive(Clone, Debug)]
pub(super) struct EventSender {
    sender: Sender<AppEvent>,
    waker: Waker,
}

impl EventSender {
    pub(super) const fn new(sender: Sender<AppEvent>, waker: Waker) -> Self {
        Self { sender, waker }
    }

    /// Sends an event; it is dropped if the board has closed.
    pub(super) fn send(&self, news: AppEvent) {
        if self.sender.send(news).is_ok() {
            self.waker.wake();
        }
    }
}
