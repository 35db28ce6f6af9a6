//! [`PostgresOpener`], which opens everything that lives at a `postgres://` address.

use std::sync::Arc;

use taskyard::liveness::World;
use taskyard::notices::{ForwardedNotices, MachineNotices, Notices};
use taskyard::opening::{Address, AddressError, OpenError, Opened, Opener, Places, RemoteAddress};
use taskyard::teams::{TeamCaller, TeamStore, Teams};

use crate::administration::Administration;
use crate::database::Database;
use crate::jobs_and_notices::{PostgresJobs, PostgresNotices, PostgresTodos};
use crate::settings::{BadAddress, Settings, Surroundings};
use crate::shared_world::SharedWorld;
use crate::store::PostgresStore;
use crate::teams::PostgresTeams;

/// Opens `postgres://` addresses, with defaults from this process's environment.
#[derive(Clone, Debug)]
pub struct PostgresOpener {
    surroundings: Surroundings,
}

impl PostgresOpener {
    /// The URL schemes it handles.
    pub const SCHEMES: [&'static str; 2] = ["postgres", "postgresql"];

    /// Returns an opener that takes defaults from `surroundings`.
    pub fn new(surroundings: Surroundings) -> Self {
        Self { surroundings }
    }

    /// Returns the team store at an address without a password. Does not connect yet.
    pub fn teams_at(&self, address: &str) -> Result<Arc<dyn TeamStore>, BadAddress> {
        let settings = Settings::read(address, &self.surroundings)?;
        Ok(Arc::new(PostgresTeams::over(Arc::new(Database::new(settings, address.to_owned())))))
    }

    /// Returns administrative access to the database at an address. Does not connect yet.
    pub fn administration(&self, address: &RemoteAddress) -> Result<Administration, OpenError> {
        let database = Database::new(self.settings(address)?, address.to_string());
        Ok(Administration::over(Arc::new(database)))
    }

    fn settings(&self, address: &RemoteAddress) -> Result<Settings, OpenError> {
        let unusable =
            |error: BadAddress| AddressError::Unusable { address: address.to_string(), why: error.to_string() };
        Ok(Settings::read(address.with_password(), &self.surroundings).map_err(unusable)?)
    }
}

impl Opener for PostgresOpener {
    fn open(&self, address: &RemoteAddress, places: &Places) -> Result<Opened, OpenError> {
        let database = Database::shared(self.settings(address)?, address.to_string());
        let caller = TeamCaller {
            session: places.session.clone(),
            directory: places.directory.clone(),
            client_teammate: places.client_teammate.clone(),
            model: None,
        };
        let teams = Teams::over(Arc::new(PostgresTeams::over(Arc::clone(&database))), places.rules, caller);
        let notices: Arc<dyn Notices> = Arc::new(PostgresNotices::over(Arc::clone(&database)));
        let notices = match &places.data {
            Some(data) => {
                let here = MachineNotices::in_data(data).of_store(Address::Remote(address.clone()));
                Arc::new(ForwardedNotices::new(here, notices))
            }
            None => notices,
        };
        let world: Arc<dyn World> = Arc::new(SharedWorld::over(Arc::clone(&database)));
        Ok(Opened {
            store: Arc::new(PostgresStore::over(Arc::clone(&database), places.rules)),
            teams: Some(Arc::new(teams.in_world(Arc::clone(&world)))),
            notices: Some(notices),
            todos: Some(Arc::new(PostgresTodos::over(Arc::clone(&database)))),
            jobs: Some(Arc::new(PostgresJobs::over(database))),
            world,
        })
    }

    fn lets_children_in(&self, address: &RemoteAddress) -> Result<bool, OpenError> {
        Ok(self.settings(address)?.opens_without_password)
    }
}
