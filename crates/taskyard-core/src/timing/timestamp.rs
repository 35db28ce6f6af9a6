//! Timestamps in milliseconds, and durations as people write them.

use std::fmt;
use std::time::Duration;

/// Milliseconds since the Unix epoch, in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(pub i64);

/// The days from 1 March of the year 0 to 1 January 1970.
const DAYS_TO_1970: i64 = 719_468;

impl Timestamp {
    /// Parses an RFC 3339 timestamp with any offset. Returns `None` if it is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        let of_any_form = || text.parse::<jiff::Timestamp>().ok().map(|moment| Self(moment.as_millisecond()));
        Self::as_written(text.as_bytes()).or_else(of_any_form)
    }

    /// Parses the most common form of timestamps about ten times faster. Returns `None` for all others.
    fn as_written(text: &[u8]) -> Option<Self> {
        let text: &[u8; 24] = text.try_into().ok()?;
        let number = |digits: std::ops::Range<usize>| {
            let digit = |sum: i64, byte: &u8| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0'));
            text[digits].iter().try_fold(0, digit)
        };
        let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')];
        if marks.iter().any(|(place, mark)| text[*place] != *mark) {
            return None;
        }
        let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
        let (hour, minute, second, millisecond) = (number(11..13)?, number(14..16)?, number(17..19)?, number(20..23)?);
        // The last days of a month are left to the general parser, which knows the length of months.
        let is_plain = (1..=12).contains(&month) && (1..=28).contains(&day) && year > 0;
        if !is_plain || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        // In years that begin in March, the leap day is the last day.
        let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - DAYS_TO_1970;
        Some(Self((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000 + millisecond))
    }
}

impl fmt::Display for Timestamp {
    /// Formats the timestamp as `2026-11-15T01:02:03.000Z`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clamped = self.0.clamp(jiff::Timestamp::MIN.as_millisecond(), jiff::Timestamp::MAX.as_millisecond());
        let moment = jiff::Timestamp::from_millisecond(clamped).unwrap_or_default();
        write!(formatter, "{moment:.3}")
    }
}

/// The units of durations, longest first, in seconds.
const UNITS: [(&str, u64); 5] = [("w", WEEK), ("d", DAY), ("h", 3_600), ("m", 60), ("s", 1)];

/// Text that is not a valid duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid duration `{}`: write 90s, 30m, 2h, 3d or 1w", .text.escape_debug())]
pub struct BadSpan {
    /// The rejected text.
    pub(crate) text: String,
}

/// The default length of a working day.
pub const WORKING_DAY: Duration = Duration::from_secs(8 * 3_600);

/// A duration of work, as in an estimate: a day is a working day, and a week has five of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WorkSpan {
    /// Its days, counted as 24 hours each.
    days: Duration,
    rest: Duration,
}

impl WorkSpan {
    /// Parses a duration of work: `30m`, `1d`, `1w2d`.
    pub(crate) fn parse(text: &str) -> Result<Self, BadSpan> {
        let (mut days, mut rest) = (Duration::ZERO, Duration::ZERO);
        let bad = || BadSpan { text: text.to_owned() };
        for (span, unit) in pieces(text)? {
            match unit {
                WEEK => days = span.checked_mul(5).and_then(|work| days.checked_add(work / 7)).ok_or_else(bad)?,
                DAY => days = days.checked_add(span).ok_or_else(bad)?,
                _ => rest = rest.checked_add(span).ok_or_else(bad)?,
            }
        }
        Ok(Self { days, rest })
    }

    /// Returns the duration in whole seconds, given the length of a working day.
    pub(crate) fn with_days_of(self, working_day: Duration) -> Duration {
        let seconds = self.days.as_secs_f64() * working_day.as_secs_f64() / Duration::from_secs(DAY).as_secs_f64();
        let days = Duration::try_from_secs_f64(seconds.round()).unwrap_or(Duration::MAX);
        days.saturating_add(self.rest)
    }
}

const WEEK: u64 = 604_800;
const DAY: u64 = 86_400;

