//! Background commands and what they write.

use maud::{Markup, html};
use taskyard::core::JobId;
use taskyard::core::JobState;
use taskyard::core::render::escaping;
use taskyard::core::view::JobRow;
use taskyard_jobs::Jobs;

use super::page_address::{PageAddress, View};
use super::seen::Seen;
use super::texts::{ago, one_line, since, span_in_words};

/// So many jobs a page shows.
const JOBS: usize = 100;
/// So much of the end of what a job wrote is shown.
const TAIL: u64 = 32 * 1024;

/// Draws it: the jobs, and the output of the one that is open.
pub(super) fn view(seen: &Seen) -> Markup {
    if seen.job_rows.is_empty() {
        return html! {
            div.empty {
                h2 { "No background commands" }
                p { "Start one for a task and its output is here, live: " code { "taskyard job run --task 7 -- cargo test" } }
            }
        };
    }
    let open = seen.address.open.as_deref();
    let chosen = seen.job_rows.iter().find(|row| Some(row.id.as_str()) == open).or_else(|| seen.job_rows.first());
    html! {
        div.split {
            ul.jobs {
                @for row in seen.job_rows.iter().take(JOBS) { (row_shown(seen, row, "job", chosen.is_some_and(|chosen| chosen.id == row.id))) }
            }
            @if let Some(row) = chosen { (output(seen, row)) }
        }
    }
}

fn sign(state: JobState) -> (&'static str, &'static str) {
    match state {
        JobState::Failed | JobState::Lost => ("▲", "alarm"),
        JobState::Completed => ("✔", "done"),
        state if state.is_over() => ("✕", "dim"),
        _ => ("◼", "active"),
    }
}

/// Draws a job on a row, whose id in the page begins with a word.
pub(super) fn row_shown(seen: &Seen, row: &JobRow, word: &str, is_open: bool) -> Markup {
    let (mark, class) = sign(row.state);
    let address = PageAddress {
        open: Some(row.id.as_str().to_owned()),
        ..seen.address.at(seen.address.list.clone(), View::Jobs)
    };
    html! {
        li id={ (word) "-" (row.id) } data-item data-job=(row.id) .is-open[is_open] {
            div.what {
                span class={ "mark " (class) } role="img" aria-label=(row.state.as_str()) { (mark) }
                a.open href=(address.href()) aria-current=[is_open.then_some("true")] { (one_line(&row.description)) }
            }
            div.facts {
                span class=(class) { (row.how.as_deref().unwrap_or(row.state.as_str())) }
                span.dim { @match row.ended {
                    Some(ended) => { (ago(ended, seen.now())) ", ran " (span_in_words(ended.0 - row.started.0)) },
                    None => (since(row.started, seen.now())),
                } }
                @if let Some(task) = &row.task { span.dim { "for " a.id href=(seen.href(task)) { "#" (task) } } }
                @if let Some(machine) = &row.machine { span.dim { "on " (one_line(machine)) } }
            }
        }
    }
}

/// Draws what a job is, and the end of what it wrote; a script adds what it writes next.
pub(super) fn output(seen: &Seen, row: &JobRow) -> Markup {
    let tail = seen.jobs.as_ref().map(|jobs| tail(jobs, &row.id));
    let (text, next) = match tail {
        Some(Ok(tail)) => tail,
        Some(Err(why)) => (format!("what it wrote cannot be read: {why}"), 0),
        None => (String::new(), 0),
    };
    html! {
        section.output id={ "output-" (row.id) } aria-label={ "Output of " (row.id) } {
            div.head {
                code { (one_line(&row.command)) }
                @if row.is_going_on() && seen.may_change() { button type="button" data-act="stop-job" data-job=(row.id) { "Stop" } }
            }
            pre.tail id={ "tail-" (row.id) } data-job=(row.id) data-next=(next) data-runs[row.is_going_on()] tabindex="0"
                aria-label="What it wrote" { (text) }
            @if text.is_empty() && !row.is_going_on() { p.dim { "It wrote nothing." } }
        }
    }
}

/// Returns the last lines of what a job wrote, and where what follows begins.
fn tail(jobs: &Jobs, id: &JobId) -> Result<(String, u64), taskyard::jobs::JobError> {
    let reader = jobs.output(&jobs.get(id)?)?;
    let from = reader.output()?.written.saturating_sub(TAIL);
    let part = reader.read(from, TAIL)?;
    let text = String::from_utf8_lossy(&part.bytes);
    let text = escaping::program_output(&text);
    let text = match (from > 0, text.split_once('\n')) {
        (true, Some((_, rest))) => rest.to_owned(),
        _ => text.into_owned(),
    };
    Ok((text, part.next))
}
