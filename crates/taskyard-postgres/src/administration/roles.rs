//! Letting roles in, and saying which lists each may use.

use taskyard::core::ListId;
use tokio_postgres::Row;

use super::{Administration, AdministrationError};
use crate::connecting::{Failure, Statement};
use crate::database::Database;
use crate::schema::{TableRights, columns_in, giving, giving_all, question_for_columns, question_for_roles, quoted};
use crate::versions::Kind;

/// The lists that a role may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleLists {
    /// All of them, those to come included.
    Every,
    /// Lists it is granted, and lists it creates.
    Granted,
}

/// What a role may do on a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListRight {
    /// Read and follow it.
    Read,
    /// Change it.
    Work,
}

/// The list that stands for all of them, and the one that stands for those that a role makes: their numbers and directories.
const EVERY: (i64, &str) = (0, "");
const OWN: (i64, &str) = (-1, "/");

impl Administration {
    /// Lets a role work on every list, or only on lists it is granted or creates. Creates the role if it does not exist. A role that
    /// has too many rights in the tables is left with those it needs.
    pub fn let_in(&self, role: &str, lists: RoleLists) -> Result<(), AdministrationError> {
        let database = &self.database;
        self.change_rights("let a role in", role, None, |asked| {
            let mut all = Vec::new();
            if !asked.has_role {
                all.push(Statement::script(format!("CREATE ROLE {} LOGIN", quoted(role))));
            }
            let (this, that) = match lists {
                RoleLists::Every => (EVERY, OWN),
                RoleLists::Granted => (OWN, EVERY),
            };
            let sql = "INSERT INTO @.grants (list, directory, role, may_write) VALUES ($1, $2, $3, true)
                ON CONFLICT (list, role) DO UPDATE SET may_write = true";
            all.push(database.statement(sql).number(this.0).text(this.1).text(role));
            let sql = "DELETE FROM @.grants WHERE list = $1 AND role = $2";
            all.push(database.statement(sql).number(that.0).text(role));
            if lists == RoleLists::Granted && asked.grants.iter().any(|(list, _)| *list == EVERY.0) {
                // The role knows the old channels, and whoever knows one can listen and tell there.
                all.push(database.statement("UPDATE @.lists SET channel = DEFAULT"));
                all.push(database.statement("UPDATE @.commit_channels SET channel = DEFAULT"));
            }
            Ok((all, TableRights::Work))
        })
    }

    /// Says what a role may do on a list; `None` takes the right away.
    pub fn grant(&self, list: &ListId, role: &str, right: Option<ListRight>) -> Result<(), AdministrationError> {
        let database = &self.database;
        self.change_rights("grant a right", role, Some(list), |asked| {
            if !asked.has_role {
                return Err(AdministrationError::NoRole { role: role.to_owned() });
            }
            let Some(id) = asked.list else {
                return Err(AdministrationError::NoList { list: list.as_str().to_owned() });
            };
            if asked.grants.iter().any(|(list, _)| *list == EVERY.0) {
                return Err(AdministrationError::HasEveryList { role: role.to_owned() });
            }
            let is_work = right == Some(ListRight::Work);
            let statement = match right {
                Some(_) => {
                    let sql = format!(
                        "INSERT INTO @.grants (list, directory, role, may_write)
                        SELECT id, directory, $2, {is_work} FROM @.lists WHERE id = $1
                        ON CONFLICT (list, role) DO UPDATE SET may_write = excluded.may_write"
                    );
                    database.statement(&sql)
                }
                None => database.statement("DELETE FROM @.grants WHERE list = $1 AND role = $2"),
            };
            let mut others = asked.grants.iter().filter(|(list, _)| *list != id).peekable();
            let rights = match (right, others.peek().is_some()) {
                (None, false) => TableRights::None,
                _ if is_work || others.any(|(_, may_write)| *may_write) => TableRights::Work,
                _ => TableRights::Read,
            };
            let mut all = vec![statement.number(id).text(role)];
            // The role knows the old channels, and whoever knows one can listen and tell there.
            if right.is_none() {
                all.push(database.statement("UPDATE @.lists SET channel = DEFAULT WHERE id = $1").number(id));
            }
            if !is_work && asked.grants.contains(&(id, true)) {
                let sql = "UPDATE @.commit_channels SET channel = DEFAULT WHERE list = $1";
                all.push(database.statement(sql).number(id));
            }
            Ok((all, rights))
        })
    }

