//! The tasks a change has to do with: each read once, and written once at the end.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use taskyard_core::live::LiveList;
use taskyard_core::rules::graph::circles::{Surroundings, find_circle, find_circle_around};
use taskyard_core::rules::graph::dependencies::Edge;
use taskyard_core::rules::graph::parts::{Named, blockers_above, with_those_above};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Rules, Task, TaskId};

use super::halt::Halt;
use crate::store::{Lookup, StoreError, Txn};

/// What a transaction has read so far, with the changes made to it.
pub(super) struct Workbench<'a> {
    txn: &'a mut dyn Txn,
    pieces: HashMap<TaskId, Piece>,
    changed: BTreeSet<TaskId>,
    /// The tasks found tied to each task that was asked for: finding them takes a look at the whole list.
    tied: HashMap<TaskId, BTreeSet<TaskId>>,
    /// Which of them must not be there yet.
    new: BTreeSet<TaskId>,
    /// What the transaction had staged before: the list in memory does not show it.
    staged: BTreeSet<TaskId>,
    /// The ties of all tasks, where a caller asks about many and nothing has changed since.
    all: Option<AllTies>,
}

/// Which tasks wait for each task, and which parts each has, by rising number.
#[derive(Clone)]
struct AllTies {
    waiting: Rc<HashMap<TaskId, Vec<TaskId>>>,
    parts: Rc<HashMap<TaskId, Vec<TaskId>>>,
}

/// What stands under an id.
enum Piece {
    Task(Box<Task>),
    /// A task as the list in memory has it: enough to judge others by, and read again before it is changed.
    Glimpsed(Box<Task>),
    Missing,
    Unreadable(Refusal),
}

/// Which tasks wait for a task, and which task is a part of which.
#[derive(Default)]
pub(super) struct Ties {
    /// The tasks that wait for the one that was asked for, by rising number.
    pub(super) waiting: Vec<TaskId>,
    /// The parts of every task that has some, by rising number.
    parts: Rc<HashMap<TaskId, Vec<TaskId>>>,
}

impl Ties {
    /// Returns the parts of a task.
    pub(super) fn parts_of(&self, task: &TaskId) -> &[TaskId] {
        self.parts.get(task).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the parts of tasks, and theirs.
    pub(super) fn all_below<'t>(&'t self, mut pending: Vec<&'t TaskId>) -> BTreeSet<TaskId> {
        let mut below = BTreeSet::new();
        while let Some(above) = pending.pop() {
            // Foreign files may hold parts of each other.
            pending.extend(self.parts_of(above).iter().filter(|part| below.insert((*part).clone())));
        }
        below
    }
}

impl<'a> Workbench<'a> {
    pub(super) fn on(txn: &'a mut dyn Txn) -> Self {
        let staged = txn.staged().into_iter().collect();
        let (pieces, changed, tied, new) = Default::default();
        Self { txn, pieces, changed, tied, new, staged, all: None }
    }

    /// Looks at the whole list once, for a caller that asks about the ties of many tasks before anything changes again.
    pub(super) fn look_at_all(&mut self) -> Result<(), StoreError> {
        self.take_up_staged()?;
        let mut tasks = self.with_changes(self.txn.tasks()?);
        tasks.sort_by(|one, two| one.id.cmp(&two.id));
        let (mut waiting, mut parts): (HashMap<_, Vec<_>>, HashMap<_, Vec<_>>) = Default::default();
        for task in tasks {
            if let Some(parent) = task.parent().filter(|parent| *parent != task.id) {
                parts.entry(parent).or_default().push(task.id.clone());
            }
            let blockers: BTreeSet<&TaskId> = task.blocked_by.iter().collect();
            for blocker in blockers {
                waiting.entry(blocker.clone()).or_default().push(task.id.clone());
            }
            self.pieces.entry(task.id.clone()).or_insert_with(|| Piece::Glimpsed(Box::new(task)));
        }
        self.all = Some(AllTies { waiting: Rc::new(waiting), parts: Rc::new(parts) });
        Ok(())
    }

