//! Many machines: the binary on PostgreSQL, and two sides that cannot see each other's processes.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod postgres;
mod two_sides;
