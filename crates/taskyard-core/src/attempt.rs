//! What tells one attempt at a commit from every other.

use std::fmt;
use std::str::FromStr;

/// The name of one attempt at a commit, which no other attempt has. A process that lost the answer to a commit finds by
/// it whether it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AttemptId(pub u128);

impl fmt::Display for AttemptId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

impl FromStr for AttemptId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u128::from_str_radix(text, 16).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::AttemptId;

    #[test]
    fn an_attempt_is_read_as_it_was_written() {
        for attempt in [AttemptId(0), AttemptId(7), AttemptId(u128::MAX)] {
            assert_eq!(attempt.to_string().len(), 32);
            assert_eq!(attempt.to_string().parse(), Ok(attempt));
        }
        assert!("not hexadecimal".parse::<AttemptId>().is_err());
    }
}
