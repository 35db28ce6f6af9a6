//! Parses and formats times as people write them: `tomorrow 9:00`, `fri`, `next week`, `20 nov`, `1mo`, `2026-11-20`.

use std::time::Duration;

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, ToSpan as _, Zoned};

use crate::Timestamp;
use crate::timing::timestamp::{WORKING_DAY, parse_span};

/// The context in which times are interpreted: the present moment, the time zone and the length of a working day.
#[derive(Clone, Debug)]
pub struct Clock {
    /// The present moment.
    pub now: Timestamp,
    /// The time zone of dates and times of day.
    pub zone: TimeZone,
    /// The length of one day in an estimate.
    pub working_day: Duration,
}

impl Clock {
    /// Creates a clock with the default working day.
    pub fn new(now: Timestamp, zone: TimeZone) -> Self {
        Self { now, zone, working_day: WORKING_DAY }
    }
}

/// The moment of a day that a bare date stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartOfDay {
    /// The start of the day, for the date on which something may start.
    Start,
    /// The end of the day, for due dates.
    End,
}

/// Text that is not a valid time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid time `{}`: write `tomorrow 9:00`, `fri`, `20 nov`, `next week`, `2h`, `1mo`, `2026-11-20` or `2026-11-20 17:00`",
    .text.escape_debug()
)]
pub struct BadMoment {
    /// The rejected text.
    pub(crate) text: String,
}

/// A parsed time. The moment it stands for depends on the clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct When {
    written: Written,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Written {
    Moment(Timestamp),
    FromNow(Offset),
    TimeOfDay(Time),
    Days(Days),
    At(Days, Time),
}

/// A distance from the present: calendar months, then a fixed duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Offset {
    months: i64,
    span: Duration,
    is_ago: bool,
}

/// A day, or a named range of days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Days {
    On(Date),
    /// This many days after today.
    FromToday(i64),
    /// The next such weekday.
    Weekday(Weekday),
    /// The weekday of the week this many weeks after this one.
    WeekdayOf(Weekday, i64),
    /// A day of a month in the first year in which it is not past, optionally checked against a weekday.
    OfMonth(i8, i8, Option<Weekday>),
    LastOfWeek,
    LastOfMonth,
    /// The week this many weeks after this one. Weeks begin on Monday.
    Week(i64),
    /// The month this many months after this one.
    Month(i64),
}

impl When {
    /// Parses a time: a day, week or month, a time of day, a day with a time of day, or a distance from now.
    pub fn parse(text: &str) -> Result<Self, BadMoment> {
        let bad = || BadMoment { text: text.to_owned() };
        if let Some(moment) = Timestamp::parse(text.trim()) {
            return Ok(Self { written: Written::Moment(moment) });
        }
        let lowered = text.trim().to_lowercase().replace(',', " ");
        if let Some(offset) = offset(&lowered) {
            return Ok(Self { written: Written::FromNow(offset) });
        }
        // A day and a time of day, separated by a space or by the `T` of ISO 8601.
        let lowered = if lowered.contains(' ') { lowered } else { iso_apart(&lowered) };
        let words: Vec<&str> = lowered.split_whitespace().filter(|word| !matches!(*word, "at" | "on" | "by")).collect();
        let written = match words.as_slice() {
            [] => None,
            [word] => time(word).map(Written::TimeOfDay).or_else(|| days(&words).map(Written::Days)),
            [before @ .., last] if time(last).is_some() => at(before, last),
            [first, after @ ..] if time(first).is_some() => at(after, first),
            words => days(words).map(Written::Days),
        };
        written.map(|written| Self { written }).ok_or_else(bad)
    }

    /// Returns the moment for a planned time. `part` selects the start or end of whole days. Weekdays, days of a
    /// month and times of day mean the next occurrence. Returns `None` if there is no such moment.
    pub(crate) fn moment(&self, part: PartOfDay, clock: &Clock) -> Option<Timestamp> {
        let present = zoned(clock.now, &clock.zone)?;
        let civil = match self.written {
            Written::Moment(moment) => return Some(moment),
            Written::FromNow(offset) => return offset.from(&present),
            Written::TimeOfDay(time) => next_time(time, &present),
            Written::At(days, time) => days.dates(&present, Some(time)).map(|(day, _)| day.to_datetime(time)),
            Written::Days(days) => match part {
                PartOfDay::Start => days.dates(&present, Some(Time::midnight())).map(|(first, _)| beginning(first)),
                PartOfDay::End => days.dates(&present, None).map(|(_, last)| end(last)),
            },
        };
        in_zone(civil?, &clock.zone)
    }

