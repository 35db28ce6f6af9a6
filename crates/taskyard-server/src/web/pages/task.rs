//! The pane of one task. On a phone, or without a script, it is a separate page.

use std::collections::HashSet;

use maud::{Markup, PreEscaped, html};
use serde_json::Value;
use taskyard::core::render::{Look, facts_of_block, markdown_html, markdown_html_with_boxes, state_in_words};
use taskyard::core::rules::changes::notes::{NOTES, NoteRead, notes_of, read_note};
use taskyard::core::rules::graph::chains::Chains;
use taskyard::core::rules::leases::leasing::holds;
use taskyard::core::view::JobRow;
use taskyard::core::{Entry, Image, Priority, Status, Task, TaskId, Timestamp};
use taskyard::store::HistoryQuery;

use super::page_address::{PageAddress, View};
use super::seen::Seen;
use super::texts::{agent, ago, clock, day, day_in_words, mark, one_line, since, span_in_words, until};
use super::{card, history, jobs};

/// Maximum number of journal entries shown.
const ENTRIES: usize = 20;
/// Maximum number of jobs shown.
const JOBS: usize = 5;
/// Maximum length of a description on the page; the omission is mentioned.
const LONGEST: usize = 200_000;

/// Renders the pane; hidden if no task is open.
pub(super) fn pane(seen: &Seen) -> Markup {
    let Some(id) = &seen.address.task else {
        return html! { section #task role="complementary" aria-label="Task" hidden {} };
    };
    let back = seen.address.with_task(None).href();
    html! {
        section #task role="complementary" data-task=(id) data-status=[seen.task(id).map(|task| task.status.as_str())] data-key={ (seen.address.list) "/" (id) } aria-label={ "Task " (id) } {
            @match seen.task(id) {
                Some(task) => (opened(seen, task, &back)),
                None => {
                    nav.head { a.back href=(back) data-act="close" { "‹ Back" } }
                    p { "There is no task #" (id) " in this list." }
                    p.dim { "It may have been deleted; the history can restore it." }
                },
            }
        }
    }
}

fn opened(seen: &Seen, task: &Task, back: &str) -> Markup {
    let edits = seen.may_change().then_some("description");
    html! {
        nav.head aria-label="Task" {
            a.back href=(back) data-act="close" title="Close (Esc)" { "‹ " span { "Back" } }
            span.id { "#" (task.id) }
            @if seen.may_change() { (moves(task)) }
        }
        h2.subject #subject dir="auto" data-edit=[seen.may_change().then_some("subject")] data-text=(task.subject) { (Seen::title(task)) }
        (card::doing(seen, task))
        @if let Some(need) = seen.need(task) { p.alarm { "▲ " (need.in_words()) } }
        (properties(seen, task))
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
        (jobs_of(seen, task))
        (activity(seen, task))
    }
}

