//! Which tasks name a task as a blocker, as one that waits for it, or as their parent: the table `ties`, by which a process finds what a
//! task is tied to without reading the list.

use std::collections::BTreeSet;
use std::sync::Arc;

use taskyard::core::{Task, TaskId};
use taskyard::store::kit::{Kept, key_of};
use tokio_postgres::Row;

use super::changes::storable;
use super::images::image;
use crate::connecting::{Column, Failure, Statement};
use crate::database::Database;

/// The columns of a task, in the order in which they are read.
pub(super) const COLUMNS: &str = "t.task, t.image, t.raw";

/// Returns what asks for tasks, for what they are tied to (those that wait for them, their blockers, parents and parts), and for what these
/// name. All tasks, if the ties of the list are not known.
pub(super) fn question_around(database: &Database, directory: &str, tasks: &[TaskId]) -> Statement {
    let sql = format!(
        "WITH this AS (SELECT id, has_ties FROM @.lists WHERE directory = $1),
        near AS (
            SELECT unnest($2) AS task
            UNION SELECT s.task FROM @.ties s WHERE s.list = (SELECT id FROM this) AND s.target = ANY($2)
            UNION SELECT s.target FROM @.ties s WHERE s.list = (SELECT id FROM this) AND s.task = ANY($2)),
        far AS (
            SELECT task FROM near UNION SELECT s.target FROM @.ties s
            WHERE s.list = (SELECT id FROM this) AND s.task = ANY(ARRAY(SELECT task FROM near)))
        SELECT {COLUMNS} FROM @.tasks t WHERE (SELECT has_ties FROM this)
            AND t.list = (SELECT id FROM this) AND t.task = ANY(ARRAY(SELECT task FROM far))
        UNION ALL
        SELECT {COLUMNS} FROM @.tasks t WHERE NOT (SELECT has_ties FROM this) AND t.list = (SELECT id FROM this)"
    );
    let names = tasks.iter().map(|task| storable(key_of(task).as_str())).collect();
    database.statement(&sql).text(directory).texts(names)
}

/// Returns the condition that a task is one of those whose names are `$2`, or is connected with one of them by the ties of the list with
/// this number.
pub(super) fn is_connected(list: &str) -> String {
    format!(
        "t.task = ANY(ARRAY(WITH RECURSIVE connected AS (
            SELECT unnest($2) AS task
            UNION
            SELECT n.task FROM connected c CROSS JOIN LATERAL (
                SELECT s.task FROM @.ties s WHERE s.list = {list} AND s.target = c.task
                UNION ALL SELECT s.target FROM @.ties s WHERE s.list = {list} AND s.task = c.task) n)
        SELECT task FROM connected))"
    )
}

/// Ties to be written: of each, the task that is named and the one that names it.
#[derive(Debug, Default)]
pub(super) struct ChangedTies {
    added: Vec<(String, String)>,
    removed: Vec<(String, String)>,
}

impl ChangedTies {
    /// Adds what becomes of the ties of a task.
    pub(super) fn note(&mut self, id: &TaskId, before: Option<&Task>, after: Option<&Task>) {
        let (before, after) = (before.map(targets).unwrap_or_default(), after.map(targets).unwrap_or_default());
        let tie = |target: &String| (target.clone(), storable(id.as_str()));
        self.added.extend(after.difference(&before).map(tie));
        self.removed.extend(before.difference(&after).map(tie));
    }

    /// Returns what writes them down for a list.
    pub(super) fn statements(self, database: &Database, list: i64) -> Vec<Statement> {
        let added = "INSERT INTO @.ties (list, target, task) SELECT $1, new.* FROM ROWS AS new ON CONFLICT DO NOTHING";
        let removed = "DELETE FROM @.ties t USING ROWS AS old (target, task)
            WHERE t.list = $1 AND t.target = old.target AND t.task = old.task";
        let all = [(removed, self.removed), (added, self.added)];
        let statement = |(sql, ties): (&str, Vec<(String, String)>)| {
            let (targets, tasks) = ties.into_iter().unzip();
            let columns = vec![Column::Texts(targets), Column::Texts(tasks)];
            database.statement(sql).number(list).rows(columns)
        };
        all.into_iter().filter(|(_, ties)| !ties.is_empty()).map(statement).collect()
    }
}

/// Returns the tasks that a task names: its blockers, those that wait for it, and its parent.
fn targets(task: &Task) -> BTreeSet<String> {
    let edges = task.blocked_by.iter().chain(&task.blocks).cloned();
    edges.chain(task.parent()).map(|id| storable(id.as_str())).collect()
}

/// Reads tasks.
pub(super) fn read_tasks(rows: &[Row]) -> Result<Vec<Arc<Kept>>, Failure> {
    let mut tasks = Vec::with_capacity(rows.len());
    for row in rows {
        let id = TaskId::stored(row.try_get::<_, &str>(0)?);
        tasks.extend(image(row, 1)?.map(|image| Kept::new(id, image)));
    }
    Ok(tasks)
}
