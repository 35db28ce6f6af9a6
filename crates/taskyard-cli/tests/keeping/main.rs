//! What is kept: backups, retention, lists of earlier and of newer releases.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod backup;
mod newer;
mod retention;
mod upgrading;
