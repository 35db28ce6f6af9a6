//! Changes fields and edges of tasks, adds notes, and saves tasks edited in an editor.

use std::cell::RefCell;
use std::collections::HashMap;

use taskyard_core::forms::batch::{BatchEntry, BatchMistake};
use taskyard_core::rules::agents::is_same_agent;
use taskyard_core::rules::changes::editing::{Conflict, Draft, DraftChanges, MergedDraft, merge_drafts};
use taskyard_core::rules::changes::notes::{NOTES, Note, participants, with_note};
use taskyard_core::rules::graph::parts::open_parts;
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Op, Proof, Revision, Rules, Status, Task, TaskId};

use super::changing::{change_as_the_client, change_strictly};
use super::consulting::{Consultation, Consulted};
use crate::operations::outcome::Halt;
use crate::operations::staged_tasks::{TaskMessage, sign, with_owner, with_revision};
use crate::operations::{Update, Updated};
use crate::store::{Lookup, Snapshot, StoreError, Txn};
use crate::teams::{Letter, Seat, Teams};
use crate::{Error, Outcome, Yard};

/// How often a change starts over because another agent reopened the task while hooks ran.
const ATTEMPTS: u32 = 16;

/// The changed tasks and the created ones.
type UpdatedAndCreated = (Vec<Updated>, Vec<Task>);

impl Yard {
    /// Changes fields and edges of a task, in one commit.
    pub fn update(&self, id: &TaskId, update: Update) -> Result<Outcome<Updated>, Error> {
        self.change(id, |task| update.clone().for_task(task))
    }

    /// Changes a task by the update that `update` computes from its current state.
    pub(super) fn change(&self, id: &TaskId, update: impl Fn(&Task) -> Update) -> Result<Outcome<Updated>, Error> {
        let outcome = self.change_all(std::slice::from_ref(id), update)?;
        Ok(outcome.map(|mut updated| updated.remove(0)))
    }

    /// Changes tasks by the updates that `update` computes from their current state, all in one commit or none. They
    /// are judged together.
    ///
    /// If that completes a task, checks and hooks run first, with no lock held; the change is then applied to the
    /// current state. If that would complete a task the hooks have not judged, it starts over.
    pub(super) fn change_all(
        &self,
        ids: &[TaskId],
        update: impl Fn(&Task) -> Update,
    ) -> Result<Outcome<Vec<Updated>>, Error> {
        self.change_all_beside(ids, update, &|_| Ok(()))
    }

    /// Like [`Self::change_all`], and creates the tasks of a batch in the same commit. Returns the changed and the new
    /// tasks.
    pub(super) fn change_all_and_create(
        &self,
        ids: &[TaskId],
        update: impl Fn(&Task) -> Update,
        batch: &[BatchEntry],
    ) -> Result<Outcome<UpdatedAndCreated>, Error> {
        let judges = if batch.is_empty() { None } else { self.judges_of_creation() };
        let _attending = judges.as_ref().map(|(hooks, _)| hooks.cancel().attend());
        let made: RefCell<Vec<TaskId>> = RefCell::default();
        let outcome = self.change_all_beside(ids, update, &|txn| {
            made.replace(if batch.is_empty() { Vec::new() } else { self.stage_entries(txn, batch)? });
            Ok(())
        })?;
        let updated = match outcome {
            Outcome::Done(updated) => updated,
            Outcome::Refused(refusal) => return Ok(Outcome::Refused(refusal)),
        };
        let list = self.store().read(self.list_id())?;
        let created: Vec<Task> = made
            .take()
            .iter()
            .map(|id| Ok(list.find(id)?.task()))
            .collect::<Result<Vec<_>, StoreError>>()?
            .into_iter()
            .flatten()
            .collect();
        drop(list);
        if let Some(refusal) = self.judged_creation(judges, &created)? {
            return Ok(Outcome::Refused(refusal));
        }
        Ok(Outcome::Done((updated, created)))
    }

