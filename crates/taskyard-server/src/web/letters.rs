//! The conversations that pages showed: a message that is acknowledged may no longer lie in any inbox, and stays on the page all the same.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use taskyard::core::view::{Thread, keep_seen};
use taskyard::core::{AgentName, ListId};

/// The maximum number of readers whose conversations are kept.
const READERS: usize = 64;
/// The maximum number of messages of a conversation that are kept, the newest.
const LETTERS: usize = 200;

/// The conversations that pages showed, by list and reader. They are gone when the server ends.
#[derive(Debug, Default)]
pub(crate) struct Letters(Mutex<HashMap<(ListId, AgentName), Vec<Thread>>>);

impl Letters {
    /// Adds what was shown before to conversations, and remembers them.
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