    /// Returns the moment for "since": the latest occurrence that is past. A distance counts back from the present,
    /// and whole days mean their start.
    pub fn past_moment(&self, clock: &Clock) -> Option<Timestamp> {
        let present = zoned(clock.now, &clock.zone)?;
        let (days, time) = match self.written {
            Written::Moment(moment) => return Some(moment),
            Written::FromNow(offset) => return Offset { is_ago: true, ..offset }.from(&present),
            Written::TimeOfDay(time) => (None, time),
            Written::Days(days) => (Some(days), Time::midnight()),
            Written::At(days, time) => (Some(days), time),
        };
        let today = present.date();
        let (day, recurs_after) = match days {
            None => (today, 1.day()),
            Some(Days::Weekday(weekday)) => (weekday_of(today, weekday)?, 1.week()),
            Some(Days::OfMonth(month, day, _)) => (Date::new(today.year(), month, day).ok()?, 1.year()),
            Some(days) => (days.dates(&present, None)?.0, 0.days()),
        };
        let moment = day.to_datetime(time);
        let has_passed = moment <= present.datetime();
        in_zone(if has_passed { moment } else { moment.checked_sub(recurs_after).ok()? }, &clock.zone)
    }

    /// Returns the first and last moment of the range: start and end of whole days, otherwise the same moment twice.
    pub(crate) fn period(&self, clock: &Clock) -> Option<(Timestamp, Timestamp)> {
        let Written::Days(days) = self.written else {
            let moment = self.moment(PartOfDay::End, clock)?;
            return Some((moment, moment));
        };
        let (first, last) = days.dates(&zoned(clock.now, &clock.zone)?, None)?;
        Some((in_zone(beginning(first), &clock.zone)?, in_zone(end(last), &clock.zone)?))
    }

    /// Returns whether it is a distance from the present.
    pub(crate) const fn is_from_now(&self) -> bool {
        matches!(self.written, Written::FromNow(_))
    }
}

/// Parses a planned time as a moment; see [`When`].
pub fn parse_moment(text: &str, part: PartOfDay, clock: &Clock) -> Result<Timestamp, BadMoment> {
    let bad = || BadMoment { text: text.to_owned() };
    When::parse(text)?.moment(part, clock).ok_or_else(bad)
}

/// Formats a moment so that [`parse_moment`] returns it unchanged: as a bare date if possible, else with the time of
/// day in the local zone, else as a full UTC timestamp.
pub(crate) fn moment_in_words(moment: Timestamp, part: PartOfDay, clock: &Clock) -> String {
    let there = zoned(moment, &clock.zone);
    let forms = ["%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"];
    let mut words = there.iter().flat_map(|there| forms.map(|form| there.strftime(form).to_string()));
    words.find(|words| parse_moment(words, part, clock) == Ok(moment)).unwrap_or_else(|| moment.to_string())
}

/// Formats a moment as days after the day of `start`, so that [`parse_moment`] returns the same time of day that many
/// days after the day on which it is read: `today+4d`, `today+4d 09:30`. A moment that has no such form is formatted as a
/// full UTC timestamp.
pub(crate) fn moment_in_days_after(start: Timestamp, moment: Timestamp, part: PartOfDay, clock: &Clock) -> String {
    let in_words = || {
        let (began, there) = (zoned(start, &clock.zone)?, zoned(moment, &clock.zone)?);
        let days = began.date().until(there.date()).ok()?.get_days();
        let day = if days == 0 { "today".to_owned() } else { format!("today{days:+}d") };
        let forms = ["", " %H:%M", " %H:%M:%S"];
        let mut words = forms.into_iter().map(|form| format!("{day}{}", there.strftime(form)));
        let clock = Clock { now: start, ..clock.clone() };
        words.find(|words| parse_moment(words, part, &clock) == Ok(moment))
    };
    in_words().unwrap_or_else(|| moment.to_string())
}

