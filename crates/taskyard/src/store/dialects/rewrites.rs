//! What the journal keeps of files that are written in place, while they are.

use taskyard_core::Revision;

use crate::store::StoreError;
use crate::store::journal::Journal;

/// The last commit that is in the files, as far as was written down.
pub(super) const APPLIED: &str = "applied";

/// What the last commit that wrote in place wrote.
const REWRITE: &str = "rewrite";
/// Which commit that was.
const REWRITE_OF: &str = "rewrite_of";

/// How far the files have followed the journal.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The last commit that is in the files, as far as was written down.
    pub(super) applied: Revision,
    /// The newest commit.
    pub(super) newest: Revision,
    /// A commit that may be half written, and what makes the files whole.
    pub(super) rewrite: Option<(Revision, Vec<u8>)>,
}

impl Progress {
    /// Asks the journal.
    pub(super) fn of(journal: &Journal) -> Result<Self, StoreError> {
        let revision = |key| Ok(Revision(journal.fact::<i64>(key)?.unwrap_or(0).unsigned_abs()));
        let _transaction = journal.begin_to_read()?;
        let (applied, newest) = (revision(APPLIED)?, journal.newest()?);
        let mut following = Self { applied, newest, rewrite: None };
        if newest > applied && revision(REWRITE_OF)? > applied {
            let bytes = journal.fact(REWRITE)?;
            following.rewrite = bytes.map(|bytes| Ok((revision(REWRITE_OF)?, bytes))).transpose()?;
        }
        Ok(following)
    }
}

/// Keeps what a commit is about to write in place, in the transaction that makes the commit exist.
pub(super) fn keep(journal: &Journal, revision: Revision, rewrite: Option<Vec<u8>>) -> Result<(), StoreError> {
    let Some(rewrite) = rewrite else { return Ok(()) };
    journal.set_fact(REWRITE, rewrite)?;
    journal.set_fact(REWRITE_OF, revision.0.cast_signed())
}

/// Notes that every commit up to a revision is in the files.
pub(super) fn note_applied(journal: &Journal, revision: Revision) -> Result<(), StoreError> {
    let transaction = journal.begin()?;
    journal.set_fact(APPLIED, revision.0.cast_signed())?;
    journal.end(transaction)
}