/// Parses a duration: numbers with units, longer units first (`1h30m`). Fractions are allowed (`1.5h`).
pub(crate) fn parse_span(text: &str) -> Result<Duration, BadSpan> {
    let bad = || BadSpan { text: text.to_owned() };
    pieces(text)?.into_iter().try_fold(Duration::ZERO, |sum, (span, _)| sum.checked_add(span)).ok_or_else(bad)
}

/// Returns the parts of a duration, each with the seconds of its unit.
fn pieces(text: &str) -> Result<Vec<(Duration, u64)>, BadSpan> {
    let bad = || BadSpan { text: text.to_owned() };
    let word = text.trim().to_ascii_lowercase();
    let mut rest = word.as_str();
    let (mut pieces, mut longest) = (Vec::new(), u64::MAX);
    while !rest.is_empty() {
        let end = rest.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(bad)?;
        let (number, after) = rest.split_at(end);
        let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let seconds = seconds_of(&after[..end]).filter(|seconds| *seconds < longest).ok_or_else(bad)?;
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let number: f64 = number.parse().ok().filter(|_| is_number).ok_or_else(bad)?;
        #[expect(clippy::cast_precision_loss, reason = "the seconds of a week are exact")]
        let span = Duration::try_from_secs_f64(number * seconds as f64).map_err(|_| bad())?;
        pieces.push((span, seconds));
        longest = seconds;
        rest = &after[end..];
    }
    if pieces.is_empty() { Err(bad()) } else { Ok(pieces) }
}

fn seconds_of(unit: &str) -> Option<u64> {
    let unit = match unit {
        "sec" | "secs" | "second" | "seconds" => "s",
        "min" | "mins" | "minute" | "minutes" => "m",
        "hr" | "hrs" | "hour" | "hours" => "h",
        "day" | "days" => "d",
        "week" | "weeks" => "w",
        unit => unit,
    };
    UNITS.iter().find(|(name, _)| *name == unit).map(|(_, seconds)| *seconds)
}

/// Formats a duration in its two longest units: `1h30m`, `3d`, `0s`.
pub fn span_in_words(span: Duration) -> String {
    // A week is more than people count in hours, and less than they count in days.
    two_longest(span, &UNITS[1..])
}

/// Formats a duration of work in hours and shorter units, because working days differ in length.
pub fn work_in_words(span: Duration) -> String {
    two_longest(span, &UNITS[2..])
}

fn two_longest(span: Duration, units: &[(&str, u64)]) -> String {
    let mut left = span.as_secs();
    let mut words = String::new();
    let mut told = 0;
    for (unit, seconds) in units {
        let count = left / seconds;
        if count > 0 && told < 2 {
            words.push_str(&format!("{count}{unit}"));
            left -= count * seconds;
        }
        told += usize::from(count > 0 || told > 0);
    }
    if words.is_empty() { "0s".to_owned() } else { words }
}

