//! Moments as people say them: `tomorrow`, `fri 17:00`, `2h`, `2026-11-20`.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{ToSpan as _, Zoned};

use super::spans::parse_span;
use crate::Timestamp;

/// The writer's clock: what time it is, and where.
#[derive(Clone, Debug)]
pub struct Clock {
    /// The present moment.
    pub now: Timestamp,
    /// The zone in which dates and times of day are meant.
    pub zone: TimeZone,
}

/// Which moment of a day is meant by the bare day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartOfDay {
    /// Its beginning: something may start on that day.
    Start,
    /// Its end: something is due on that day.
    End,
}

/// Text that names no moment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no time; write `tomorrow`, `fri 17:00`, `2h`, `2026-11-20` or `2026-11-20 17:00`", .text.escape_debug())]
pub struct BadMoment {
    /// What was given.
    pub text: String,
}

/// Reads a moment: a day, a time of day, both, or how long from now. Of a bare day the part that is asked for is meant; a weekday and a
/// time of day are the first that are still to come.
pub fn parse_moment(text: &str, part: PartOfDay, clock: &Clock) -> Result<Timestamp, BadMoment> {
    let bad = || BadMoment { text: text.to_owned() };
    let text = text.trim();
    if let Some(moment) = Timestamp::parse(text) {
        return Ok(moment);
    }
    let lowered = text.to_lowercase();
    let from_now = lowered.strip_prefix("in ").or(lowered.strip_prefix('+')).unwrap_or(&lowered);
    if let Ok(span) = parse_span(&from_now.replace(' ', "")) {
        let milliseconds = i64::try_from(span.as_millis()).map_err(|_| bad())?;
        return clock.now.0.checked_add(milliseconds).map(Timestamp).filter(is_tellable).ok_or_else(bad);
    }
    let present = zoned(clock).ok_or_else(bad)?;
    // A day and a time of day, with a space or the `T` of ISO 8601 between them.
    let lowered = if lowered.contains(' ') { lowered } else { iso_apart(&lowered) };
    let words: Vec<&str> = lowered.split_whitespace().filter(|word| !matches!(*word, "at" | "on" | "by")).collect();
    let civil = match words.as_slice() {
        ["now"] => return Ok(clock.now),
        [word] => match (time(word), day(word, &present)) {
            (Some(time), _) => next_time(time, &present),
            (None, Some(day)) => whole_day(day, part, &present),
            (None, None) => None,
        },
        [first, second] => {
            let (day, time) = (day(first, &present), time(second));
            day.zip(time).and_then(|(day, time)| at_time(day, time, &present))
        }
        _ => None,
    };
    let moment = civil.and_then(|civil| civil.to_zoned(clock.zone.clone()).ok()).ok_or_else(bad)?;
    Ok(Timestamp(moment.timestamp().as_millisecond()))
}

/// Returns a moment in words that [`parse_moment`] reads as the same: the bare day where it is that part of it, else the day and the time of
/// day; in full, and in UTC, where those would be another moment.
pub fn moment_in_words(moment: Timestamp, part: PartOfDay, clock: &Clock) -> String {
    let there = zoned(&Clock { now: moment, zone: clock.zone.clone() });
    let forms = ["%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"];
    let mut words = there.iter().flat_map(|there| forms.map(|form| there.strftime(form).to_string()));
    words.find(|words| parse_moment(words, part, clock) == Ok(moment)).unwrap_or_else(|| moment.to_string())
}

/// A day as it was said.
#[derive(Clone, Copy)]
enum Day {
    On(Date),
    Next(Weekday),
}

fn zoned(clock: &Clock) -> Option<Zoned> {
    let moment = jiff::Timestamp::from_millisecond(clock.now.0).ok()?;
    Some(moment.to_zoned(clock.zone.clone()))
}

fn is_tellable(moment: &Timestamp) -> bool {
    jiff::Timestamp::from_millisecond(moment.0).is_ok()
}

