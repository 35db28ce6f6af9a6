//! The stores of other crates, and who gets into them.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use taskyard::Yard;
use taskyard::core::ListId;
use taskyard::jobs::JobSettings;
use taskyard::opening::{Address, Opener, Openers, WrittenAddress};
use taskyard_jobs::JobOptions;
use taskyard_postgres::{Administration, PostgresOpener, Surroundings};

use super::Context;
use crate::environment::PGPASSWORD;
use crate::places;
use crate::problem::Problem;

impl Context {
    /// Returns the stores of other crates.
    pub(super) fn openers(&self) -> Openers {
        let opener: Arc<dyn Opener> = Arc::new(self.postgres_opener());
        PostgresOpener::SCHEMES
            .into_iter()
            .fold(Openers::default(), |all, scheme| all.with(scheme, Arc::clone(&opener)))
    }

    fn postgres_opener(&self) -> PostgresOpener {
        let environment = &self.environment;
        PostgresOpener::new(Surroundings {
            variables: environment.postgres.clone(),
            home: environment.home.clone(),
            user: environment.user.clone(),
        })
    }

    /// Returns what administers the database of the store. Fails if the store is not a database.
    pub(crate) fn administration(&self) -> Result<Administration, Problem> {
        match self.address()? {
            Address::Remote(address) if PostgresOpener::SCHEMES.contains(&address.scheme()) => {
                self.postgres_opener().administration(address).map_err(|error| self.not_opened(error))
            }
            address => Err(Problem::usage("no_database", format!("the store `{address}` is not a database"))
                .hint("name one with `--store postgres://HOST/DATABASE` or TASKYARD_STORE")),
        }
    }

    /// Opens another store than that of this command, on a list of this name.
    pub(crate) fn elsewhere(&self, written: &WrittenAddress, list: &ListId) -> Result<(Address, Yard), Problem> {
        let here = self.directory.as_deref().unwrap_or(Path::new(""));
        let address = Address::parse(written, here, &self.openers())?;
        let opened = taskyard::open(&address, self.places()?, &self.openers());
        let opened = opened.map_err(|error| self.not_opened(error))?;
        let yard = Yard::new(opened.store, list.clone(), self.actor()?).with_rules(self.rules()?);
        Ok((address, yard))
    }

    /// Returns where jobs leave their traces, and what they are started with.
    pub(crate) fn job_options(&self, settings: JobSettings) -> Result<JobOptions, Problem> {
        let environment = self.environment_of_children();
        Ok(JobOptions { environment, ..places::jobs(&self.environment, settings)? })
    }

    /// Returns the variables that children get in place of ours. None of them holds the password of the store.
    pub(super) fn environment_of_children(&self) -> Vec<(OsString, OsString)> {
        let mut variables = self.environment.for_children();
        let is_postgres = self.address().is_ok_and(
            |address| matches!(address, Address::Remote(remote) if PostgresOpener::SCHEMES.contains(&remote.scheme())),
        );
        if is_postgres && self.environment.postgres.iter().any(|(name, _)| name == PGPASSWORD) {
            // Empty, it counts for nothing to PostgreSQL's own programs either: they look into the passfile.
            variables.push((PGPASSWORD.into(), OsString::new()));
        }
        variables
    }

    /// Refuses to start commands that could not open the store: they get its address without the password.
    pub(crate) fn let_children_in(&self) -> Result<(), Problem> {
        let address = self.address()?;
        match address.lets_children_in(&self.openers()).map_err(|error| self.not_opened(error))? {
            true => Ok(()),
            false => Err(Problem::usage(
                "password_not_handed_on",
                format!("commands are given `{address}` without a password, and no passfile lets them in"),
            )
            .hint(
                "write `HOST:PORT:DATABASE:USER:PASSWORD` into ~/.pgpass, `chmod 600` it, and leave the password out",
            )),
        }
    }
}
