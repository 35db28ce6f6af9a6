//! Creates and upgrades the tables, and grants roles access to lists.

use std::sync::Arc;

use taskyard::core::ListId;
use taskyard::core::problem::{Problem, ProblemKind};
use taskyard::store::StoreError;
use tokio_postgres::Row;

use crate::connecting::{Failure, Statement};
use crate::database::{Database, NotAsked};
use crate::schema::{
    TableRights, VERSION, columns_in, giving, giving_all, question_for_columns, question_for_roles, quoted,
};
use crate::versions::Kind;

/// The lists a role may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleLists {
    /// All lists, including future ones.
    Every,
    /// Lists it is granted and lists it creates.
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

/// Number and directory of the grants that stand for all lists, and for the lists that the role creates.
const EVERY: (i64, &str) = (0, "");
const OWN: (i64, &str) = (-1, "/");

impl Administration {
    /// Lets a role work on every list, or only on lists it is granted or creates. Creates the role if it does not
    /// exist. Revokes privileges on the tables that the role does not need.
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
                // The role knows the old channel names, and anyone who knows a channel's name can listen and notify
                // there.
                all.push(database.statement("UPDATE @.lists SET channel = DEFAULT"));
                all.push(database.statement("UPDATE @.commit_channels SET channel = DEFAULT"));
            }
            Ok((all, TableRights::Work))
        })
    }

    /// Sets what a role may do on a list; `None` revokes its access.
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
            // The role knows the old channel names, and anyone who knows a channel's name can listen and notify
            // there.
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

    /// Restores every role's privileges on the tables, after a restore that did not include them.
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
                    // The owner grants them later.
                    Some(_) => Vec::new(),
                    None => giving_all(&database.schema, &rows[2], &rows[3])?,
                };
                Ok((given, ()))
            },
        )?;
        Ok(())
    }

    /// Changes a role's rights. Fails unless the connection's role owns the tables.
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
                // Restricting the owner would leave it with fewer rights than it has.
                if rows[1][0].try_get::<_, &str>(0)? == role {
                    return Ok((Vec::new(), Err(AdministrationError::IsOwner { role: role.to_owned() })));
                }
                match change(&Asked::read(rows)?) {
                    Ok((mut all, rights)) => {
                        all.push(giving(&database.schema, role, rights, &columns_in(&rows[2])?));
                        // What the role's processes have cached about teams and messages reflects its former rights.
                        all.extend(Kind::ALL.map(|kind| database.raise(kind)));
                        Ok((all, Ok(())))
                    }
                    Err(refused) => Ok((Vec::new(), Err(refused))),
                }
            },
        )?
    }
}

/// Facts needed before rights are changed.
struct Asked {
    has_role: bool,
    /// The number of the list in question; `None` if no list has that name.
    list: Option<i64>,
    /// The lists granted to the role, and whether it may change each.
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

/// Returns statements that lock out concurrent changes of rights and tables, and that ask who owns the tables and
/// whether a role exists.
fn owner_questions(database: &Database, role: &str) -> Vec<Statement> {
    let owner = "SELECT pg_get_userbyid(relowner)::text, current_user::text, pg_has_role(relowner, 'USAGE'),
        EXISTS (SELECT FROM pg_roles WHERE rolname = $2) FROM pg_class WHERE oid = to_regclass($1)";
    vec![
        Statement::new("SELECT pg_advisory_xact_lock($1)").number(database.schema.lock_number()),
        Statement::new(owner).text(database.schema.in_sql("@.yard")).text(role),
    ]
}

/// Returns why the connection may not grant rights, or `None` if it may.
fn not_owner(rows: &[Row]) -> Result<Option<AdministrationError>, Failure> {
    let row = &rows[0];
    let refused = AdministrationError::NotOwner { owner: row.try_get(0)?, role: row.try_get(1)? };
    Ok((!row.try_get::<_, bool>(2)?).then_some(refused))
}

/// Administrative access to the database at an address.
#[derive(Debug)]
pub struct Administration {
    pub(super) database: Arc<Database>,
}

/// The version of the tables before and after an upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableVersions {
    /// `None` if there were no tables.
    pub before: Option<i64>,
    /// The version that this release uses.
    pub now: i64,
}

