//! The conversations shown on pages. An acknowledged message may no longer be in any inbox, but stays on the page.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use taskyard::core::view::{Thread, keep_seen};
use taskyard::core::{AgentName, ListId};

/// Maximum number of readers whose conversations are kept.
const READERS: usize = 64;
/// Maximum number of messages kept per conversation, the newest.
const LETTERS: usize = 200;

/// The conversations shown, by list and reader. Lost when the server ends.
#[derive(Debug, Default)]
pub(crate) struct Letters(Mutex<HashMap<(ListId, AgentName), Vec<Thread>>>);

impl Letters {
    /// Adds messages shown earlier to conversations, and stores the result.
    pub(crate) fn complete(&self, list: &ListId, reader: &AgentName, threads: &mut Vec<Thread>) {
        let mut readers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (list.clone(), reader.clone());
        if let Some(before) = readers.get(&key) {
            keep_seen(before, threads);
        } else if readers.len() >= READERS {
            readers.clear();
        }
        let mut kept = threads.clone();
        for thread in &mut kept {
            drop(thread.letters.drain(..thread.letters.len().saturating_sub(LETTERS)));
        }
        readers.insert(key, kept);
    }
}
