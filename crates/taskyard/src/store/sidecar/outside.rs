//! Writing down what other programs did, and what of ours they took back with it.

use rusqlite::params;
use taskyard_core::rules::history::taking_back::{LOOKED_BACK, OutsideWrite, judge, judge_together};
use taskyard_core::{AgentName, Entry, Image, Loss, Op, Revision, TaskId, Timestamp, Verdict};

use super::Journal;
use super::entries::{Key, NewEntry, entries_where};
use crate::store::{Signature, StaleWrite, StoreError};

/// No more entries of one task are looked at than this, newest first.
const LONGEST_PAST: usize = 256;
/// ... and no more than this of what they hold, for a task may be large.
const LARGEST_PAST: usize = 4 << 20;

/// What another program did to one task.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct OutsideChange<'a> {
    pub(in crate::store) task: &'a TaskId,
    pub(in crate::store) before: Option<&'a Image>,
    pub(in crate::store) after: Option<&'a Image>,
    /// The permission bits of the file before, where they were seen.
    pub(in crate::store) mode: Option<u32>,
    /// When the file was written, in nanoseconds, where that is known.
    pub(in crate::store) written: Option<i64>,
}

/// What one write of another program comprises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum Extent {
    /// One task: each has a file of its own.
    EachItsOwn,
    /// Every task: one file has them all.
    AllAtOnce,
}

impl Journal {
    /// Writes what other programs did as a commit of theirs, each entry with what it took back of ours. Returns the writes that
    /// certainly did not know of ours.
    pub(in crate::store) fn append_outside(
        &self,
        revision: Revision,
        at: Timestamp,
        changes: &[OutsideChange<'_>],
        extent: Extent,
    ) -> Result<Vec<StaleWrite>, StoreError> {
        let losses = self.losses(at, changes, extent)?;
        let entries: Vec<NewEntry<'_>> = changes
            .iter()
            .map(|change| NewEntry {
                task: change.task,
                op: elsewhere(change.before.is_some(), change.after.is_some()),
                before: change.before,
                after: change.after,
                inode: None,
                mode: change.mode,
            })
            .collect();
        let signature = Signature::new(AgentName::elsewhere(), Op::ChangedElsewhere);
        self.append_with_losses(revision, at, &signature, &entries, &losses)?;
        let stale = changes.iter().zip(losses).filter_map(|(change, mut losses)| {
            losses.retain(|loss| loss.verdict == Verdict::Certain);
            let (found, left) = (change.before?.clone(), change.after?.clone());
            (!losses.is_empty()).then(|| StaleWrite { task: change.task.clone(), revision, losses, found, left })
        });
        Ok(stale.collect())
    }

    /// Judges what other programs did by what was done to the same tasks lately.
    fn losses(
        &self,
        at: Timestamp,
        changes: &[OutsideChange<'_>],
        extent: Extent,
    ) -> Result<Vec<Vec<Loss>>, StoreError> {
        // Where nothing of ours is on record, nothing can be taken back: a list may be new to us, and long.
        if self.newest()? == Revision(0) {
            return Ok(vec![Vec::new(); changes.len()]);
        }
        let mut pasts = Vec::with_capacity(changes.len());
        for change in changes {
            let written = change.written.map_or(at, |written| Timestamp(written / 1_000_000).min(at));
            let past = match (change.before, change.after) {
                // What it held before says that a writer of ours knew it.
                (Some(_), Some(_)) => self.recent(change.task, written, LONGEST_PAST)?,
                (None, Some(_)) => self.recent(change.task, written, 1)?,
                (_, None) => Vec::new(),
            };
            pasts.push((written, past));
        }
        Ok(match extent {
            Extent::EachItsOwn => {
                let judged = changes.iter().zip(&pasts);
                judged.map(|(change, (written, past))| judge(&outside_write(change, *written), past)).collect()
            }
            Extent::AllAtOnce => {
                let writes = changes.iter().zip(&pasts);
                judge_together(
                    writes.map(|(change, (written, past))| (outside_write(change, *written), past.as_slice())),
                )
            }
        })
    }

    /// Returns the entries of a task that a write of that moment may have taken back, newest first. They are found by index, however
    /// long the journal is.
    fn recent(&self, task: &TaskId, written: Timestamp, count: usize) -> Result<Vec<Entry>, StoreError> {
        let oldest = written.0.saturating_sub(i64::try_from(LOOKED_BACK.as_millis()).unwrap_or(i64::MAX));
        let (mut size, mut is_enough) = (0, false);
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let sql = entries_where("task = ?1 ORDER BY id DESC LIMIT ?2");
        let entries = self.rows(&sql, params![Key(task), count], |row| {
            is_enough |= size > LARGEST_PAST || row.get::<_, i64>(1)? < oldest;
            if is_enough {
                return Ok(None);
            }
            let entry = self.stored_entry(row)?.entry;
            size += [&entry.before, &entry.after].into_iter().flatten().map(|image| image.bytes().len()).sum::<usize>();
            Ok(Some(entry))
        })?;
        Ok(entries.into_iter().flatten().collect())
    }
}

fn outside_write<'a>(change: &OutsideChange<'a>, written: Timestamp) -> OutsideWrite<'a> {
    OutsideWrite { task: change.task, before: change.before, after: change.after, written }
}

/// Names what another program did to a task.
fn elsewhere(was_there: bool, is_there: bool) -> Op {
    match (was_there, is_there) {
        (false, _) => Op::CreatedElsewhere,
        (true, true) => Op::ChangedElsewhere,
        (true, false) => Op::RemovedElsewhere,
    }
}
