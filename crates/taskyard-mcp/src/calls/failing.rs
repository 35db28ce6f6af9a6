//! What a model is told where we could not find out.

use taskyard::core::Rules;
use taskyard::core::tools::Answer;

use taskyard::{Error, StoreError};

/// Returns the answer to a call that ended with an error.
pub fn failed(error: &Error, rules: Rules) -> Answer {
    let is_locked = matches!(error, Error::Store(StoreError::Busy { .. } | StoreError::NoLock { .. }));
    if is_locked && rules.is_client() {
        // The client's own words, which its models know.
        return Answer::error("Lock file is already being held");
    }
    if matches!(error, Error::Store(StoreError::Unfinished { .. })) {
        return Answer::error(format!("Not an error of the call: {error}. {}", advice(error)));
    }
    Answer::error(format!("Error: {error}. {}", advice(error)))
}

fn advice(error: &Error) -> &'static str {
    match error {
        Error::Store(StoreError::Busy { .. } | StoreError::Conflict { .. }) | Error::TooManyConflicts { .. } => {
            "Nothing was changed: call again."
        }
        Error::Store(StoreError::Unavailable { .. }) => {
            "The change may or may not have been made: look before you call again."
        }
        Error::Store(StoreError::Unfinished { .. }) => "Do not repeat the call: the change is not lost.",
        Error::Store(StoreError::TooLarge { .. }) => {
            "Nothing was changed: keep long texts in a file and name the file in the task."
        }
        Error::Store(StoreError::JournalDamaged { .. }) => {
            "Nothing was changed, and the tasks are not lost: tell the user to run `taskyard doctor --fix`."
        }
        error if error.newer_database().is_some() => {
            "Nothing was changed: tell the user that this server is older than the taskyard that wrote here, and has to be started anew."
        }
        Error::Store(StoreError::Moved { has_left: false, .. }) => "Nothing was changed: call again in a moment.",
        Error::Store(StoreError::Moved { has_left: true, .. }) => {
            "Nothing was changed: tell the user that this server has to be started anew with the other store."
        }
        Error::Cancelled => "Call again if it is still wanted.",
        _ => "Repeating the call will not help: tell the user.",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use taskyard::core::{ClientVersion, Rules, TaskId};

    use super::failed;
    use taskyard::store::Occupant;
    use taskyard::{Error, StoreError};

    #[test]
    fn a_held_lock_is_told_in_the_clients_words_to_its_own_models_alone() {
        let waited = Duration::from_secs(12);
        let error =
            Error::Store(StoreError::Busy { by: Occupant::LockHolder { lock: "L/.lock".into(), age: waited }, waited });
        let client = failed(&error, Rules::Client(ClientVersion::V2_1_34));
        assert_eq!((client.text.as_str(), client.is_error), ("Lock file is already being held", true));
        let ours = failed(&error, Rules::Strict).text;
        assert!(ours.starts_with("Error: lock `L/.lock` is held by another process") && ours.ends_with("call again."));
    }

    #[test]
    fn every_other_failure_is_an_error_that_says_what_to_do() {
        let error = Error::TooManyConflicts { task: TaskId::number(7), attempts: 16 };
        for rules in [Rules::Strict, Rules::Client(ClientVersion::V2_1_325)] {
            let answer = failed(&error, rules);
            assert!(answer.is_error && answer.text.ends_with("Nothing was changed: call again."), "{}", answer.text);
        }
    }
}