/// Renders a task's properties as controls: those that are set first, one per row. A read-only user sees only those
/// that are set.
fn properties(seen: &Seen, task: &Task) -> Markup {
    let (now, is_blocked) = (seen.now(), !seen.blockers(task).is_empty());
    let lease = seen.survey.leases.iter().find(|(lease, _)| holds(lease, task));
    let tags: Vec<&str> = task.tags().collect();
    let kind = task.metadata.as_ref().and_then(|metadata| metadata.get("kind")).and_then(Value::as_str);
    let may = seen.may_change();
    let unset = [
        ("priority", "priority", task.stated_priority().is_none()),
        ("tags", "tags", tags.is_empty()),
        ("due", "due", task.due().is_none()),
        ("defer", "not before", task.defer().is_none()),
        ("estimate", "estimate", task.estimate().is_none()),
        ("parent", "parent", task.parent().is_none()),
        ("blocked-by", "blocker", true),
        ("blocks", "blocks", true),
        ("kind", "kind", kind.is_none()),
    ];
    html! {
        dl.facts {
            (property(may, "status", "status", html! { (mark(task, is_blocked)) " " (if is_blocked { "blocked" } else { state_in_words(task) }) }))
            (property(may, "owner", "owner", html! {
                @match task.owner() {
                    Some(owner) => (agent(owner, seen.colour(owner))),
                    None => span.dim { "nobody" },
                }
            }))
            @if let Some((lease, state)) = lease {
                dt { "lease" }
                dd {
                    (one_line(&Look { now: Some(now), ..Look::PIPE }.lease(lease, state)))
                    ", taken " (since(lease.taken, now)) " ago"
                }
            }
            @if let Some(priority) = task.stated_priority() {
                (property(may, "priority", "priority", html! { span .high[priority == Priority::High] { (priority) } }))
            }
            @if !tags.is_empty() {
                dt { "tags" }
                dd {
                    @for tag in tags { a.tag href=(seen.address.chosen(&tag_query(tag)).href()) { (one_line(tag)) } " " }
                    @if may { button.set type="button" data-act="set" data-set="tags" aria-haspopup="dialog" { "change" span.sr { " tags" } } }
                }
            }
            @if let Some(due) = task.due() {
                (property(may, "due", "due", html! { span .alarm[task.is_overdue(now)] { (until(due, now)) } }))
            }
            @if let Some(defer) = task.defer() { (property(may, "defer", "not before", until(defer, now))) }
            @if let Some(estimate) = task.estimate() {
                @let millis = i64::try_from(estimate.as_millis()).unwrap_or(i64::MAX);
                (property(may, "estimate", "estimate", html! { (span_in_words(millis)) }))
            }
            @if let Some(parent) = task.parent() {
                dt { "part of" }
                dd {
                    (edge(seen, &parent)) " "
                    @if may { button.set type="button" data-act="set" data-set="parent" aria-haspopup="dialog" { "change" span.sr { " parent" } } }
                }
            }
            @if let Some(kind) = kind { (property(may, "kind", "kind", html! { (one_line(kind)) })) }
            @for (name, fact) in facts_of_block(task) { dt { (one_line(&name)) } dd { (one_line(&fact.to_string())) } }
        }
        @if may {
            div.unset role="group" aria-label="Add a property" {
                @for (field, words, _) in unset.iter().filter(|(_, _, is_unset)| *is_unset) {
                    button type="button" data-act="set" data-set=(field) aria-haspopup="dialog" { span aria-hidden="true" { "+ " } (words) }
                }
                button type="button" data-act="create-part" { span aria-hidden="true" { "+ " } "part" }
            }
        }
    }
}

/// Renders one property, whose value can be clicked to change it.
fn property(may: bool, field: &str, words: &str, value: Markup) -> Markup {
    html! {
        dt { (words) }
        dd {
            @if may {
                button.set type="button" data-act="set" data-set=(field) aria-haspopup="dialog" { span.sr { (words) ": " } (value) }
            } @else {
                (value)
            }
        }
    }
}

fn tag_query(tag: &str) -> String {
    if tag.contains(|letter: char| letter.is_whitespace() || "()\"".contains(letter)) {
        format!("tag:\"{tag}\"")
    } else {
        format!("tag:{tag}")
    }
}

/// Renders the actions available in the task's state.
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
            button type="button" data-act="menu" aria-haspopup="dialog" title="Everything else (m)" aria-label="Everything else" { "⋯" }
        }
    }
}

/// Renders blockers and dependents, the parent and subtasks.
fn edges(seen: &Seen, task: &Task) -> Markup {
    let (mut behind, mut parts): (Vec<&Task>, Vec<&Task>) = (Vec::new(), Vec::new());
    let tasks = &seen.survey.tasks;
    let position = tasks.iter().position(|other| other.id == task.id);
    // Dependents of a parent also depend on its subtasks.
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
    let unseen = seen.blockers(task).iter().filter(|id| !task.blocked_by.contains(id));
    html! {
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
                    (edge(seen, id))
                    @if waits.is_some() && seen.may_change() {
                        button.link type="button" data-act="unblock" data-on=(id) aria-label={ "Remove the dependency on #" (id) } title="Remove the dependency" { "×" }
                    }
                }
            } }
        }
    }
}

