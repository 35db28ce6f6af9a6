//! What is said of addresses that lead nowhere.

use taskyard::opening::AddressError;

use crate::problem::Problem;

/// Refuses a password on the command line, where `ps` shows it to every user of the machine.
pub(crate) fn password_among_words() -> Problem {
    Problem::usage("bad_store", "the address in --store has a password, which every user of this machine can see there")
        .hint("set TASKYARD_STORE to that address, or leave the password to PGPASSWORD or ~/.pgpass")
}

impl From<AddressError> for Problem {
    fn from(error: AddressError) -> Self {
        let hint = match &error {
            AddressError::Unknown { schemes, .. } => {
                let ours = "`claude:` (the default), `file:DIRECTORY`, `document:[FILE]`, `teaching:DIRECTORY`";
                let others: String = schemes.iter().map(|scheme| format!(", `{scheme}:…`")).collect();
                format!("use {ours}{others} or `memory:`")
            }
            AddressError::NoDirectory { scheme } if scheme == "teaching" => {
                "write `teaching:DIRECTORY`, `teaching:.tasks` say".to_owned()
            }
            AddressError::NoDirectory { scheme } => format!("write `{scheme}:DIRECTORY`"),
            AddressError::UnclearPassword { .. } => {
                "in a password write `@` as %40, `:` as %3A, `/` as %2F, `?` as %3F and `#` as %23".to_owned()
            }
            AddressError::Unusable { .. } => return Self::usage("bad_store", error.to_string()),
        };
        Self::usage("bad_store", error.to_string()).hint(hint)
    }
}
