//! The entries of the journal: what each commit did to each task, and what other programs did, including which of our
//! changes they overwrote.

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Row, ToSql, params};
use serde_json::{Value as Json, json};
use taskyard_core::rules::changes::numbering::LARGEST_NUMBER;
use taskyard_core::rules::history::taking_back::{Judgement, LOOKED_BACK, OutsideWrite, judge, judge_together};
use taskyard_core::rules::leases::leasing::holds;
use taskyard_core::{AgentName, AttemptId, Entry, Image, Loss, Op, Remark, Revision, TaskId, Timestamp, Verdict};

use super::Journal;
use super::database::OVERTAKEN;
use super::stamp::Marks;
use crate::store::journal::rows::{BEFORE, COLUMNS, ENTRY_BITS, Images, first_id};
use crate::store::{Signature, StaleWrite, StoreError};

/// The state of the journal. It changes with every commit, and when a turn is taken over.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct Standing {
    pub(in crate::store) newest: Revision,
    /// The highest valid task number in any entry.
    pub(in crate::store) highest_number: u64,
    /// Changes whenever commits that were begun must no longer happen.
    overtaken: i64,
    pub(in crate::store) has_leases: bool,
    /// Differs after every commit of any connection. May also differ without one.
    version: (i64, u64),
}

/// A journal entry to write.
#[derive(Clone, Debug)]
pub(in crate::store) struct NewEntry<'a> {
    pub(in crate::store) task: &'a TaskId,
    pub(in crate::store) op: Op,
    pub(in crate::store) before: Option<&'a Image>,
    pub(in crate::store) after: Option<&'a Image>,
    /// The inode of the temporary file that will replace the task's file, or of the file that will be removed.
    pub(in crate::store) inode: Option<u64>,
    /// The permission bits of the file before the change, or `None` if unknown.
    pub(in crate::store) mode: Option<u32>,
}

/// A journal entry as stored.
#[derive(Clone, Debug)]
pub(in crate::store) struct StoredEntry {
    pub(in crate::store) entry: Entry,
    pub(in crate::store) inode: Option<u64>,
    /// The permission bits of the file before the change, or `None` if unknown.
    pub(in crate::store) mode: Option<u32>,
}

/// A task id as stored in the database. Numbers are integers, so that an index finds the highest.
pub(in crate::store) struct Key<'a>(pub(in crate::store) &'a TaskId);

impl ToSql for Key<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self.0.as_number().and_then(|number| i64::try_from(number).ok()) {
            Some(number) => Ok(ToSqlOutput::Owned(Value::Integer(number))),
            None => Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0.as_str().as_bytes()))),
        }
    }
}

/// Reads a task id from the database.
pub(super) fn task_id(value: ValueRef<'_>) -> TaskId {
    match value {
        ValueRef::Integer(number) => TaskId::number(number.unsigned_abs()),
        other => TaskId::stored(other.as_bytes().map(String::from_utf8_lossy).unwrap_or_default().into_owned()),
    }
}

impl Journal {
    pub(in crate::store) fn newest(&self) -> Result<Revision, StoreError> {
        Ok(self.last()?.map_or(Revision(0), |last| last.revision).max(Revision(self.begun.revision)))
    }

    /// Returns the newest revision by its entry id alone, without checking the entry. For callers that write nothing
    /// based on it.
    pub(in crate::store) fn newest_told(&self) -> Result<Revision, StoreError> {
        let last: Option<i64> = self.row("SELECT id FROM entries ORDER BY id DESC LIMIT 1", [], |row| row.get(0))?;
        let last = last.map_or(0, |id| (id >> ENTRY_BITS).unsigned_abs());
        Ok(Revision(last.max(self.begun.revision)))
    }

    /// Returns the newest entry. It is fully read and thereby checked, because everything that is written builds on it.
    fn last(&self) -> Result<Option<Entry>, StoreError> {
        let last = self.row(&entries_where("1 ORDER BY id DESC LIMIT 1"), [], |row| self.stored_entry(row))?;
        Ok(last.map(|stored| stored.entry))
    }

    /// Returns the size in bytes of the task's new image in the newest entry.
    pub(in crate::store) fn newest_length(&self) -> Result<u64, StoreError> {
        let length = self.row("SELECT length(after) FROM entries ORDER BY id DESC LIMIT 1", [], |row| row.get(0))?;
        Ok(length.flatten().map_or(0, i64::unsigned_abs))
    }

    /// Returns the highest number in any entry, found by the index and verified in the entry.
    fn highest_number(&self) -> Result<u64, StoreError> {
        let Some(id) = self.entry_of_highest_number()? else { return Ok(self.begun.number) };
        let stored = self.one(&entries_where("id = ?1"), [id], |row| self.stored_entry(row))?;
        Ok(stored.entry.task.as_number().unwrap_or(0).max(self.begun.number))
    }

