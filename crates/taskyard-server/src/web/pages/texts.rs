//! The small things that all pages say in the same way: times, states, agents, lines of the terminal.

use maud::{Markup, html};
use taskyard::core::render::{Line, Tone, escaping, state_in_words, web_addresses};
use taskyard::core::view::ListRow;
use taskyard::core::{COLOURS, Task, TaskId, Timestamp};

/// As much of a text as any page shows on one line.
const LONGEST: usize = 400;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// What is over for longer than this is told by its date.
const LONG_AGO: i64 = -60 * DAY;

/// Returns a text on one line, as much of it as a page shows, with nothing in it that hides or turns text around.
pub(super) fn one_line(text: &str) -> String {
    let end = text.floor_char_boundary(LONGEST);
    let more = if end < text.len() { "…" } else { "" };
    format!("{}{more}", escaping::one_line(text[..end].trim()))
}

/// Returns a text of several lines with nothing in it that hides, in which addresses of the web are links.
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

/// Returns how long ago something was: relative under a day, the day after that, and the exact moment where the mouse
/// points at it.
pub(super) fn ago(moment: Timestamp, now: Timestamp) -> Markup {
    let words = age_in_words(moment, now);
    html! { time datetime=(moment) title=(moment) data-age { (words) } }
}

/// Returns how long something lasts already; it goes on while it is shown.
pub(super) fn since(moment: Timestamp, now: Timestamp) -> Markup {
    html! { time datetime=(moment) title={ "since " (moment) } data-since { (span_in_words(now.0 - moment.0)) } }
}

/// Returns when something will be, or was to be.
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

fn day(moment: Timestamp) -> String {
    moment.to_string().chars().take(10).collect()
}

/// Returns a span in its largest unit: `45 s`, `12 min`, `3 h`, `2 days`.
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

/// Returns the mark of a task's state, which says in words what it means.
pub(super) fn mark(task: &Task, is_blocked: bool) -> Markup {
    let (class, sign) = state(task, is_blocked);
    let words = if is_blocked { "blocked" } else { state_in_words(task) };
    html! { span class={ "mark " (class) } role="img" aria-label=(words) title=(words) { (sign) } }
}

/// Returns the class and the sign of a task's state.
pub(super) fn state(task: &Task, is_blocked: bool) -> (&'static str, &'static str) {
    match task.status {
        taskyard::core::Status::Pending if is_blocked => ("blocked", "◻"),
        taskyard::core::Status::Pending => ("pending", "◻"),
        taskyard::core::Status::InProgress => ("active", "◼"),
        taskyard::core::Status::Completed if task.is_cancelled() => ("cancelled", "✕"),
        taskyard::core::Status::Completed => ("done", "✔"),
    }
}

/// Returns an agent's name in its colour.
pub(super) fn agent(name: &str, colour: Option<&str>) -> Markup {
    let class = colour_class(colour);
    html! { span class={ "agent " (class) } { span.dot aria-hidden="true" {} (one_line(name)) } }
}

/// Returns the class of an agent's colour; of a colour that we do not know, none.
pub(super) fn colour_class(colour: Option<&str>) -> String {
    let known = colour.filter(|colour| COLOURS.contains(colour));
    known.map(|colour| format!("in-{colour}")).unwrap_or_default()
}

/// Returns how far a list is as a bar.
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

/// Returns how far a list is in words.
pub(super) fn how_far(row: &ListRow) -> String {
    let total: usize = row.counts.iter().sum();
    if total == 0 { "empty".to_owned() } else { format!("{} of {total}", row.counts[2]) }
}

/// Returns a line of the terminal, whose tones become classes. Numbers of tasks lead where `href` says.
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

/// Returns a number and its noun.
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
