//! Background commands, with real processes: how they run, end, are stopped, killed and found again.
#![cfg(target_os = "linux")]

mod disk;
mod hearing;
mod killing;
mod many;
mod reboot;
mod reopening;
mod running;
mod server;
mod site;
mod stopping;
mod writing;