/// Formats a moment in a time zone, as in `Mon 23 Nov, 00:00`. The year is added unless it is the current one.
pub(crate) fn moment_in_speech(moment: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let (Some(there), Some(present)) = (zoned(moment, zone), zoned(now, zone)) else { return moment.to_string() };
    let form = if there.year() == present.year() { "%a %-d %b, %H:%M" } else { "%a %-d %b %Y, %H:%M" };
    there.strftime(form).to_string()
}

/// Formats a past moment as a clock time with seconds, `14:05:07`. The day is added unless it is today.
pub(crate) fn time_in_speech(moment: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let (Some(there), Some(present)) = (zoned(moment, zone), zoned(now, zone)) else { return moment.to_string() };
    let form = match () {
        () if there.date() == present.date() => "%H:%M:%S",
        () if there.year() == present.year() => "%a %-d %b, %H:%M:%S",
        () => "%a %-d %b %Y, %H:%M:%S",
    };
    there.strftime(form).to_string()
}

pub(super) fn zoned(moment: Timestamp, zone: &TimeZone) -> Option<Zoned> {
    let moment = jiff::Timestamp::from_millisecond(moment.0).ok()?;
    Some(moment.to_zoned(zone.clone()))
}

pub(super) fn in_zone(civil: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    let moment = civil.to_zoned(zone.clone()).ok()?;
    Some(Timestamp(moment.timestamp().as_millisecond()))
}

impl Offset {
    fn from(self, present: &Zoned) -> Option<Timestamp> {
        let sign = if self.is_ago { -1 } else { 1 };
        let months = Span::new().try_months(self.months.checked_mul(sign)?).ok()?;
        let base = present.checked_add(months).ok()?.timestamp().as_millisecond();
        let milliseconds = i64::try_from(self.span.as_millis()).ok()?.checked_mul(sign)?;
        let moment = base.checked_add(milliseconds)?;
        jiff::Timestamp::from_millisecond(moment).ok().map(|_| Timestamp(moment))
    }
}

impl Days {
    /// Returns the first and last day. A weekday may be today unless `time` has already passed today.
    fn dates(self, present: &Zoned, time: Option<Time>) -> Option<(Date, Date)> {
        let today = present.date();
        let may_be_today = time.is_none_or(|time| today.to_datetime(time) > present.datetime());
        let monday = weekday_of(today, Weekday::Monday)?;
        let day = match self {
            Self::On(date) => date,
            Self::FromToday(days) => today.checked_add(Span::new().try_days(days).ok()?).ok()?,
            Self::Weekday(weekday) if today.weekday() == weekday && may_be_today => today,
            Self::Weekday(weekday) => today.nth_weekday(1, weekday).ok()?,
            Self::WeekdayOf(weekday, weeks) => weekday_of(today, weekday)?.checked_add(weeks.weeks()).ok()?,
            Self::OfMonth(month, day, weekday) => {
                // A leap day may be up to eight years away.
                let years = (0..=8).filter_map(|years| Date::new(today.year().checked_add(years)?, month, day).ok());
                let fits = |date: &Date| weekday.is_none_or(|weekday| date.weekday() == weekday);
                years.into_iter().find(|date| *date >= today).filter(fits)?
            }
            Self::LastOfWeek => monday.checked_add(6.days()).ok()?,
            Self::LastOfMonth => today.last_of_month(),
            Self::Week(weeks) => {
                let first = monday.checked_add(weeks.weeks()).ok()?;
                return Some((first, first.checked_add(6.days()).ok()?));
            }
            Self::Month(months) => {
                let first = today.first_of_month().checked_add(months.months()).ok()?;
                return Some((first, first.last_of_month()));
            }
        };
        Some((day, day))
    }
}

/// Returns the given weekday of the week that contains `day`.
fn weekday_of(day: Date, weekday: Weekday) -> Option<Date> {
    let monday = day.checked_sub(i64::from(day.weekday().to_monday_zero_offset()).days()).ok()?;
    monday.checked_add(i64::from(weekday.to_monday_zero_offset()).days()).ok()
}

fn beginning(day: Date) -> DateTime {
    day.to_datetime(Time::midnight())
}

fn end(day: Date) -> DateTime {
    day.to_datetime(Time::constant(23, 59, 59, 999_000_000))
}

