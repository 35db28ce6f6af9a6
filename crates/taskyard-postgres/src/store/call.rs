//! One call of an agent, or one command: what its first round trip asks along, and whether what it answered from memory held.

use std::sync::Arc;

use taskyard::core::ListId;
use taskyard::store::kit::ListState;
use taskyard::store::{ExpectedReads, HistoryQuery, StoreCall, StoreError};
use tokio_postgres::Row;

use super::catching_up::{Asked, Reader, STANDING, Taken, learn_heartbeats, questions, read_part, take_in};
use super::history::{entries, question};
use super::known_list::KnownList;
use super::reading::{existence, is_there};
use super::ties::question_around;
use crate::connecting::{Failure, Statement};
use crate::database::Database;
use crate::epoch::Stamp;
use crate::one_call::{Along, CallGuard, FewTasks};
use crate::seldom::{LEAD_MAIL, TEAMS, read_bodies};

/// How many of the questions that go along are not about the list.
const OF_TEAMS: usize = 2;

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
        expected: ExpectedReads,
        list: impl FnOnce(&ListId) -> Arc<KnownList>,
    ) -> Option<Self> {
        let ExpectedReads { list: of_list, tasks, is_change, journal } = expected;
        let list = of_list.as_ref().map(list);
        let few = of_list.zip(tasks).map(|(list, tasks)| FewTasks { directory: list.directory().to_owned(), tasks });
        let along = match (list, &few) {
            (Some(list), Some(_)) if is_change => Some(along(database, OfList::Existence(list))),
            (Some(list), Some(few)) => Some(along(database, OfList::Around(list, few.clone(), journal))),
            (Some(list), None) => Some(along(database, OfList::Everything(list, journal))),
            (None, _) => None,
        };
        let call = database.number.begin_call(along, few)?;
        Some(Self { database: Arc::clone(database), _call: call })
    }
}

impl StoreCall for PostgresCall {
    fn confirm(&self) -> Result<bool, StoreError> {
        self.database.confirm_call()
    }
}

/// What is asked of a list along with the teams.
#[derive(Clone)]
enum OfList {
    /// Whether it exists: its tasks are read under the lock.
    Existence(Arc<KnownList>),
    /// Few tasks and what they are tied to, and parts of the journal.
    Around(Arc<KnownList>, FewTasks, Vec<HistoryQuery>),
    /// All of it, and parts of the journal.
    Everything(Arc<KnownList>, Vec<HistoryQuery>),
}

impl OfList {
    fn questions(&self, database: &Database) -> Vec<Statement> {
        let (mut all, list, journal) = match self {
            Self::Existence(list) => return vec![existence(database, list.list.directory())],
            Self::Around(list, few, journal) => (Vec::from(questions_around(database, list, few)), list, journal),
            Self::Everything(list, journal) => {
                let directory = list.list.directory();
                let [tasks, leases] = questions(database, directory, &Asked::Everything);
                (vec![row_of(database, directory), tasks, leases], list, journal)
            }
        };
        all.extend(journal.iter().map(|query| question(database, list.list.directory(), query)));
        all
    }

    /// Takes the answers in. What cannot be read is asked for again, and then told.
    fn take_in(self, database: &Database, rows: &[Vec<Row>], stamp: &Stamp) {
        let (list, journal, is_read) = match self {
            Self::Existence(list) => {
                if let Ok(true) = is_there(&rows[0]) {
                    database.number.note_existing(list.list.directory());
                }
                return;
            }
            Self::Around(list, _, journal) => {
                let around = read_around(database, &list, rows, stamp);
                let is_read = around.is_ok();
                if let Ok(around) = around {
                    if around.exists {
                        database.number.note_existing(list.list.directory());
                    }
                    database.number.keep_around(around);
                }
                (list, journal, is_read)
            }
            Self::Everything(list, journal) => {
                let contents = [&rows[0][..], &rows[1][..], &rows[2][..]];
                let is_there = learn_heartbeats(database, &rows[..3]).is_ok() && !rows[0].is_empty();
                let taken = is_there.then(|| take_in(&list, &Asked::Everything, stamp, contents, Reader::Looks));
                let is_read = matches!(taken, Some(Ok(Taken::In(_))));
                if is_read {
                    list.confirm_in(database.number.confirmed_call());
                }
                (list, journal, is_read)
            }
        };
        for (query, rows) in journal.into_iter().zip(&rows[3..]).filter(|_| is_read) {
            if let Ok(entries) = entries(rows) {
                database.number.keep_journal(list.list.directory(), query, entries);
            }
        }
    }
}

/// Returns what asks for the teams, for mail, and for something of a list.
fn along(database: &Arc<Database>, of_list: OfList) -> Along {
    let ask = {
        let (database, of_list) = (Arc::clone(database), of_list.clone());
        move || -> Vec<Statement> {
            let mut all = vec![database.all_teams(), database.lead_mail()];
            all.extend(of_list.questions(&database));
            all
        }
    };
    let database = Arc::clone(database);
    let answer = move |rows: &[Vec<Row>], stamp: &Stamp| {
        database.remember(TEAMS, "", stamp, read_bodies(&rows[0]));
        database.remember(LEAD_MAIL, "", stamp, !rows[1].is_empty());
        of_list.take_in(&database, &rows[OF_TEAMS..], stamp);
    };
    Along { questions: Box::new(ask), answer: Box::new(answer) }
}

fn row_of(database: &Database, directory: &str) -> Statement {
    database.statement(&format!("SELECT {STANDING} FROM @.lists WHERE directory = $1")).text(directory)
}

/// Returns what asks for few tasks of a list, and what they are tied to.
fn questions_around(database: &Database, list: &KnownList, few: &FewTasks) -> [Statement; 3] {
    let directory = list.list.directory();
    let [_, leases] = questions(database, directory, &Asked::Everything);
    [row_of(database, directory), question_around(database, directory, &few.tasks), leases]
}

/// Reads the answers; a list that does not exist is empty.
fn read_around(
    database: &Database,
    list: &KnownList,
    rows: &[Vec<Row>],
    stamp: &Stamp,
) -> Result<Arc<ListState>, Failure> {
    if rows[0].is_empty() {
        return Ok(Arc::default());
    }
    learn_heartbeats(database, &rows[..3])?;
    Ok(read_part(list, stamp, [&rows[0], &rows[1], &rows[2]])?.state)
}

/// Looks at the few tasks that this thread's call has to do with, and at what they are tied to; `None` if the call has to do with others, too.
pub(super) fn look_around(database: &Database, list: &KnownList) -> Result<Option<Arc<ListState>>, StoreError> {
    let directory = list.list.directory();
    let Some(tasks) = database.number.few_tasks(directory) else { return Ok(None) };
    if let Some(around) = database.number.take_around() {
        return Ok(Some(around));
    }
    let (doing, few) = ("read tasks", FewTasks { directory: directory.to_owned(), tasks });
    let asked = database.read_stamped(doing, || questions_around(database, list, &few).into_iter().collect())?;
    let Some((rows, stamp)) = asked else { return Ok(Some(Arc::default())) };
    // The first question of a call asks the same along: it is answered here.
    drop(database.number.take_around());
    let around = read_around(database, list, &rows, &stamp);
    around.map(Some).map_err(|failure| failure.into_store_error(database.shown(), doing))
}