    /// Returns the id of the last entry about the task with the highest number.
    pub(super) fn entry_of_highest_number(&self) -> Result<Option<i64>, StoreError> {
        // In SQLite every integer sorts before every text. Numbers beyond the largest valid one are excluded, or they
        // would hide the valid ones.
        let query = "SELECT id FROM entries WHERE task <= ?1 ORDER BY task DESC, id DESC LIMIT 1";
        self.row(query, [LARGEST_NUMBER.cast_signed()], |row| row.get(0))
    }

    /// Returns the state of the journal, read in one snapshot.
    pub(in crate::store) fn standing(&self) -> Result<Standing, StoreError> {
        let moment = self.database.connection.is_autocommit().then(|| self.begin_to_read()).transpose()?;
        let standing = Standing {
            newest: self.newest()?,
            highest_number: self.highest_number()?,
            overtaken: self.fact(OVERTAKEN)?.unwrap_or(0),
            has_leases: self.one("SELECT EXISTS (SELECT 1 FROM leases)", [], |row| row.get(0))?,
            version: self.version()?,
        };
        drop(moment);
        Ok(standing)
    }

    /// Returns whether the journal is still in the given state.
    pub(in crate::store) fn stands_as(&self, then: &Standing) -> Result<bool, StoreError> {
        if self.version()? == then.version {
            return Ok(true);
        }
        let (now, told) =
            (self.standing()?, |it: &Standing| (it.newest, it.highest_number, it.overtaken, it.has_leases));
        Ok(told(&now) == told(then))
    }

    /// Returns SQLite's data version, which changes with commits of other connections, and the number of changes by
    /// this one.
    fn version(&self) -> Result<(i64, u64), StoreError> {
        let of_others = self.one("PRAGMA data_version", [], |row| row.get(0))?;
        Ok((of_others, self.database.connection.total_changes()))
    }

