//! Making the tables, and bringing them to the newest version.

use std::sync::Arc;

use taskyard::core::problem::{Problem, ProblemKind};
use taskyard::store::StoreError;

use crate::database::{Database, NotAsked};
use crate::schema::VERSION;

/// The database at an address, for its administrator.
#[derive(Debug)]
pub struct Administration {
    pub(super) database: Arc<Database>,
}

/// The version that tables had, and the one they have now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableVersions {
    /// `None` if there were no tables.
    pub before: Option<i64>,
    /// The version of this release.
    pub now: i64,
}

/// Why an administrator's command was not carried out. Nothing has been changed.
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
    /// The role owns the tables, and is not restricted.
    #[error("role `{role}` owns the tables and may do everything")]
    IsOwner {
        /// The role.
        role: String,
    },
    /// There is no role of that name.
    #[error("there is no role named `{role}`")]
    NoRole {
        /// The role.
        role: String,
    },
    /// There is no list of that name.
    #[error("there is no list named `{list}`")]
    NoList {
        /// The list.
        list: String,
    },
    /// The role may use every list, and single ones mean nothing to it.
    #[error("role `{role}` may work on every list")]
    HasEveryList {
        /// The role.
        role: String,
    },
    /// The server could not be asked, or refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Administration {
    /// Administers a database.
    pub(crate) fn over(database: Arc<Database>) -> Self {
        Self { database }
    }

    /// Makes the tables if they are missing, upgrades them if they are older, and gives the roles that may use them their rights again.
    pub fn init(&self) -> Result<TableVersions, AdministrationError> {
        let found = self.database.migrate("make the tables")?;
        let before = (found > 0).then_some(found);
        match found {
            newer if newer > VERSION => {
                return Err(self.database.error(NotAsked::Newer(newer), "make the tables").into());
            }
            VERSION => self.give_rights_again()?,
            _ => {}
        }
        Ok(TableVersions { before, now: VERSION })
    }

    /// Brings the tables to the version of this release. Fails if there are none.
    pub fn upgrade(&self) -> Result<TableVersions, AdministrationError> {
        match self.version()? {
            None => Err(AdministrationError::NoTables { schema: self.database.schema.plain().to_owned() }),
            Some(version) if version == VERSION => Ok(TableVersions { before: Some(version), now: VERSION }),
            Some(_) => self.init(),
        }
    }

    /// Returns the version of the tables; `None` if there are none. Nothing is changed.
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
                Self::new(ProblemKind::NotFound, "no_tables", message).hint("make them with `taskyard db init`")
            }
            AdministrationError::NotOwner { owner, .. } => Self::new(ProblemKind::Refused, "not_owner", message)
                .hint("only the owner of the tables gives rights; name it in the address before the `@`")
                .detail("owner", owner),
            AdministrationError::IsOwner { role } => Self::new(ProblemKind::Refused, "is_owner", message)
                .hint("let agents work under another role, with fewer rights")
                .detail("role", role),
            AdministrationError::NoRole { role } => Self::new(ProblemKind::NotFound, "no_such_role", message)
                .hint(format!("`taskyard db init --role {role} --lists granted` makes it and lets it in"))
                .detail("role", role),
            AdministrationError::NoList { list } => Self::new(ProblemKind::NotFound, "no_such_list", message)
                .hint("a role may work on a list that it makes itself; `taskyard lists` shows those there are")
                .detail("list", list),
            AdministrationError::HasEveryList { role } => Self::new(ProblemKind::Refused, "has_every_list", message)
                .hint(format!("`taskyard db init --role {role} --lists granted` limits it to the lists it is granted"))
                .detail("role", role),
        }
    }
}
