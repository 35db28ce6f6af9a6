//! The kinds of defects there are.

use std::fmt;

/// The kinds of defects `doctor` tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
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
    /// The id written in a file is not the file's name.
    IdMismatch,
    /// The id written in a file is that of another task.
    DuplicateId,
    /// A task is a part of one that does not exist.
    OrphanParent,
    /// Tasks are parts of each other in a circle.
    ParentCycle,
    /// An agent owns an open task, has no lease on it and shows no life.
    StaleOwner,
    /// A file that is nearly a task, and that the client takes for none.
    Invisible,
    /// Something among the tasks cannot be read as one.
    Unreadable,
    /// A lock whose holder is gone.
    StaleLock,
    /// Something in the place of a lock that would last for ever.
    LockInTheWay,
    /// A temporary file that no process needs.
    Leftover,
    /// A `.highwatermark` that holds no number, or one that is too large.
    BadMark,
    /// A `.highwatermark` below a number that was used.
    MarkTooLow,
    /// The number of a task is too large to count on from.
    NumberTooLarge,
    /// Another program removed every task of the list.
    EmptiedList,
    /// An open task that is not there, though no agent deleted it on purpose.
    MissingTask,
    /// A write of another program took back what was acknowledged since it read.
    TakenBack,
    /// Another program put a different task in the place of an open one.
    ReplacedTask,
    /// The journal of the list no longer holds what was written to it.
    JournalDamaged,
    /// Revisions that are not in the journal of a shared store, though later ones are.
    HistoryGap,
    /// A change in the journal of a shared store that was made on another state than the one before it.
    HistoryMismatch,
    /// A shared store that went back to an earlier state, or was taken over by another server.
    WentBack,
    /// A move between this list and another that could not be finished on both.
    UnfinishedMove,
    /// A newer Taskyard wrote our memory of the list, of this machine or of teams, or a newer program a file of tasks.
    NewerFormat,
    /// The journal of the list is larger than it may get.
    LargeJournal,
    /// Our memory of lists that are gone.
    GoneLists,
    /// The wall clock has moved by more than a month, or back, and nothing is tidied until that is confirmed.
    ClockInDoubt,
    /// The kernel watches nearly as much for this user as it will.
    FewWatches,
    /// A job that is recorded as living, and whose process is gone.
    JobWithoutProcess,
    /// A member of a team whose process is gone.
    MemberWithoutProcess,
    /// An inbox that cannot be read.
    TornInbox,
    /// The file of a team that cannot be read.
    TornTeamFile,
    /// An open task without a text for the time in which it is in progress.
    NoActiveForm,
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
            Self::IdMismatch => "id_mismatch",
            Self::DuplicateId => "duplicate_id",
            Self::OrphanParent => "orphan_parent",
            Self::ParentCycle => "parent_cycle",
            Self::StaleOwner => "stale_owner",
            Self::Invisible => "invisible_task",
            Self::Unreadable => "unreadable",
            Self::StaleLock => "stale_lock",
            Self::LockInTheWay => "lock_in_the_way",
            Self::Leftover => "leftover",
            Self::BadMark => "bad_mark",
            Self::MarkTooLow => "mark_too_low",
            Self::NumberTooLarge => "number_too_large",
            Self::EmptiedList => "emptied_list",
            Self::MissingTask => "missing_task",
            Self::TakenBack => "taken_back",
            Self::ReplacedTask => "replaced_task",
            Self::JournalDamaged => "journal_damaged",
            Self::HistoryGap => "history_gap",
            Self::HistoryMismatch => "history_mismatch",
            Self::WentBack => "database_went_back",
            Self::UnfinishedMove => "unfinished_move",
            Self::NewerFormat => "newer_format",
            Self::LargeJournal => "journal_too_large",
            Self::GoneLists => "gone_lists",
            Self::ClockInDoubt => "clock_in_doubt",
            Self::FewWatches => "inotify_near_limit",
            Self::JobWithoutProcess => "job_without_process",
            Self::MemberWithoutProcess => "member_without_process",
            Self::TornInbox => "torn_inbox",
            Self::TornTeamFile => "torn_team_file",
            Self::NoActiveForm => "no_active_form",
        }
    }

    /// Tells whether nothing is wrong yet: it is worth knowing, and not by itself a reason to mend anything.
    pub const fn is_warning(self) -> bool {
        matches!(
            self,
            Self::LargeJournal
                | Self::GoneLists
                | Self::ClockInDoubt
                | Self::FewWatches
                | Self::WentBack
                | Self::NoActiveForm
        )
    }

    /// Says what comes of such a defect when it is not mended.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::OneSidedEdge => {
                "one task shows a dependency that the other does not; deleting or completing one misses it"
            }
            Self::DanglingEdge => "the client shows the task as blocked for ever, or as blocking nobody knows what",
            Self::SelfEdge => "the client never hands the task out: it waits for itself",
            Self::DoubleEdge => "the dependency is shown more than once",
            Self::Cycle => "none of these tasks can ever start",
            Self::IdMismatch => "the client lists it under the one id and finds it under the other",
            Self::DuplicateId => "the client lists two tasks under one id, and only one of them can be reached by it",
            Self::OrphanParent => "it is shown as a part of something that is not there",
            Self::ParentCycle => "none of these tasks has a place in the tree",
            Self::StaleOwner => "nobody else can take it, and nothing brings it back",
            Self::Invisible => "the client takes it for absent: no list shows it, no call finds it",
            Self::Unreadable => "no program sees a task in it",
            Self::StaleLock => "the client waits for it before it takes it over, or gives up",
            Self::LockInTheWay => "by the client's rules it never ends: every program waits for it and gives up",
            Self::Leftover => "it takes up space; the process that wrote it died",
            Self::BadMark => "the client takes it for zero or cannot count on from it, and may give out a number again",
            Self::MarkTooLow => "the client would give a used number to a new task",
            Self::NumberTooLarge => {
                "the client counts on from it and arrives at the same number: it writes a new task over this one"
            }
            Self::EmptiedList => "the tasks are gone from the list and still in the journal",
            Self::MissingTask => "the task is gone from the list and still in the journal; nobody works on it",
            Self::TakenBack => {
                "the other program wrote the whole file from what it had read before; the agent that made the change was told that it holds"
            }
            Self::ReplacedTask => {
                "the task is gone from the list and still in the journal; what names its number means another"
            }
            Self::JournalDamaged => "history, restore and undo cannot be relied on; the task files are not affected",
            Self::HistoryGap => {
                "these commits are lost; compare the tasks with what the agents report, and repeat what is missing"
            }
            Self::HistoryMismatch => {
                "a change was lost, or made on a state that was; see `taskyard history ID`, and set the task right by hand"
            }
            Self::WentBack => {
                "changes that were acknowledged shortly before may be lost; let the agents look at their tasks again"
            }
            Self::UnfinishedMove => {
                "tasks may be in both lists; no command changes the list that they leave before it is decided"
            }
            Self::NewerFormat => "this taskyard neither reads nor writes that file, so that nothing in it is lost",
            Self::LargeJournal => "it takes up space; `taskyard gc` thins what is old",
            Self::GoneLists => {
                "they take up space, and `taskyard restore` can bring their tasks back; `taskyard gc` lets go of what is old"
            }
            Self::ClockInDoubt => {
                "old history is not tidied up until the clock is right again, or someone vouches for it with `taskyard gc`"
            }
            Self::FewWatches => {
                "what begins to watch a list past the limit is not told of changes, and looks once a second instead"
            }
            Self::JobWithoutProcess => "it reads as running, and nothing runs",
            Self::NoActiveForm => {
                "the client shows the title while it is in progress, and some tools take the task for none"
            }
            Self::TornInbox => "nobody can write to its owner, and the owner reads nothing",
            Self::TornTeamFile => "as far as anybody can tell there is no such team, and its members are in none",
            Self::MemberWithoutProcess => {
                "messages to it reach no process, and its tasks wait for a member that is gone"
            }
        }
    }
}

impl fmt::Display for FindingCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
