//! Forgetting messages that no agent asks for any more, of all teams of a data directory.

use std::path::Path;

use taskyard_core::Timestamp;

use super::memory::Memory;
use crate::clock;
use crate::teams::TeamError;

/// Forgets which messages were acknowledged long ago, and those that were sent before a moment; returns how many.
pub fn forget_old_letters(data: &Path, sent_before: Timestamp) -> Result<usize, TeamError> {
    let memory = Memory::look(data)?;
    memory.map_or(Ok(0), |memory| memory.forget_letters(clock::now(), sent_before))
}

/// Returns how many messages would be forgotten.
pub fn count_old_letters(data: &Path, sent_before: Timestamp) -> Result<usize, TeamError> {
    Memory::look(data)?.map_or(Ok(0), |memory| memory.old_letters(clock::now(), sent_before))
}