/// Parses a distance from now: `2h`, `in 2 days`, `+1mo`, `3 days ago`.
fn offset(text: &str) -> Option<Offset> {
    if text == "now" {
        return Some(Offset { months: 0, span: Duration::ZERO, is_ago: false });
    }
    let (rest, is_ago) = text.strip_suffix(" ago").map_or((text, false), |rest| (rest, true));
    let rest = if is_ago { rest } else { rest.strip_prefix("in ").or(rest.strip_prefix('+')).unwrap_or(rest) };
    let rest = rest.replace(' ', "");
    let (months, rest) = months(&rest).unwrap_or((0, rest.as_str()));
    let span = if rest.is_empty() && months > 0 { Duration::ZERO } else { parse_span(rest).ok()? };
    Some(Offset { months, span, is_ago })
}

/// Parses the leading months and years of a duration and returns the rest.
fn months(text: &str) -> Option<(i64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let count: i64 = text[..digits].parse().ok()?;
    let after = &text[digits..];
    let end = after.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(after.len());
    let in_one = match &after[..end] {
        "mo" | "mos" | "month" | "months" => 1,
        "y" | "yr" | "yrs" | "year" | "years" => 12,
        _ => return None,
    };
    let sum = count.checked_mul(in_one)?;
    let more = if in_one == 12 { months(&after[end..]) } else { None };
    let (more, rest) = more.unwrap_or((0, &after[end..]));
    Some((sum.checked_add(more)?, rest))
}

fn iso_apart(word: &str) -> String {
    match word.split_once('t') {
        Some((date, time)) if date.parse::<Date>().is_ok() => format!("{date} {time}"),
        _ => word.to_owned(),
    }
}

fn at(words: &[&str], time_of_day: &str) -> Option<Written> {
    let days = days(words)?;
    let is_one = !matches!(days, Days::Week(_) | Days::Month(_));
    Some(Written::At(days, time(time_of_day)?)).filter(|_| is_one)
}

/// Parses days: `tomorrow`, `fri`, `next week`, `20 nov`, `mon 23 nov`, `2026-11-20`.
fn days(words: &[&str]) -> Option<Days> {
    match words {
        [word] => day(word),
        [which @ ("this" | "next" | "last"), what] => {
            let count = match *which {
                "this" => 0,
                "next" => 1,
                _ => -1,
            };
            match *what {
                "week" => Some(Days::Week(count)),
                "month" => Some(Days::Month(count)),
                what => weekday(what).map(|weekday| Days::WeekdayOf(weekday, count)),
            }
        }
        [one, two] => day_of_month(one, two, None),
        [one, two, year] if year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit()) => {
            let Days::OfMonth(month, day, _) = day_of_month(one, two, None)? else { return None };
            Date::new(year.parse().ok()?, month, day).ok().map(Days::On)
        }
        [first, one, two] => day_of_month(one, two, Some(weekday(first)?)),
        [first, date @ ..] => match days(date)? {
            Days::On(date) if Some(date.weekday()) == weekday(first) => Some(Days::On(date)),
            _ => None,
        },
        _ => None,
    }
}

fn day(word: &str) -> Option<Days> {
    Some(match word {
        "today" | "eod" => Days::FromToday(0),
        "tomorrow" | "tom" => Days::FromToday(1),
        "yesterday" => Days::FromToday(-1),
        "eow" => Days::LastOfWeek,
        "eom" => Days::LastOfMonth,
        word if days_from_today(word).is_some() => Days::FromToday(days_from_today(word)?),
        word => match weekday(word) {
            Some(weekday) => Days::Weekday(weekday),
            None => Days::On(word.parse::<Date>().ok().filter(|_| word.contains('-'))?),
        },
    })
}

/// Parses a number of days before or after today: `today+4d`, `today-1w`.
fn days_from_today(word: &str) -> Option<i64> {
    let count = word.strip_prefix("today").filter(|count| count.starts_with(['+', '-']))?;
    match count.strip_suffix('w') {
        Some(weeks) => weeks.parse::<i64>().ok()?.checked_mul(7),
        None => count.strip_suffix('d')?.parse().ok(),
    }
}

