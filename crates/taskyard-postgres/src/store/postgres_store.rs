//! [`PostgresStore`], the store of lists.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use taskyard::core::{Entry, Lease, ListId, Moment, Revision, Rules, TaskId, Timestamp};
use taskyard::store::kit::{StagedPair, StagedTxn, StateSnapshot};
use taskyard::store::{
    ArrivingList, Capabilities, Closed, Departure, ExpectedReads, HistoryQuery, LastEntry, ListCopy, ListCopyTarget,
    ListInfo, ListMoving, ListWatch, Moved, SharedCare, SharedFault, Snapshot, Store, StoreCall, StoreError, ThinOut,
    ThinnedOut, Traffic, Txn, TxnPair, Unpacked, Watch,
};
use tokio_postgres::Row;

use super::known_list::{KnownList, KnownLists};
use super::on_demand::{OnDemandSnapshot, OnDemandTxn};
use super::watching::{PostgresListWatch, PostgresNamesWatch};
use super::writer::{Opened, Transaction, Waiting, open, open_part, wait_for_turn};
use super::{history, lease_rows};
use crate::connecting::{Failure, FailureKind, reconnects, round_trips};
use crate::database::Database;
use crate::settings::{BadAddress, Settings, Surroundings};
use crate::store::change_rows::revision;
use crate::store::history::{examine, thin_out};
use crate::store::list_copies;
use crate::store::on_demand::{PostgresCall, look_around};
use crate::store::watching::{PostgresSnapshot, exists, read};
use crate::store::writer::WritersTurn;

/// The reason why a blocking wait always returns a turn.
const WAITED: &str = "a caller that waits gets a turn or an error";
/// How long an unused list stays in memory.
const KEEPS: Duration = Duration::from_secs(300);

/// Stores lists in a database shared by many machines.
#[derive(Debug)]
pub struct PostgresStore {
    database: Arc<Database>,
    lists: KnownLists,
    rules: Rules,
}

impl PostgresStore {
    /// Opens the store at an address, which may contain a password; `shown` is displayed instead. Does not connect
    /// yet.
    pub fn open(address: &str, shown: &str, around: &Surroundings, rules: Rules) -> Result<Self, BadAddress> {
        let database = Database::new(Settings::read(address, around)?, shown.to_owned());
        Ok(Self::over(Arc::new(database), rules))
    }

    pub(crate) fn over(database: Arc<Database>, rules: Rules) -> Self {
        Self { database, lists: KnownLists::that_keeps(KEEPS), rules }
    }

    /// Sets how long a list stays in memory after a caller last requested it. Five minutes by default.
    #[must_use]
    pub fn letting_go_after(self, keeps: Duration) -> Self {
        Self { lists: KnownLists::that_keeps(keeps), ..self }
    }

    /// Returns the lists that are in memory.
    pub fn lists_in_memory(&self) -> Vec<ListId> {
        self.lists.kept()
    }

    fn list(&self, list: &ListId) -> Arc<KnownList> {
        self.lists.get(list, self.database.shown())
    }

    fn failed(&self, doing: &'static str) -> impl Fn(Failure) -> StoreError {
        move |failure| failure.into_store_error(self.database.shown(), doing)
    }

    /// Waits for a list. Returns `None` if another writer has it and the caller does not wait.
    fn become_writer(&self, list: &ListId, waiting: Waiting) -> Result<Option<Opened>, StoreError> {
        let Some(turn) = wait_for_turn(&self.list(list), waiting)? else { return Ok(None) };
        open(&self.database, turn, None, waiting, self.rules)
    }

    /// Returns the few tasks of a list that this thread's call concerns. Returns `None` if it may concern all, if the
    /// list is in memory, or under the client's rules, which number new tasks after the existing ones.
    fn few_tasks(&self, list: &ListId) -> Option<Vec<TaskId>> {
        let is_in_memory = || self.list(list).known().found().is_some();
        let few = self.database.number.few_tasks(list.directory())?;
        (!self.rules.is_client() && !is_in_memory()).then_some(few)
    }

    /// Waits for the turn among this process's threads.
    fn turn(&self, list: &ListId) -> Result<WritersTurn, StoreError> {
        Ok(wait_for_turn(&self.list(list), Waiting::Wait)?.expect(WAITED))
    }
}

impl Store for PostgresStore {
    fn now(&self) -> Result<Moment, StoreError> {
        self.database.now()
    }

    fn lists(&self) -> Result<Vec<ListInfo>, StoreError> {
        self.some_lists(None, usize::MAX)
    }

