//! A list shown on a board, and the tasks that need the user's attention.

use std::collections::BTreeMap;

use crate::live::LiveList;
use crate::rules::claims::claiming::failed_attempts;
use crate::{Event, Revision, Status, Task, TaskId, Timestamp};

/// A list shown on a board. A follower that applies every commit in order has the contents of its files.
#[derive(Debug)]
pub struct WatchedList {
    live: LiveList,
    revision: Revision,
    /// The properties that may make a task need attention; only tasks that have any.
    notable: BTreeMap<TaskId, Notable>,
    /// Held-back commits that remove the tasks of a finished list.
    held_back: Vec<Event>,
}

/// The numbers of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The numbers of pending, in-progress and completed tasks, excluding internal ones.
    pub counts: [usize; 3],
    /// The number of tasks that can start now.
    pub ready: usize,
    /// The number of pending tasks that are blocked.
    pub blocked: usize,
}

impl Tally {
    /// Returns the number of tasks.
    pub fn total(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Returns the number of tasks with a status.
    pub const fn of(&self, status: Status) -> usize {
        self.counts[status as usize]
    }
}

impl WatchedList {
    /// Creates the view of a list at a revision.
    pub fn at(mut live: LiveList, revision: Revision, now: Timestamp) -> Self {
        live.judge(now);
        let notable = live.tasks().iter().filter_map(|task| Some((task.id.clone(), Notable::of(task)?))).collect();
        Self { live, revision, notable, held_back: Vec::new() }
    }

    /// Returns the list.
    pub const fn live(&self) -> &LiveList {
        &self.live
    }

    /// Returns the newest revision shown.
    #[cfg(test)]
    pub(crate) const fn revision(&self) -> Revision {
        self.revision
    }

    /// Applies a commit and returns the tasks it changed. Commits that are already shown are ignored.
    ///
    /// The client removes the files of a list five seconds after all its tasks are completed. A user who looked away
    /// should still see that the list was finished, so such a commit is held back until [`Self::let_go`] is called or
    /// another commit arrives.
    pub fn apply(&mut self, commit: Event, now: Timestamp) -> Vec<TaskId> {
        if commit.revision <= self.last_known() {
            return Vec::new();
        }
        if self.takes_what_is_finished(&commit) {
            self.held_back.push(commit);
            return Vec::new();
        }
        let mut changed = self.let_go(now);
        changed.extend(self.take_in(&commit));
        self.live.judge(now);
        changed
    }

    /// Returns whether a finished list is still shown although its tasks are gone.
    pub fn is_finished_and_gone(&self) -> bool {
        !self.held_back.is_empty()
    }

    /// Applies the held-back commits and returns the tasks that changed.
    pub fn let_go(&mut self, now: Timestamp) -> Vec<TaskId> {
        let commits = std::mem::take(&mut self.held_back);
        let changed = commits.iter().flat_map(|commit| self.take_in(commit)).collect();
        self.live.judge(now);
        changed
    }

    /// Updates the present moment: deferred tasks may become ready, due ones overdue.
    pub fn pass(&mut self, now: Timestamp) {
        self.live.judge(now);
    }

    /// Counts the tasks.
    pub fn tally(&self) -> Tally {
        let is_blocked = |(slot, outline): &(u32, crate::live::Outline)| {
            outline.status == Status::Pending && !outline.is_internal && self.live.is_held_up(*slot)
        };
        Tally {
            counts: self.live.counts(),
            ready: self.live.count_ready(),
            blocked: self.live.outlines().filter(is_blocked).count(),
        }
    }

    /// Returns the tasks that need attention at a moment.
    pub fn needs(&self, now: Timestamp) -> Vec<Need> {
        let need = |(task, notable): (&TaskId, &Notable)| Some(Need { task: task.clone(), kind: notable.need(now)? });
        self.notable.iter().filter_map(need).collect()
    }

    /// Returns when the next task becomes overdue or its deferral ends.
    pub fn next_need(&self, now: Timestamp) -> Option<Timestamp> {
        self.notable.values().filter_map(|notable| notable.next(now)).min()
    }

