//! What commands show, as text for people and as JSON for programs: no command is decided or run here.

#[cfg(feature = "agents")]
pub(crate) mod agent_setup;
pub(crate) mod answers;
pub(crate) mod departures;
pub(crate) mod lost_claims;
pub(crate) mod lost_tasks;
pub(crate) mod refused_tasks;
pub(crate) mod shown_teams;
pub(crate) mod tidied_lists;
pub(crate) mod work_progress;
