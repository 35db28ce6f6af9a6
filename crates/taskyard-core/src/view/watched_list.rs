//! A list that a board watches: read once, then moved on by its commits.

use std::collections::BTreeMap;

use super::needs::{Need, Notable};
use crate::live::LiveList;
use crate::{Event, Revision, Status, TaskId, Timestamp};

/// A list that a board watches. A follower that moves it on with each of its commits, in order, has what is in its files.
#[derive(Debug)]
pub struct WatchedList {
    live: LiveList,
    revision: Revision,
    /// What may make tasks need a person, of those of which there is such a thing.
    notable: BTreeMap<TaskId, Notable>,
    /// Commits that would take a list that is finished from the user who looks at it.
    held_back: Vec<Event>,
}

/// A list in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many tasks are pending, in progress and completed, internal ones left out.
    pub counts: [usize; 3],
    /// How many can start now.
    pub ready: usize,
    /// How many that are pending wait for others.
    pub blocked: usize,
}

impl Tally {
    /// Returns how many tasks there are.
    pub fn total(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Returns how many tasks are in a state.
    pub const fn of(&self, status: Status) -> usize {
        self.counts[status as usize]
    }
}

impl WatchedList {
    /// Begins with a list as it was at a revision.
    pub fn at(mut live: LiveList, revision: Revision, now: Timestamp) -> Self {
        live.judge(now);
        let notable = live.tasks().iter().filter_map(|task| Some((task.id.clone(), Notable::of(task)?))).collect();
        Self { live, revision, notable, held_back: Vec::new() }
    }

    /// Returns the list.
    pub const fn live(&self) -> &LiveList {
        &self.live
    }

    /// Returns the newest revision it shows.
    #[cfg(test)]
    pub(crate) const fn revision(&self) -> Revision {
        self.revision
    }

    /// Moves the list on by a commit and returns the tasks that it changed. What it shows already is passed over.
    ///
    /// The client removes the files of a list five seconds after all of it is completed. A user who looked away for as
    /// long wants to see that it was finished: such a commit waits until [`Self::let_go`] is called or something new
    /// comes.
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

    /// Tells whether the list was finished and is shown though its tasks are gone.
    pub fn is_finished_and_gone(&self) -> bool {
        !self.held_back.is_empty()
    }

    /// Shows what there is now, where a finished list was kept in view. Returns the tasks that changed.
    pub fn let_go(&mut self, now: Timestamp) -> Vec<TaskId> {
        let commits = std::mem::take(&mut self.held_back);
        let changed = commits.iter().flat_map(|commit| self.take_in(commit)).collect();
        self.live.judge(now);
        changed
    }

    /// Lets time pass: what was deferred may start, what was due is overdue.
    pub fn pass(&mut self, now: Timestamp) {
        self.live.judge(now);
    }

    /// Counts what there is.
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

    /// Returns what needs a person at a moment, by task.
    pub fn needs(&self, now: Timestamp) -> Vec<Need> {
        let need = |(task, notable): (&TaskId, &Notable)| Some(Need { task: task.clone(), kind: notable.need(now)? });
        self.notable.iter().filter_map(need).collect()
    }

    /// Returns when the next task stands otherwise because time passes: it is overdue, or may start.
    pub fn next_need(&self, now: Timestamp) -> Option<Timestamp> {
        self.notable.values().filter_map(|notable| notable.next(now)).min()
    }

    fn last_known(&self) -> Revision {
        self.held_back.last().map_or(self.revision, |commit| commit.revision)
    }

    /// Tells whether a commit does nothing but remove tasks of a list of which none is open, and no process of ours meant it.
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
    fn a_finished_list_that_the_client_clears_stays_in_view_until_somebody_has_seen_it() {
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
    fn a_finished_list_goes_at_once_when_something_new_comes_or_one_of_us_clears_it() {
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
