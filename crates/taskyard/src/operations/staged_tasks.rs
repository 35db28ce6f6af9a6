//! The tasks that a change touches. Each is read once, and written once at the end.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::time::Duration;

use serde_json::Value;
use taskyard_core::dialect::macf::{BadBlock, Kind};
use taskyard_core::dialect::native::as_written_in;
use taskyard_core::live::LiveList;
use taskyard_core::rules::changes::patching::{Field, OwnerChange, Patch, TagChange};
use taskyard_core::rules::changes::transitions::outdates_cancellation;
use taskyard_core::rules::graph::circles::{Surroundings, find_circle, find_circle_around};
use taskyard_core::rules::graph::dependencies::Edge;
use taskyard_core::rules::graph::parts::{Named, blockers_above, with_those_above};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Event, Image, Lease, Op, Revision, Rules, Status, Task, TaskId};

use crate::operations::outcome::Halt;
use crate::store::{Lookup, Signature, Snapshot, StoreError, Txn};
use crate::teams::Seat;

/// The tasks read in a transaction so far, with the changes made to them.
pub(super) struct Workbench<'a> {
    txn: &'a mut dyn Txn,
    pieces: HashMap<TaskId, Piece>,
    changed: BTreeSet<TaskId>,
    /// The ties found for each task that was asked for. Finding them requires reading the whole list.
    tied: HashMap<TaskId, BTreeSet<TaskId>>,
    /// The changed tasks that must not exist yet.
    new: BTreeSet<TaskId>,
    /// What the transaction had staged before. The list in memory does not include it.
    staged: BTreeSet<TaskId>,
    /// The ties of all tasks, if a caller asks about many and nothing has changed since.
    all: Option<AllTies>,
}

/// The dependents and the parts of each task, by ascending number.
#[derive(Clone)]
struct AllTies {
    waiting: Rc<HashMap<TaskId, Vec<TaskId>>>,
    parts: Rc<HashMap<TaskId, Vec<TaskId>>>,
}

/// The state of one id.
enum Piece {
    Task(Box<Task>),
    /// A task as the list in memory has it. Good enough to judge other tasks by; read again before it is changed.
    Glimpsed(Box<Task>),
    Missing,
    Unreadable(Refusal),
}

/// The dependents of a task, and the parts of all tasks.
#[derive(Default)]
pub(super) struct Ties {
    /// The tasks blocked by the requested one, by ascending number.
    pub(super) waiting: Vec<TaskId>,
    /// The parts of every task that has any, by ascending number.
    parts: Rc<HashMap<TaskId, Vec<TaskId>>>,
}

