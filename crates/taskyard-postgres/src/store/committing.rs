//! Commits staged changes in one round trip, as the contract of writers requires.

use std::collections::HashSet;
use std::iter;
use std::sync::Arc;

use taskyard::core::{AgentName, AttemptId, Event, Image, Lease, Moment, Op, Revision, Status, Task, TaskId};
use taskyard::liveness::own_mark;
use taskyard::store::kit::{Commit, ListState, Staging, Writer, number_of};
use taskyard::store::{LiveView, Signature, StoreError};

use super::commit_notice::{Committed, payload};
use super::known_list::{Channels, KnownList};
use super::lease_rows;
use super::writer::{PostgresWriter, Waiting, lock};
use crate::connecting::failure::sending_all;
use crate::connecting::{ANSWER_TIME, Column, Failure, FailureKind, Statement};
use crate::database::{Database, NotAsked};
use crate::heartbeats::Until;
use crate::server_clock::Epoch;
use crate::store::change_rows;
use crate::store::change_rows::ImageColumns;
use crate::store::known_list::ChangedTies;
use crate::store::writer::WritersTurn;
use crate::versions::Kind;

const DOING: &str = "commit";

/// The commit of one list.
pub(super) struct Committing {
    pub(super) list: Arc<KnownList>,
    pub(super) id: i64,
    pub(super) commit: Commit,
    base: Revision,
    base_head: Option<AttemptId>,
    epoch: Epoch,
    lease_version: i64,
    /// The channels that announce the commit.
    channels: Channels,
    journaled: f64,
    counted: [i64; Status::ALL.len()],
    ties: ChangedTies,
    /// If another list is renamed to this one: its number, and the newest revision of its history, which is copied.
    former: Option<(i64, Revision)>,
    /// Released when all is done.
    _turn: WritersTurn,
}

/// Commits everything staged, on all lists or on none.
pub(super) fn commit<const N: usize>(
    staged: [(PostgresWriter, Staging); N],
    signature: &Signature,
) -> Result<[Option<Event>; N], StoreError> {
    let database = Arc::clone(&staged[0].0.database);
    let transaction = Arc::clone(&staged[0].0.transaction);
    let mut committing = staged.map(|(writer, staging)| Committing::new(writer, staging, signature));
    if let (Op::Rename, [from, into]) = (signature.op, committing.as_mut_slice()) {
        into.go_on_from(from);
    }
    let events = committing.each_ref().map(|part| part.commit.event(&part.list.list));
    if committing.iter().all(|part| part.commit.is_empty()) {
        return Ok(events);
    }
    let over = || Failure::new(FailureKind::Clash, "the transaction is over").into_store_error(database.shown(), DOING);
    let mut held = transaction.take().ok_or_else(over)?;
    let mut statements: Vec<Statement> = Vec::new();
    let holder = committing.iter().find_map(Committing::held_here).cloned();
    // The indexes of the answers that contain the new counts of lease changes.
    let mut ticks = [None; N];
    for (part, tick) in committing.iter_mut().zip(&mut ticks) {
        *tick = (!part.commit.leases.is_empty()).then_some(statements.len());
        statements.extend(part.statements(&database));
    }
    let now = database.clock.now_in_transaction().wall.0;
    let beating = holder.as_ref().filter(|_| database.heartbeats.is_one_due(now));
    statements.extend(beating.map(|agent| database.heartbeat(Some(agent))));
    if committing.iter().any(Committing::is_first) {
        statements.push(database.raise(Kind::Names));
    }
    statements.push(Statement::script("COMMIT"));
    match held.ask(&statements, ANSWER_TIME) {
        Ok(rows) => {
            if beating.is_some() {
                database.heartbeats.note_sent(now);
            }
            if holder.is_some() {
                database.send_heartbeats(Until::NothingIsHeld);
            }
            for (part, tick) in committing.iter().zip(ticks) {
                let tick = tick.and_then(|tick| rows[tick].first()).and_then(|row| row.try_get::<_, i64>(0).ok());
                part.note_commit(tick, signature);
                held.tell(Statement::script(part.notification(tick, holder.is_some())));
                if part.is_first() {
                    let names = database.schema.channel("names", "");
                    held.tell(Statement::script(database.notification_of(Kind::Names, &names)));
                }
            }
            Ok(events)
        }
        Err(failure) if failure.kind() == FailureKind::Lost => {
            held.discard();
            forget_calls(&database, &committing);
            tracing::warn!(%failure, "the answer to a commit was lost");
            match has_happened(&database, &committing) {
                Ok(true) => Ok(events),
                Ok(false) => Err(conflict(&committing)),
                Err(_) => Err(failure.into_store_error(database.shown(), DOING)),
            }
        }
        Err(failure) => {
            database.roll_back(&mut held);
            forget_calls(&database, &committing);
            match failure.is_passing() {
                true => Err(conflict(&committing)),
                false => Err(failure.into_store_error(database.shown(), DOING)),
            }
        }
    }
}