    /// Returns a task, where there is one. What cannot be read counts as absent.
    pub(super) fn find(&mut self, id: &TaskId) -> Result<Option<&Task>, StoreError> {
        match self.piece(id)? {
            Piece::Task(task) | Piece::Glimpsed(task) => Ok(Some(task)),
            Piece::Missing | Piece::Unreadable(_) => Ok(None),
        }
    }

    /// Returns a task that must be there, or refuses with what `missing` says.
    pub(super) fn demand(&mut self, id: &TaskId, missing: impl FnOnce() -> Refusal) -> Result<&Task, Halt> {
        match self.piece_to_change(id)? {
            Piece::Task(task) | Piece::Glimpsed(task) => Ok(task),
            Piece::Missing => Err(missing().into()),
            Piece::Unreadable(refusal) => Err(refusal.clone().into()),
        }
    }

    /// Returns the tasks a task waits for that are there and still open, in strict rules also through those it is a part of.
    pub(super) fn open_blockers(&mut self, task: &Task, rules: Rules) -> Result<Vec<TaskId>, StoreError> {
        let open = self.own_open_blockers(task)?;
        let above = if rules.is_client() { Vec::new() } else { blockers_above(task, |id| self.named(id))? };
        Ok(with_those_above(open, above))
    }

    /// Returns the tasks a task itself waits for that are there and still open.
    pub(super) fn own_open_blockers(&mut self, task: &Task) -> Result<Vec<TaskId>, StoreError> {
        let mut open = Vec::new();
        for id in &task.blocked_by {
            let is_open = match self.piece(id)? {
                Piece::Task(task) | Piece::Glimpsed(task) => task.status.is_open(),
                Piece::Missing => self.txn.counts_missing(),
                Piece::Unreadable(_) => false,
            };
            if is_open {
                open.push(id.clone());
            }
        }
        Ok(open)
    }

    /// Returns what stands under an id that another task names.
    pub(super) fn named(&mut self, id: &TaskId) -> Result<Named, StoreError> {
        let missing = Named::Absent { holds_up: self.txn.counts_missing() };
        Ok(match self.piece(id)? {
            Piece::Task(task) | Piece::Glimpsed(task) => Named::Task(task.clone()),
            Piece::Missing => missing,
            Piece::Unreadable(_) => Named::Absent { holds_up: false },
        })
    }

    /// Returns the tasks that wait for a task and all parts of tasks, as they were found, with the changes made to them.
    pub(super) fn ties(&mut self, blocker: &TaskId) -> Result<Ties, StoreError> {
        if let Some(AllTies { waiting, parts }) = &self.all {
            let waiting = waiting.get(blocker).cloned().unwrap_or_default();
            return Ok(Ties { waiting, parts: Rc::clone(parts) });
        }
        if !self.tied.contains_key(blocker) {
            self.take_up_staged()?;
            let found = match self.tied_in_memory(blocker)? {
                Some(found) => found,
                None => self.txn.waiting_for_or_parts(blocker)?,
            };
            let ids = found.iter().map(|task| task.id.clone()).collect();
            for task in found {
                // What is on the bench already may have changed there.
                self.pieces.entry(task.id.clone()).or_insert_with(|| Piece::Glimpsed(Box::new(task)));
            }
            self.tied.insert(blocker.clone(), ids);
        }
        let (mut waiting, mut parts): (Vec<TaskId>, HashMap<TaskId, Vec<TaskId>>) = Default::default();
        let ids: BTreeSet<TaskId> = self.changed.union(&self.tied[blocker]).cloned().collect();
        for id in ids {
            let Some(Piece::Task(task) | Piece::Glimpsed(task)) = self.pieces.get(&id) else { continue };
            if let Some(parent) = task.parent().filter(|parent| *parent != id) {
                parts.entry(parent).or_default().push(id.clone());
            }
            if task.blocked_by.contains(blocker) {
                waiting.push(id);
            }
        }
        Ok(Ties { waiting, parts: Rc::new(parts) })
    }

