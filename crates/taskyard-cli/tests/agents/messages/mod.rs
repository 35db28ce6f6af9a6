//! Teams and inboxes through the binary: killed at any step, on a full disk, with many messages, and in each other's way.
#![cfg(unix)]

mod crash;
mod disk;
mod following;
mod large;
mod mending;
mod office;
mod racing;
mod reading_once;