/// Makes this thread's call read again what it has read.
fn forget_calls(database: &Database, committing: &[Committing]) {
    database.number.distrust();
    committing.iter().for_each(|part| part.list.confirm_in(None));
}

/// The conflict reported if nothing was committed and the caller may retry.
fn conflict(committing: &[Committing]) -> StoreError {
    let task = |part: &Committing| {
        let changed = part.commit.entries.first().map(|entry| &entry.task);
        changed.or_else(|| part.commit.leases.keys().next()).cloned()
    };
    StoreError::Conflict { task: committing.iter().find_map(task).unwrap_or_else(|| TaskId::number(0)) }
}

impl Committing {
    fn new(writer: PostgresWriter, staging: Staging, signature: &Signature) -> Self {
        let base = Arc::clone(&staging.base);
        let mut commit = staging.into_commit(writer.database.clock.now_in_transaction().wall, signature);
        // The server fills in this column itself.
        let user = writer.database.pool.settings().user.as_str();
        commit.entries.iter_mut().for_each(|entry| entry.db_user = Some(user.to_owned()));
        let numbers = commit.entries.iter().map(|entry| number_of(&entry.task));
        let (counted, ties) = counted(&base, &commit, writer.found.has_ties);
        Self {
            list: Arc::clone(writer.list()),
            id: writer.found.id,
            base: base.revision,
            base_head: writer.found.head,
            epoch: writer.found.epoch.clone(),
            lease_version: writer.found.lease_version,
            channels: writer.found.channels.clone(),
            journaled: numbers.fold(base.journaled, f64::max),
            counted,
            ties,
            former: None,
            commit,
            _turn: writer.turn,
        }
    }

    /// Places the commit after the history of the list that is renamed to this one.
    fn go_on_from(&mut self, former: &Self) {
        self.commit.go_on_from(former.base, former.commit.last_token);
        self.journaled = self.journaled.max(former.journaled);
        self.former = Some((former.id, former.base));
    }

    fn statements(&mut self, database: &Database) -> Vec<Statement> {
        let ties = std::mem::take(&mut self.ties).statements(database, self.id);
        let Commit { entries, leases, last_token, mark, .. } = &self.commit;
        let mut all = Vec::new();
        if !leases.is_empty() {
            all.push(lease_rows::writing(database, self.id, leases));
        }
        if !entries.is_empty() {
            let (gone, there): (Vec<_>, Vec<_>) = entries.iter().partition(|entry| entry.after.is_none());
            let names = |entries: &[&taskyard::core::Entry]| {
                entries.iter().map(|entry| entry.task.as_str().to_owned()).collect::<Vec<_>>()
            };
            if !there.is_empty() {
                let mut images = ImageColumns::default();
                there.iter().for_each(|entry| images.push(entry.after.as_ref()));
                let sql = "INSERT INTO @.tasks (list, task, image, raw)
                    SELECT $1, new.* FROM ROWS AS new
                    ON CONFLICT (list, task) DO UPDATE SET image = excluded.image, raw = excluded.raw";
                let columns = [Column::SomeTexts(images.texts), Column::SomeBytes(images.bytes)];
                let columns = iter::once(Column::Texts(names(&there))).chain(columns).collect();
                all.push(database.statement(sql).number(self.id).rows(columns));
            }
            if !gone.is_empty() {
                let sql = "DELETE FROM @.tasks WHERE list = $1 AND task = ANY($2)";
                all.push(database.statement(sql).number(self.id).texts(names(&gone)));
            }
            if let Some((former, newest)) = self.former {
                all.extend(change_rows::copying(database, (former, newest), (self.id, self.base)));
            }
            all.push(change_rows::insertion(database, self.id, entries));
        }
        all.extend(ties);
        // `revision` is NOT NULL, so a list at another revision, or in another epoch, fails the whole commit.
        let sql = "UPDATE @.lists SET last_token = $3, mark = $4, journaled = $5,
                revision = CASE WHEN revision = $10 AND $11 = (SELECT epoch FROM @.yard) THEN $2 END,
                head = coalesce($12, head), changed_at = coalesce($6, changed_at), pending = pending + $7,
                in_progress = in_progress + $8, completed = completed + $9, has_ties = true
            WHERE id = $1";
        let first = entries.first();
        let [pending, in_progress, completed] = self.counted;
        let update = database
            .statement(sql)
            .number(self.id)
            .number(first.map_or(self.base, |entry| entry.revision).0.cast_signed())
            .number(last_token.0.cast_signed())
            .float(*mark)
            .float(self.journaled)
            .some_number(first.map(|entry| entry.at.0));
        let update = update.number(pending).number(in_progress).number(completed);
        let update = update.number(self.base.0.cast_signed()).text(self.epoch.id());
        let attempt = first.and_then(|entry| entry.attempt).map(|attempt| attempt.to_string());
        all.push(update.some_text(attempt));
        all
    }

    fn is_first(&self) -> bool {
        self.base.0 == 0 && !self.commit.entries.is_empty()
    }

