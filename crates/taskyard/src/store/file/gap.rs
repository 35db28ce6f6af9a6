//! Leaving the list's lock free often enough for rivals that poll.
//!
//! The client looks 30 times within 2.7 s and then gives up. Our own writers hand the turn on within microseconds, so without
//! a pause a rival would find the lock taken nearly every time.

use std::thread;
use std::time::Duration;

use super::clock;
use super::state::State;

/// A rival that was met this recently is taken to be still there.
const RIVAL_STAYS: i64 = 60_000_000_000;
/// Nobody of ours waits longer than this for the sake of others.
const LONGEST: i64 = 5_000_000;
/// Where no rival was met, our writers may follow each other for so long ...
const LONGEST_STREAK: i64 = 20_000_000;
/// ... before the lock is left free for so long.
const REST: Duration = Duration::from_millis(4);

/// Waits, if rivals have not had a fair chance since one of ours gave the lock back. Returns since when our writers have been
/// following each other without a pause.
pub(super) fn leave(state: &State) -> i64 {
    let now = clock::since_boot();
    let half = (state.held_for / 2).clamp(0, LONGEST);
    let early = state.released + half - now;
    if early <= 0 || early > LONGEST {
        return now;
    }
    if now - state.rival_met < RIVAL_STAYS && state.rival_met > 0 {
        thread::sleep(Duration::from_nanos(early.unsigned_abs()));
        return clock::since_boot();
    }
    if now - state.streak > LONGEST_STREAK {
        thread::sleep(REST);
        return clock::since_boot();
    }
    state.streak
}
