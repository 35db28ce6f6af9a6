//! Recurrence rules: `mon`, `mon,thu`, `2w`, `first mon`, `31st`.
//!
//! Rules count calendar days. The time of day stays the same in local time.

use std::str::FromStr;

use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, ToSpan as _};

use super::moments::{Clock, in_zone, weekday, zoned};
use crate::Timestamp;

/// A recurrence rule and its time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recurrence {
    rule: Rule,
    /// The normalized text of the rule.
    text: String,
    /// The IANA name of the zone, if the rule states one.
    zone: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    /// This many days after the last occurrence.
    Days(i64),
    /// This many months after the last occurrence, or on the last day of a month that is too short.
    Months(i64),
    /// On each of these weekdays.
    Weekdays(Vec<Weekday>),
    /// On the nth such weekday of each month; -1 is the last.
    OfMonth(i8, Weekday),
    /// On this day of each month, or on the last day of a month that is too short; -1 is the last.
    DayOfMonth(i8),
}

/// Text that is not a valid rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid recurrence `{}`: write `mon`, `mon,thu`, `weekday`, `3d`, `2w`, `1mo`, `1y`, `first mon`, `last fri`, `15th` or \
     `last day`",
    .text.escape_debug()
)]
pub struct BadRecurrence {
    text: String,
}

/// The due date and deferral of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deadlines {
    pub(crate) due: Option<Timestamp>,
    pub(crate) defer: Option<Timestamp>,
}

/// The maximum count in an interval.
const LONGEST: i64 = 10_000;

impl FromStr for Recurrence {
    type Err = BadRecurrence;

    fn from_str(text: &str) -> Result<Self, BadRecurrence> {
        let bad = || BadRecurrence { text: text.to_owned() };
        let (rule, zone) = match text.split_once(" in ") {
            Some((rule, zone)) => (rule, Some(zone.trim().to_owned()).filter(|zone| !zone.is_empty())),
            None => (text, None),
        };
        let words: Vec<String> = rule.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| *word != "every").collect();
        let rule = parse(&words).ok_or_else(bad)?;
        Ok(Self { rule, text: words.join(" "), zone })
    }
}

impl Recurrence {
    /// Returns the rule as stored with a task, with the zone of the writer's clock unless it names one.
    pub(crate) fn written_in(&self, zone: &TimeZone) -> String {
        let named = self.zone.as_deref().or(zone.iana_name()).filter(|name| *name != "UTC");
        named.map_or_else(|| self.text.clone(), |name| format!("{} in {name}", self.text))
    }

    /// Returns the IANA name of its zone, if it states one.
    pub fn zone(&self) -> Option<&str> {
        self.zone.as_deref()
    }

    /// Returns the times of the task that follows one completed now. The next occurrence is the first day of the rule
    /// after the anchor whose moment is not past. The anchor is the due date, or else the deferral, or else the
    /// present; both times move by the same number of days. Returns `None` if the calendar ends first.
    pub(crate) fn next(&self, times: Deadlines, clock: &Clock) -> Option<Deadlines> {
        let zone = &clock.zone;
        let anchor = match times.due.or(times.defer) {
            Some(moment) => zoned(moment, zone)?.datetime(),
            None => end_of(zoned(clock.now, zone)?.date()),
        };
        let today = zoned(clock.now, zone)?.date();
        // Missed occurrences are skipped.
        let mut after = anchor.date().max(today.checked_sub(1.day()).ok()?);
        let day = loop {
            let day = self.rule.first_after(anchor.date(), after)?;
            if in_zone(day.to_datetime(anchor.time()), zone)? > clock.now {
                break day;
            }
            after = day;
        };
        let days = (day - anchor.date()).get_days();
        let moved = |moment: Timestamp| {
            let there = zoned(moment, zone)?.datetime();
            in_zone(there.date().checked_add(days.days()).ok()?.to_datetime(there.time()), zone)
        };
        if times == Deadlines::default() {
            return Some(Deadlines { due: in_zone(day.to_datetime(anchor.time()), zone), defer: None });
        }
        let due = times.due.map(moved);
        let defer = times.defer.map(moved);
        // Fail rather than silently drop a time that cannot be moved.
        Some(Deadlines {
            due: due.map_or(Some(None), |due| due.map(Some))?,
            defer: defer.map_or(Some(None), |defer| defer.map(Some))?,
        })
    }

