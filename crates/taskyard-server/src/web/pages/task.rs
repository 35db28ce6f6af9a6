//! One task beside the list: on a phone, and without a script, it is a page of its own.

use std::collections::HashSet;

use maud::{Markup, PreEscaped, html};
use taskyard::core::render::{markdown_html, markdown_html_with_boxes, state_in_words};
use taskyard::core::rules::changes::notes::{notes_of, read_note};
use taskyard::core::rules::graph::chains::Chains;
use taskyard::core::view::JobRow;
use taskyard::core::{Entry, Status, Task, TaskId, Timestamp};
use taskyard::store::HistoryQuery;

use super::seen::Seen;
use super::task_facts::facts;
use super::texts::{agent, ago, mark, one_line};
use super::{card, history, jobs};

/// So many entries of the journal are shown.
const ENTRIES: usize = 20;
/// So many jobs of a task.
const JOBS: usize = 5;
/// So much of a description becomes a page; the rest is told.
const LONGEST: usize = 200_000;

/// Draws it; nothing where no task is open.
pub(super) fn pane(seen: &Seen) -> Markup {
    let Some(id) = &seen.address.task else {
        return html! { section #task role="complementary" aria-label="Task" hidden {} };
    };
    let back = seen.address.with_task(None).href();
    html! {
        section #task role="complementary" data-task=(id) data-key={ (seen.address.list) "/" (id) } aria-label={ "Task " (id) } {
            @match seen.task(id) {
                Some(task) => (opened(seen, task, &back)),
                None => {
                    nav.head { a.back href=(back) data-act="close" { "‹ Back" } }
                    p { "There is no task #" (id) " in this list." }
                    p.dim { "It may have been deleted; the history can bring it back." }
                },
            }
        }
    }
}

fn opened(seen: &Seen, task: &Task, back: &str) -> Markup {
    let is_blocked = !seen.blockers(task).is_empty();
    let edits = seen.may_change().then_some("description");
    html! {
        nav.head aria-label="Task" {
            a.back href=(back) data-act="close" title="Close (Esc)" { "‹ " span { "Back" } }
            span.id { "#" (task.id) }
            span.state { (mark(task, is_blocked)) " " (if is_blocked { "blocked" } else { state_in_words(task) }) }
            @if seen.may_change() { (moves(task)) }
        }
        h2.subject #subject dir="auto" data-edit=[seen.may_change().then_some("subject")] data-text=(task.subject) { (Seen::title(task)) }
        (card::doing(seen, task))
        @if let Some(need) = seen.need(task) { p.alarm { "▲ " (need.in_words()) } }
        (facts(seen, task))
        (edges(seen, task))
        section.description aria-label="Description" {
            @let description = task.shown_description();
            @if description.trim().is_empty() {
                p.dim data-edit=[edits] data-text=(task.description) {
                    "No description. " @if seen.may_change() { button.link type="button" data-act="describe" { "Write one" } }
                }
            } @else {
                @let shown = &description[..description.floor_char_boundary(LONGEST)];
                @let drawn = if seen.may_change() { markdown_html_with_boxes(shown) } else { markdown_html(shown) };
                div.prose #description dir="auto" data-edit=[edits] data-text=(task.description) { (PreEscaped(drawn)) }
                @if shown.len() < description.len() { p.dim { (description.len() - shown.len()) " bytes more" } }
                @if seen.may_change() { button.link type="button" data-act="describe" { "Edit" } }
            }
        }
        (notes(seen, task))
        (jobs_of(seen, task))
        (journal(seen, task))
    }
}

/// Draws what can be done with a task, by how it stands.
fn moves(task: &Task) -> Markup {
    let act = |act: &str, words: &str, key: &str| {
        html! { button type="button" data-act=(act) title={ (words) " (" (key) ")" } { (words) kbd aria-hidden="true" { (key) } } }
    };
    html! {
        div.tools {
            @match task.status {
                Status::Pending => { (act("start", "Start", "s")) (act("done", "Done", "d")) },
                Status::InProgress => { (act("done", "Done", "d")) (act("put-back", "Put back", "<")) },
                Status::Completed => (act("reopen", "Reopen", "o")),
            }
        }
    }
}

