//! Todo lists on PostgreSQL.

use std::sync::Arc;

use taskyard::core::Todo;
use taskyard::core::dialect::native::stringify;
use taskyard::core::json_text::from_slice;
use taskyard::core::tools::todo_write::{read_kept, shape};
use taskyard::todos::{TodoError, TodoOwner, Todos};

use crate::database::Database;
use crate::store::storable;

/// Todo lists in a database that many machines share.
#[derive(Debug)]
pub(crate) struct PostgresTodos {
    database: Arc<Database>,
}

impl PostgresTodos {
    /// Returns the todo lists of a database.
    pub(crate) fn over(database: Arc<Database>) -> Self {
        Self { database }
    }
}

impl Todos for PostgresTodos {
    fn read(&self, of: &TodoOwner) -> Result<Option<Vec<Todo>>, TodoError> {
        let sql = "SELECT body FROM @.todos WHERE session = $1 AND agent = $2";
        let question = || vec![self.database.statement(sql).text(storable(&of.session)).text(storable(&of.agent))];
        let rows = self.database.read("read a todo list", question).map_err(TodoError::new)?;
        let body = rows.as_ref().and_then(|rows| rows[0].first()).map(|row| row.get::<_, &str>(0));
        Ok(body.map(|body| read_kept(&from_slice(body.as_bytes()).unwrap_or_default())))
    }

    fn write(&self, of: &TodoOwner, todos: &[Todo]) -> Result<(), TodoError> {
        let sql = "INSERT INTO @.todos (session, agent, body) VALUES ($1, $2, $3)
            ON CONFLICT (session, agent) DO UPDATE SET body = excluded.body";
        let body = stringify(&shape(todos));
        let written = self.database.change("write a todo list", || {
            let statement = self.database.statement(sql).text(storable(&of.session)).text(storable(&of.agent));
            vec![statement.text(body.clone())]
        });
        written.map(drop).map_err(TodoError::new)
    }

    fn forget(&self, _of: &TodoOwner) {}
}
