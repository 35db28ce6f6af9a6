//! Thinning out what is old: of each task its making and its state at the end of that time stay, of one that is not there its last state
//! for as long as that is promised (`taskyard_core::rules::history::retention`).
//!
//! The fact `thinned` is the revision up to which entries may be missing. It is raised in the transaction that takes the first of them
//! away, so that no reader ever takes what is thinned out for what is lost.

use std::collections::HashSet;

use rusqlite::types::Value;
use rusqlite::{Row, params};
use taskyard_core::packing::{pack_difference, pack_whole};
use taskyard_core::rules::history::presence::Step;
use taskyard_core::rules::history::replacing::{is_another_task, is_back, replaces, says_the_same};
use taskyard_core::rules::history::retention::{Keep, Past, Side, Terms, thin};
use taskyard_core::{Image, Op, Revision, Task, TaskId};

use super::Journal;
use super::damage::judge;
use super::entries::{Key, entries_where, split, task_id};
use super::layout::THINNED;
use super::packing::LONGEST_CHAIN;
use super::rows::{AFTER, BEFORE, ENTRY_BITS, Images, SUM, first_id, image_after};
use super::terms::Pace;
use crate::failpoint::reach;
use crate::store::StoreError;

/// The revision up to which every task was thinned out.
const THINNED_ALL: &str = "thinned_all";

/// What is thinned out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thinning<'a> {
    /// Entries up to this revision are old.
    pub(super) horizon: Revision,
    /// The last state of a task that went with a revision up to this one is not promised any more.
    pub(super) gone_until: Revision,
    /// Whether the list's own place is gone.
    pub(super) list_is_gone: bool,
    /// The tasks that may go although no agent deleted them on purpose.
    pub(super) named: &'a HashSet<TaskId>,
}

/// What was thinned out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Thinned {
    /// How many entries went.
    pub(super) entries: u64,
    /// The tasks that were named, and went.
    pub(super) forgotten: Vec<TaskId>,
}

/// One entry about a task.
struct EntryOfTask {
    id: i64,
    past: Past,
}

impl Journal {
    /// Returns the revision up to which entries may be missing because they were thinned out.
    pub(in crate::store) fn thinned(&self) -> Result<Revision, StoreError> {
        Ok(Revision(self.fact::<i64>(THINNED)?.unwrap_or(0).unsigned_abs()))
    }

    /// Thins out, some tasks at a time, until it is done or its time has passed. Where time is short, only tasks that are about to be
    /// thinned out for the first time since are looked at.
    pub(super) fn thin_out(&self, thinning: &Thinning<'_>, pace: &Pace) -> Result<Thinned, StoreError> {
        let end = first_id(thinning.horizon.next());
        let done = self.fact::<i64>(THINNED_ALL)?.unwrap_or(0).unsigned_abs();
        let begin = if pace.is_short() { first_id(Revision(done).next()) } else { 0 };
        let mut thinned = Thinned::default();
        let sql = "SELECT DISTINCT task FROM entries WHERE id >= ?1 AND id < ?2";
        let tasks = self.rows(sql, [begin, end], |row| Ok(task_id(row.get_ref(0)?)))?;
        let mut tasks = tasks.iter().peekable();
        while tasks.peek().is_some() && !pace.is_over() {
            let transaction = self.begin_when(pace)?;
            // At least one: a machine on which it takes long to begin would else begin for ever.
            for task in tasks.by_ref() {
                self.thin_task(task, thinning, &mut thinned)?;
                if pace.step_is_over() {
                    break;
                }
            }
            self.end(transaction)?;
            reach("gc: thinned");
            pace.rest();
        }
        if tasks.peek().is_none() && thinning.horizon.0 > done {
            self.set_fact(THINNED_ALL, thinning.horizon.0.cast_signed())?;
        }
        Ok(thinned)
    }