fn edge(seen: &Seen, id: &TaskId) -> Markup {
    html! {
        @match seen.task(id) {
            Some(other) => {
                (mark(other, !seen.blockers(other).is_empty())) " "
                a href=(seen.href(id)) .struck[other.status == Status::Completed] { span.id { "#" (id) } " " (Seen::title(other)) }
                @if let Some(owner) = other.owner().filter(|_| other.status.is_open()) { " " (agent(owner, seen.colour(owner))) }
            },
            None => { "#" (id) " " span.dim { "is not in this list" } },
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
                @if seen.address.view != View::Jobs { (jobs::output(seen, newest)) }
            }
        }
    }
}

/// A note on a task, or a change of it.
enum Happening<'a> {
    Note(NoteRead<'a>),
    Change(&'a Entry),
}

/// Renders notes and changes as one stream with a heading per day, oldest first, and an input box for a note.
fn activity(seen: &Seen, task: &Task) -> Markup {
    let key = TaskId::stored(task.id.file_stem());
    let query = HistoryQuery { task: Some(key), newest: Some(ENTRIES), ..HistoryQuery::default() };
    let entries: Vec<Entry> = seen.yard.history(&query).unwrap_or_default();
    let notes = notes_of(task);
    let mut happened: Vec<(Option<Timestamp>, Happening<'_>)> = notes
        .iter()
        .map(read_note)
        .map(|note| (note.at.and_then(Timestamp::parse), Happening::Note(note)))
        .chain(entries.iter().filter(|entry| !is_note(entry)).map(|entry| (Some(entry.at), Happening::Change(entry))))
        .collect();
    // The sort is stable, so entries without a time stay before the others in their own order.
    happened.sort_by_key(|(at, _)| *at);
    let days = happened.chunk_by(|one, other| one.0.map(day) == other.0.map(day));
    let of_task = PageAddress {
        open: Some(format!("#{}", task.id)),
        ..seen.address.at(seen.address.list.clone(), View::History)
    };
    html! {
        section.notes aria-label="Activity" {
            h3 { "Activity" @if entries.len() >= ENTRIES { " " a href=(of_task.href()) { "all of it" } } }
            @for of_day in days {
                @if let Some(at) = of_day.first().and_then(|(at, _)| *at) { h4.day { (day_in_words(at, seen.now())) } }
                ol.letters {
                    @for (at, what) in of_day {
                        @match what {
                            Happening::Note(note) => (noted(seen, note, *at)),
                            Happening::Change(entry) => li.change id={ "entry-" (entry.revision) } {
                                @let who = if entry.op.is_elsewhere() { "another program".to_owned() } else { one_line(entry.actor.as_str()) };
                                (history::entry_shown(entry, seen, &who))
                                span.when { (clock(entry.at)) " " span.id { "r" (entry.revision) } }
                            },
                        }
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

/// Returns whether an entry only added a note, which is shown as a note.
fn is_note(entry: &Entry) -> bool {
    let read = |image: &Option<Image>| image.as_ref().and_then(|image| image.task(&entry.task).ok());
    let (Some(before), Some(after)) = (read(&entry.before), read(&entry.after)) else { return false };
    let is_longer = notes_of(&before).len() < notes_of(&after).len();
    let without = |mut task: Task| {
        if let Some(metadata) = &mut task.metadata {
            metadata.remove(NOTES);
        }
        task.metadata = task.metadata.filter(|metadata| !metadata.is_empty());
        task
    };
    is_longer && without(before) == without(after)
}

fn noted(seen: &Seen, note: &NoteRead<'_>, at: Option<Timestamp>) -> Markup {
    let author = note.author.unwrap_or("somebody");
    html! {
        li.own[author == seen.yard.actor().as_str()] {
            div.when {
                (agent(author, seen.colour(author)))
                @if let Some(at) = at { " " (ago(at, seen.now())) }
            }
            div.prose dir="auto" { (PreEscaped(markdown_html(&note.text))) }
        }
    }
}
