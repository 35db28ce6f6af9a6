//! The binary on PostgreSQL: the same commands, and clear errors.

mod administering;
mod clocks;
mod errors;
mod full_disk;
mod moving;
mod passwords;
mod roles;
mod round_trips;
mod scale_page;
mod sharing;
mod upgrading;

use taskyard_testkit::{Home, Program, Ran};

/// Returns an empty home.
fn home() -> Home {
    Home::new(env!("CARGO_BIN_EXE_taskyard"))
}

/// Returns a command on a store.
fn command(home: &Home, store: &str, words: &str) -> Program {
    let mut command = home.command(words);
    command.env("TASKYARD_STORE", store);
    command
}

/// Runs a command on a store.
fn run(home: &Home, store: &str, words: &str) -> Ran {
    command(home, store, words).run()
}

/// Runs a command that has to succeed, and returns what it prints.
fn ask(home: &Home, store: &str, words: &str) -> String {
    let ran = run(home, store, words);
    assert_eq!(ran.code, Some(0), "`{words}`: {ran:?}");
    ran.stdout
}
