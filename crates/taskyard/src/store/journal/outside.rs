//! Writing down what other programs did, and what of ours they took back with it.

use rusqlite::params;
use taskyard_core::rules::history::taking_back::{Judgement, LOOKED_BACK, OutsideWrite, judge, judge_together};
use taskyard_core::rules::leases::leasing::holds;
use taskyard_core::{AgentName, Entry, Image, Loss, Op, Revision, TaskId, Timestamp, Verdict};

use super::Journal;
use super::entries::{Key, NewEntry, entries_where};
use crate::store::{Signature, StaleWrite, StoreError};

/// No more entries of one task are looked at than this, newest first.
const LONGEST_PAST: i64 = 256;
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
    /// When the file was written, in nanoseconds, if that is known.
    pub(in crate::store) written: Option<i64>,
    /// Whether the file is gone because a client deleted the task.
    pub(in crate::store) is_deletion: bool,
}

/// What one write of another program comprises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum Extent {
    /// One task: each has a file of its own.
    EachItsOwn,
    /// Every task: one file has them all.
    AllAtOnce,
}

/// What came of recording outside changes.
#[derive(Debug, Default)]
pub(in crate::store) struct OutsideRecord {
    /// The writes that certainly did not know of ours.
    pub(in crate::store) stale_writes: Vec<StaleWrite>,
    /// Whether a lease ended with them.
    has_ended_lease: bool,
}

impl OutsideRecord {
    /// Tells whether a writer that judged by what it found has to judge again.
    pub(in crate::store) fn changes_judgement(&self) -> bool {
        !self.stale_writes.is_empty() || self.has_ended_lease
    }
}

impl Journal {
    /// Writes what other programs did as a commit of theirs, each entry with what it took back of ours. Ends the leases on tasks that are no
    /// longer their holders', unless that was taken back without knowing.
    pub(in crate::store) fn append_outside(
        &self,
        revision: Revision,
        at: Timestamp,
        changes: &[OutsideChange<'_>],
        extent: Extent,
    ) -> Result<OutsideRecord, StoreError> {
        let judgements = self.judge(at, changes, extent)?;
        let has_ended_lease = self.end_leases(changes, &judgements)?;
        let losses: Vec<Vec<Loss>> = judgements.into_iter().map(|judgement| judgement.losses).collect();
        let entries: Vec<NewEntry<'_>> = changes
            .iter()
            .map(|change| NewEntry {
                task: change.task,
                op: elsewhere(change),
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
        Ok(OutsideRecord { stale_writes: stale.collect(), has_ended_lease })
    }

    /// Ends leases that what other programs did has ended, and tells whether there were any.
    fn end_leases(&self, changes: &[OutsideChange<'_>], judgements: &[Judgement]) -> Result<bool, StoreError> {
        let mut has_ended = false;
        for lease in self.leases()? {
            let of_task = changes.iter().zip(judgements).find(|(change, _)| *change.task == lease.task);
            // What cannot be read, or is gone, may come back as it was.
            let after =
                of_task.and_then(|(change, judgement)| Some((change.after?.task(change.task).ok()?, judgement)));
            let Some((task, judgement)) = after else { continue };
            let may_come_back = judgement.losses.iter().any(|loss| loss.verdict.is_accident());
            if judgement.is_other_task || !(holds(&lease, &task) || may_come_back) {
                self.end_lease(&lease.task)?;
                has_ended = true;
            }
        }
        Ok(has_ended)
    }

    /// Judges what other programs did by what was done to the same tasks lately.
    fn judge(
        &self,
        at: Timestamp,
        changes: &[OutsideChange<'_>],
        extent: Extent,
    ) -> Result<Vec<Judgement>, StoreError> {
        // Where nothing of ours is on record, nothing can be taken back: a list may be new to us, and long.
        if self.newest()? == Revision(0) {
            return Ok(vec![Judgement::default(); changes.len()]);
        }
        let mut pasts = Vec::with_capacity(changes.len());
        for change in changes {
            let written = change.written.map_or(at, |written| Timestamp(written / 1_000_000).min(at));
            let past = match change.after {
                Some(_) => self.recent(change.task, written)?,
                None => Vec::new(),
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
    fn recent(&self, task: &TaskId, written: Timestamp) -> Result<Vec<Entry>, StoreError> {
        let oldest = written.0.saturating_sub(i64::try_from(LOOKED_BACK.as_millis()).unwrap_or(i64::MAX));
        let (mut size, mut is_enough) = (0, false);
        let sql = entries_where("task = ?1 ORDER BY id DESC LIMIT ?2");
        let entries = self.rows(&sql, params![Key(task), LONGEST_PAST], |row| {
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
fn elsewhere(change: &OutsideChange<'_>) -> Op {
    match (change.before, change.after) {
        (None, _) => Op::CreatedElsewhere,
        (Some(_), Some(_)) => Op::ChangedElsewhere,
        (Some(_), None) if change.is_deletion => Op::DeletedElsewhere,
        (Some(_), None) => Op::RemovedElsewhere,
    }
}