    /// Changes tasks, after `beside` has staged something else in the same transaction.
    fn change_all_beside(
        &self,
        ids: &[TaskId],
        update: impl Fn(&Task) -> Update,
        beside: &dyn Fn(&mut dyn Txn) -> Result<(), Halt>,
    ) -> Result<Outcome<Vec<Updated>>, Error> {
        let seat = self.seat()?;
        let update = |task: &Task| with_owner(update(task), task, seat.as_ref());
        let outcome = self.change_seated(ids, update, seat.as_ref(), beside)?.map(|all| self.noting_leases(all));
        Ok(outcome.map(|all| all.into_iter().map(|updated| self.told_owner(updated, seat.as_ref())).collect()))
    }

    /// Records the leases that were granted: if they are bound to this process, it publishes a heartbeat.
    pub(super) fn noting_leases(&self, all: Vec<Updated>) -> Vec<Updated> {
        all.iter()
            .filter_map(|updated| updated.lease.as_ref()?.holder.as_ref())
            .for_each(|holder| self.holds_now(holder));
        all
    }

    fn change_seated(
        &self,
        ids: &[TaskId],
        update: impl Fn(&Task) -> Update,
        seat: Option<&Seat>,
        beside: &dyn Fn(&mut dyn Txn) -> Result<(), Halt>,
    ) -> Result<Outcome<Vec<Updated>>, Error> {
        let mut has_looked_again = false;
        for attempt in 0..ATTEMPTS {
            // If a task turns out to require a check, the next attempt consults first.
            let may_skip = attempt == 0 && seat.is_none() && self.store().reads_on_demand(self.list_id());
            let unasked = if may_skip { self.consultation_of_nobody(ids.len()) } else { None };
            let consulted =
                match unasked.map_or_else(|| self.consult_about(ids, &update, seat), |all| Ok(Outcome::Done(all)))? {
                    Outcome::Done(consulted) => consulted,
                    // Another program's stale write may have overwritten the claim that the token belongs to.
                    Outcome::Refused(Refusal::StaleToken { .. })
                        if !has_looked_again && self.put_back_unrecorded_writes()? =>
                    {
                        has_looked_again = true;
                        continue;
                    }
                    Outcome::Refused(refusal) => return Ok(Outcome::Refused(refusal)),
                };
            match self.change_after(&consulted.about, ids, &update, seat, beside)? {
                Outcome::Done(Some(updated)) => return Ok(Outcome::Done(updated)),
                Outcome::Done(None) => {}
                Outcome::Refused(refusal) => return Ok(Outcome::Refused(refusal)),
            }
        }
        let task = ids.first().cloned().unwrap_or_else(|| TaskId::stored(""));
        Err(Error::TooManyConflicts { task, attempts: ATTEMPTS })
    }

    /// Runs hooks and checks for changes of tasks, as far as this agent may make them.
    fn consult_about(
        &self,
        ids: &[TaskId],
        update: &impl Fn(&Task) -> Update,
        seat: Option<&Seat>,
    ) -> Result<Outcome<Consultation>, Error> {
        if let Some(list) = self.store().recollect(self.list_id()) {
            let seen = self.seen_on(&*list, ids, update, seat)?;
            // The transaction reads the list anyway, so it judges. Only input for hooks is read up front.
            if let Outcome::Done(seen) = seen
                && !self.is_judged(&seen, update)
            {
                return self.consult(&seen, update);
            }
        }
        let list = self.store().read(self.list_id())?;
        let seen = self.seen_on(&*list, ids, update, seat)?;
        drop(list);
        match seen {
            Outcome::Done(seen) => self.consult(&seen, update),
            Outcome::Refused(refusal) => Ok(Outcome::Refused(refusal)),
        }
    }

    /// Returns the tasks of a list as far as hooks and the rules of a team need them; `None` for a missing one.
    fn seen_on(
        &self,
        list: &dyn Snapshot,
        ids: &[TaskId],
        update: &impl Fn(&Task) -> Update,
        seat: Option<&Seat>,
    ) -> Result<Outcome<Vec<Option<Task>>>, Error> {
        let exists = list.exists()?;
        if let Some(task) = ids.first().filter(|_| !exists) {
            return Ok(Outcome::Refused(Refusal::NoSuchTask { task: task.clone() }));
        }
        let mut seen: Vec<Option<Task>> = vec![None; ids.len()];
        if self.hooks().is_some() || seat.is_some() {
            for (place, id) in ids.iter().enumerate() {
                let Some(task) = list.find(id)?.task() else { continue };
                if let Some(refusal) = self.forbidden_by_plan(seat, &update(&task), &task)? {
                    return Ok(Outcome::Refused(refusal));
                }
                // No hook runs for a change that this agent may not make.
                if let Some(refusal) = self.forbidden_by_lease(list, &task)? {
                    return Ok(Outcome::Refused(refusal));
                }
                seen[place] = Some(task);
            }
            if let Some(refusal) = self.forbidden_by_parts(list, &seen, update)? {
                return Ok(Outcome::Refused(refusal));
            }
        }
        Ok(Outcome::Done(seen))
    }