/// Formats milliseconds in words, rounded to the longest unit: `2 days`, `1 hour`.
pub(crate) fn span_in_speech(milliseconds: i64) -> String {
    let seconds = (milliseconds.max(0).unsigned_abs() + 500) / 1_000;
    // Two days are said as hours by no one; one and a half are.
    let (unit, length) = match seconds {
        0..90 => ("second", 1),
        90..5_400 => ("minute", 60),
        5_400..129_600 => ("hour", 3_600),
        129_600..5_184_000 => ("day", 86_400),
        5_184_000..63_072_000 => ("month", 2_592_000),
        _ => ("year", 31_536_000),
    };
    let count = (seconds + length / 2) / length;
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// Formats a duration of work so that it parses as the same duration: in words if they are exact, otherwise in
/// seconds.
pub(crate) fn work_in_full(span: Duration) -> String {
    let words = work_in_words(span);
    if parse_span(&words) == Ok(span) { words } else { format!("{}s", span.as_secs_f64()) }
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
    fn a_moment_is_read_as_the_library_reads_it() {
        let hours = (-62_000_000_000_000..253_000_000_000_000_i64).step_by(987_654_321_987);
        for moment in hours.map(Timestamp) {
            let text = moment.to_string();
            let plain = Timestamp::as_written(text.as_bytes());
            assert!(plain.is_none_or(|plain| plain == moment), "{text}");
            assert!(plain.is_some() || ["29", "30", "31"].contains(&&text[8..10]), "{text}");
            assert_eq!(Timestamp::parse(&text), Some(moment), "{text}");
        }
        for text in [
            "2026-02-30T00:00:00.000Z",
            "2026-13-01T00:00:00.000Z",
            "2026-01-01T24:00:00.000Z",
            "2026-01-0aT00:00:00.000Z",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
        assert_eq!(Timestamp::parse("2026-11-15T01:02:03.042+01:00"), Some(Timestamp(1_794_700_923_042)));
    }

    #[test]
    fn a_moment_is_written_with_three_digits_and_a_z() {
        assert_eq!(Timestamp(1_794_704_523_000).to_string(), "2026-11-15T01:02:03.000Z");
        assert_eq!(Timestamp(i64::MAX).to_string().len(), "9999-12-30T22:00:00.999Z".len());
    }
}

#[cfg(test)]
mod spans_tests {
    use std::time::Duration;

    use super::{WORKING_DAY, WorkSpan, parse_span, span_in_speech, span_in_words, work_in_words};

    fn seconds(text: &str) -> Option<u64> {
        parse_span(text).ok().map(|span| span.as_secs())
    }

    #[test]
    fn spans_are_numbers_with_units_the_longer_first() {
        assert_eq!(seconds("90s"), Some(90));
        assert_eq!(seconds(" 2H "), Some(7_200));
        assert_eq!(seconds("1h30m"), Some(5_400));
        assert_eq!(seconds("1.5h"), Some(5_400));
        assert_eq!(seconds("2 days".replace(' ', "").as_str()), Some(172_800));
        assert_eq!(seconds("1w"), Some(604_800));
    }

    #[test]
    fn what_has_no_unit_or_makes_no_sense_is_no_span() {
        for text in ["", "2", "h", "30m1h", "1h1h", "-2d", "2x", "1e3s", "1..5h", "9999999999999999999999w", "2dé"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn a_day_of_work_is_a_working_day() {
        let hours =
            |text: &str, day: Duration| WorkSpan::parse(text).unwrap().with_days_of(day).as_secs() as f64 / 3_600.0;
        assert_eq!(hours("1d", WORKING_DAY), 8.0);
        assert_eq!(hours("1.5d", WORKING_DAY), 12.0);
        assert_eq!(hours("1w", WORKING_DAY), 40.0);
        assert_eq!(hours("1w2d3h30m", WORKING_DAY), 59.5);
        assert_eq!(hours("2d", Duration::from_secs(27_000)), 15.0);
        assert!(WorkSpan::parse("2").is_err());
        assert_eq!(work_in_words(Duration::from_secs(40 * 3_600)), "40h");
        assert_eq!(work_in_words(Duration::from_secs(90 * 60)), "1h30m");
    }

    #[test]
    fn a_span_is_said_in_the_unit_that_fits() {
        let said = |seconds: i64| span_in_speech(seconds * 1_000);
        assert_eq!(said(0), "0 seconds");
        assert_eq!(said(1), "1 second");
        assert_eq!(said(60), "60 seconds");
        assert_eq!(said(5_399), "90 minutes");
        assert_eq!(said(7_200), "2 hours");
        assert_eq!(said(86_400 * 2 - 100), "2 days");
        assert_eq!(said(86_400 * 90), "3 months");
        assert_eq!(said(86_400 * 800), "2 years");
        assert_eq!(said(-5), "0 seconds");
    }

    #[test]
    fn a_span_is_told_by_its_two_longest_units() {
        let told = |seconds| span_in_words(Duration::from_secs(seconds));
        assert_eq!(told(0), "0s");
        assert_eq!(told(90), "1m30s");
        assert_eq!(told(5_400), "1h30m");
        assert_eq!(told(86_400 * 9 + 3_600 * 5 + 60), "9d5h");
        assert_eq!(told(3_600 + 5), "1h");
    }
}