/// Draws what a task waits for, and what waits for it; what it is a part of, and its parts.
fn edges(seen: &Seen, task: &Task) -> Markup {
    let (mut behind, mut parts): (Vec<&Task>, Vec<&Task>) = (Vec::new(), Vec::new());
    let tasks = &seen.survey.tasks;
    let position = tasks.iter().position(|other| other.id == task.id);
    // What waits for a task that it is a part of waits for it, too.
    let waiting: HashSet<&TaskId> = position
        .map(|position| Chains::of(tasks, seen.yard.rules()).behind(position).map(|other| &other.id).collect())
        .unwrap_or_default();
    let above = std::iter::successors(task.parent(), |id| seen.task(id)?.parent());
    let above: Vec<TaskId> = above.take(tasks.len()).collect();
    for other in tasks {
        let is_direct = other.blocked_by.contains(&task.id) || task.blocks.contains(&other.id);
        if is_direct || (waiting.contains(&other.id) && !above.contains(&other.id)) {
            behind.push(other);
        }
        if other.parent().as_ref() == Some(&task.id) {
            parts.push(other);
        }
    }
    let parent = task.parent();
    let unseen = seen.blockers(task).iter().filter(|id| !task.blocked_by.contains(id));
    html! {
        @if let Some(parent) = parent { (group(seen, "part of", std::iter::once(&parent), None)) }
        @if !task.blocked_by.is_empty() || !seen.blockers(task).is_empty() {
            (group(seen, "waits for", task.blocked_by.iter().chain(unseen), Some(&task.id)))
        }
        @if !behind.is_empty() { (group(seen, "unblocks", behind.iter().map(|task| &task.id), None)) }
        @if !parts.is_empty() { (group(seen, "parts", parts.iter().map(|task| &task.id), None)) }
    }
}

fn group<'a>(seen: &Seen, words: &str, ids: impl Iterator<Item = &'a TaskId>, waits: Option<&TaskId>) -> Markup {
    html! {
        div.edges {
            h3 { (words) }
            ul { @for id in ids {
                li data-to=(id) {
                    @match seen.task(id) {
                        Some(other) => {
                            (mark(other, !seen.blockers(other).is_empty())) " "
                            a href=(seen.href(id)) .struck[other.status == Status::Completed] { span.id { "#" (id) } " " (Seen::title(other)) }
                            @if let Some(owner) = other.owner().filter(|_| other.status.is_open()) { " " (agent(owner, seen.colour(owner))) }
                        },
                        None => { "#" (id) " " span.dim { "is not in this list" } },
                    }
                    @if waits.is_some() && seen.may_change() {
                        button.link type="button" data-act="unblock" data-on=(id) aria-label={ "No longer wait for #" (id) } title="No longer wait for it" { "×" }
                    }
                }
            } }
        }
    }
}

/// Draws the notes as a conversation, and a box to write one.
fn notes(seen: &Seen, task: &Task) -> Markup {
    let notes = notes_of(task);
    html! {
        section.notes aria-label="Notes" {
            @if !notes.is_empty() { h3 { "Notes" } }
            ol.letters {
                @for note in notes.iter().map(read_note) {
                    @let author = note.author.unwrap_or("somebody");
                    li.own[author == seen.yard.actor().as_str()] {
                        div.when {
                            (agent(author, seen.colour(author)))
                            @if let Some(at) = note.at.and_then(Timestamp::parse) { " " (ago(at, seen.now())) }
                        }
                        div.prose dir="auto" { (PreEscaped(markdown_html(&note.text))) }
                    }
                }
            }
            @if seen.may_change() {
                form.write data-form="note" {
                    textarea #note name="text" rows="1" dir="auto" required data-draft={ "note " (seen.address.list) "/" (task.id) } aria-label={ "Note on #" (task.id) } placeholder="Add a note (n)" {}
                    button type="submit" { "Note" }
                }
            }
        }
    }
}

fn jobs_of(seen: &Seen, task: &Task) -> Markup {
    let rows: Vec<&JobRow> =
        seen.job_rows.iter().filter(|row| row.task.as_ref() == Some(&task.id)).take(JOBS).collect();
    html! {
        @if let Some(newest) = rows.first() {
            section aria-label="Jobs" {
                h3 { "Jobs" }
                ul.jobs { @for row in &rows { (jobs::row_shown(seen, row, "its-job", false)) } }
                @if seen.address.view != super::page_address::View::Jobs { (jobs::output(seen, newest)) }
            }
        }
    }
}

fn journal(seen: &Seen, task: &Task) -> Markup {
    let key = TaskId::stored(task.id.file_stem());
    let query = HistoryQuery { task: Some(key), newest: Some(ENTRIES), ..HistoryQuery::default() };
    let entries: Vec<Entry> = seen.yard.history(&query).unwrap_or_default();
    html! {
        @if !entries.is_empty() {
            section.journal aria-label="Journal" {
                h3 { "Journal" }
                ol.history {
                    @for entry in entries.iter().rev() {
                        li id={ "entry-" (entry.revision) } {
                            div.when { span.id { "r" (entry.revision) } " " (ago(entry.at, seen.now())) }
                            div.did {
                                @let who = if entry.op.is_elsewhere() { "another program".to_owned() } else { one_line(entry.actor.as_str()) };
                                (history::entry_shown(entry, seen, &who))
                            }
                        }
                    }
                }
            }
        }
    }
}