    /// Returns the tasks that wait for a task, and the parts of all that its completion may set free, where the list is in memory.
    fn tied_in_memory(&self, blocker: &TaskId) -> Result<Option<Vec<Task>>, StoreError> {
        let Some(live) = self.txn.live()? else { return Ok(None) };
        let waiting = live.waiting_for(blocker);
        let mut found: BTreeSet<TaskId> = waiting.iter().chain(&self.staged).cloned().collect();
        let mut above: Vec<TaskId> = waiting;
        above.push(blocker.clone());
        while let Some(next) = above.pop() {
            above.extend(live.parts_of(&next).into_iter().filter(|part| found.insert(part.clone())));
        }
        // The last open part of a task sets it free.
        let parent = match self.pieces.get(blocker) {
            Some(Piece::Task(task) | Piece::Glimpsed(task)) => task.parent(),
            Some(Piece::Missing | Piece::Unreadable(_)) | None => live.parent(blocker),
        };
        found.extend(parent.iter().flat_map(|parent| live.open_parts(parent)));
        Ok(Some(found.iter().filter_map(|id| live.task(id)).collect()))
    }

    /// Returns a circle that edges and parts close which are on the bench.
    pub(super) fn find_circle(&mut self, edges: &[Edge], parts: &[TaskId]) -> Result<Option<Vec<TaskId>>, StoreError> {
        self.take_up_staged()?;
        if let Some(live) = self.txn.live()? {
            return Ok(find_circle_around(&WithChanges::of(&live, self), edges, parts));
        }
        let ends = edges.iter().flat_map(|edge| [&edge.task, &edge.on]).chain(parts).cloned();
        let mut near: BTreeSet<TaskId> = ends.collect();
        for id in self.changed.union(&self.staged) {
            let Some(Piece::Task(task) | Piece::Glimpsed(task)) = self.pieces.get(id) else { continue };
            near.extend([&task.blocked_by, &task.blocks].into_iter().flatten().chain([id]).cloned());
            near.extend(task.parent());
        }
        let connected = self.txn.connected(&near.into_iter().collect::<Vec<_>>())?;
        Ok(find_circle(&self.with_changes(connected), edges, parts))
    }

    /// Puts on the bench what was staged before.
    fn take_up_staged(&mut self) -> Result<(), StoreError> {
        for id in self.staged.clone() {
            self.piece(&id)?;
        }
        Ok(())
    }

    /// Returns tasks with the changes made to them, and all others that were changed.
    fn with_changes(&self, mut tasks: Vec<Task>) -> Vec<Task> {
        tasks.retain(|task| !self.changed.contains(&task.id));
        let changed = self.changed.iter().filter_map(|id| match self.pieces.get(id) {
            Some(Piece::Task(task) | Piece::Glimpsed(task)) => Some((**task).clone()),
            Some(Piece::Missing | Piece::Unreadable(_)) | None => None,
        });
        tasks.extend(changed);
        tasks
    }

    /// Tells whether new edges and parts may close a circle. Those of one new task cannot, where they lead to it or away from it
    /// alone, or make it a part and nothing else.
    pub(super) fn may_close_circle(&self, edges: &[Edge], parts: &[TaskId]) -> bool {
        let Some(new) = self.new.first().filter(|_| self.new.len() == 1) else { return true };
        let (waits, blocks) = (edges.iter().any(|edge| edge.task == *new), edges.iter().any(|edge| edge.on == *new));
        usize::from(waits) + usize::from(blocks) + usize::from(!parts.is_empty()) > 1
    }

    /// Puts a new task on the bench.
    pub(super) fn put_new(&mut self, task: Task) {
        self.all = None;
        self.changed.insert(task.id.clone());
        self.new.insert(task.id.clone());
        self.pieces.insert(task.id.clone(), Piece::Task(Box::new(task)));
    }

