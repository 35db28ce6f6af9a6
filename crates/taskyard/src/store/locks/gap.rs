//! Leaving the list's lock free often enough for rivals that poll.
//!
//! The client looks 30 times within 2.7 s and then gives up. Our own writers hand the turn on within microseconds, so without
//! a pause a rival would find the lock taken nearly every time.

use std::thread;
use std::time::Duration;

use super::turn_record::TurnRecord;
use crate::clock;

/// A rival that was met this recently is taken to be still there.
const RIVAL_STAYS: i64 = 60_000_000_000;
/// No process of ours waits longer than this for the sake of rivals.
const LONGEST: i64 = 5_000_000;
/// Where no rival was met, our writers may follow each other for so long ...
const LONGEST_STREAK: i64 = 20_000_000;
/// ... before the lock is left free for so long.
const REST: Duration = Duration::from_millis(4);

/// Waits, if rivals have not had a fair chance since one of ours gave the lock back. Returns since when our writers have been
/// following each other without a pause.
pub(in crate::store) fn leave(state: &TurnRecord) -> i64 {
    let now = clock::since_boot();
    // Words from before the machine was started again may lie in the future.
    let free_for = (now - state.released).max(0);
    let held_for = state.held_for.clamp(0, 2 * LONGEST);
    if state.rival_met > 0 && now - state.rival_met < RIVAL_STAYS {
        let early = held_for / 2 - free_for;
        if early > 0 {
            thread::sleep(Duration::from_nanos(early.unsigned_abs()));
        }
        return clock::since_boot();
    }
    // A writer that flushes with the lock free leaves pause enough by itself.
    if free_for > held_for / 3 {
        return now;
    }
    if now - state.streak > LONGEST_STREAK {
        thread::sleep(REST);
        return clock::since_boot();
    }
    state.streak
}
