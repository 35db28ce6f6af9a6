//! Thinning: removing old entries. Of each task, its creation and its state at the horizon are kept; of a missing task,
//! its last state is kept for as long as that is promised (`taskyard_core::rules::history::retention`).
//!
//! The fact `thinned` is the revision up to which entries may be missing. It is raised in the transaction that removes
//! the first of them, so that no reader ever takes thinned entries for lost ones.
//!
//! Also the terms of tidying: how long entries are kept, how their age is measured, and how long the tidying may take.
//! Age is measured as the time that passed while the entries existed. The timestamps of entries are only used if no
//! ages were recorded yet.

use std::collections::HashSet;
use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Row, params};
use taskyard_core::packing::{pack_difference, pack_whole};
use taskyard_core::rules::history::replacing::{is_another_task, is_back, replaces, says_the_same};
use taskyard_core::rules::history::retention::{Ages, ClockTrust, Elapsed, Keep, Past, Side, Terms, thin};
use taskyard_core::rules::history::vanishing::Step;
use taskyard_core::{Image, Op, Revision, Task, TaskId, Timestamp};

use super::Journal;
use super::damage::judge;
use super::entries::{Key, entries_where, split, task_id};
use super::layout::THINNED;
use super::pace::Pace;
use super::packing::LONGEST_CHAIN;
use crate::failpoint::reach;
use crate::store::StoreError;
use crate::store::journal::rows::{AFTER, BEFORE, ENTRY_BITS, Images, SUM, first_id, image_after};

/// The fact with the revision up to which every task was thinned.
const THINNED_ALL: &str = "thinned_all";

/// What to thin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thinning<'a> {
    /// Entries up to this revision are old.
    pub(super) horizon: Revision,
    /// The last state of a task that disappeared in a revision up to this one need not be kept.
    pub(super) gone_until: Revision,
    /// Whether the list's own path no longer exists.
    pub(super) list_is_gone: bool,
    /// The tasks that may be removed although no agent deleted them on purpose.
    pub(super) named: &'a HashSet<TaskId>,
}

/// The result of thinning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Thinned {
    /// How many entries were removed.
    pub(super) entries: u64,
    /// The named tasks whose last state was removed.
    pub(super) forgotten: Vec<TaskId>,
}

struct EntryOfTask {
    id: i64,
    past: Past,
}

impl Journal {
    /// Returns the revision up to which entries may have been thinned.
    pub(in crate::store) fn thinned(&self) -> Result<Revision, StoreError> {
        Ok(Revision(self.fact::<i64>(THINNED)?.unwrap_or(0).unsigned_abs()))
    }

    /// Thins the tasks, some in each transaction, until all are done or time is up. If time is short, only considers
    /// tasks with entries that became old since every task was last thinned.
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
            // Thin at least one task per transaction; otherwise a machine on which beginning takes long would make no
            // progress.
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

    /// Begins a transaction. Does not wait for a lock if time is short.
    pub(super) fn begin_when(&self, pace: &Pace) -> Result<rusqlite::Transaction<'_>, StoreError> {
        pace.begin_step();
        match pace.is_short() {
            true => self.database.without_waiting(|_| self.begin()),
            false => self.begin(),
        }
    }

    /// Thins the entries of one task.
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

    /// Returns the entries about a task without their images, oldest first.
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

    /// Returns whether an entry is the newest one, or the last about the highest number.
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

    /// Makes the remaining entries independent of those that will be removed.
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

    /// Makes an entry independent of the one before it: its change now begins where the last remaining entry ended.
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
        // Many small changes by another program, taken together, must not look as if it had replaced the task by a
        // different one.
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

    /// Rewrites an entry with these images. If `base` is given, the image before is that of another entry.
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
        // The last state of a task is stored whole.
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

    /// Marks the old entries in which another program replaced this task by a different one, if this task did not come
    /// back.
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
        // A task created with the same texts is the same task, whichever program brought it back.
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

/// The fact with how far the list went at which times: the name of the time count, then the ages.
const AGES: &str = "ages";

/// The terms of tidying.
#[derive(Clone, Debug)]
pub(crate) struct TidyTerms {
    /// How long everything is kept.
    pub(crate) keep: Duration,
    /// The time count by which journals age.
    pub(crate) count: TimeCount,
    /// The size in bytes above which a journal is thinned earlier.
    pub(crate) max_size: u64,
    /// How long tidying may take.
    pub(crate) pace: Pace,
}

impl TidyTerms {
    /// Returns the time before which everything is old.
    pub(in crate::store) fn old_before(&self) -> Timestamp {
        self.count.elapsed.old_before(self.keep)
    }
}

/// The time that has passed for the lists of a data directory; see `docs/design/clocks.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeCount {
    /// The name of the count. Records made by a different count are ignored.
    pub(crate) name: String,
    /// The count, including the reading just taken.
    pub elapsed: Elapsed,
    /// How far the clock is trusted.
    pub(crate) trust: ClockTrust,
}

impl TimeCount {
    /// Returns whether the clock is in doubt, so that nothing may be removed because of its age.
    pub fn is_doubted(&self) -> bool {
        self.elapsed.doubt.is_some()
    }
}

impl Journal {
    /// Records how far the list goes at this time, so that it ages from now on whatever timestamps its entries have.
    pub(super) fn record_age(&self, terms: &TidyTerms) -> Result<(), StoreError> {
        let TimeCount { name, elapsed, trust } = &terms.count;
        if terms.count.is_doubted() {
            return Ok(());
        }
        let recorded = self.recorded_ages(name)?;
        let is_first = recorded.is_none();
        let mut ages = match recorded {
            Some(ages) => ages,
            None => Ages::by_times(&self.times_of_revisions()?, elapsed, terms.keep, *trust),
        };
        if ages.note(elapsed.counted, self.newest()?, terms.keep) || is_first {
            let transaction = self.begin_when(&terms.pace)?;
            self.set_fact(AGES, format!("{name} {ages}"))?;
            self.end(transaction)?;
        }
        Ok(())
    }

    /// Returns the revision up to which entries are older than the retention period, or 0 while the clock is in doubt.
    pub(super) fn old_until(&self, terms: &TidyTerms) -> Result<Revision, StoreError> {
        if terms.count.is_doubted() {
            return Ok(Revision(0));
        }
        let ages = self.recorded_ages(&terms.count.name)?.unwrap_or_default();
        Ok(ages.older_than(terms.count.elapsed.counted, terms.keep))
    }

    /// Returns the ages recorded by the count of this name, or `None` if there are none.
    fn recorded_ages(&self, name: &str) -> Result<Option<Ages>, StoreError> {
        let fact = self.fact::<String>(AGES)?;
        let ages = fact.as_deref().and_then(|fact| fact.strip_prefix(name)?.strip_prefix(' '));
        Ok(ages.and_then(|ages| ages.parse().ok()))
    }

    fn times_of_revisions(&self) -> Result<Vec<(Revision, Timestamp)>, StoreError> {
        let sql = "SELECT id >> 24, at FROM entries ORDER BY id";
        self.rows(sql, [], |row| Ok((Revision(row.get::<_, i64>(0)?.unsigned_abs()), Timestamp(row.get(1)?))))
    }
}
