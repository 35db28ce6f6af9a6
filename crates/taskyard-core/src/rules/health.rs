//! What is wrong with a list's tasks, and how it can be mended.

use std::fmt;

use crate::TaskId;

/// The kinds of defects `doctor` tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FindingCode {
    /// One end of an edge knows of it and the other does not.
    OneSidedEdge,
    /// An edge leads to a task that does not exist.
    DanglingEdge,
    /// A task waits for itself.
    SelfEdge,
    /// One id stands several times in an edge array.
    DoubleEdge,
    /// Tasks wait for each other in a circle.
    Cycle,
    /// Something among the tasks cannot be read as one.
    Unreadable,
    /// The id written in a file is not the file's name.
    IdMismatch,
    /// A task is a part of one that does not exist.
    OrphanParent,
    /// Tasks are parts of each other in a circle.
    ParentCycle,
    /// A lock whose holder is gone.
    StaleLock,
    /// A temporary file nobody needs.
    Leftover,
    /// A `.highwatermark` that holds no number.
    BadMark,
}

impl FindingCode {
    /// Returns the word in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OneSidedEdge => "one_sided_edge",
            Self::DanglingEdge => "dangling_edge",
            Self::SelfEdge => "self_edge",
            Self::DoubleEdge => "double_edge",
            Self::Cycle => "cycle",
            Self::Unreadable => "unreadable",
            Self::IdMismatch => "id_mismatch",
            Self::OrphanParent => "orphan_parent",
            Self::ParentCycle => "parent_cycle",
            Self::StaleLock => "stale_lock",
            Self::Leftover => "leftover",
            Self::BadMark => "bad_mark",
        }
    }
}

impl fmt::Display for FindingCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// How a defect of one task can be mended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mend {
    /// An id is added to the tasks that wait for this one.
    AddBlocks {
        /// The task to change.
        task: TaskId,
        /// The task that waits for it.
        id: TaskId,
    },
    /// An id is added to the tasks this one waits for.
    AddBlockedBy {
        /// The task to change.
        task: TaskId,
        /// The task it waits for.
        id: TaskId,
    },
    /// An id is taken out of the tasks that wait for this one.
    RemoveBlocks {
        /// The task to change.
        task: TaskId,
        /// The id that goes.
        id: TaskId,
    },
    /// An id is taken out of the tasks this one waits for.
    RemoveBlockedBy {
        /// The task to change.
        task: TaskId,
        /// The id that goes.
        id: TaskId,
    },
    /// Ids that stand twice in an edge array stand once.
    Deduplicate {
        /// The task to change.
        task: TaskId,
    },
    /// An edge is taken away at both ends.
    Disconnect {
        /// The task that waits.
        task: TaskId,
        /// The task it waits for.
        on: TaskId,
    },
    /// The id in the file becomes the file's name.
    RewriteId {
        /// The task to change.
        task: TaskId,
    },
    /// The task is no longer a part of another.
    ForgetParent {
        /// The task to change.
        task: TaskId,
    },
}

impl Mend {
    /// Says in words what would be done.
    pub fn describe(&self) -> String {
        match self {
            Self::AddBlocks { task, id } => format!("add {id} to the blocks of {task}"),
            Self::AddBlockedBy { task, id } => format!("add {id} to the blockedBy of {task}"),
            Self::RemoveBlocks { task, id } => format!("take {id} out of the blocks of {task}"),
            Self::RemoveBlockedBy { task, id } => format!("take {id} out of the blockedBy of {task}"),
            Self::Deduplicate { task } => format!("name each task once in the edges of {task}"),
            Self::Disconnect { task, on } => format!("let {task} no longer wait for {on}"),
            Self::RewriteId { task } => format!("write {task} as the id into its file"),
            Self::ForgetParent { task } => format!("take the parent out of the metadata of {task}"),
        }
    }
}