    /// Returns the statements that notify the list's followers. `tick` is the count of lease changes after the
    /// commit.
    fn notification(&self, tick: Option<i64>, beats: bool) -> String {
        let lease_base = tick.filter(|tick| *tick == self.lease_version + 1).map(|_| self.lease_version);
        let (epoch, base) = (&self.epoch, (self.base, self.base_head));
        let committed = Committed { epoch, base, commit: &self.commit, lease_base, beats };
        let to_writers = self.channels.writers.as_ref().map(|channel| (channel.as_str(), payload(&committed)));
        let to_readers = (self.channels.readers.as_str(), String::new());
        sending_all(&to_writers.into_iter().chain([to_readers]).collect::<Vec<_>>())
    }

    /// Returns the agent of a lease in the commit that lives with this process.
    fn held_here(&self) -> Option<&AgentName> {
        let is_here = |lease: &&Lease| lease.holder.as_ref().is_some_and(|holder| *holder.process() == own_mark());
        self.commit.leases.values().flatten().find(is_here).map(|lease| &lease.agent)
    }

    /// Applies our own commit to what this process knows.
    fn note_commit(&self, tick: Option<i64>, signature: &Signature) {
        if self.former.is_some() {
            // The history copied before this commit is still to be read.
            self.list.confirm_in(None);
            return;
        }
        let mut known = self.list.known();
        let is_base = known.id == Some(self.id)
            && (known.state.revision, known.head) == (self.base, self.base_head)
            && known.epoch.as_ref().is_some_and(|epoch| epoch.is(&self.epoch));
        if !is_base {
            // Another thread has already read it from the database.
            return;
        }
        known.change(self.commit.entries.iter().map(|entry| &entry.task), |state| state.apply(&self.commit));
        known.has_ties = true;
        if !self.commit.entries.is_empty() {
            known.head = Some(signature.attempt);
            let is_followed = self.list.is_followed();
            let entries = if is_followed { self.commit.entries.clone() } else { Vec::new() };
            known.note_recent(entries, is_followed);
        }
        // A renewal in between is still to be read.
        if known.lease_version == self.lease_version && tick == Some(self.lease_version + 1) {
            known.lease_version = self.lease_version + 1;
        }
    }
}

/// Returns how the number of tasks in each status changes, and the changes of their ties.
fn counted(base: &ListState, commit: &Commit, has_ties: bool) -> ([i64; Status::ALL.len()], ChangedTies) {
    let (mut counted, mut ties) = ([0; Status::ALL.len()], ChangedTies::default());
    if !has_ties {
        // No ties of this list are in the database yet. All its tasks have been read.
        let changed: HashSet<&TaskId> = commit.entries.iter().map(|entry| &entry.task).collect();
        let others = base.tasks.values().filter(|kept| !changed.contains(&kept.id));
        others.for_each(|kept| ties.note(&kept.id, None, kept.task.as_ref().ok()));
    }
    let mut count = |task: Option<&Task>, by: i64| {
        if let Some(task) = task.filter(|task| !task.is_internal()) {
            counted[task.status as usize] += by;
        }
    };
    for entry in &commit.entries {
        let before = base.tasks.get(&entry.task).and_then(|kept| kept.task.as_ref().ok());
        let read = |image: &Image| image.task(&entry.task).ok();
        let after = entry.after.as_ref().and_then(read);
        count(before, -1);
        count(after.as_ref(), 1);
        ties.note(&entry.task, before.filter(|_| has_ties), after.as_ref());
    }
    (counted, ties)
}

/// Determines whether a commit succeeded whose answer was lost. Once the lists are locked, the commit cannot be in
/// progress any more.
fn has_happened(database: &Database, committing: &[Committing]) -> Result<bool, NotAsked> {
    let found = database.begin(|| {
        let mut all = Vec::new();
        for part in committing {
            all.push(lock(database, part.list.list.directory(), Waiting::Wait));
        }
        for part in committing {
            let attempt = part.commit.entries.first().and_then(|entry| entry.attempt);
            let sql = "SELECT 1 FROM @.changes WHERE list = $1 AND attempt = $2";
            all.push(database.statement(sql).number(part.id).some_text(attempt.map(|attempt| attempt.to_string())));
        }
        all
    });
    let (mut held, (rows, _)) = found?;
    database.roll_back(&mut held);
    Ok(rows[committing.len()..].iter().any(|rows| !rows.is_empty()))
}

impl Writer for PostgresWriter {
    fn now(&self) -> Result<Moment, StoreError> {
        Ok(self.database.clock.now_in_transaction())
    }

    fn live(&self, _base: &ListState) -> Option<LiveView<'_>> {
        // No writer can advance the list while its row is locked, but a reader may have replaced what is in memory.
        self.list().live_as(&self.found, self.rules, self.database.clock.now_in_transaction().wall)
    }

    fn commit(self, staging: Staging, signature: &Signature) -> Result<Option<Event>, StoreError> {
        commit([(self, staging)], signature).map(|[event]| event)
    }

    fn commit_both(
        from: (Self, Staging),
        into: (Self, Staging),
        signature: &Signature,
    ) -> Result<[Option<Event>; 2], StoreError> {
        commit([from, into], signature)
    }
}