    fn some_lists(&self, behind: Option<&ListId>, most: usize) -> Result<Vec<ListInfo>, StoreError> {
        let doing = "read which lists there are";
        let sql = "SELECT name, pending, in_progress, completed, changed_at FROM @.lists
            WHERE revision > 0 AND moved IS NULL AND directory > $1 ORDER BY directory LIMIT $2";
        // No directory is empty.
        let behind = behind.map_or("", ListId::directory);
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = self.database.read(doing, || vec![self.database.statement(sql).text(behind).number(most)])?;
        let rows = rows.map(|mut rows| rows.remove(0)).unwrap_or_default();
        rows.iter().map(info).collect::<Result<_, _>>().map_err(self.failed(doing))
    }

    fn list_names(&self) -> Result<BTreeSet<ListId>, StoreError> {
        let doing = "read which lists there are";
        let sql = "SELECT name FROM @.lists WHERE revision > 0 AND moved IS NULL";
        let rows = self.database.read(doing, || vec![self.database.statement(sql)])?;
        let rows = rows.map(|mut rows| rows.remove(0)).unwrap_or_default();
        rows.iter().map(list_of).collect::<Result<_, _>>().map_err(self.failed(doing))
    }

    fn read(&self, list: &ListId) -> Result<Box<dyn Snapshot + '_>, StoreError> {
        if let Some(tasks) = self.few_tasks(list) {
            return Ok(Box::new(OnDemandSnapshot::begin(&self.database, self.list(list), &tasks)));
        }
        Ok(Box::new(PostgresSnapshot::take(&self.database, self.list(list), self.rules)?))
    }

    fn recollect(&self, list: &ListId) -> Option<Box<dyn Snapshot + '_>> {
        let snapshot = PostgresSnapshot::recollect(&self.database, self.list(list), self.rules)?;
        Some(Box::new(snapshot))
    }

    fn begin_call(&self, expected: ExpectedReads) -> Option<Box<dyn StoreCall>> {
        let call = PostgresCall::begin(&self.database, expected, |list| self.list(list));
        call.map(|call| Box::new(call) as Box<dyn StoreCall>)
    }

    fn reads_on_demand(&self, list: &ListId) -> bool {
        self.few_tasks(list).is_some()
    }

    fn read_around(&self, list: &ListId, task: &TaskId) -> Result<Option<Unpacked>, StoreError> {
        match self.few_tasks(list) {
            Some(tasks) if tasks.contains(task) => {
                let around = look_around(&self.database, &self.list(list))?;
                around.map(|state| Box::new(StateSnapshot { state }).unpack()).transpose()
            }
            Some(_) | None => Ok(None),
        }
    }

    fn has(&self, list: &ListId) -> Result<bool, StoreError> {
        exists(&self.database, &self.list(list))
    }

    fn write(&self, list: &ListId) -> Result<Box<dyn Txn + '_>, StoreError> {
        let mut turn = self.turn(list)?;
        if let Some(few) = self.few_tasks(list) {
            match open_part(&self.database, turn, &few, Waiting::Wait, self.rules)? {
                Ok((writer, state)) => return Ok(Box::new(OnDemandTxn::new(writer, state, &few))),
                // The list is new.
                Err(unused) => turn = unused,
            }
        }
        let (writer, state) = open(&self.database, turn, None, Waiting::Wait, self.rules)?.expect(WAITED);
        Ok(Box::new(StagedTxn::new(writer, state, self.rules)))
    }

    fn write_within(&self, list: &ListId, patience: Duration) -> Result<Box<dyn Txn + '_>, StoreError> {
        let (writer, state) = self.become_writer(list, Waiting::AtMost(patience))?.expect(WAITED);
        Ok(Box::new(StagedTxn::new(writer, state, self.rules)))
    }

    fn try_write(&self, list: &ListId) -> Result<Option<Box<dyn Txn + '_>>, StoreError> {
        let opened = self.become_writer(list, Waiting::DoNotWait)?;
        let begin = |(writer, state)| Box::new(StagedTxn::new(writer, state, self.rules)) as Box<dyn Txn>;
        Ok(opened.map(begin))
    }

    fn write_both(&self, from: &ListId, into: &ListId) -> Result<Box<dyn TxnPair + '_>, StoreError> {
        // The second list is locked in the first one's transaction.
        let transaction: RefCell<Option<Arc<Transaction>>> = RefCell::default();
        let second_turn: RefCell<Option<WritersTurn>> = RefCell::default();
        let pair = StagedPair::open((from, into), |list| {
            let within = transaction.borrow().clone();
            let turn = match second_turn.take() {
                Some(turn) => turn,
                None => {
                    let turn = self.turn(list)?;
                    // Take this turn before a connection: its holder may be waiting for one.
                    *second_turn.borrow_mut() = Some(self.turn(if list == from { into } else { from })?);
                    turn
                }
            };
            let opened = open(&self.database, turn, within.as_ref(), Waiting::Wait, self.rules)?;
            let (writer, state) = opened.expect(WAITED);
            *transaction.borrow_mut() = Some(Arc::clone(&writer.transaction));
            Ok(StagedTxn::new(writer, state, self.rules))
        })?;
        Ok(Box::new(pair))
    }

    fn history(&self, list: &ListId, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        history::history_of(&self.database, list, query)
    }

    fn last_entries(&self, list: &ListId) -> Result<Vec<LastEntry>, StoreError> {
        let doing = "read the journal";
        let rows = self.database.read(doing, || vec![history::question_for_last(&self.database, list.directory())])?;
        let rows = rows.map(|mut rows| rows.remove(0)).unwrap_or_default();
        history::last_entries(&rows).map_err(self.failed(doing))
    }

    fn watch(&self, list: &ListId, moved: Moved) -> Result<Box<dyn ListWatch>, StoreError> {
        Ok(Box::new(PostgresListWatch::begin(&self.database, self.list(list), moved)))
    }

    fn watch_names(&self, moved: Moved) -> Result<Box<dyn Watch>, StoreError> {
        Ok(Box::new(PostgresNamesWatch::begin(&self.database, moved)))
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { shared: Some(self), moving: Some(self), ..Capabilities::default() }
    }

    fn renew(&self, list: &ListId, leases: &[Lease]) -> Result<(), StoreError> {
        if leases.is_empty() {
            return Ok(());
        }
        let renewal = || vec![lease_rows::renewal(&self.database, list.directory(), leases)];
        self.database.change("renew leases", renewal).map(drop)
    }
}

