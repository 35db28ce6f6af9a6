//! Durations and sizes as people write them.

use std::time::Duration;

/// Text that is no duration or no size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadQuantity {
    /// No duration.
    #[error("`{}` is no duration; write a number and ms, s, m, h or d (`90s`, `1h30m`)", .text.escape_debug())]
    Duration {
        /// What was given.
        text: String,
    },
    /// A duration of nothing, where something is to last.
    #[error("`{}` is over at once; give a second or more", .text.escape_debug())]
    OverAtOnce {
        /// What was given.
        text: String,
    },
    /// No size.
    #[error("`{}` is no size; write a number and B, KB, MB or GB (`30MB`)", .text.escape_debug())]
    Size {
        /// What was given.
        text: String,
    },
}

/// Reads how long something counts, such as a lease or a token. What would be over at once is refused.
pub fn parse_lifetime(text: &str) -> Result<Duration, BadQuantity> {
    match parse_duration(text)? {
        Duration::ZERO => Err(BadQuantity::OverAtOnce { text: text.to_owned() }),
        lifetime => Ok(lifetime),
    }
}

/// Reads a duration: a number with `ms`, `s`, `m`, `h` or `d`, or several of them, the longest first (`1h30m`); a bare number is
/// seconds.
pub fn parse_duration(text: &str) -> Result<Duration, BadQuantity> {
    let bad = || BadQuantity::Duration { text: text.to_owned() };
    if let Some((seconds, unit)) = split(text)
        && unit.is_empty()
    {
        return Duration::try_from_secs_f64(seconds).map_err(|_| bad());
    }
    let mut rest = text.trim();
    let (mut sum, mut longest) = (Duration::ZERO, f64::INFINITY);
    while !rest.is_empty() {
        let end = rest.find(|character: char| character.is_ascii_alphabetic()).ok_or_else(bad)?;
        let (part, after) = rest.split_at(end);
        let end = after.find(|character: char| !character.is_ascii_alphabetic()).unwrap_or(after.len());
        let (number, unit) = split(&format!("{part}{}", &after[..end])).ok_or_else(bad)?;
        let seconds = seconds_of(&unit).filter(|seconds| *seconds < longest).ok_or_else(bad)?;
        let span = Duration::try_from_secs_f64(number * seconds).map_err(|_| bad())?;
        sum = sum.checked_add(span).ok_or_else(bad)?;
        longest = seconds;
        rest = after[end..].trim_start();
    }
    if longest.is_finite() { Ok(sum) } else { Err(bad()) }
}

fn seconds_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" => 0.001,
        "s" | "sec" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        _ => return None,
    })
}

/// Reads a size in bytes: a number with `B`, `KB`, `MB` or `GB` (powers of 1024); a bare number is bytes.
pub fn parse_size(text: &str) -> Result<u64, BadQuantity> {
    let bad = || BadQuantity::Size { text: text.to_owned() };
    let (number, unit) = split(text).ok_or_else(bad)?;
    let factor = match unit.as_str() {
        "" | "b" => 1u64,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        _ => return Err(bad()),
    };
    let bytes = number * factor as f64;
    if bytes < u64::MAX as f64 { Ok(bytes as u64) } else { Err(bad()) }
}

/// Returns the number and the unit in small letters.
fn split(text: &str) -> Option<(f64, String)> {
    let text = text.trim();
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let number = text[..end].parse::<f64>().ok()?;
    Some((number, text[end..].trim().to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{parse_duration, parse_size};

    #[test]
    fn durations_take_the_usual_units() {
        for (text, seconds) in [
            ("90", 90.0),
            ("90s", 90.0),
            ("1h", 3600.0),
            ("1.5 m", 90.0),
            ("250ms", 0.25),
            ("2D", 172_800.0),
            ("1h30m", 5400.0),
            ("1d 2h 3.5s", 93_603.5),
            ("1m30S", 90.0),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in
            ["", "h", "-1s", "1 fortnight", "1e400d", "1h30", "30m1h", "1h1h", "1h-30m", "1h30m?", "1 2m", "inf", "NaN"]
        {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_count_by_1024() {
        for (text, bytes) in [("10", 10), ("2KB", 2048), ("1.5 MiB", 1_572_864), ("1g", 1 << 30)] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        assert!(parse_size("lots").is_err());
    }
}
