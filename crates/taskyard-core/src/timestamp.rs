//! A moment, in milliseconds, written the way JavaScript writes it.

use std::fmt;

/// Milliseconds since 1970 in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Reads a moment as it is written here, or with any other offset; none where it is none.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>().ok().map(|moment| Self(moment.as_millisecond()))
    }
}

impl fmt::Display for Timestamp {
    /// Writes `2026-11-15T01:02:03.000Z`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clamped = self.0.clamp(jiff::Timestamp::MIN.as_millisecond(), jiff::Timestamp::MAX.as_millisecond());
        let moment = jiff::Timestamp::from_millisecond(clamped).unwrap_or_default();
        write!(formatter, "{moment:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn what_is_written_is_read_again() {
        let moment = Timestamp(1_794_704_523_042);
        assert_eq!(Timestamp::parse(&moment.to_string()), Some(moment));
        assert_eq!(Timestamp::parse("soon"), None);
    }

    #[test]
    fn a_moment_is_written_with_three_digits_and_a_z() {
        assert_eq!(Timestamp(1_794_704_523_000).to_string(), "2026-11-15T01:02:03.000Z");
        assert_eq!(Timestamp(i64::MAX).to_string().len(), "9999-12-30T22:00:00.999Z".len());
    }
}
