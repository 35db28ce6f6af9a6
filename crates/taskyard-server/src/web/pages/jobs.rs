//! Background jobs and their output.

use maud::{Markup, html};
use taskyard::core::JobState;
use taskyard::core::view::JobRow;

use super::job_output::{coloured, tail_of};
use super::page_address::{PageAddress, View};
use super::seen::Seen;
use super::texts::{ago, one_line, since, span_in_words};

/// Maximum number of jobs on a page.
const JOBS: usize = 100;
/// Maximum number of bytes shown from the end of a job's output.
const TAIL: u64 = 32 * 1024;

/// Renders the jobs, and the output of the open one.
pub(super) fn view(seen: &Seen) -> Markup {
    if seen.job_rows.is_empty() {
        return html! {
            div.empty {
                h2 { "No background commands" }
                p { "Start one for a task to see its output live here: " code { "taskyard job run --task 7 -- cargo test" } }
                @if seen.may_run_commands { p { button.primary type="button" data-act="job" { "Run a command" } } }
            }
        };
    }
    let open = seen.address.open.as_deref();
    // Running and failed jobs come first.
    let mut rows: Vec<&JobRow> = seen.job_rows.iter().collect();
    rows.sort_by_key(|row| match row.state {
        state if !state.is_over() => 0,
        JobState::Failed | JobState::Lost => 1,
        _ => 2,
    });
    let chosen = rows.iter().copied().find(|row| Some(row.id.as_str()) == open).or(rows.first().copied());
    html! {
        @if seen.may_run_commands { div.above { button type="button" data-act="job" { "Run a command" } } }
        div.split {
            ul.jobs {
                @for row in rows.iter().copied().take(JOBS) { (row_shown(seen, row, "job", chosen.is_some_and(|chosen| chosen.id == row.id))) }
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

/// Renders a job's row; `word` is the prefix of its HTML id.
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

/// Renders a job and the end of its output, which a script continues.
pub(super) fn output(seen: &Seen, row: &JobRow) -> Markup {
    let tail = seen.jobs.as_ref().map(|jobs| tail_of(jobs, &row.id, TAIL));
    let (text, next) = match tail {
        Some(Ok(tail)) => tail,
        Some(Err(why)) => (format!("its output cannot be read: {why}"), 0),
        None => (String::new(), 0),
    };
    html! {
        section.output id={ "output-" (row.id) } aria-label={ "Output of " (row.id) } {
            div.head {
                code { (one_line(&row.command)) }
                @if row.is_going_on() && seen.may_change() { button type="button" data-act="stop-job" data-job=(row.id) { "Stop" } }
            }
            pre.tail id={ "tail-" (row.id) } data-job=(row.id) data-next=(next) data-runs[row.is_going_on()] tabindex="0"
                aria-label="Output" { (coloured(&text)) }
            @if text.is_empty() && !row.is_going_on() { p.dim { "No output." } }
        }
    }
}