    /// Checks without a lock whether open parts forbid the completion of tasks.
    fn forbidden_by_parts(
        &self,
        list: &dyn Snapshot,
        seen: &[Option<Task>],
        update: &impl Fn(&Task) -> Update,
    ) -> Result<Option<Refusal>, StoreError> {
        let closes = |task: &&Task| {
            let to = update(task).patch.status;
            task.status.is_open() && to == Some(Status::Completed)
        };
        let closing: Vec<&Task> = seen.iter().flatten().filter(closes).collect();
        if closing.is_empty() || !self.minds_parts() {
            return Ok(None);
        }
        if let Some(live) = list.live()? {
            let refusal = |task: &&Task| {
                let mut parts = live.open_parts(&task.id);
                parts.retain(|part| closing.iter().all(|other| other.id != *part));
                (!parts.is_empty()).then(|| Refusal::OpenParts { task: task.id.clone(), parts })
            };
            return Ok(closing.iter().find_map(refusal));
        }
        let named: Vec<TaskId> = closing.iter().map(|task| task.id.clone()).collect();
        let mut tasks = list.connected(&named)?;
        for task in tasks.iter_mut().filter(|task| closing.iter().any(|other| other.id == task.id)) {
            task.status = Status::Completed;
        }
        let refusal = |task: &&Task| {
            let parts = open_parts(&task.id, &tasks);
            (!parts.is_empty()).then(|| Refusal::OpenParts { task: task.id.clone(), parts })
        };
        Ok(closing.iter().find_map(refusal))
    }

    /// Returns whether open parts prevent completion: the client has no parts, and people may override them.
    pub(super) fn minds_parts(&self) -> bool {
        !self.rules().is_client() && self.proof() != Proof::Force
    }

    /// Applies the change, or returns `None` without changing anything if it would complete a task the hooks have not
    /// judged.
    fn change_after(
        &self,
        consulted: &[Consulted],
        ids: &[TaskId],
        update: &impl Fn(&Task) -> Update,
        seat: Option<&Seat>,
        beside: &dyn Fn(&mut dyn Txn) -> Result<(), Halt>,
    ) -> Result<Outcome<Option<Vec<Updated>>>, Error> {
        let outcome = self.transact(Op::Update, |txn, signature| {
            for (id, consulted) in ids.iter().zip(consulted).filter(|_| self.hooks().is_some()) {
                if let Some(task) = txn.find(id)?.task()
                    && !consulted.covers(&task, &update(&task), self.rules())
                {
                    return Ok(None);
                }
            }
            beside(txn)?;
            let updated = match self.rules() {
                Rules::Strict => change_strictly(self, txn, ids, update, seat)?,
                Rules::Client(_) => {
                    let change = |id| change_as_the_client(self, txn, id, update);
                    ids.iter().map(change).collect::<Result<_, _>>()?
                }
            };
            sign(&updated, signature);
            Ok(Some(updated))
        })?;
        Ok(outcome.map(|(updated, event)| updated.map(|updated| with_revision(updated, event))))
    }
}

/// A note that was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    /// The task as it is now.
    pub task: Task,
    pub(crate) note: Note,
    /// The commit; `None` if nothing was written.
    pub(crate) revision: Option<Revision>,
    /// The messages about it to the agents concerned.
    pub messages: Vec<TaskMessage>,
}