    /// Changes a task that is there; one that is not stays away.
    pub(super) fn change(&mut self, id: &TaskId, change: impl FnOnce(&mut Task)) -> Result<(), StoreError> {
        let Piece::Task(task) = self.piece_to_change(id)? else { return Ok(()) };
        let before = task.clone();
        change(task);
        if *task != before {
            self.changed.insert(id.clone());
            self.all = None;
        }
        Ok(())
    }

    /// Stages everything that was changed.
    pub(super) fn stage(mut self) -> Result<(), StoreError> {
        for id in &self.changed {
            match self.pieces.remove(id) {
                Some(Piece::Task(task)) if self.new.contains(id) => self.txn.put_new(*task)?,
                Some(Piece::Task(task)) => self.txn.put(*task)?,
                Some(Piece::Glimpsed(_) | Piece::Missing | Piece::Unreadable(_)) | None => {}
            }
        }
        Ok(())
    }

    /// Returns what stands under an id, as its file has it.
    fn piece_to_change(&mut self, id: &TaskId) -> Result<&mut Piece, StoreError> {
        if matches!(self.pieces.get(id), Some(Piece::Glimpsed(_))) {
            self.pieces.remove(id);
        }
        self.piece(id)
    }

    fn piece(&mut self, id: &TaskId) -> Result<&mut Piece, StoreError> {
        match self.pieces.entry(id.clone()) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(place) => Ok(place.insert(match self.txn.find(id)? {
                Lookup::Found(task, _) => Piece::Task(task),
                Lookup::Missing => Piece::Missing,
                Lookup::Unreadable(problem) => Piece::Unreadable(problem.into_refusal()),
            })),
        }
    }
}

/// The list in memory with the changes made on a bench.
struct WithChanges<'a, 'b> {
    live: &'a LiveList,
    bench: &'a Workbench<'b>,
    /// The changed tasks that are parts of others, by rising number.
    parts: HashMap<TaskId, Vec<TaskId>>,
}

impl<'a, 'b> WithChanges<'a, 'b> {
    fn of(live: &'a LiveList, bench: &'a Workbench<'b>) -> Self {
        let mut all = Self { live, bench, parts: HashMap::new() };
        let changed: BTreeSet<&TaskId> = bench.changed.union(&bench.staged).collect();
        for id in changed {
            if let Some(parent) = all.changed(id).flatten().and_then(Task::parent) {
                all.parts.entry(parent).or_default().push(id.clone());
            }
        }
        all
    }

    /// Returns what becomes of a task; none where nothing does.
    fn changed(&self, id: &TaskId) -> Option<Option<&Task>> {
        let is_changed = self.bench.changed.contains(id) || self.bench.staged.contains(id);
        Some(match self.bench.pieces.get(id).filter(|_| is_changed)? {
            Piece::Task(task) | Piece::Glimpsed(task) => Some(task),
            Piece::Missing | Piece::Unreadable(_) => None,
        })
    }

    fn is_there(&self, id: &TaskId) -> bool {
        self.changed(id).map_or_else(|| self.live.contains(id), |task| task.is_some())
    }
}

impl Surroundings for WithChanges<'_, '_> {
    fn waits_for(&self, task: &TaskId) -> Vec<TaskId> {
        let mut ids = match self.changed(task) {
            Some(task) => task.map(|task| task.blocked_by.clone()).unwrap_or_default(),
            None => self.live.waits_for(task),
        };
        ids.retain(|id| self.is_there(id));
        ids
    }

    fn parent(&self, task: &TaskId) -> Option<TaskId> {
        let parent = self.changed(task).map_or_else(|| self.live.parent(task), |task| task.and_then(Task::parent));
        parent.filter(|parent| self.is_there(parent))
    }

    fn parts(&self, task: &TaskId) -> Vec<TaskId> {
        let mut parts = self.live.parts_of(task);
        parts.retain(|part| self.changed(part).is_none());
        parts.extend(self.parts.get(task).into_iter().flatten().cloned());
        parts
    }
}
