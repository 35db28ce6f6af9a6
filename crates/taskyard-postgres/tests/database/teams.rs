//! The promises of teams and messages on a real PostgreSQL.

use std::sync::Arc;

use taskyard::teams::TeamStore;
use taskyard_postgres::{PostgresOpener, Surroundings};
use taskyard_testkit::{OpenedTeams, SharedPostgres};

taskyard_testkit::team_suite!(|| {
    let address = SharedPostgres::get().fresh_address();
    let opener = PostgresOpener::new(Surroundings::default());
    OpenedTeams::keeping(move || -> Arc<dyn TeamStore> { opener.teams_at(&address).unwrap() }, ())
});