impl Ties {
    pub(super) fn parts_of(&self, task: &TaskId) -> &[TaskId] {
        self.parts.get(task).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the parts of the given tasks, recursively.
    pub(super) fn all_below<'t>(&'t self, mut pending: Vec<&'t TaskId>) -> BTreeSet<TaskId> {
        let mut below = BTreeSet::new();
        while let Some(above) = pending.pop() {
            // Files written by other programs may contain cycles of parts.
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

    /// Reads the whole list once, for a caller that asks for the ties of many tasks before the next change.
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

    /// Returns a task, or `None` if it is missing or unreadable.
    pub(super) fn find(&mut self, id: &TaskId) -> Result<Option<&Task>, StoreError> {
        match self.piece(id)? {
            Piece::Task(task) | Piece::Glimpsed(task) => Ok(Some(task)),
            Piece::Missing | Piece::Unreadable(_) => Ok(None),
        }
    }

    /// Returns a task to be changed, or refuses with `missing` if it does not exist.
    pub(super) fn demand(&mut self, id: &TaskId, missing: impl FnOnce() -> Refusal) -> Result<&Task, Halt> {
        match self.piece_to_change(id)? {
            Piece::Task(task) | Piece::Glimpsed(task) => Ok(task),
            Piece::Missing => Err(missing().into()),
            Piece::Unreadable(refusal) => Err(refusal.clone().into()),
        }
    }

    /// Returns the open blockers of a task that exist; with strict rules also those of the tasks it is a part of.
    pub(super) fn open_blockers(&mut self, task: &Task, rules: Rules) -> Result<Vec<TaskId>, StoreError> {
        let open = self.own_open_blockers(task)?;
        let above = if rules.is_client() { Vec::new() } else { blockers_above(task, |id| self.named(id))? };
        Ok(with_those_above(open, above))
    }

    /// Returns the task's own open blockers, without those of the tasks it is a part of.
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

    /// Returns the state of an id that another task names.
    pub(super) fn named(&mut self, id: &TaskId) -> Result<Named, StoreError> {
        let missing = Named::Absent { holds_up: self.txn.counts_missing() };
        Ok(match self.piece(id)? {
            Piece::Task(task) | Piece::Glimpsed(task) => Named::Task(task.clone()),
            Piece::Missing => missing,
            Piece::Unreadable(_) => Named::Absent { holds_up: false },
        })
    }

    /// Returns the dependents of a task and the parts of all tasks, with the changes made so far.
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
                // A task that was read before may have been changed here.
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

    /// Returns the dependents of a task, and the parts of every task that its completion may unblock. `None` if the
    /// list is not in memory.
    fn tied_in_memory(&self, blocker: &TaskId) -> Result<Option<Vec<Task>>, StoreError> {
        let Some(live) = self.txn.live()? else { return Ok(None) };
        let waiting = live.waiting_for(blocker);
        let mut found: BTreeSet<TaskId> = waiting.iter().chain(&self.staged).cloned().collect();
        let mut above: Vec<TaskId> = waiting;
        above.push(blocker.clone());
        while let Some(next) = above.pop() {
            above.extend(live.parts_of(&next).into_iter().filter(|part| found.insert(part.clone())));
        }
        // Completing the last open part of a task unblocks that task.
        let parent = match self.pieces.get(blocker) {
            Some(Piece::Task(task) | Piece::Glimpsed(task)) => task.parent(),
            Some(Piece::Missing | Piece::Unreadable(_)) | None => live.parent(blocker),
        };
        found.extend(parent.iter().flat_map(|parent| live.open_parts(parent)));
        Ok(Some(found.iter().filter_map(|id| live.task(id)).collect()))
    }

    /// Returns a cycle that the given edges and parts, which are already applied here, close.
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

    /// Reads the tasks that were staged before.
    fn take_up_staged(&mut self) -> Result<(), StoreError> {
        for id in self.staged.clone() {
            self.piece(&id)?;
        }
        Ok(())
    }

    /// Returns the tasks with the changes made to them, plus all other changed tasks.
    fn with_changes(&self, mut tasks: Vec<Task>) -> Vec<Task> {
        tasks.retain(|task| !self.changed.contains(&task.id));
        let changed = self.changed.iter().filter_map(|id| match self.pieces.get(id) {
            Some(Piece::Task(task) | Piece::Glimpsed(task)) => Some((**task).clone()),
            Some(Piece::Missing | Piece::Unreadable(_)) | None => None,
        });
        tasks.extend(changed);
        tasks
    }

    /// Returns whether new edges and parts may close a cycle. With a single new task they cannot if all edges point the
    /// same way, or if it only becomes a part.
    pub(super) fn may_close_circle(&self, edges: &[Edge], parts: &[TaskId]) -> bool {
        let Some(new) = self.new.first().filter(|_| self.new.len() == 1) else { return true };
        let (waits, blocks) = (edges.iter().any(|edge| edge.task == *new), edges.iter().any(|edge| edge.on == *new));
        usize::from(waits) + usize::from(blocks) + usize::from(!parts.is_empty()) > 1
    }

    /// Adds a new task.
    pub(super) fn put_new(&mut self, task: Task) {
        self.all = None;
        self.changed.insert(task.id.clone());
        self.new.insert(task.id.clone());
        self.pieces.insert(task.id.clone(), Piece::Task(Box::new(task)));
    }

    /// Changes a task. Does nothing if it does not exist.
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

    /// Stages all changes in the transaction.
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

    /// Returns the state of an id, read from its file.
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

/// The list in memory with the changes made in a workbench.
struct WithChanges<'a, 'b> {
    live: &'a LiveList,
    bench: &'a Workbench<'b>,
    /// The changed tasks that are parts of others, by ascending number.
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

    /// Returns the changed task, `Some(None)` if it is missing, or `None` if it was not changed.
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

/// The changes to make to a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    /// The fields to change.
    pub patch: Patch,
    /// Tasks that this one shall block.
    pub add_blocks: Vec<TaskId>,
    /// Tasks that shall block this one.
    pub add_blocked_by: Vec<TaskId>,
    /// Tasks that this one shall no longer block.
    pub remove_blocks: Vec<TaskId>,
    /// Tasks that shall no longer block this one.
    pub remove_blocked_by: Vec<TaskId>,
    /// The kind whose marks the title gets; `None` keeps the present marks.
    pub kind: Option<Kind>,
    /// The changes to its tags.
    pub tags: TagChange,
    /// If the task is reopened: the TTL of the lease with which its owner keeps it. `None` opens it to every agent.
    pub lease_for_owner: Option<Duration>,
}

/// A task that was changed, or that already was as requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Updated {
    /// The task before the change.
    pub before: Task,
    /// The task as it is now.
    pub task: Task,
    /// The fields that changed, in the order the client reports them.
    pub updated: Vec<Field>,
    /// The status before and after, if it changed.
    pub status_change: Option<(Status, Status)>,
    /// The commit; `None` if nothing changed.
    pub revision: Option<Revision>,
    /// The tasks that are now unblocked because this one was completed.
    pub now_ready: Vec<TaskId>,
    /// The open blockers in spite of which this task was completed.
    pub open_blockers: Vec<TaskId>,
    /// The dependents that had already been started when this task was reopened.
    pub dependents_started: Vec<TaskId>,
    /// Whether the change was made by a team member that is not the lead.
    pub is_by_teammate: bool,
    /// The message to the new owner; `None` if the owner is not another member of the team.
    pub owner_message: Option<TaskMessage>,
    /// The lease of an owner who keeps the task.
    pub lease: Option<Lease>,
    /// Why the block in the description was not changed as requested.
    pub block_left: Option<BadBlock>,
}

impl Update {
    /// Returns the update with its tag changes resolved against the task's present tags.
    #[must_use]
    pub(super) fn for_task(mut self, task: &Task) -> Self {
        if let Some(tags) = self.tags.applied_to(task) {
            self.patch.metadata.get_or_insert_default().insert("tags".to_owned(), tags);
        }
        self
    }
}

/// Records in the commit's signature which tasks it unblocks, and whether it reopened any.
pub(super) fn sign(updated: &[Updated], signature: &mut Signature) {
    signature.remark.now_ready = now_ready(updated);
    let reopens = |updated: &Updated| updated.status_change.is_some_and(|(before, _)| before == Status::Completed);
    if updated.iter().any(reopens) {
        signature.op = Op::Reopen;
    }
}

/// Sets the commit's revision on the updates.
pub(super) fn with_revision(updated: Vec<Updated>, event: Option<Event>) -> Vec<Updated> {
    let revision = event.map(|event| event.revision);
    updated.into_iter().map(|updated| Updated { revision, ..updated }).collect()
}

/// Returns the tasks that are now unblocked by changes that were made together.
pub fn now_ready(updated: &[Updated]) -> Vec<TaskId> {
    let ready: BTreeSet<&TaskId> = updated.iter().flat_map(|updated| &updated.now_ready).collect();
    ready.into_iter().cloned().collect()
}

/// Removes `metadata.cancelled` when the status it belonged to changes, unless the patch sets it.
pub(super) fn without_old_cancellation(mut patch: Patch, task: &Task) -> Patch {
    if patch.status.is_some_and(|to| outdates_cancellation(task, to, Rules::Strict)) {
        patch.metadata.get_or_insert_default().entry("cancelled").or_insert(Value::Null);
    }
    patch
}

/// Assigns a task without an owner to the teammate that starts it, as the client does.
pub(super) fn with_owner(mut update: Update, task: &Task, seat: Option<&Seat>) -> Update {
    let starts = update.patch.status == Some(Status::InProgress);
    let is_nobodys = update.patch.owner.is_none() && task.owner().is_none();
    if let Some(seat) = seat.filter(|seat| starts && is_nobodys && !seat.is_lead()) {
        update.patch.owner = Some(OwnerChange::Set(seat.name.clone()));
    }
    update
}

/// The result of sending a message to an agent affected by a change of a task: its new owner, or a participant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskMessage {
    /// It was delivered to the agent's inbox.
    Sent {
        /// The name of the agent.
        to: String,
    },
    /// It could not be written.
    Failed {
        /// The name of the agent.
        to: String,
        /// The error of the team's store.
        why: String,
    },
}

impl TaskMessage {
    /// Returns the name of the recipient; `None` if the message could not be written.
    pub fn sent_to(&self) -> Option<&str> {
        match self {
            Self::Sent { to } => Some(to),
            Self::Failed { .. } => None,
        }
    }