/// Why an administrative command failed. Nothing has been changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdministrationError {
    /// The schema does not contain Taskyard's tables.
    #[error("there are no tables in schema `{schema}`")]
    NoTables {
        /// The schema.
        schema: String,
    },
    /// The role of the connection does not own the tables.
    #[error("role `{role}` does not own the tables; `{owner}` does")]
    NotOwner {
        /// The role of the connection.
        role: String,
        /// The owner.
        owner: String,
    },
    /// The role owns the tables, so it cannot be restricted.
    #[error("role `{role}` owns the tables and may do everything")]
    IsOwner {
        /// The role.
        role: String,
    },
    /// No role has that name.
    #[error("there is no role named `{role}`")]
    NoRole {
        /// The role.
        role: String,
    },
    /// No list has that name.
    #[error("there is no list named `{list}`")]
    NoList {
        /// The list.
        list: String,
    },
    /// The role already has access to every list, so a grant on a single list has no effect.
    #[error("role `{role}` may work on every list")]
    HasEveryList {
        /// The role.
        role: String,
    },
    /// The server could not be reached or refused the command.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Administration {
    pub(crate) fn over(database: Arc<Database>) -> Self {
        Self { database }
    }

    /// Creates the tables if they do not exist, upgrades them if they are older, and restores the privileges of the
    /// roles that may use them.
    pub fn init(&self) -> Result<TableVersions, AdministrationError> {
        let found = self.database.migrate("create the tables")?;
        let before = (found > 0).then_some(found);
        match found {
            newer if newer > VERSION => {
                return Err(self.database.error(NotAsked::Newer(newer), "create the tables").into());
            }
            VERSION => self.give_rights_again()?,
            _ => {}
        }
        Ok(TableVersions { before, now: VERSION })
    }

    /// Upgrades the tables to this release's version. Fails if they do not exist.
    pub fn upgrade(&self) -> Result<TableVersions, AdministrationError> {
        match self.version()? {
            None => Err(AdministrationError::NoTables { schema: self.database.schema.plain().to_owned() }),
            Some(version) if version == VERSION => Ok(TableVersions { before: Some(version), now: VERSION }),
            Some(_) => self.init(),
        }
    }

    /// Returns the version of the tables, or `None` if they do not exist. Changes nothing.
    fn version(&self) -> Result<Option<i64>, StoreError> {
        let version = self.database.pool.persist(|session| self.database.version_in(session));
        version.map_err(|failure| failure.into_store_error(self.database.shown(), "ask for the version of the tables"))
    }
}

impl From<AdministrationError> for Problem {
    fn from(error: AdministrationError) -> Self {
        let message = error.to_string();
        match error {
            AdministrationError::Store(error) => error.into(),
            AdministrationError::NoTables { .. } => {
                Self::new(ProblemKind::NotFound, "no_tables", message).hint("create them with `taskyard db init`")
            }
            AdministrationError::NotOwner { owner, .. } => Self::new(ProblemKind::Refused, "not_owner", message)
                .hint("only the owner of the tables can grant rights; name it in the address before the `@`")
                .detail("owner", owner),
            AdministrationError::IsOwner { role } => Self::new(ProblemKind::Refused, "is_owner", message)
                .hint("run agents under another role with fewer rights")
                .detail("role", role),
            AdministrationError::NoRole { role } => Self::new(ProblemKind::NotFound, "no_such_role", message)
                .hint(format!("`taskyard db init --role {role} --lists granted` creates it and grants it access"))
                .detail("role", role),
            AdministrationError::NoList { list } => Self::new(ProblemKind::NotFound, "no_such_list", message)
                .hint("a role may work on a list that it creates itself; `taskyard lists` shows all lists")
                .detail("list", list),
            AdministrationError::HasEveryList { role } => Self::new(ProblemKind::Refused, "has_every_list", message)
                .hint(format!("`taskyard db init --role {role} --lists granted` limits it to the lists it is granted"))
                .detail("role", role),
        }
    }
}