fn iso_apart(word: &str) -> String {
    match word.split_once('t') {
        Some((date, time)) if date.parse::<Date>().is_ok() => format!("{date} {time}"),
        _ => word.to_owned(),
    }
}

fn day(word: &str, present: &Zoned) -> Option<Day> {
    let today = present.date();
    let after = |days: i64| today.checked_add(days.days()).ok().map(Day::On);
    match word {
        "today" | "eod" => return Some(Day::On(today)),
        "tomorrow" | "tom" => return after(1),
        "yesterday" => return after(-1),
        "eom" => return Some(Day::On(today.last_of_month())),
        _ => {}
    }
    let weekdays = [
        ("monday", Weekday::Monday),
        ("tuesday", Weekday::Tuesday),
        ("wednesday", Weekday::Wednesday),
        ("thursday", Weekday::Thursday),
        ("friday", Weekday::Friday),
        ("saturday", Weekday::Saturday),
        ("sunday", Weekday::Sunday),
    ];
    let weekday = weekdays.iter().find(|(name, _)| word.len() > 2 && name.starts_with(word));
    match weekday {
        Some((_, weekday)) => Some(Day::Next(*weekday)),
        None => word.parse::<Date>().ok().filter(|_| word.contains('-')).map(Day::On),
    }
}

/// Reads a time of day: `17:00`, `17:00:30`, `5pm`, `5:30pm`, `noon`, `midnight`.
fn time(word: &str) -> Option<Time> {
    if word == "noon" {
        return Time::new(12, 0, 0, 0).ok();
    }
    let (digits, half) = match (word.strip_suffix("am"), word.strip_suffix("pm")) {
        (Some(digits), _) => (digits, Some(0)),
        (None, Some(digits)) => (digits, Some(12)),
        (None, None) => (word, None),
    };
    let mut parts = digits.split(':').map(|part| part.parse::<i8>().ok().filter(|_| part.len() <= 2));
    let hour = parts.next()??;
    let minute = parts.next();
    let second = parts.next();
    if parts.next().is_some() || (half.is_none() && minute.is_none()) {
        return None;
    }
    let hour = match half {
        Some(half) if (1..=12).contains(&hour) => hour % 12 + half,
        Some(_) => return None,
        None => hour,
    };
    let or_zero = |part: Option<Option<i8>>| part.map_or(Some(0), |part| part);
    Time::new(hour, or_zero(minute)?, or_zero(second)?, 0).ok()
}

/// Returns the next moment at which it is this time of day.
fn next_time(time: Time, present: &Zoned) -> Option<DateTime> {
    let today = present.date().to_datetime(time);
    if today > present.datetime() { Some(today) } else { today.checked_add(1.day()).ok() }
}

fn whole_day(day: Day, part: PartOfDay, present: &Zoned) -> Option<DateTime> {
    let time = match part {
        PartOfDay::Start => Time::midnight(),
        PartOfDay::End => Time::constant(23, 59, 59, 999_000_000),
    };
    at_time(day, time, present)
}

