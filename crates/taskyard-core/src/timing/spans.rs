//! Spans of time in words: `90s`, `30m`, `2h`, `1h30m`, `3d`, `2w`.

use std::time::Duration;

/// The units of spans, the longest first, with their seconds.
const UNITS: [(&str, u64); 5] = [("w", 604_800), ("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];

/// Text that is no span of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no span of time; write 90s, 30m, 2h, 3d or 1w", .text.escape_debug())]
pub struct BadSpan {
    /// What was given.
    pub text: String,
}

/// Reads a span: numbers with units, the longer unit first (`1h30m`). A number may have a fraction (`1.5h`).
pub fn parse_span(text: &str) -> Result<Duration, BadSpan> {
    let bad = || BadSpan { text: text.to_owned() };
    let word = text.trim().to_ascii_lowercase();
    let mut rest = word.as_str();
    let (mut sum, mut longest) = (Duration::ZERO, u64::MAX);
    while !rest.is_empty() {
        let end = rest.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(bad)?;
        let (number, after) = rest.split_at(end);
        let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let seconds = seconds_of(&after[..end]).filter(|seconds| *seconds < longest).ok_or_else(bad)?;
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let number: f64 = number.parse().ok().filter(|_| is_number).ok_or_else(bad)?;
        #[expect(clippy::cast_precision_loss, reason = "the seconds of a week are exact")]
        let span = Duration::try_from_secs_f64(number * seconds as f64).map_err(|_| bad())?;
        sum = sum.checked_add(span).ok_or_else(bad)?;
        longest = seconds;
        rest = &after[end..];
    }
    if longest == u64::MAX { Err(bad()) } else { Ok(sum) }
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

/// Returns a span in words, its two longest units: `1h30m`, `3d`, `0s`.
pub fn span_in_words(span: Duration) -> String {
    let mut left = span.as_secs();
    let mut words = String::new();
    let mut told = 0;
    // A week is more than people count in hours, and less than they count in days.
    for (unit, seconds) in UNITS.into_iter().skip(1) {
        let count = left / seconds;
        if count > 0 && told < 2 {
            words.push_str(&format!("{count}{unit}"));
            left -= count * seconds;
        }
        told += usize::from(count > 0 || told > 0);
    }
    if words.is_empty() { "0s".to_owned() } else { words }
}

/// Returns a span of milliseconds as people say it, its longest unit rounded to the nearest: `2 days`, `1 hour`.
pub fn span_in_speech(milliseconds: i64) -> String {
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

/// Returns a span so that [`parse_span`] reads it as the same: in words where they say all of it, else in seconds.
pub fn span_in_full(span: Duration) -> String {
    let words = span_in_words(span);
    if parse_span(&words) == Ok(span) { words } else { format!("{}s", span.as_secs_f64()) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{parse_span, span_in_speech, span_in_words};

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