impl Yard {
    /// Adds a note to a task, even if another agent holds it, since a note does not affect the holder. The owner of the
    /// task and its participants are notified.
    pub fn note(&self, id: &TaskId, text: &str) -> Result<Outcome<Noted>, Error> {
        self.put_back_lost_notes(id)?;
        let outcome = self.transact(Op::Update, |txn, _| {
            let task = match txn.find(id)? {
                Lookup::Found(task, _) => task,
                Lookup::Missing => return Err(Refusal::NoSuchTask { task: id.clone() }.into()),
                Lookup::Unreadable(problem) => return Err(problem.into_refusal().into()),
            };
            let note = self.new_note(text)?;
            let noted = with_note(&task, &note);
            txn.put(noted.clone())?;
            Ok((noted, note))
        })?;
        Ok(outcome.map(|((task, note), event)| {
            let messages = self.tell_of_note(&task, &note.text);
            Noted { task, note, revision: event.map(|event| event.revision), messages }
        }))
    }

    /// Changes a task like [`Self::update`], with an update computed from its current state, and adds a note if one is
    /// given.
    pub fn update_with_note(
        &self,
        id: &TaskId,
        update: &impl Fn(&Task) -> Update,
        note: Option<&str>,
    ) -> Result<Outcome<Updated>, Error> {
        let note = note.map(|text| self.new_note(text)).transpose()?;
        self.change(id, |task| {
            let mut update = update(task);
            if let Some(note) = &note {
                let notes = with_note(task, note).metadata.and_then(|mut metadata| metadata.shift_remove(NOTES));
                let patched = update.patch.metadata.get_or_insert_default();
                patched.insert(NOTES.to_owned(), notes.unwrap_or_default());
            }
            if let Some(metadata) = &mut update.patch.metadata {
                // A key that does not exist need not be removed.
                metadata.retain(|key, value| !value.is_null() || task.meta(key).is_some());
                if metadata.is_empty() {
                    update.patch.metadata = None;
                }
            }
            update
        })
    }

    /// Notifies the owner of a task, its creator and the authors of its notes about a new note, as far as they are
    /// members of the list's team. The author of the new note is not notified.
    pub fn tell_of_note(&self, task: &Task, text: &str) -> Vec<TaskMessage> {
        let Some(teams) = self.teams() else { return Vec::new() };
        let Some(seat) = self.seat_to_note_from(teams) else { return Vec::new() };
        let maker = self.making_of(&task.id).ok().flatten().filter(|entry| !entry.op.is_elsewhere());
        let maker = maker.map(|entry| entry.actor.as_str().to_owned());
        let mut names: Vec<String> = participants(task).into_iter().map(str::to_owned).collect();
        names.extend(maker.filter(|maker| !names.iter().any(|name| is_same_agent(name, maker))));
        names.retain(|name| !is_same_agent(name, &seat.name) && !is_same_agent(name, self.actor().as_str()));
        let letter = Letter::new(format!("Note on task #{} ({}): {text}", task.id, task.shown_subject()));
        let tell = |to: String| match teams.send(&seat, &to, &letter) {
            Ok(Outcome::Done(_)) => Some(TaskMessage::Sent { to }),
            // An agent that is not a member has no inbox.
            Ok(Outcome::Refused(_)) => None,
            Err(error) => Some(TaskMessage::Failed { to, why: error.to_string() }),
        };
        names.into_iter().filter_map(tell).collect()
    }

    /// Returns the seat from which the actor writes to the team of this list: its own, or that of a guest.
    fn seat_to_note_from(&self, teams: &Teams) -> Option<Seat> {
        if let Ok(Some(seat)) = self.seat() {
            return Some(seat);
        }
        let team = teams.team_of(self.list_id()).ok().flatten()?;
        Some(Seat { team, name: self.actor().as_str().to_owned() })
    }

    /// Returns a note by the actor with the current time.
    pub(super) fn new_note(&self, text: &str) -> Result<Note, StoreError> {
        Ok(Note { at: self.now()?.wall, author: self.actor().clone(), text: text.to_owned() })
    }
}

/// The outcome of saving a draft.
#[derive(Clone, Debug, PartialEq)]
pub enum Edited {
    /// It is saved, merged with what other agents changed in the meantime.
    Saved(Box<Updated>),
    /// Another agent changed the same field differently, and nothing is saved.
    AtOdds {
        /// The task as it is now.
        now: Box<Draft>,
        /// Both versions, merged as far as possible.
        merged: Box<MergedDraft>,
    },
}

