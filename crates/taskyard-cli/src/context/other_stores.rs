//! The stores of other crates, and who gets into them.

use std::sync::Arc;

use taskyard::opening::{Opener, Openers};
use taskyard_postgres::{PostgresOpener, Surroundings};

use super::Context;
use crate::problem::Problem;

impl Context {
    /// Returns the stores of other crates.
    pub(super) fn openers(&self) -> Openers {
        let environment = &self.environment;
        let opener: Arc<dyn Opener> = Arc::new(PostgresOpener::new(Surroundings {
            variables: environment.postgres.clone(),
            home: environment.home.clone(),
            user: environment.user.clone(),
        }));
        PostgresOpener::SCHEMES
            .into_iter()
            .fold(Openers::default(), |all, scheme| all.with(scheme, Arc::clone(&opener)))
    }

    /// Refuses to start commands that could not open the store: they get its address without the password.
    pub(crate) fn let_children_in(&self) -> Result<(), Problem> {
        let address = self.address()?;
        match address.lets_children_in(&self.openers()).map_err(|error| self.not_opened(error))? {
            true => Ok(()),
            false => Err(Problem::usage(
                "password_not_handed_on",
                format!("commands are given `{address}` without its password, and no passfile lets them in"),
            )
            .hint(
                "write `HOST:PORT:DATABASE:USER:PASSWORD` into ~/.pgpass, `chmod 600` it, and leave the password out",
            )),
        }
    }
}
