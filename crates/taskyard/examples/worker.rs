//! Two agents work a list off: each claims what comes next, keeps its lease alive while it works, and completes the task.
//!
//! `cargo run -p taskyard --example worker`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that shows what it does")]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use taskyard::core::{AgentName, ListId, Rules};
use taskyard::operations::{Claim, NewTask};
use taskyard::store::MemoryStore;
use taskyard::{Outcome, Yard};

fn main() -> Result<(), Box<dyn Error>> {
    let yard = Yard::new(Arc::new(MemoryStore::new(Rules::Strict)), ListId::new("rocket")?, AgentName::new("host")?);
    let mut before = Vec::new();
    for step in ["Design", "Build", "Test", "Ship"] {
        let new = NewTask { subject: step.into(), blocked_by: before.clone(), ..NewTask::default() };
        before = vec![yard.create(new)?.done()?.task.id];
        yard.create(NewTask { subject: format!("{step}: write it down"), ..NewTask::default() })?.done()?;
    }
    thread::scope(|scope| {
        for name in ["ana", "bo"] {
            let yard = &yard;
            scope.spawn(move || match work(yard, name) {
                Ok(count) => println!("{name} did {count} tasks"),
                Err(error) => eprintln!("{name}: {error}"),
            });
        }
    });
    Ok(())
}

/// Works until nothing is ready. A worker that waits for more uses [`Yard::claim_next_in_time`].
fn work(yard: &Yard, name: &str) -> Result<usize, Box<dyn Error>> {
    let yard = yard.acting_as(AgentName::new(name)?);
    let mut count = 0;
    while let Outcome::Done(claimed) = yard.claim_next(&Claim::default())? {
        let is_lost = Arc::new(AtomicBool::new(false));
        let keeper = yard.keep(&claimed.lease, {
            let is_lost = Arc::clone(&is_lost);
            move |_| is_lost.store(true, Ordering::SeqCst)
        })?;
        println!("{name} takes #{} {}", claimed.task.id, claimed.task.subject);
        // The work itself, in steps, which stops when the task is no longer its own.
        (0..5).take_while(|_| !is_lost.load(Ordering::SeqCst)).for_each(|_| thread::sleep(Duration::from_millis(5)));
        if keeper.finish().is_none() {
            // The token proves the lease: one that slept too long is refused, and nothing is overwritten.
            yard.proving(claimed.lease.token).done(&claimed.task.id)?.done()?;
            count += 1;
        }
    }
    Ok(count)
}