    fn last_known(&self) -> Revision {
        self.held_back.last().map_or(self.revision, |commit| commit.revision)
    }

    /// Returns whether a commit only removes tasks of a finished list and was made by another program.
    fn takes_what_is_finished(&self, commit: &Event) -> bool {
        let [pending, in_progress, completed] = self.live.counts();
        let only_removes = commit
            .entries
            .iter()
            .all(|entry| entry.op.is_elsewhere() && entry.after.is_none() && entry.before.is_some());
        pending + in_progress == 0 && completed > 0 && only_removes && !commit.entries.is_empty()
    }

    fn take_in(&mut self, commit: &Event) -> Vec<TaskId> {
        self.live.apply(commit);
        self.revision = commit.revision;
        for entry in &commit.entries {
            match self.live.task(&entry.task).as_ref().and_then(Notable::of) {
                Some(notable) => drop(self.notable.insert(entry.task.clone(), notable)),
                None => drop(self.notable.remove(&entry.task)),
            }
        }
        commit.entries.iter().map(|entry| entry.task.clone()).collect()
    }
}

/// A task that needs attention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The task.
    pub task: TaskId,
    /// The reason.
    pub kind: NeedKind,
}

/// Why a task needs attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeedKind {
    /// It is open and past its due date.
    Overdue,
    /// It has no owner, and this many attempts at it have failed.
    Failed(u64),
    /// It is in progress for a client session that has ended (`stale_owner`). This cannot be seen from the task
    /// itself.
    StaleOwner,
    /// Its file cannot be read, and the last known state is shown. This cannot be seen from the task itself.
    Unreadable,
}

impl NeedKind {
    /// Returns why a task needs attention at a moment, or `None` if it does not.
    pub fn of(task: &Task, now: Timestamp) -> Option<Self> {
        Notable::of(task)?.need(now)
    }

    /// Describes the reason in a few words.
    pub fn in_words(self) -> String {
        match self {
            Self::Overdue => "overdue".to_owned(),
            Self::Unreadable => "file cannot be read".to_owned(),
            Self::StaleOwner => "its session has ended".to_owned(),
            Self::Failed(1) => "failed once".to_owned(),
            Self::Failed(times) => format!("failed {times} times"),
        }
    }
}

/// The properties of a task that may make it need attention or delay its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Notable {
    due: Option<Timestamp>,
    defer: Option<Timestamp>,
    failures: u64,
}

impl Notable {
    /// Extracts the properties of a task, or returns `None` if it has none.
    pub(super) fn of(task: &Task) -> Option<Self> {
        if !task.status.is_open() || task.is_internal() {
            return None;
        }
        let failures = if task.status == Status::Pending { failed_attempts(task) } else { 0 };
        let (due, defer) = (task.due(), task.defer());
        (due.is_some() || defer.is_some() || failures > 0).then_some(Self { due, defer, failures })
    }

    /// Returns why the task needs attention at a moment.
    pub(super) fn need(&self, now: Timestamp) -> Option<NeedKind> {
        if self.due.is_some_and(|due| due < now) {
            return Some(NeedKind::Overdue);
        }
        (self.failures > 0).then_some(NeedKind::Failed(self.failures))
    }

    /// Returns when it next becomes overdue or its deferral ends.
    pub(super) fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let is_to_come = |moment: &Timestamp| *moment >= now;
        self.due.filter(is_to_come).into_iter().chain(self.defer.filter(is_to_come)).min()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::WatchedList;
    use crate::dialect::native;
    use crate::live::LiveList;
    use crate::view::NeedKind;
    use crate::{AgentName, Entry, Event, ListId, Op, Remark, Revision, Rules, Status, Task, TaskId, Timestamp};

    fn task(number: u64, status: Status) -> Task {
        Task { status, ..Task::new(TaskId::number(number), "x") }
    }

