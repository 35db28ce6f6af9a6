//! The promises of teams and messages, stamped onto teams in memory.

use std::sync::Arc;

use taskyard::teams::MemoryTeams;
use taskyard_testkit::OpenedTeams;

taskyard_testkit::team_suite!(|| {
    let teams = MemoryTeams::new();
    OpenedTeams::keeping(move || Arc::new(teams.clone()), ())
});