    /// Begins a transaction; a caller with little time waits for no lock.
    pub(super) fn begin_when(&self, pace: &Pace) -> Result<rusqlite::Transaction<'_>, StoreError> {
        pace.begin_step();
        match pace.is_short() {
            true => self.database.without_waiting(|_| self.begin()),
            false => self.begin(),
        }
    }

    /// Thins out what is told of one task.
    fn thin_task(&self, task: &TaskId, thinning: &Thinning<'_>, thinned: &mut Thinned) -> Result<(), StoreError> {
        let mut told = self.told_of(task)?;
        self.note_replacements(task, thinning.horizon, &mut told)?;
        let Some(last) = told.last() else { return Ok(()) };
        let is_named = thinning.named.contains(task);
        let terms = Terms {
            horizon: thinning.horizon,
            gone_until: thinning.gone_until,
            list_is_gone: thinning.list_is_gone,
            is_named,
            is_mark: self.is_mark(last.id)?,
        };
        let past: Vec<Past> = told.iter().map(|told| told.past.clone()).collect();
        let mut failure = None;
        let kept = thin(&past, &terms, &mut |place, side| {
            let read = self.image_of(told[place].id, side);
            let image = read.unwrap_or_else(|error| {
                failure = Some(error);
                None
            });
            Some(image?.task(task).ok()?.status.is_open())
        });
        if let Some(error) = failure {
            return Err(error);
        }
        let going = kept.iter().filter(|keep| **keep == Keep::No).count();
        if going == 0 && !kept.contains(&Keep::Bare) {
            return Ok(());
        }
        if self.thinned()? < thinning.horizon {
            self.set_fact(THINNED, thinning.horizon.0.cast_signed())?;
        }
        self.rebase(task, &told, &kept)?;
        for (told, _) in told.iter().zip(&kept).filter(|(_, keep)| **keep == Keep::No) {
            self.remove("DELETE FROM entries WHERE id = ?1", [told.id])?;
        }
        thinned.entries += going as u64;
        if is_named && !kept.contains(&Keep::Whole) {
            thinned.forgotten.push(task.clone());
        }
        Ok(())
    }

    /// Returns what the entries about a task tell, oldest first, without what the task was.
    fn told_of(&self, task: &TaskId) -> Result<Vec<EntryOfTask>, StoreError> {
        let sql = "SELECT id, op, undoes, before IS NOT NULL, after IS NOT NULL OR packed IS NOT NULL
            FROM entries WHERE task = ?1 ORDER BY id";
        let mut told = self.rows(sql, [Key(task)], |row| {
            let id: i64 = row.get(0)?;
            let step = Step {
                revision: revision_of(id),
                op: row.get::<_, String>(1)?.parse().unwrap_or(Op::Update),
                undoes: row.get::<_, Option<String>>(2)?.map(|text| split(&text)).unwrap_or_default(),
                was_there: row.get(3)?,
                was_task: false,
                is_there: row.get(4)?,
            };
            Ok(EntryOfTask { id, past: Past { step, replaced: None } })
        })?;
        for told in told.iter_mut().filter(|told| told.past.step.op == Op::Mend) {
            let before = self.image_of(told.id, Side::Before)?;
            told.past.step.was_task = before.is_some_and(|image| image.task(task).is_ok());
        }
        Ok(told)
    }

    /// Tells whether an entry is the newest one, or the last about the highest number.
    fn is_mark(&self, entry: i64) -> Result<bool, StoreError> {
        let newest: Option<i64> = self.one("SELECT max(id) FROM entries", [], |row| row.get(0))?;
        Ok(newest == Some(entry) || self.entry_of_highest_number()? == Some(entry))
    }

    fn image_of(&self, entry: i64, side: Side) -> Result<Option<Image>, StoreError> {
        let images = self.one(&entries_where("id = ?1"), [entry], |row| self.checked_images(row))?;
        Ok(match side {
            Side::Before => images.before,
            Side::After => images.after,
        })
    }

    /// Lets every entry that stays do without those that go.
    fn rebase(&self, task: &TaskId, told: &[EntryOfTask], kept: &[Keep]) -> Result<(), StoreError> {
        let mut earlier: Option<&EntryOfTask> = None;
        for (place, (entry, keep)) in told.iter().zip(kept).enumerate() {
            match keep {
                Keep::No => {}
                Keep::Bare => {
                    let bare = Images { before: None, after: None };
                    self.rewrite(entry.id, None, bare, place + 1 == told.len())?;
                    earlier = Some(entry);
                }
                Keep::Whole => {
                    if place > 0 && kept[place - 1] != Keep::Whole {
                        self.rebase_entry(task, entry, earlier, place + 1 == told.len())?;
                    }
                    earlier = Some(entry);
                }
            }
        }
        Ok(())
    }

    /// Lets an entry do without the one before it: the change that it tells of begins where the last one that stays ended.
    fn rebase_entry(
        &self,
        task: &TaskId,
        entry: &EntryOfTask,
        earlier: Option<&EntryOfTask>,
        is_last: bool,
    ) -> Result<(), StoreError> {
        let images = self.one(&entries_where("id = ?1"), [entry.id], |row| self.checked_images(row))?;
        let Some(earlier) = earlier.filter(|_| entry.past.replaced.is_none()) else {
            return self.rewrite(entry.id, None, images, is_last);
        };
        let squashed = Images { before: None, after: images.after.clone() };
        if !earlier.past.step.is_there {
            return self.rewrite(entry.id, None, squashed, is_last);
        }
        let base = image_after(&self.database.connection, &self.recent_images, earlier.id)
            .map_err(|error| judge(self.database.failed("read")(error)))?;
        // Many small changes of another program together must not look as if it had put a different task there.
        let read = |image: Option<&Image>| -> Option<Task> { image?.task(task).ok() };
        let looks_replaced = match (read(Some(&base)), read(images.after.as_ref())) {
            (Some(one), Some(two)) => entry.past.step.op == Op::ChangedElsewhere && is_another_task(&one, &two),
            _ => false,
        };
        if looks_replaced {
            return self.rewrite(entry.id, None, images, is_last);
        }
        self.rewrite(entry.id, Some((earlier.id, base)), squashed, is_last)
    }

    /// Writes an entry anew with these images. What it found is that of another entry where one is named.
    fn rewrite(
        &self,
        entry: i64,
        base: Option<(i64, Image)>,
        Images { before, after }: Images,
        is_last: bool,
    ) -> Result<(), StoreError> {
        let bytes = |image: Option<&Image>| image.map_or(Value::Null, |image| Value::Blob(image.bytes().to_vec()));
        let columns = |row: &Row<'_>| (0..SUM).map(|place| row.get::<_, Value>(place)).collect::<Result<Vec<_>, _>>();
        let mut columns = self.one(&entries_where("id = ?1"), [entry], columns)?;
        columns[BEFORE] = bytes(base.as_ref().map(|(_, image)| image).or(before.as_ref()));
        columns[AFTER] = bytes(after.as_ref());
        let summed: Vec<&dyn rusqlite::ToSql> = columns.iter().map(|value| value as &dyn rusqlite::ToSql).collect();
        let sum = self.sum_of(&summed)?;
        let depth = base.as_ref().map(|(base, _)| self.depth(*base)).transpose()?.unwrap_or(0);
        // The last state of a task is whole.
        let packed = after.as_ref().filter(|_| !is_last).and_then(|after| {
            let difference = base.as_ref().filter(|_| depth < LONGEST_CHAIN);
            let difference = difference.and_then(|(_, base)| pack_difference(after.bytes(), base.bytes()));
            let packed = difference.map(|packed| (depth + 1, packed));
            packed.or_else(|| pack_whole(after.bytes()).map(|packed| (0, packed)))
        });
        let stored_before = base.map_or_else(|| columns[BEFORE].clone(), |(base, _)| Value::Integer(base));
        let stored_after = if packed.is_some() { Value::Null } else { columns[AFTER].clone() };
        let packed = packed.map(|(depth, packed)| [&[depth], &packed[..]].concat());
        let sql = "UPDATE entries SET before = ?2, after = ?3, packed = ?4, sum = ?5 WHERE id = ?1";
        self.remove(sql, params![entry, stored_before, stored_after, packed, sum])
    }

    /// Notes by which old entries another program put a different task in the place of this one, where it did not come back.
    fn note_replacements(&self, task: &TaskId, horizon: Revision, told: &mut [EntryOfTask]) -> Result<(), StoreError> {
        let is_candidate = |told: &EntryOfTask| {
            let step = &told.past.step;
            step.revision <= horizon && step.op == Op::ChangedElsewhere && step.was_there && step.is_there
        };
        let mut replaced: Vec<(usize, Task, Task)> = Vec::new();
        for (place, told) in told.iter().enumerate().filter(|(_, told)| is_candidate(told)) {
            let entry = self.one(&entries_where("id = ?1"), [told.id], |row| self.stored_entry(row))?.entry;
            let read = |image: &Option<Image>| image.as_ref()?.task(task).ok();
            if let (Some(before), Some(after), true) = (read(&entry.before), read(&entry.after), replaces(&entry)) {
                replaced.push((place, before, after));
            }
        }
        let Some((first, ..)) = replaced.first() else { return Ok(()) };
        // What is made with the same texts is the same task, whichever program brought it back.
        let made =
            "id > ?1 AND before IS NULL AND op <> 'changed_elsewhere' AND (after IS NOT NULL OR packed IS NOT NULL)";
        self.rows(&entries_where(made), [told[*first].id], |row| {
            let (entry, id): (i64, TaskId) = (row.get(0)?, task_id(row.get_ref(4)?));
            if let Some(made) = self.checked_images(row)?.after.and_then(|image| image.task(&id).ok()) {
                replaced.retain(|(place, task, _)| told[*place].id > entry || !says_the_same(task, &made));
            }
            Ok(())
        })?;
        let last = told.last().filter(|last| last.past.step.is_there);
        let now = last.map(|last| self.image_of(last.id, Side::After)).transpose()?.flatten();
        let now = now.and_then(|image| image.task(task).ok());
        replaced.retain(|(_, task, by)| !now.as_ref().is_some_and(|now| is_back(task, Some(by), now)));
        for (place, task, _) in replaced {
            told[place].past.replaced = Some(task.status.is_open());
        }
        Ok(())
    }
}

fn revision_of(id: i64) -> Revision {
    Revision(id.unsigned_abs() >> ENTRY_BITS)
}