/// The edits to one of several tasks in an editor.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanChange {
    /// The task.
    pub id: TaskId,
    /// The task as the editor first showed it.
    pub base: Draft,
    /// The edited task.
    pub mine: Draft,
}

/// The outcome of saving a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum EditedPlan {
    /// Everything is saved, in one revision.
    Saved {
        /// The tasks that changed.
        updated: Vec<Updated>,
        /// The new tasks.
        created: Vec<Task>,
    },
    /// Another agent changed the same field differently, and nothing is saved. For each such task: its current state
    /// and the conflicts.
    AtOdds(Vec<(TaskId, Draft, Vec<Conflict>)>),
    /// The new tasks cannot be created.
    Mistaken(BatchMistake),
}

impl Yard {
    /// Saves the edits to several tasks, merged with what other agents changed in the meantime, and creates new ones:
    /// all in one revision, or nothing. If another agent changes the same field of a task during the save, that task
    /// keeps the other agent's version.
    pub fn save_plan(&self, changes: &[PlanChange], new: &[BatchEntry]) -> Result<Outcome<EditedPlan>, Error> {
        let list = self.store().read(self.list_id())?;
        let mut at_odds = Vec::new();
        for PlanChange { id, base, mine } in changes {
            let Some(task) = list.find(id)?.task() else { continue };
            let now = Draft::of(&task);
            let merged = merge_drafts(base, mine, &now);
            if !merged.conflicts.is_empty() {
                at_odds.push((id.clone(), now, merged.conflicts));
            }
        }
        drop(list);
        if !at_odds.is_empty() {
            return Ok(Outcome::Done(EditedPlan::AtOdds(at_odds)));
        }
        if !new.is_empty() {
            match self.preview_batch(new)? {
                Outcome::Done(Ok(_)) => {}
                Outcome::Done(Err(mistake)) => return Ok(Outcome::Done(EditedPlan::Mistaken(mistake))),
                Outcome::Refused(refusal) => return Ok(Outcome::Refused(refusal)),
            }
        }
        let by_id: HashMap<&TaskId, &PlanChange> = changes.iter().map(|change| (&change.id, change)).collect();
        let update = |task: &Task| {
            let Some(PlanChange { base, mine, .. }) = by_id.get(&task.id) else { return Update::default() };
            let now = Draft::of(task);
            let merged = merge_drafts(base, mine, &now);
            if !merged.conflicts.is_empty() {
                return Update::default();
            }
            let mut changes = merged.draft.changes_from(&now);
            changes.patch.subject = changes.patch.subject.map(|typed| task.subject_typed(&typed));
            update(changes)
        };
        let ids: Vec<TaskId> = changes.iter().map(|change| change.id.clone()).collect();
        let saved = self.change_all_and_create(&ids, update, new)?;
        Ok(saved.map(|(updated, created)| EditedPlan::Saved { updated, created }))
    }

    /// Saves the edits to a task that was shown as `base`, merged with what other agents changed in the meantime.
    pub fn save_draft(&self, id: &TaskId, base: &Draft, mine: &Draft) -> Result<Outcome<Edited>, Error> {
        let at_odds = RefCell::new(None);
        let outcome = self.change(id, |task: &Task| {
            let now = Draft::of(task);
            let merged = merge_drafts(base, mine, &now);
            if merged.conflicts.is_empty() {
                at_odds.replace(None);
                let mut changes = merged.draft.changes_from(&now);
                changes.patch.subject = changes.patch.subject.map(|typed| task.subject_typed(&typed));
                return update(changes);
            }
            at_odds.replace(Some((now, merged)));
            Update::default()
        })?;
        Ok(outcome.map(|updated| match at_odds.take() {
            Some((now, merged)) => Edited::AtOdds { now: Box::new(now), merged: Box::new(merged) },
            None => Edited::Saved(Box::new(updated)),
        }))
    }
}

fn update(changes: DraftChanges) -> Update {
    let DraftChanges { patch, add_blocked_by, remove_blocked_by, add_blocks, remove_blocks } = changes;
    Update { patch, add_blocks, add_blocked_by, remove_blocks, remove_blocked_by, ..Update::default() }
}