    /// Returns the default due date of the first task: the end of the first day of the rule. That may be today,
    /// unless the rule counts from the last occurrence.
    pub(crate) fn first_due(&self, clock: &Clock) -> Option<Timestamp> {
        let today = zoned(clock.now, &clock.zone)?.date();
        let yesterday = today.checked_sub(1.day()).ok()?;
        let after = if matches!(self.rule, Rule::Days(_) | Rule::Months(_)) { today } else { yesterday };
        in_zone(end_of(self.rule.first_after(today, after)?), &clock.zone)
    }
}

impl Rule {
    /// Returns the first occurrence after `after`, given the last one.
    fn first_after(&self, last: Date, after: Date) -> Option<Date> {
        match self {
            Self::Days(days) => {
                let passed = i64::from((after - last).get_days());
                let count = (passed.div_euclid(*days) + 1).max(1);
                last.checked_add(Span::new().try_days(count.checked_mul(*days)?).ok()?).ok()
            }
            Self::Months(months) => {
                let passed = i64::from(after.year() - last.year()) * 12 + i64::from(after.month() - last.month());
                let first = passed.div_euclid(*months).max(1);
                let nth = |count: i64| last.checked_add(Span::new().try_months(count.checked_mul(*months)?).ok()?).ok();
                (first..=first + 1).find_map(|count| nth(count).filter(|day| *day > after))
            }
            Self::Weekdays(weekdays) => {
                let days = (1..=7).filter_map(|days: i64| after.checked_add(days.days()).ok());
                days.into_iter().find(|day| weekdays.contains(&day.weekday()))
            }
            Self::OfMonth(nth, weekday) => of_months(after, |first| first.nth_weekday_of_month(*nth, *weekday).ok()),
            Self::DayOfMonth(day) => of_months(after, |first| {
                let day = if *day < 0 { first.days_in_month() } else { (*day).min(first.days_in_month()) };
                Date::new(first.year(), first.month(), day).ok()
            }),
        }
    }
}

/// Returns the first day after `after` among those that `of` selects in each month. Some months may have none.
fn of_months(after: Date, of: impl Fn(Date) -> Option<Date>) -> Option<Date> {
    let months = (0..=12).filter_map(|months: i64| after.first_of_month().checked_add(months.months()).ok());
    months.filter_map(of).find(|day| *day > after)
}

fn end_of(day: Date) -> DateTime {
    day.at(23, 59, 59, 999_000_000)
}

fn parse(words: &[&str]) -> Option<Rule> {
    const WORKING_WEEK: [Weekday; 5] =
        [Weekday::Monday, Weekday::Tuesday, Weekday::Wednesday, Weekday::Thursday, Weekday::Friday];
    match words {
        ["day" | "daily"] => Some(Rule::Days(1)),
        ["week" | "weekly"] => Some(Rule::Days(7)),
        ["month" | "monthly"] => Some(Rule::Months(1)),
        ["year" | "yearly"] => Some(Rule::Months(12)),
        ["weekday" | "weekdays"] => Some(Rule::Weekdays(WORKING_WEEK.to_vec())),
        ["last", "day"] => Some(Rule::DayOfMonth(-1)),
        [nth, day] if ordinal(nth).is_some() => Some(Rule::OfMonth(ordinal(nth)?, weekday(day)?)),
        [one] => interval(one).or_else(|| day_of_month(one)).or_else(|| {
            let weekdays: Option<Vec<Weekday>> = one.split(',').map(weekday).collect();
            weekdays.map(Rule::Weekdays)
        }),
        [count, unit] if count.bytes().all(|byte| byte.is_ascii_digit()) => interval(&format!("{count}{unit}")),
        _ => None,
    }
}

