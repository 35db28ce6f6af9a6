//! Why a transaction ends without a commit.

use taskyard_core::rules::refusal::Refusal;

use crate::store::StoreError;

/// Why a transaction ends without a commit. Nothing has happened then.
#[derive(Debug)]
pub(crate) enum Halt {
    /// A rule forbade it.
    Refused(Refusal),
    /// The store gave no answer, or the attempt has to start over.
    Failed(StoreError),
}

impl From<Refusal> for Halt {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}