    /// Writes the entries of one commit.
    pub(in crate::store) fn append(
        &self,
        revision: Revision,
        at: Timestamp,
        signature: &Signature,
        entries: &[NewEntry<'_>],
    ) -> Result<(), StoreError> {
        self.append_with_losses(revision, at, signature, entries, &[])
    }

    /// Writes the entries of one commit, each with what it overwrote of our changes.
    pub(super) fn append_with_losses(
        &self,
        revision: Revision,
        at: Timestamp,
        signature: &Signature,
        entries: &[NewEntry<'_>],
        losses: &[Vec<Loss>],
    ) -> Result<(), StoreError> {
        let undoes = (!signature.undoes.is_empty()).then(|| joined(&signature.undoes));
        for (place, entry) in entries.iter().enumerate() {
            let said = (place == 0).then_some((&signature.remark, Some(signature.attempt)));
            let remark = remark_as_text(entry.op, said, losses.get(place).map_or(&[], Vec::as_slice));
            self.write_entry((revision, place), (at, &signature.actor), entry, undoes.as_deref(), remark)?;
        }
        Ok(())
    }

    /// Writes entries of another journal unchanged. They must be whole revisions, oldest first.
    pub(super) fn append_as_they_are(&self, entries: &[Entry]) -> Result<(), StoreError> {
        for commit in entries.chunk_by(|one, other| one.revision == other.revision) {
            for (place, entry) in commit.iter().enumerate() {
                let new = NewEntry {
                    task: &entry.task,
                    op: entry.op,
                    before: entry.before.as_ref(),
                    after: entry.after.as_ref(),
                    inode: None,
                    mode: None,
                };
                let undoes = (!entry.undoes.is_empty()).then(|| joined(&entry.undoes));
                let said = Some((&entry.remark, entry.attempt));
                let remark = remark_as_text(entry.op, said, &entry.remark.taken_back);
                self.write_entry((entry.revision, place), (entry.at, &entry.actor), &new, undoes.as_deref(), remark)?;
            }
        }
        Ok(())
    }

    fn write_entry(
        &self,
        (revision, place): (Revision, usize),
        (at, actor): (Timestamp, &AgentName),
        entry: &NewEntry<'_>,
        undoes: Option<&str>,
        remark: Option<String>,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO entries (id, at, actor, op, task, before, after, inode, undoes, remark, mode, sum)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
        let mut columns: [&dyn ToSql; 11] = [
            &(first_id(revision) + i64::try_from(place).unwrap_or(i64::MAX)),
            &at.0,
            &actor.as_str(),
            &entry.op.as_stored(),
            &Key(entry.task),
            &entry.before.map(Image::bytes),
            &entry.after.map(Image::bytes),
            &entry.inode.map(u64::cast_signed),
            &undoes,
            &remark,
            &entry.mode,
        ];
        let sum = self.sum_of(&columns)?;
        // Usually the newest entry about the task already has this image.
        let reference = entry.before.map(|before| self.entry_with(entry.task, before)).transpose()?.flatten();
        if let Some(reference) = &reference {
            columns[BEFORE] = reference;
        }
        self.write_with_sum(sql, &columns, sum)?;
        self.reach(Marks { revision: revision.0, token: 0, number: number_that_counts(entry.task) });
        Ok(())
    }

    /// Returns every entry after a revision, oldest first.
    pub(in crate::store) fn after(&self, since: Revision) -> Result<Vec<StoredEntry>, StoreError> {
        let sql = entries_where("id >= ?1 ORDER BY id");
        self.rows(&sql, [first_id(since.next())], |row| self.stored_entry(row))
    }

    /// Returns the last known permission bits of a task's file before it was changed or removed.
    pub(in crate::store) fn last_mode(&self, task: &TaskId) -> Result<Option<u32>, StoreError> {
        // The removal of the file may not be recorded yet.
        if let Some(mode) = self.known(task)?.and_then(|known| known.mode) {
            return Ok(Some(mode));
        }
        let sql = entries_where("task = ?1 AND mode IS NOT NULL ORDER BY id DESC LIMIT 1");
        Ok(self.row(&sql, [Key(task)], |row| self.stored_entry(row))?.and_then(|stored| stored.mode))
    }

    /// Returns the tasks with entries after a revision.
    pub(in crate::store) fn tasks_since(&self, since: Revision) -> Result<Vec<TaskId>, StoreError> {
        let query = "SELECT DISTINCT task FROM entries WHERE id >= ?1";
        self.rows(query, [first_id(since.next())], |row| Ok(task_id(row.get_ref(0)?)))
    }

    /// Returns the time of a revision, or of the first one after it, in milliseconds since the Unix epoch.
    pub(in crate::store) fn moment_of(&self, revision: Revision) -> Result<Option<i64>, StoreError> {
        let query = "SELECT at FROM entries WHERE id >= ?1 ORDER BY id LIMIT 1";
        self.row(query, [first_id(revision)], |row| row.get(0))
    }

    /// Reads an entry and rebuilds its images. Fails if the checksum does not match.
    pub(super) fn stored_entry(&self, row: &Row<'_>) -> rusqlite::Result<StoredEntry> {
        let Images { before, after } = self.checked_images(row)?;
        let id: i64 = row.get(0)?;
        let word: String = row.get(3)?;
        let remark: Option<String> = row.get(9)?;
        let read = remark.map(|text| read_remark(&text)).unwrap_or_default();
        let op = Op::from_stored(&word, |key| read.is_marked(key)).unwrap_or(Op::Update);
        Ok(StoredEntry {
            entry: Entry {
                revision: Revision(id.unsigned_abs() >> ENTRY_BITS),
                at: Timestamp(row.get(1)?),
                actor: AgentName::new(row.get::<_, String>(2)?).unwrap_or_else(|_| AgentName::elsewhere()),
                op,
                task: task_id(row.get_ref(4)?),
                before,
                after,
                undoes: row.get::<_, Option<String>>(8)?.map(|text| split(&text)).unwrap_or_default(),
                remark: read.remark,
                attempt: read.attempt,
                db_user: None,
            },
            inode: row.get::<_, Option<i64>>(7)?.map(i64::cast_unsigned),
            mode: row.get(10)?,
        })
    }
}

/// Returns the SQL that reads entries.
pub(super) fn entries_where(condition: &str) -> String {
    format!("SELECT {COLUMNS} FROM entries WHERE {condition}")
}

/// Returns the number of a task, or 0 if it has none that counts when new numbers are assigned.
pub(super) fn number_that_counts(task: &TaskId) -> u64 {
    task.as_number().filter(|number| *number <= LARGEST_NUMBER).unwrap_or(0)
}

fn joined(revisions: &[Revision]) -> String {
    revisions.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

pub(super) fn split(text: &str) -> Vec<Revision> {
    text.split(',').filter_map(|word| word.parse().ok()).map(Revision).collect()
}

/// Encodes the remark of an entry. The first entry of a commit also has the notice for other agents and the attempt;
/// each entry has what it overwrote and the mark that distinguishes its verb from others stored under the same word.
fn remark_as_text(op: Op, commit: Option<(&Remark, Option<AttemptId>)>, losses: &[Loss]) -> Option<String> {
    let mut said = json!({});
    if let Some(mark) = op.mark() {
        said[mark] = json!(true);
    }
    if let Some((remark, attempt)) = commit {
        if let Some(attempt) = attempt {
            said["attempt"] = json!(attempt.to_string());
        }
        if remark.notice.is_some() || !remark.now_ready.is_empty() {
            said["notice"] = json!(remark.notice);
            said["nowReady"] = remark.now_ready.iter().map(TaskId::as_str).collect();
        }
    }
    if !losses.is_empty() {
        said["takenBack"] = losses
            .iter()
            .map(|loss| {
                json!({ "field": loss.field.to_string(), "of": loss.revision.0, "verdict": loss.verdict.as_str() })
            })
            .collect();
    }
    said.as_object().is_some_and(|said| !said.is_empty()).then(|| said.to_string())
}

/// A decoded remark.
#[derive(Default)]
struct RemarkRead {
    remark: Remark,
    attempt: Option<AttemptId>,
    marks: Json,
}

impl RemarkRead {
    fn is_marked(&self, key: &str) -> bool {
        self.marks[key] == true
    }
}

fn read_remark(text: &str) -> RemarkRead {
    let json: Json = serde_json::from_str(text).unwrap_or_default();
    let ready = json["nowReady"].as_array().into_iter().flatten().filter_map(Json::as_str);
    let notice = json["notice"].as_str().map(str::to_owned);
    let attempt = json["attempt"].as_str().and_then(|attempt| attempt.parse().ok());
    let taken_back = json["takenBack"].as_array().into_iter().flatten().filter_map(loss).collect();
    let remark = Remark { notice, now_ready: ready.map(TaskId::stored).collect(), taken_back };
    RemarkRead { remark, attempt, marks: json }
}

/// Decodes an overwritten change. Skips values that only a newer release knows.
fn loss(json: &Json) -> Option<Loss> {
    Some(Loss {
        field: json["field"].as_str()?.parse().ok()?,
        revision: Revision(json["of"].as_u64()?),
        verdict: json["verdict"].as_str()?.parse().ok()?,
    })
}

/// How many entries of one task are considered, newest first.
const LONGEST_PAST: i64 = 256;
/// How many bytes of images are considered, because a task may be large.
const LARGEST_PAST: usize = 4 << 20;

/// What another program did to one task.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct OutsideChange<'a> {
    pub(in crate::store) task: &'a TaskId,
    pub(in crate::store) before: Option<&'a Image>,
    pub(in crate::store) after: Option<&'a Image>,
    /// The permission bits of the file before the change, or `None` if unknown.
    pub(in crate::store) mode: Option<u32>,
    /// When the file was written, in nanoseconds, if known.
    pub(in crate::store) written: Option<i64>,
    /// Whether the file is gone because a client deleted the task.
    pub(in crate::store) is_deletion: bool,
}

/// What another program writes at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum Extent {
    /// One task: each has its own file.
    EachItsOwn,
    /// All tasks: they are in one file.
    AllAtOnce,
}

/// The result of recording outside changes.
#[derive(Debug, Default)]
pub(in crate::store) struct OutsideRecord {
    /// The writes that certainly overwrote our changes without having read them.
    pub(in crate::store) stale_writes: Vec<StaleWrite>,
    has_ended_lease: bool,
}

impl OutsideRecord {
    /// Returns whether a writer must repeat a decision based on what it found.
    pub(in crate::store) fn changes_judgement(&self) -> bool {
        !self.stale_writes.is_empty() || self.has_ended_lease
    }
}

impl Journal {
    /// Records what other programs did as a commit of theirs, each entry with what it overwrote of ours. Ends the
    /// leases of holders that no longer hold their task, unless that was overwritten by accident.
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