pub(super) fn weekday(word: &str) -> Option<Weekday> {
    let weekdays = [
        ("monday", Weekday::Monday),
        ("tuesday", Weekday::Tuesday),
        ("wednesday", Weekday::Wednesday),
        ("thursday", Weekday::Thursday),
        ("friday", Weekday::Friday),
        ("saturday", Weekday::Saturday),
        ("sunday", Weekday::Sunday),
    ];
    weekdays.iter().find(|(name, _)| word.len() > 2 && name.starts_with(word)).map(|(_, weekday)| *weekday)
}

/// Parses a day and a month in either order: `20 nov`, `November 20th`.
fn day_of_month(one: &str, two: &str, weekday: Option<Weekday>) -> Option<Days> {
    let number = |word: &str| {
        let digits = ["st", "nd", "rd", "th", "."].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
        digits.parse::<i8>().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let (day, month) = match (number(one), month(two)) {
        (Some(day), Some(month)) => (day, month),
        _ => (number(two)?, month(one)?),
    };
    // 2024 is a leap year, so it has every possible date.
    Date::new(2024, month, day).ok().map(|_| Days::OfMonth(month, day, weekday))
}

fn month(word: &str) -> Option<i8> {
    let months = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let found = months.iter().position(|name| word.len() > 2 && name.starts_with(word))?;
    i8::try_from(found + 1).ok()
}

/// Parses a time of day: `17:00`, `17:00:30`, `5pm`, `5:30pm`, `noon`, `midnight`.
fn time(word: &str) -> Option<Time> {
    match word {
        "noon" => return Time::new(12, 0, 0, 0).ok(),
        "midnight" => return Some(Time::midnight()),
        _ => {}
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

/// Returns the next occurrence of a time of day.
fn next_time(time: Time, present: &Zoned) -> Option<DateTime> {
    let today = present.date().to_datetime(time);
    if today > present.datetime() { Some(today) } else { today.checked_add(1.day()).ok() }
}

#[cfg(test)]
mod tests {
    use jiff::tz::{TimeZone, offset};

    use super::{Clock, PartOfDay, When, moment_in_days_after, moment_in_speech, moment_in_words, parse_moment};
    use crate::Timestamp;

    /// Monday, 16 November 2026, 11:30 local time, two hours ahead of UTC.
    fn clock() -> Clock {
        let now = Timestamp::parse("2026-11-16T09:30:00Z").unwrap();
        Clock::new(now, TimeZone::fixed(offset(2)))
    }

    fn due(text: &str) -> Option<String> {
        parse_moment(text, PartOfDay::End, &clock()).ok().map(|moment| moment.to_string())
    }

    fn defer(text: &str) -> Option<String> {
        parse_moment(text, PartOfDay::Start, &clock()).ok().map(|moment| moment.to_string())
    }

    #[test]
    fn days_are_counted_from_today() {
        assert_eq!(due("today+4d").as_deref(), Some("2026-11-20T21:59:59.999Z"));
        assert_eq!(defer("today-1w").as_deref(), Some("2026-11-08T22:00:00.000Z"));
        assert_eq!(due("today+1d 9:00").as_deref(), Some("2026-11-17T07:00:00.000Z"));
        for wrong in ["today+", "today+d", "today4d", "today+4", "today+1h", "today+99999999999999999999w"] {
            assert_eq!(due(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn moment_is_written_as_days_after_another() {
        let start = Timestamp::parse("2026-11-16T09:30:00Z").unwrap();
        let written =
            |moment: &str, part| moment_in_days_after(start, Timestamp::parse(moment).unwrap(), part, &clock());
        assert_eq!(written("2026-11-16T21:59:59.999Z", PartOfDay::End), "today");
        assert_eq!(written("2026-11-20T21:59:59.999Z", PartOfDay::End), "today+4d");
        assert_eq!(written("2026-11-14T22:00:00Z", PartOfDay::Start), "today-1d");
        assert_eq!(written("2026-11-17T07:00:30Z", PartOfDay::End), "today+1d 09:00:30");
        assert_eq!(written("2026-11-17T07:00:30.5Z", PartOfDay::End), "2026-11-17T07:00:30.500Z");
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
    fn weeks_months_and_days_of_a_month_have_names() {
        for (text, from, to) in [
            ("this week", "2026-11-15T22:00:00.000Z", "2026-11-22T21:59:59.999Z"),
            ("next week", "2026-11-22T22:00:00.000Z", "2026-11-29T21:59:59.999Z"),
            ("last month", "2026-09-30T22:00:00.000Z", "2026-10-31T21:59:59.999Z"),
            ("eow", "2026-11-21T22:00:00.000Z", "2026-11-22T21:59:59.999Z"),
            ("20 Nov", "2026-11-19T22:00:00.000Z", "2026-11-20T21:59:59.999Z"),
            ("November 20th", "2026-11-19T22:00:00.000Z", "2026-11-20T21:59:59.999Z"),
            ("Mon 23 Nov", "2026-11-22T22:00:00.000Z", "2026-11-23T21:59:59.999Z"),
            ("16 nov", "2026-11-15T22:00:00.000Z", "2026-11-16T21:59:59.999Z"),
            ("15 nov", "2027-11-14T22:00:00.000Z", "2027-11-15T21:59:59.999Z"),
            ("20 nov 2027", "2027-11-19T22:00:00.000Z", "2027-11-20T21:59:59.999Z"),
            ("29 feb", "2028-02-28T22:00:00.000Z", "2028-02-29T21:59:59.999Z"),
            ("next fri", "2026-11-26T22:00:00.000Z", "2026-11-27T21:59:59.999Z"),
        ] {
            assert_eq!((defer(text).as_deref(), due(text).as_deref()), (Some(from), Some(to)), "{text}");
            let period = When::parse(text).unwrap().period(&clock()).unwrap();
            assert_eq!((period.0.to_string(), period.1.to_string()), (from.to_owned(), to.to_owned()), "{text}");
        }
        assert_eq!(due("mon 23 nov, 00:00").as_deref(), Some("2026-11-22T22:00:00.000Z"));
        assert_eq!(due("tomorrow 9:00").as_deref(), Some("2026-11-17T07:00:00.000Z"));
        assert_eq!(due("9:00 tomorrow").as_deref(), Some("2026-11-17T07:00:00.000Z"));
        assert_eq!(due("1mo").as_deref(), Some("2026-12-16T09:30:00.000Z"));
        assert_eq!(due("in 1 year 3 months 2 days").as_deref(), Some("2028-02-18T09:30:00.000Z"));
    }

    #[test]
    fn since_means_the_latest_moment_that_has_passed() {
        for (text, moment) in [
            ("2h", "2026-11-16T07:30:00.000Z"),
            ("2 days ago", "2026-11-14T09:30:00.000Z"),
            ("1mo", "2026-10-16T09:30:00.000Z"),
            ("9:00", "2026-11-16T07:00:00.000Z"),
            ("17:00", "2026-11-15T15:00:00.000Z"),
            ("mon", "2026-11-15T22:00:00.000Z"),
            ("fri", "2026-11-12T22:00:00.000Z"),
            ("fri 17:00", "2026-11-13T15:00:00.000Z"),
            ("yesterday", "2026-11-14T22:00:00.000Z"),
            ("20 nov", "2025-11-19T22:00:00.000Z"),
            ("2026-11-10", "2026-11-09T22:00:00.000Z"),
        ] {
            let past = When::parse(text).unwrap().past_moment(&clock()).map(|moment| moment.to_string());
            assert_eq!(past.as_deref(), Some(moment), "{text}");
        }
    }

    #[test]
    fn a_moment_is_said_in_the_zone_and_read_as_the_same() {
        let clock = clock();
        let said = |text: &str| moment_in_speech(Timestamp::parse(text).unwrap(), clock.now, &clock.zone);
        assert_eq!(said("2026-11-22T22:00:00Z"), "Mon 23 Nov, 00:00");
        assert_eq!(said("2027-01-05T07:05:00Z"), "Tue 5 Jan 2027, 09:05");
        assert_eq!(due(&said("2026-11-22T22:00:00Z")).as_deref(), Some("2026-11-22T22:00:00.000Z"));
        assert_eq!(due(&said("2027-01-05T07:05:00Z")).as_deref(), Some("2027-01-05T07:05:00.000Z"));
    }

    #[test]
    fn nonsense_is_no_moment() {
        let texts = ["", "soon", "fri 25:00", "13pm", "2026-02-30", "17", "99999999999w", "20261120", "fr", "a b c"];
        let dates =
            ["31 feb", "0 nov", "20 novembre", "next", "week", "next week 9:00", "tue 23 nov", "999999999999mo"];
        for text in texts.into_iter().chain(dates) {
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
