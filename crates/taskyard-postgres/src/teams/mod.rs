//! Teams and their messages on PostgreSQL.

mod mailboxes;
mod noted_calls;
mod postgres_teams;
mod roster;
mod seats;
mod watch;

pub(crate) use postgres_teams::PostgresTeams;
