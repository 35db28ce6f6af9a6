//! What became of a list over time: how much was done when, how long tasks take, who was at work over the day.

use jiff::tz::TimeZone;
use maud::{Markup, PreEscaped, html};
use taskyard::core::Timestamp;
use taskyard::core::render::charts::{agents_at_work_svg, burn_up_svg, time_in_state_svg};
use taskyard::core::rules::looking::past::{agents_at_work, burn_up, time_in_state};

use super::lists;
use super::seen::Seen;

/// So many moments the line of what is done has.
const MOMENTS: usize = 96;
/// So many tasks are shown with how long they took.
const LONGEST: usize = 12;
const DAY: i64 = 24 * 60 * 60 * 1000;

/// Draws it.
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
        ("How much is done", burn_up_svg(&burn_up(past, begun, now, MOMENTS), &zone)),
        (
            "Who was at work in the last day",
            agents_at_work_svg(&agents_at_work(past, yesterday, now), yesterday, now, &zone),
        ),
        ("What took longest", time_in_state_svg(&time_in_state(past, &known.tasks, now, LONGEST))),
    ];
    html! {
        div.charts {
            @for (words, svg) in figures { figure tabindex="0" { figcaption { h2 { (words) } } (PreEscaped(svg)) } }
        }
    }
}
