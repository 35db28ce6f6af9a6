//! One call of an agent, or one command: what its first round trip asks along, and whether what it answered from memory held.

use std::sync::Arc;

use taskyard::store::{HistoryQuery, StoreCall, StoreError};
use tokio_postgres::Row;

use super::catching_up::{Asked, Reader, STANDING, Taken, questions, take_in};
use super::history::{entries, question};
use super::known_list::KnownList;
use super::lease_rows;
use crate::connecting::Statement;
use crate::database::Database;
use crate::epoch::Stamp;
use crate::one_call::{Along, CallGuard};
use crate::seldom::{LEAD_MAIL, TEAMS, read_bodies};

/// The call that this thread makes, until it is dropped.
#[derive(Debug)]
pub(super) struct PostgresCall {
    database: Arc<Database>,
    _call: CallGuard,
}

impl PostgresCall {
    /// Begins a call; `None` if this thread is in one already. If a list is expected to be read, that and what else nearly every call asks
    /// for goes along with the first question, whatever that is.
    pub(super) fn begin(
        database: &Arc<Database>,
        list: Option<Arc<KnownList>>,
        journal: Vec<HistoryQuery>,
    ) -> Option<Self> {
        let along = list.map(|list| along(database, list, journal));
        let call = database.number.begin_call(along)?;
        Some(Self { database: Arc::clone(database), _call: call })
    }
}

impl StoreCall for PostgresCall {
    fn confirm(&self) -> Result<bool, StoreError> {
        self.database.confirm_call()
    }
}

/// Returns what asks for the teams, for mail, for a list as it is, and for parts of its journal.
fn along(database: &Arc<Database>, list: Arc<KnownList>, journal: Vec<HistoryQuery>) -> Along {
    let ask = {
        let (database, list, journal) = (Arc::clone(database), Arc::clone(&list), journal.clone());
        move || -> Vec<Statement> {
            let directory = list.list.directory();
            let row = database.statement(&format!("SELECT {STANDING} FROM @.lists WHERE directory = $1"));
            let mut all = vec![database.all_teams(), database.lead_mail(), row.text(directory)];
            all.extend(questions(&database, directory, &Asked::Everything));
            all.extend(journal.iter().map(|query| question(&database, directory, query)));
            all
        }
    };
    let database = Arc::clone(database);
    let answer = move |rows: &[Vec<Row>], stamp: &Stamp| {
        database.remember(TEAMS, "", stamp, read_bodies(&rows[0]));
        database.remember(LEAD_MAIL, "", stamp, !rows[1].is_empty());
        // What cannot be read is asked for again, and then told.
        let now = database.clock.now_in_transaction();
        let learnt = database.heartbeats.learn(&rows[4], lease_rows::HEARTBEAT, &now);
        let is_there = learnt.is_ok() && !rows[2].is_empty();
        let contents = [&rows[2][..], &rows[3][..], &rows[4][..]];
        if is_there && matches!(take_in(&list, &Asked::Everything, stamp, contents, Reader::Looks), Ok(Taken::In(_))) {
            list.confirm_in(database.number.confirmed_call());
            for (query, rows) in journal.into_iter().zip(&rows[5..]) {
                if let Ok(entries) = entries(rows) {
                    database.number.keep_journal(list.list.directory(), query, entries);
                }
            }
        }
    };
    Along { questions: Box::new(ask), answer: Box::new(answer) }
}
