//! Formatting shared by all pages: times, states, agents and terminal lines.

use std::sync::OnceLock;

use jiff::Zoned;
use jiff::tz::TimeZone;
use maud::{Markup, html};
use taskyard::core::render::{Line, Tone, escaping, state_in_words, web_addresses};
use taskyard::core::view::ListRow;
use taskyard::core::{COLOURS, Task, TaskId, Timestamp};

/// Maximum length of a text on one line.
const LONGEST: usize = 400;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// Times further in the past are shown as a date.
const LONG_AGO: i64 = -60 * DAY;

/// Returns a text on one line, shortened if necessary, without invisible or bidirectional control characters.
pub(super) fn one_line(text: &str) -> String {
    let end = text.floor_char_boundary(LONGEST);
    let more = if end < text.len() { "…" } else { "" };
    format!("{}{more}", escaping::one_line(text[..end].trim()))
}

/// Renders a text of several lines with web addresses as links, without invisible control characters.
pub(super) fn linked(text: &str) -> Markup {
    let text = escaping::many_lines(text);
    let addresses = web_addresses(&text);
    let ends = std::iter::once(0).chain(addresses.iter().map(|at| at.end));
    html! {
        @for (before, at) in ends.zip(&addresses) {
            (text[before..at.start]) a href=(text[at.clone()]) { (text[at.clone()]) }
        }
        (text[addresses.last().map_or(0, |at| at.end)..])
    }
}

/// Renders how long ago something happened: relative within a day, after that as a date. The exact time is a tooltip.
pub(super) fn ago(moment: Timestamp, now: Timestamp) -> Markup {
    let words = age_in_words(moment, now);
    html! { time datetime=(moment) title=(moment) data-age { (words) } }
}

/// Renders how long something has lasted; a script updates it.
pub(super) fn since(moment: Timestamp, now: Timestamp) -> Markup {
    html! { time datetime=(moment) title={ "since " (moment) } data-since { (span_in_words(now.0 - moment.0)) } }
}

/// Renders when something will happen, or was due.
pub(super) fn until(moment: Timestamp, now: Timestamp) -> Markup {
    let left = moment.0.saturating_sub(now.0);
    let words = match left {
        ..LONG_AGO => day(moment),
        LONG_AGO..0 => format!("{} ago", span_in_words(-left)),
        0..DAY => format!("in {}", span_in_words(left)),
        _ => day(moment),
    };
    html! { time datetime=(moment) title=(moment) { (words) } }
}

fn age_in_words(moment: Timestamp, now: Timestamp) -> String {
    match now.0.saturating_sub(moment.0) {
        ..MINUTE => "just now".to_owned(),
        age @ MINUTE..DAY => format!("{} ago", span_in_words(age)),
        _ => day(moment),
    }
}

/// Returns a date in the local time zone, such as `2026-11-15`.
pub(super) fn day(moment: Timestamp) -> String {
    local(moment).map_or_else(|| moment.to_string().chars().take(10).collect(), |moment| moment.date().to_string())
}

/// Returns a date as a heading: `Today`, `Yesterday`, `Wed 11 November`, with the year unless it is the current one.
pub(super) fn day_in_words(moment: Timestamp, now: Timestamp) -> String {
    let (Some(at), Some(today)) = (local(moment), local(now)) else { return day(moment) };
    match (today.date() - at.date()).get_days() {
        0 => "Today".to_owned(),
        1 => "Yesterday".to_owned(),
        _ if at.year() == today.year() => at.strftime("%a %-d %B").to_string(),
        _ => at.strftime("%a %-d %B %Y").to_string(),
    }
}

/// Renders a time of day such as `14:05`.
pub(super) fn clock(moment: Timestamp) -> Markup {
    let words = local(moment).map(|at| at.strftime("%H:%M").to_string()).unwrap_or_default();
    html! { time datetime=(moment) title=(moment) { (words) } }
}

fn local(moment: Timestamp) -> Option<Zoned> {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    let moment = jiff::Timestamp::from_millisecond(moment.0).ok()?;
    Some(moment.to_zoned(ZONE.get_or_init(TimeZone::system).clone()))
}

/// Returns a duration in its largest unit: `45 s`, `12 min`, `3 h`, `2 days`.
pub(super) fn span_in_words(milliseconds: i64) -> String {
    let span = milliseconds.max(0);
    match span {
        ..MINUTE => format!("{} s", span / 1000),
        MINUTE..HOUR => format!("{} min", span / MINUTE),
        HOUR..DAY => format!("{} h", span / HOUR),
        _ if span < 2 * DAY => "1 day".to_owned(),
        _ => format!("{} days", span / DAY),
    }
}

/// Renders the mark of a task's state, with a description.
pub(super) fn mark(task: &Task, is_blocked: bool) -> Markup {
    let (class, sign) = state(task, is_blocked);
    let words = if is_blocked { "blocked" } else { state_in_words(task) };
    html! { span class={ "mark " (class) } role="img" aria-label=(words) title=(words) { (sign) } }
}