    fn commit(revision: u64, op: Op, before: Option<&Task>, after: Option<&Task>) -> Event {
        let image = |task: &Task| native::write(None, task, Rules::Strict).unwrap();
        let entry = Entry {
            revision: Revision(revision),
            at: Timestamp(0),
            actor: AgentName::new("ana").unwrap(),
            op,
            task: before.or(after).unwrap().id.clone(),
            before: before.map(image),
            after: after.map(image),
            undoes: Vec::new(),
            remark: Remark::default(),
            attempt: None,
            db_user: None,
        };
        Event { list: ListId::new("rocket").unwrap(), revision: Revision(revision), entries: vec![entry] }
    }

    #[test]
    fn each_commit_counts_once_and_says_what_it_changed() {
        let mut list = WatchedList::at(LiveList::new(Rules::Strict), Revision(3), Timestamp(0));
        let made = task(1, Status::Pending);
        assert!(list.apply(commit(3, Op::Create, None, Some(&made)), Timestamp(0)).is_empty());
        assert_eq!(list.apply(commit(4, Op::Create, None, Some(&made)), Timestamp(0)), [TaskId::number(1)]);
        assert_eq!((list.tally().ready, list.revision()), (1, Revision(4)));
    }

    #[test]
    fn finished_list_cleared_by_client_stays_until_seen() {
        let mut list = WatchedList::at(LiveList::new(Rules::Strict), Revision(0), Timestamp(0));
        let done = task(1, Status::Completed);
        list.apply(commit(1, Op::Create, None, Some(&done)), Timestamp(0));
        list.apply(commit(2, Op::RemovedElsewhere, Some(&done), None), Timestamp(0));
        assert!(list.is_finished_and_gone());
        assert_eq!(list.tally().counts, [0, 0, 1]);
        assert_eq!(list.let_go(Timestamp(0)), [TaskId::number(1)]);
        assert_eq!((list.tally().counts, list.revision()), ([0, 0, 0], Revision(2)));
    }

    #[test]
    fn finished_list_goes_when_something_new_comes_or_we_clear() {
        for op in [Op::Clear, Op::RemovedElsewhere] {
            let mut list = WatchedList::at(LiveList::new(Rules::Strict), Revision(0), Timestamp(0));
            let done = task(1, Status::Completed);
            list.apply(commit(1, Op::Create, None, Some(&done)), Timestamp(0));
            list.apply(commit(2, op, Some(&done), None), Timestamp(0));
            assert_eq!(list.is_finished_and_gone(), op == Op::RemovedElsewhere);
            list.apply(commit(3, Op::CreatedElsewhere, None, Some(&task(2, Status::Pending))), Timestamp(0));
            assert!(!list.is_finished_and_gone());
            assert_eq!(list.tally().counts, [1, 0, 0]);
        }
    }

    #[test]
    fn what_is_overdue_or_has_failed_needs_somebody_as_time_passes() {
        let mut list = WatchedList::at(LiveList::new(Rules::Strict), Revision(0), Timestamp(0));
        let mut due = task(1, Status::Pending);
        due.metadata = json!({"due": "1970-01-01T00:00:01Z"}).as_object().cloned();
        let mut failed = task(2, Status::Pending);
        failed.metadata = json!({"attempts": 2}).as_object().cloned();
        list.apply(commit(1, Op::Create, None, Some(&due)), Timestamp(0));
        list.apply(commit(2, Op::Create, None, Some(&failed)), Timestamp(0));
        let kinds = |list: &WatchedList, now| -> Vec<NeedKind> {
            list.needs(Timestamp(now)).into_iter().map(|need| need.kind).collect()
        };
        assert_eq!(kinds(&list, 0), [NeedKind::Failed(2)]);
        assert_eq!(list.next_need(Timestamp(0)), Some(Timestamp(1000)));
        assert_eq!(kinds(&list, 2000), [NeedKind::Overdue, NeedKind::Failed(2)]);
        let closed = Task { status: Status::Completed, ..due.clone() };
        list.apply(commit(3, Op::Update, Some(&due), Some(&closed)), Timestamp(0));
        assert_eq!(kinds(&list, 2000), [NeedKind::Failed(2)]);
    }
}
