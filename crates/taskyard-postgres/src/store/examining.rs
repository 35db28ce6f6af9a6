//! Looking the journal of a list over: whether it has gaps, whether every change was made on the state before it, and whether the database
//! went back in time. Nothing is mended here: what is missing is in no table.

use taskyard::core::{ListId, TaskId, Timestamp};
use taskyard::store::{MOST_FAULTS, SharedFault, StoreError};
use tokio_postgres::Row;

use super::changes::revision;
use crate::connecting::{Failure, Statement};
use crate::database::Database;
use crate::server_clock::NOW;

const DOING: &str = "look the journal over";

/// How long ago a change of epochs may have been to be told: thirty days, in milliseconds.
const RECENT: i64 = 30 * 24 * 60 * 60 * 1000;

/// The list, and up to which revision entries may be missing because they were thinned out.
const OF_LIST: &str = "WITH this AS (SELECT id, revision, thinned FROM @.lists WHERE directory = $1)";

/// Returns what is wrong with the journal of a list, and when the database went back.
pub(super) fn examine(database: &Database, list: &ListId) -> Result<Vec<SharedFault>, StoreError> {
    let rows = database.read(DOING, || questions(database, list.directory()))?;
    let faults = rows.map_or(Ok(Vec::new()), |rows| faults(&rows));
    faults.map_err(|failure| failure.into_store_error(database.shown(), DOING))
}

fn questions(database: &Database, directory: &str) -> Vec<Statement> {
    // Behind the newest revision stands the next one, so that the last ones are missed, too.
    let gaps = format!(
        "{OF_LIST} SELECT previous, revision FROM (
            SELECT revision, lag(revision, 1, (SELECT thinned FROM this)) OVER (ORDER BY revision) AS previous FROM (
                SELECT DISTINCT c.revision FROM @.changes c, this WHERE c.list = this.id AND c.revision > this.thinned
                UNION SELECT this.revision + 1 FROM this) AS there) AS pairs
        WHERE revision > previous + 1 ORDER BY revision LIMIT {MOST_FAULTS}"
    );
    // Thinning changes what entries begin with, up to the revision that it reached.
    let mismatches = format!(
        "{OF_LIST} SELECT revision, task FROM (
            SELECT c.revision, c.task, c.before, c.before_raw, lag(c.revision) OVER earlier AS previous,
                lag(c.after) OVER earlier AS after, lag(c.after_raw) OVER earlier AS after_raw
            FROM @.changes c, this WHERE c.list = this.id AND c.revision > this.thinned
            WINDOW earlier AS (PARTITION BY c.task ORDER BY c.revision, c.place)) AS entries
        WHERE previous IS NOT NULL AND (before IS DISTINCT FROM after OR before_raw IS DISTINCT FROM after_raw)
        ORDER BY revision LIMIT {MOST_FAULTS}"
    );
    let differing = format!(
        "{OF_LIST}, newest AS (
            SELECT DISTINCT ON (c.task) c.task, c.after, c.after_raw FROM @.changes c, this WHERE c.list = this.id
            ORDER BY c.task, c.revision DESC, c.place DESC),
        there AS (SELECT t.task, t.image, t.raw FROM @.tasks t, this WHERE t.list = this.id)
        SELECT task FROM newest FULL JOIN there USING (task)
        WHERE newest.after IS DISTINCT FROM there.image OR newest.after_raw IS DISTINCT FROM there.raw
        ORDER BY task LIMIT {MOST_FAULTS}"
    );
    // The first epoch began with the tables. One that was begun for a list that this role may not see is only in `yard`.
    let epochs = format!(
        "SELECT began, coalesce(l.name, e.list), known, found FROM (
            SELECT began, list, known, found FROM @.epochs WHERE began > (SELECT min(began) FROM @.epochs)
            UNION ALL SELECT epoch_began, NULL, NULL, NULL FROM @.yard y
                WHERE NOT EXISTS (SELECT FROM @.epochs there WHERE there.epoch = y.epoch)) AS e
        LEFT JOIN @.lists l ON l.directory = e.list
        WHERE began > {NOW} - {RECENT} ORDER BY began DESC LIMIT {MOST_FAULTS}"
    );
    let of_list = |sql: &str| database.statement(sql).text(directory);
    vec![of_list(&gaps), of_list(&mismatches), of_list(&differing), database.statement(&epochs)]
}

fn faults(rows: &[Vec<Row>]) -> Result<Vec<SharedFault>, Failure> {
    let mut faults = Vec::new();
    for row in &rows[0] {
        faults.push(SharedFault::Gap { after: revision(row.try_get(0)?), before: revision(row.try_get(1)?) });
    }
    for row in &rows[1] {
        let task = TaskId::stored(row.try_get::<_, &str>(1)?);
        faults.push(SharedFault::Mismatch { revision: revision(row.try_get(0)?), task });
    }
    for row in &rows[2] {
        faults.push(SharedFault::Differs { task: TaskId::stored(row.try_get::<_, &str>(0)?) });
    }
    for row in rows[3].iter().rev() {
        let lost: (Option<String>, Option<i64>, Option<i64>) = (row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
        let lost = match lost {
            (Some(list), Some(known), Some(found)) => Some((list, revision(known), revision(found))),
            _ => None,
        };
        faults.push(SharedFault::WentBack { at: Timestamp(row.try_get(0)?), lost });
    }
    Ok(faults)
}
