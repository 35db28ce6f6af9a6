//! What a model is told where we could not find out.

use taskyard_core::Rules;
use taskyard_core::tools::Answer;

use crate::{Error, StoreError};

/// Returns the answer to a call that ended with an error.
pub fn failed(error: &Error, rules: Rules) -> Answer {
    match error {
        // The client's own words, which its models know.
        Error::Store(StoreError::Locked { .. } | StoreError::Busy { .. }) if rules.is_client() => {
            Answer::error("Lock file is already being held")
        }
        Error::Store(StoreError::Locked { .. } | StoreError::Busy { .. } | StoreError::Conflict { .. })
        | Error::TooManyConflicts { .. } => Answer::error(format!("Error: {error}. Nothing was changed: call again.")),
        Error::Store(StoreError::Unfinished { .. }) => {
            Answer::error(format!("Error: {error}. Do not repeat the call: the change is not lost."))
        }
        error => Answer::error(format!("Error: {error}. Repeating the call will not help; tell the user.")),
    }
}
