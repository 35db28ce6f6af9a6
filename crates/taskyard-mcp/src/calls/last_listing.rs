//! The last answer to `TaskList`, for as long as nothing changes in the list.
//!
//! Agents ask for the list again and again, and mostly nothing has happened to it. Then the answer is given at once: it costs two or
//! three system calls.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::Value;
use taskyard::core::Lease;
use taskyard::core::rules::leases::leasing::LeaseState;
use taskyard::core::tools::{Answer, task_list};

use taskyard::Yard;
use taskyard::store::Sighting;

/// The last answer to `TaskList` on one list, in one set of rules.
#[derive(Debug, Default)]
pub struct LastListing {
    kept: Mutex<Option<Kept>>,
}

#[derive(Debug)]
struct Kept {
    sighting: Sighting,
    /// Looking also keeps the leases of the reader alive, so it is done again in good time.
    until: Option<Instant>,
    answer: Arc<Answer>,
}

impl LastListing {
    /// Returns the answer to a call where it is the same as the last one. Waits for no lock.
    pub fn again(&self, yard: &Yard, tool: &str, input: &Value) -> Option<Arc<Answer>> {
        let asks_for_all = tool == task_list::TOOL.name && input.as_object().is_some_and(serde_json::Map::is_empty);
        let sighting = sighting(yard).filter(|_| asks_for_all)?;
        let kept = self.kept.try_lock().ok()?;
        let counts = |kept: &&Kept| kept.sighting == sighting && kept.until.is_none_or(|until| Instant::now() < until);
        kept.as_ref().filter(counts).map(|kept| Arc::clone(&kept.answer))
    }

    /// Makes an answer, and keeps it where nothing changed meanwhile. Beside the answer `make` returns the leases there are.
    pub(super) fn keep<E>(
        &self,
        yard: &Yard,
        make: impl FnOnce() -> Result<(Answer, Vec<(Lease, LeaseState)>), E>,
    ) -> Result<Answer, E> {
        let now = Instant::now();
        let before = sighting(yard);
        let (answer, leases) = make()?;
        // One whose process is gone or cannot be seen ends without a change that could be sighted.
        let is_steady = leases.iter().all(|(_, state)| *state == LeaseState::Live);
        let kept = before.filter(|before| is_steady && sighting(yard) == Some(*before)).map(|sighting| {
            let until = leases.iter().filter_map(|(lease, _)| lease.ttl).min().map(|shortest| now + shortest / 4);
            Kept { sighting, until, answer: Arc::new(answer.clone()) }
        });
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = kept;
        Ok(answer)
    }
}

/// Tells what was last seen of the yard's list from what will be seen later, where its store can.
fn sighting(yard: &Yard) -> Option<Sighting> {
    yard.store().care()?.sighting(yard.list_id())
}
