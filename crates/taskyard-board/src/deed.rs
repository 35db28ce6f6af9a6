//! What the board can have done: each is one operation of the library, or one for each of several tasks.

use taskyard::core::{JobId, ListId, MessageKey, Status, TaskId};
use taskyard::operations::UndoRange;

/// Something that is to be done on a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Deed {
    pub(crate) list: ListId,
    pub(crate) what: What,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Create {
        subject: String,
        parent: Option<TaskId>,
    },
    Rename {
        task: TaskId,
        subject: String,
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
    /// Takes these back, one after the other.
    Undo(Vec<UndoRange>),
    StopJob(JobId),
    Send {
        to: String,
        text: String,
    },
    Acknowledge(Vec<MessageKey>),
}

/// Something that is to be found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) list: ListId,
    pub(crate) about: About,
}

/// What is to be found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum About {
    Jobs,
    Output(JobId),
    Team,
    /// The messages of the user who looks, for a number in the header.
    Mail,
    /// The messages, which are then on the screen.
    ShownMail,
    Lists,
    /// When tasks were made and changed.
    Times,
    /// The todo lists of the agents that work here, by name.
    Todos(Vec<String>),
    /// What happened before a revision, or lately.
    History(Option<taskyard::core::Revision>),
    Page(TaskId),
    /// What waits for what, with these tasks folded.
    Graph(Vec<TaskId>),
    /// What is gone from the list.
    Gone,
}
