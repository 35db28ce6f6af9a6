//! Teams and their messages on PostgreSQL, behind the traits of `taskyard::teams`. Begin with `postgres_teams.rs`.

mod members_and_messages;
mod postgres_teams;

pub(crate) use postgres_teams::PostgresTeams;
