//! Charts of a list: completions over time, durations of tasks, and agents at work over the day.

use jiff::tz::TimeZone;
use maud::{Markup, PreEscaped, html};
use taskyard::core::Timestamp;
use taskyard::core::render::charts::{agents_at_work_svg, burn_up_svg, time_in_state_svg};
use taskyard::core::rules::looking::past::{agents_at_work, burn_up, time_in_state};

use super::lists;
use super::seen::Seen;

/// Number of points in the line of completed tasks.
const MOMENTS: usize = 96;
/// Maximum number of tasks shown with their duration.
const LONGEST: usize = 12;
const DAY: i64 = 24 * 60 * 60 * 1000;

pub(super) fn view(seen: &Seen) -> Markup {
    if seen.survey.tasks.is_empty() {
        return lists::nothing_here(seen);
    }
    let known = match &seen.past {
        Some(Ok(known)) => known,
        Some(Err(why)) => return html! { p.alarm role="alert" { "▲ The journal cannot be read: " (why) } },
        None => return html! {},
    };
    let zone = TimeZone::system();
    let (past, now) = (&known.past, known.now);
    let begun = past.begun().unwrap_or(now);
    let yesterday = Timestamp(now.0 - DAY);
    let figures = [
        ("Progress", burn_up_svg(&burn_up(past, begun, now, MOMENTS), &zone)),
        ("Activity in the last day", agents_at_work_svg(&agents_at_work(past, yesterday, now), yesterday, now, &zone)),
        ("Longest tasks", time_in_state_svg(&time_in_state(past, &known.tasks, now, LONGEST))),
    ];
    html! {
        div.charts {
            @for (words, svg) in figures { figure tabindex="0" { figcaption { h2 { (words) } } (PreEscaped(svg)) } }
        }
    }
}