/// Parses `3d`, `2w`, `1mo`, `1y`.
fn interval(word: &str) -> Option<Rule> {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let count: i64 = word[..digits].parse().ok().filter(|count| (1..=LONGEST).contains(count))?;
    match &word[digits..] {
        "d" | "day" | "days" => Some(Rule::Days(count)),
        "w" | "week" | "weeks" => Some(Rule::Days(count * 7)),
        "mo" | "month" | "months" => Some(Rule::Months(count)),
        "y" | "year" | "years" => Some(Rule::Months(count * 12)),
        _ => None,
    }
}

fn ordinal(word: &str) -> Option<i8> {
    match word {
        "first" | "1st" => Some(1),
        "second" | "2nd" => Some(2),
        "third" | "3rd" => Some(3),
        "fourth" | "4th" => Some(4),
        "fifth" | "5th" => Some(5),
        "last" => Some(-1),
        _ => None,
    }
}

/// Parses `15th`.
fn day_of_month(word: &str) -> Option<Rule> {
    let number = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end))?;
    number.parse().ok().filter(|day| (1..=31).contains(day)).map(Rule::DayOfMonth)
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use proptest::prelude::*;

    use super::{Deadlines, Recurrence};
    use crate::Timestamp;
    use crate::timing::Clock;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn rule(text: &str) -> Recurrence {
        text.parse().unwrap()
    }

    /// Returns the due date that follows `due` if the task is completed at `now`, all in UTC.
    fn next(text: &str, due: &str, now: &str) -> String {
        let times = Deadlines { due: Some(at(due)), defer: None };
        let next = rule(text).next(times, &Clock::new(at(now), TimeZone::UTC)).unwrap();
        next.due.unwrap().to_string()[..16].to_owned()
    }

    #[test]
    fn next_one_is_on_the_next_day_of_the_rule() {
        // 20 November 2026 is a Friday.
        let (due, now) = ("2026-11-20T17:00:00Z", "2026-11-20T12:00:00Z");
        for (text, expected) in [
            ("mon", "2026-11-23T17:00"),
            ("fri", "2026-11-27T17:00"),
            ("mon,wed", "2026-11-23T17:00"),
            ("weekday", "2026-11-23T17:00"),
            ("3d", "2026-11-23T17:00"),
            ("2w", "2026-12-04T17:00"),
            ("2 weeks", "2026-12-04T17:00"),
            ("every month", "2026-12-20T17:00"),
            ("1y", "2027-11-20T17:00"),
            ("first mon", "2026-12-07T17:00"),
            ("last fri", "2026-11-27T17:00"),
            ("fifth sun", "2026-11-29T17:00"),
            ("15th", "2026-12-15T17:00"),
            ("last day", "2026-11-30T17:00"),
        ] {
            assert_eq!(next(text, due, now), expected, "{text}");
        }
    }

    #[test]
    fn what_was_missed_is_not_made_up_for() {
        assert_eq!(next("2w", "2026-11-02T17:00:00Z", "2026-12-01T12:00:00Z"), "2026-12-14T17:00");
        assert_eq!(next("mon", "2026-11-02T17:00:00Z", "2026-11-23T16:00:00Z"), "2026-11-23T17:00");
        assert_eq!(next("mon", "2026-11-02T17:00:00Z", "2026-11-23T18:00:00Z"), "2026-11-30T17:00");
        // If completed early, the next one is due after the original day.
        assert_eq!(next("mon", "2026-11-23T17:00:00Z", "2026-11-16T12:00:00Z"), "2026-11-30T17:00");
    }

    #[test]
    fn short_months_and_leap_days_end_on_their_last_day() {
        assert_eq!(next("1mo", "2027-01-31T09:00:00Z", "2027-01-31T08:00:00Z"), "2027-02-28T09:00");
        assert_eq!(next("31st", "2027-02-28T09:00:00Z", "2027-02-28T08:00:00Z"), "2027-03-31T09:00");
        assert_eq!(next("1y", "2028-02-29T09:00:00Z", "2028-02-29T08:00:00Z"), "2029-02-28T09:00");
    }

    #[test]
    fn time_of_day_survives_a_change_of_the_clocks() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        // The clocks go forward on 28 March 2027, and back on 31 October.
        for (due, expected) in
            [("2027-03-22T08:00:00Z", "2027-03-29T07:00:00.000Z"), ("2027-10-25T07:00:00Z", "2027-11-01T08:00:00.000Z")]
        {
            let times = Deadlines { due: Some(at(due)), defer: Some(Timestamp(at(due).0 - 3 * 86_400_000)) };
            let next = rule("1w").next(times, &Clock::new(at(due), zone.clone())).unwrap();
            assert_eq!(next.due.unwrap().to_string(), expected);
            // The deferral moves by the same number of days, and each keeps its own time of day.
            assert_eq!((next.due.unwrap().0 - next.defer.unwrap().0) % 3_600_000, 0);
        }
        // 02:30 does not exist on that night.
        let times = Deadlines { due: Some(at("2027-03-21T01:30:00Z")), defer: None };
        let next = rule("1w").next(times, &Clock::new(at("2027-03-21T00:00:00Z"), zone)).unwrap();
        assert_eq!(next.due.unwrap().to_string(), "2027-03-28T01:30:00.000Z");
    }

    #[test]
    fn first_one_is_due_at_the_end_of_the_first_day() {
        let clock = Clock::new(at("2026-11-16T12:00:00Z"), TimeZone::UTC);
        let first = |text: &str| rule(text).first_due(&clock).unwrap().to_string()[..16].to_owned();
        assert_eq!(
            ["mon", "tue", "2w", "first mon"].map(first),
            ["2026-11-16T23:59", "2026-11-17T23:59", "2026-11-30T23:59", "2026-12-07T23:59"]
        );
    }

    #[test]
    fn rule_is_kept_with_its_zone_and_read_again() {
        assert_eq!(rule("Every  First Mon").written_in(&TimeZone::UTC), "first mon");
        let kept = rule("2w in Europe/Berlin");
        assert_eq!(
            (kept.zone(), kept.written_in(&TimeZone::UTC).as_str()),
            (Some("Europe/Berlin"), "2w in Europe/Berlin")
        );
        for text in
            ["", "soon", "2h", "0d", "99999999w", "mon,", "32nd", "first", "sixth mon", "in Europe/Berlin", "2dé"]
        {
            assert!(text.parse::<Recurrence>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn next_one_is_later_than_the_last_and_than_now(
            which in 0_usize..9,
            due in 0_i64..4_000_000_000,
            now in 0_i64..4_000_000_000,
            defer in proptest::option::of(0_i64..5_000_000),
        ) {
            let text = ["mon", "tue,sat", "weekday", "1d", "2w", "1mo", "1y", "fifth fri", "31st"][which];
            let (due, now) = (Timestamp(due * 1000), Timestamp(now * 1000));
            let times = Deadlines { due: Some(due), defer: defer.map(|seconds| Timestamp(due.0 - seconds * 1000)) };
            let next = rule(text).next(times, &Clock::new(now, TimeZone::UTC)).unwrap();
            let moved = next.due.unwrap();
            prop_assert!(moved > due && moved > now, "{text}");
            prop_assert_eq!(moved.0.rem_euclid(86_400_000), due.0.rem_euclid(86_400_000));
            // Deferral keeps its distance, and none between the two fits the rule better.
            prop_assert_eq!(next.defer.map(|defer| moved.0 - defer.0), times.defer.map(|defer| due.0 - defer.0));
            prop_assert!(moved.0 - due.0.max(now.0) <= 400 * 86_400_000, "{text}");
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,20}", now in 0_i64..4_000_000_000) {
            if let Ok(rule) = text.parse::<Recurrence>() {
                let _ = rule.next(Deadlines::default(), &Clock::new(Timestamp(now * 1000), TimeZone::UTC));
            }
        }
    }
}