impl SharedCare for PostgresStore {
    fn thinned(&self, list: &ListId) -> Result<Revision, StoreError> {
        let (doing, sql) = ("read the journal", "SELECT thinned FROM @.lists WHERE directory = $1");
        let rows = self.database.read(doing, || vec![self.database.statement(sql).text(list.directory())])?;
        let row = rows.as_ref().and_then(|rows| rows[0].first());
        let thinned = row.map_or(Ok(0), |row| row.try_get(0)).map_err(Failure::from).map_err(self.failed(doing))?;
        Ok(revision(thinned))
    }

    fn thin_out(&self, terms: &ThinOut) -> Result<ThinnedOut, StoreError> {
        thin_out(&self.database, terms)
    }

    fn examine(&self, list: &ListId) -> Result<Vec<SharedFault>, StoreError> {
        examine(&self.database, list)
    }

    fn copy_out(&self, list: &ListId, to: &mut dyn ListCopyTarget) -> Result<ListCopy, StoreError> {
        let state = read(&self.database, &self.list(list))?;
        list_copies::copy_out(&self.database, list, &state, || self.thinned(list), to)
    }

    fn take_in(&self, list: &ListId, arriving: &ArrivingList<'_>) -> Result<bool, StoreError> {
        let taken_in = list_copies::take_in(&self.database, list, arriving);
        self.list(list).known().forget();
        taken_in
    }

    fn traffic(&self) -> Traffic {
        Traffic { round_trips: round_trips(), reconnects: reconnects() }
    }
}

impl ListMoving for PostgresStore {
    fn departure(&self, list: &ListId) -> Result<Option<Departure>, StoreError> {
        list_copies::departure(&self.database, list)
    }

    fn close(
        &self,
        list: &ListId,
        departure: &Departure,
        copy: &mut dyn FnMut() -> Result<Revision, StoreError>,
    ) -> Result<Closed, StoreError> {
        list_copies::close(&self.database, list, departure, copy)
    }

    fn reopen(&self, list: &ListId, token: &str) -> Result<(), StoreError> {
        list_copies::reopen(&self.database, list, token)
    }

    fn leave(&self, list: &ListId, token: &str) -> Result<Vec<String>, StoreError> {
        list_copies::leave(&self.database, list, token)?;
        self.list(list).known().forget();
        Ok(Vec::new())
    }

    fn has_arrived(&self, list: &ListId, token: &str) -> Result<bool, StoreError> {
        list_copies::has_arrived(&self.database, list, token)
    }
}

fn info(row: &Row) -> Result<ListInfo, Failure> {
    let list = list_of(row)?;
    let count = |place| -> Result<usize, Failure> { Ok(usize::try_from(row.try_get::<_, i64>(place)?).unwrap_or(0)) };
    let changed = row.try_get::<_, Option<i64>>(4)?.map(Timestamp);
    Ok(ListInfo { list, path: None, counts: [count(1)?, count(2)?, count(3)?], changed })
}

fn list_of(row: &Row) -> Result<ListId, Failure> {
    ListId::new(row.try_get::<_, &str>(0)?).map_err(|error| Failure::new(FailureKind::Wrong, error.to_string()))
}
