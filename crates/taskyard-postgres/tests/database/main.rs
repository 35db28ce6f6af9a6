//! The store on PostgreSQL against a real server: the stores' contracts, and what only a database does.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod epochs;
mod jobs;
mod live;
mod notices;
mod put_back;
mod store;
mod surroundings;
mod teams;
mod thinning;
mod tls;