/// Returns the CSS class and the symbol of a task's state.
pub(super) fn state(task: &Task, is_blocked: bool) -> (&'static str, &'static str) {
    match task.status {
        taskyard::core::Status::Pending if is_blocked => ("blocked", "◻"),
        taskyard::core::Status::Pending => ("pending", "◻"),
        taskyard::core::Status::InProgress => ("active", "◼"),
        taskyard::core::Status::Completed if task.is_cancelled() => ("cancelled", "✕"),
        taskyard::core::Status::Completed => ("done", "✔"),
    }
}

/// Renders an agent's name in its colour.
pub(super) fn agent(name: &str, colour: Option<&str>) -> Markup {
    let class = colour_class(colour);
    html! { span class={ "agent " (class) } { span.dot aria-hidden="true" {} (one_line(name)) } }
}

/// Renders an agent's initial on its colour, followed by the name.
pub(super) fn avatar(name: &str, colour: Option<&str>) -> Markup {
    let initial: String =
        name.chars().find(|letter| letter.is_alphanumeric()).map(char::to_uppercase).into_iter().flatten().collect();
    html! { span class={ "agent " (colour_class(colour)) } { span.avatar aria-hidden="true" { (initial) } (one_line(name)) } }
}

/// Returns the CSS class of an agent's colour; empty for an unknown colour.
pub(super) fn colour_class(colour: Option<&str>) -> String {
    let known = colour.filter(|colour| COLOURS.contains(colour));
    known.map(|colour| format!("in-{colour}")).unwrap_or_default()
}

/// Renders the progress of a list as a bar.
pub(super) fn bar(counts: [usize; 3]) -> Markup {
    let [pending, in_progress, completed] = counts;
    let total = (pending + in_progress + completed).max(1);
    let per_mille = |count: usize| count * 1000 / total;
    let (done, active) = (per_mille(completed), per_mille(in_progress));
    let words = format!("{completed} of {} done, {in_progress} in progress", counts.iter().sum::<usize>());
    html! {
        svg.bar viewBox="0 0 1000 4" preserveAspectRatio="none" role="img" aria-label=(words) {
            rect.rest width="1000" height="4" {}
            rect.done width=(done) height="4" {}
            rect.active x=(done) width=(active) height="4" {}
        }
    }
}

/// Describes the progress of a list.
pub(super) fn how_far(row: &ListRow) -> String {
    let total: usize = row.counts.iter().sum();
    if total == 0 { "empty".to_owned() } else { format!("{} of {total}", row.counts[2]) }
}

/// Renders a terminal line with tones as CSS classes. Task numbers link to `href`.
pub(super) fn line(line: &Line, href: &dyn Fn(&TaskId) -> String) -> Markup {
    html! {
        @for span in line.spans() {
            @if span.tone() == Tone::Id && span.text().starts_with('#') && !span.text().contains(['-', ',', ' ']) {
                a.id href=(href(&TaskId::stored(&span.text()[1..]))) { (span.text()) }
            } @else {
                @match class_of(span.tone()) {
                    Some(class) => span class=(class) { (span.text()) },
                    None => (span.text()),
                }
            }
        }
    }
}

fn class_of(tone: Tone) -> Option<&'static str> {
    Some(match tone {
        Tone::Plain | Tone::Owner => return None,
        Tone::Strong => "strong",
        Tone::Dim => "dim",
        Tone::Id => "id",
        Tone::Active => "active",
        Tone::Done => "done",
        Tone::Struck => "struck",
        Tone::Blocked => "dim",
        Tone::Warning | Tone::Error => "alarm",
        Tone::Hint | Tone::Link => "accent",
        Tone::Emphasis => "emphasis",
        Tone::Member(index) => return Some(MEMBERS[index % MEMBERS.len()]),
    })
}

const MEMBERS: [&str; 8] =
    ["in-red", "in-blue", "in-green", "in-yellow", "in-purple", "in-orange", "in-pink", "in-cyan"];

pub(super) fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

#[cfg(test)]
mod tests {
    use taskyard::core::{COLOURS, Timestamp};

    use super::{MEMBERS, age_in_words, colour_class, one_line, span_in_words};

    #[test]
    fn times_are_relative_under_a_day_and_a_date_after_that() {
        let now = Timestamp(1_800_000_000_000);
        let said = |ago: i64| age_in_words(Timestamp(now.0 - ago), now);
        assert_eq!(said(5_000), "just now");
        assert_eq!(said(12 * 60_000), "12 min ago");
        assert_eq!(said(23 * 3_600_000), "23 h ago");
        assert_eq!(said(25 * 3_600_000), "2027-01-14");
        assert_eq!(span_in_words(-1), "0 s");
    }

    #[test]
    fn a_subject_of_a_megabyte_costs_no_more_than_a_long_one() {
        assert!(one_line(&"ä".repeat(1_000_000)).len() < 500);
    }

    #[test]
    fn the_colours_of_members_are_those_of_teams() {
        for (colour, class) in COLOURS.iter().zip(MEMBERS) {
            assert_eq!(colour_class(Some(colour)), class);
        }
        assert_eq!(colour_class(Some("\"><script>")), "");
    }
}
