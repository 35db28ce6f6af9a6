//! The stores of other crates, and who gets into them.

use std::ffi::OsString;
use std::path::Path;

use taskyard::Yard;
use taskyard::core::ListId;
use taskyard::jobs::JobSettings;
use taskyard::opening::{Address, Openers, WrittenAddress};
use taskyard_jobs::JobOptions;

use super::Context;
use crate::places;
use crate::problem::Problem;

impl Context {
    /// Returns the stores of other crates.
    pub(super) fn openers(&self) -> Openers {
        let openers = Openers::default();
        #[cfg(feature = "postgres")]
        let openers = self.with_databases(openers);
        openers
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
        let variables = self.environment.for_children();
        #[cfg(feature = "postgres")]
        let variables = variables.into_iter().chain(self.emptied_password()).collect();
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