    /// Returns why the message could not be written; `None` if it was.
    pub fn failure(&self) -> Option<&str> {
        match self {
            Self::Sent { .. } => None,
            Self::Failed { why, .. } => Some(why),
        }
    }
}

/// Replaces the parts of a text that a Rust string cannot represent.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// Returns the original contents of a task, if they may contain text that could not be represented when it was read.
pub(super) fn origin_of(list: &dyn Snapshot, id: &TaskId, read: &Image) -> Result<Option<Image>, StoreError> {
    if !read.bytes().windows(REPLACEMENT.len()).any(|bytes| bytes == REPLACEMENT) {
        return Ok(None);
    }
    Ok(match list.find(id)? {
        Lookup::Found(_, image) => Some(image),
        Lookup::Missing | Lookup::Unreadable(_) => None,
    })
}

/// Stages a new task that was copied from other contents, with the exact bytes of texts that Rust strings cannot
/// represent.
pub(super) fn put_exact_texts(txn: &mut dyn Txn, id: &TaskId, origin: &Image) -> Result<(), StoreError> {
    match txn.find(id)? {
        Lookup::Found(_, image) => txn.put_image(id, as_written_in(origin, image)),
        Lookup::Missing | Lookup::Unreadable(_) => Ok(()),
    }
}
