//! Measures Taskyard against the bare system calls and against the client's way, as `bench/README.md` explains.
//!
//! `suite` runs the measurements; the other words are the programs it starts, each in a process of its own.

mod backgrounding;
mod bare;
mod boarding;
mod claiming;
mod completing;
mod contending;
mod corpus;
mod creating;
mod doctoring;
mod echoing;
mod filtering;
mod graphs;
mod idling;
mod inboxing;
mod listing;
mod living;
mod options;
mod ours;
mod places;
mod programs_served;
mod ranking;
mod samples;
mod serving;
mod starting;
mod suite;
mod table;
mod timing;
mod worker;

use std::path::Path;
use std::process::ExitCode;

use bare::QueueingBareCreator;
use ours::{LibraryClaimer, LibraryCreator};
use places::Home;
use worker::Creator as _;

/// Why a measurement could not be made.
pub(crate) type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome =
        match words[..] {
            ["suite", ref options @ ..] => options::parse(options).and_then(|options| suite::run(&options)),
            ["echo-mcp", answer] => echoing::serve(Path::new(answer)),
            ["bare-list", directory] => bare::list_and_leave(Path::new(directory)),
            ["create", root, count] => {
                LibraryCreator::open(&Home::at(root)).and_then(|mut creator| worker::run(|| creator.create(), count))
            }
            ["claim", root, count] => LibraryClaimer::open(&Home::at(root))
                .and_then(|claimer| worker::run(|| claimer.take_and_finish(), count)),
            ["bare-create", root, count] => QueueingBareCreator::open(&Home::at(root))
                .and_then(|mut creator| worker::run(|| creator.create(), count)),
            _ => Err(
                "usage: taskyard-bench suite OPTIONS | echo-mcp FILE | bare-list DIRECTORY | {create | claim | bare-create} ROOT COUNT"
                    .into(),
            ),
        };
    outcome.unwrap_or_else(|failure| {
        table::tell(&format!("bench: {failure}"));
        ExitCode::from(2)
    })
}