fn at_time(day: Day, time: Time, present: &Zoned) -> Option<DateTime> {
    match day {
        Day::On(date) => Some(date.to_datetime(time)),
        Day::Next(weekday) => {
            let today = present.date();
            let is_to_come = today.weekday() == weekday && today.to_datetime(time) > present.datetime();
            let date = if is_to_come { today } else { today.nth_weekday(1, weekday).ok()? };
            Some(date.to_datetime(time))
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::{TimeZone, offset};

    use super::{Clock, PartOfDay, moment_in_words, parse_moment};
    use crate::Timestamp;

    /// A Monday, two hours ahead of UTC: 16 November 2026, 11:30 there.
    fn clock() -> Clock {
        let now = Timestamp::parse("2026-11-16T09:30:00Z").unwrap();
        Clock { now, zone: TimeZone::fixed(offset(2)) }
    }

    fn due(text: &str) -> Option<String> {
        parse_moment(text, PartOfDay::End, &clock()).ok().map(|moment| moment.to_string())
    }

    fn defer(text: &str) -> Option<String> {
        parse_moment(text, PartOfDay::Start, &clock()).ok().map(|moment| moment.to_string())
    }

    #[test]
    fn a_bare_day_is_its_end_or_its_beginning_in_the_writers_zone() {
        assert_eq!(due("2026-11-20").as_deref(), Some("2026-11-20T21:59:59.999Z"));
        assert_eq!(defer("2026-11-20").as_deref(), Some("2026-11-19T22:00:00.000Z"));
        assert_eq!(due("Tomorrow").as_deref(), Some("2026-11-17T21:59:59.999Z"));
        assert_eq!(defer("tomorrow").as_deref(), Some("2026-11-16T22:00:00.000Z"));
        assert_eq!(due("today").as_deref(), Some("2026-11-16T21:59:59.999Z"));
        assert_eq!(due("eom").as_deref(), Some("2026-11-30T21:59:59.999Z"));
    }

    #[test]
    fn weekdays_and_times_of_day_are_the_first_still_to_come() {
        assert_eq!(due("fri 17:00").as_deref(), Some("2026-11-20T15:00:00.000Z"));
        assert_eq!(due("Friday at 5pm").as_deref(), Some("2026-11-20T15:00:00.000Z"));
        assert_eq!(due("mon").as_deref(), Some("2026-11-16T21:59:59.999Z"));
        assert_eq!(defer("mon").as_deref(), Some("2026-11-22T22:00:00.000Z"));
        assert_eq!(due("mon 11:00").as_deref(), Some("2026-11-23T09:00:00.000Z"));
        assert_eq!(due("mon 12:00").as_deref(), Some("2026-11-16T10:00:00.000Z"));
        assert_eq!(due("17:00").as_deref(), Some("2026-11-16T15:00:00.000Z"));
        assert_eq!(due("9:15").as_deref(), Some("2026-11-17T07:15:00.000Z"));
        assert_eq!(due("tomorrow noon").as_deref(), Some("2026-11-17T10:00:00.000Z"));
        assert_eq!(due("12am").as_deref(), Some("2026-11-16T22:00:00.000Z"));
    }

    #[test]
    fn spans_and_full_moments_are_taken_as_they_are() {
        assert_eq!(due("2h").as_deref(), Some("2026-11-16T11:30:00.000Z"));
        assert_eq!(due("in 1h 30m").as_deref(), Some("2026-11-16T11:00:00.000Z"));
        assert_eq!(due("now").as_deref(), Some("2026-11-16T09:30:00.000Z"));
        assert_eq!(due("2026-11-20T17:00").as_deref(), Some("2026-11-20T15:00:00.000Z"));
        assert_eq!(due("2026-11-20 17:00").as_deref(), Some("2026-11-20T15:00:00.000Z"));
        assert_eq!(due("2026-11-20T17:00:00+01:00").as_deref(), Some("2026-11-20T16:00:00.000Z"));
    }

    #[test]
    fn nonsense_is_no_moment() {
        for text in ["", "soon", "fri 25:00", "13pm", "2026-02-30", "17", "99999999999w", "20261120", "fr", "a b c"] {
            assert_eq!(due(text), None, "{text}");
        }
    }

    #[test]
    fn a_moment_in_words_is_read_as_the_same_moment() {
        for (text, part, words) in [
            ("2026-11-20", PartOfDay::End, "2026-11-20"),
            ("2026-11-20", PartOfDay::Start, "2026-11-20"),
            ("2026-11-20 00:00", PartOfDay::End, "2026-11-20 00:00"),
            ("2026-11-20 17:00", PartOfDay::End, "2026-11-20 17:00"),
            ("2026-11-20 17:00:30", PartOfDay::Start, "2026-11-20 17:00:30"),
            ("2026-11-20T15:00:00.007Z", PartOfDay::Start, "2026-11-20T15:00:00.007Z"),
        ] {
            let moment = parse_moment(text, part, &clock()).unwrap();
            assert_eq!(moment_in_words(moment, part, &clock()), words);
            assert_eq!(parse_moment(words, part, &clock()), Ok(moment));
        }
    }
}
