//! Contestants that take turns.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::Failure;
use crate::samples::Samples;

/// Runs a command to its end and returns how long that took, from before it started.
pub(crate) fn run(command: &mut Command) -> Result<Duration, Failure> {
    let start = Instant::now();
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    let elapsed = start.elapsed();
    if status.success() { Ok(elapsed) } else { Err(format!("{command:?}: {status}").into()) }
}

/// Runs commands by turns, so often each, another one first in every round, and returns what each took.
pub(crate) fn alternate<const N: usize>(rounds: usize, commands: &mut [Command; N]) -> Result<[Samples; N], Failure> {
    let mut times: [Vec<Duration>; N] = std::array::from_fn(|_| Vec::new());
    for round in 0..rounds {
        for turn in 0..N {
            let index = (round + turn) % N;
            times[index].push(run(&mut commands[index])?);
        }
    }
    Ok(times.map(|times| Samples::microseconds(&times)))
}