    /// Gives every role its rights in the tables again, after a restore without them.
    pub(super) fn give_rights_again(&self) -> Result<(), AdministrationError> {
        let database = &self.database;
        database.transact(
            "give roles their rights",
            || {
                let mut all = owner_questions(database, "");
                all.extend([question_for_roles(&database.schema), question_for_columns(&database.schema)]);
                all
            },
            |rows| {
                let given = match not_owner(&rows[1])? {
                    // The owner will.
                    Some(_) => Vec::new(),
                    None => giving_all(&database.schema, &rows[2], &rows[3])?,
                };
                Ok((given, ()))
            },
        )?;
        Ok(())
    }

    /// Changes what a role may do, unless the connection is not the owner's.
    fn change_rights(
        &self,
        doing: &str,
        role: &str,
        list: Option<&ListId>,
        change: impl Fn(&Asked) -> Result<(Vec<Statement>, TableRights), AdministrationError>,
    ) -> Result<(), AdministrationError> {
        let database = &self.database;
        let directory = list.map_or("", ListId::directory);
        database.transact(
            doing,
            || {
                let mut all = owner_questions(database, role);
                all.push(question_for_columns(&database.schema));
                all.push(database.statement("SELECT list, may_write FROM @.grants WHERE role = $1").text(role));
                all.push(database.statement("SELECT id FROM @.lists WHERE directory = $1").text(directory));
                all
            },
            |rows| {
                if let Some(refused) = not_owner(&rows[1])? {
                    return Ok((Vec::new(), Err(refused)));
                }
                // It would be left with less than it has.
                if rows[1][0].try_get::<_, &str>(0)? == role {
                    return Ok((Vec::new(), Err(AdministrationError::IsOwner { role: role.to_owned() })));
                }
                match change(&Asked::read(rows)?) {
                    Ok((mut all, rights)) => {
                        all.push(giving(&database.schema, role, rights, &columns_in(&rows[2])?));
                        // What the role's processes remember of teams and messages is what it could see before.
                        all.extend(Kind::ALL.map(|kind| database.raise(kind)));
                        Ok((all, Ok(())))
                    }
                    Err(refused) => Ok((Vec::new(), Err(refused))),
                }
            },
        )?
    }
}

/// What has to be known before rights are changed.
struct Asked {
    has_role: bool,
    /// The number of the list that is meant; `None` if there is none of that name.
    list: Option<i64>,
    /// The lists of the role, each with whether it may change it.
    grants: Vec<(i64, bool)>,
}

impl Asked {
    fn read(rows: &[Vec<Row>]) -> Result<Self, Failure> {
        let grant = |row: &Row| -> Result<(i64, bool), Failure> { Ok((row.try_get(0)?, row.try_get(1)?)) };
        Ok(Self {
            has_role: rows[1][0].try_get(3)?,
            list: rows[4].first().map(|row| row.try_get(0)).transpose()?,
            grants: rows[3].iter().map(grant).collect::<Result<_, _>>()?,
        })
    }
}

/// Returns what keeps other processes from changing rights or tables meanwhile, and asks who owns the tables and whether a role exists.
fn owner_questions(database: &Database, role: &str) -> Vec<Statement> {
    let owner = "SELECT pg_get_userbyid(relowner)::text, current_user::text, pg_has_role(relowner, 'USAGE'),
        EXISTS (SELECT FROM pg_roles WHERE rolname = $2) FROM pg_class WHERE oid = to_regclass($1)";
    vec![
        Statement::new("SELECT pg_advisory_xact_lock($1)").number(database.schema.lock_number()),
        Statement::new(owner).text(database.schema.in_sql("@.yard")).text(role),
    ]
}

/// Returns why the connection may not give rights; `None` if it may.
fn not_owner(rows: &[Row]) -> Result<Option<AdministrationError>, Failure> {
    let row = &rows[0];
    let refused = AdministrationError::NotOwner { owner: row.try_get(0)?, role: row.try_get(1)? };
    Ok((!row.try_get::<_, bool>(2)?).then_some(refused))
}
