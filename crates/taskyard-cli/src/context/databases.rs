//! Databases as stores, and their administration.

use std::ffi::OsString;
use std::sync::Arc;

use taskyard::opening::{Address, Opener, Openers};
use taskyard_postgres::{Administration, PostgresOpener, Surroundings};

use super::Context;
use crate::environment::PGPASSWORD;
use crate::exit::Problem;

impl Context {
    /// Adds the openers of databases.
    pub(super) fn with_databases(&self, openers: Openers) -> Openers {
        let opener: Arc<dyn Opener> = Arc::new(self.postgres_opener());
        PostgresOpener::SCHEMES.into_iter().fold(openers, |all, scheme| all.with(scheme, Arc::clone(&opener)))
    }

    fn postgres_opener(&self) -> PostgresOpener {
        let environment = &self.environment;
        PostgresOpener::new(Surroundings {
            variables: environment.postgres.clone(),
            home: environment.home.clone(),
            user: environment.user.clone(),
        })
    }

    /// Returns administrative access to the store's database. Fails if the store is not a database.
    pub(crate) fn administration(&self) -> Result<Administration, Problem> {
        match self.address()? {
            Address::Remote(address) if PostgresOpener::SCHEMES.contains(&address.scheme()) => {
                self.postgres_opener().administration(address).map_err(|error| self.not_opened(error))
            }
            address => Err(Problem::usage("no_database", format!("the store `{address}` is not a database"))
                .hint("name one with `--store postgres://HOST/DATABASE` or TASKYARD_STORE")),
        }
    }

    /// Returns the variable that hides the store's password from child processes, if it is set.
    pub(super) fn emptied_password(&self) -> Option<(OsString, OsString)> {
        let is_postgres = self.address().is_ok_and(
            |address| matches!(address, Address::Remote(remote) if PostgresOpener::SCHEMES.contains(&remote.scheme())),
        );
        let is_set = self.environment.postgres.iter().any(|(name, _)| name == PGPASSWORD);
        // PostgreSQL's own programs treat an empty value as unset and use the password file.
        (is_postgres && is_set).then(|| (PGPASSWORD.into(), OsString::new()))
    }
}