    /// Ends the leases that outside changes have ended. Returns whether there were any.
    fn end_leases(&self, changes: &[OutsideChange<'_>], judgements: &[Judgement]) -> Result<bool, StoreError> {
        let mut has_ended = false;
        for lease in self.leases()? {
            let of_task = changes.iter().zip(judgements).find(|(change, _)| *change.task == lease.task);
            // An unreadable or missing task may come back unchanged.
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

    /// Judges outside changes by recent changes to the same tasks.
    fn judge(
        &self,
        at: Timestamp,
        changes: &[OutsideChange<'_>],
        extent: Extent,
    ) -> Result<Vec<Judgement>, StoreError> {
        // Without recorded changes of ours nothing can be overwritten. A list may be new to us, and long.
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

    /// Returns the entries of a task that a write at that time may have overwritten, newest first. They are found by
    /// index, however long the journal is.
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

/// Returns the verb for what another program did to a task.
fn elsewhere(change: &OutsideChange<'_>) -> Op {
    match (change.before, change.after) {
        (None, _) => Op::CreatedElsewhere,
        (Some(_), Some(_)) => Op::ChangedElsewhere,
        (Some(_), None) if change.is_deletion => Op::DeletedElsewhere,
        (Some(_), None) => Op::RemovedElsewhere,
    }
}
