//! A list as a table: one row per task, in any order, filtered by a query. A column without content is omitted.

use maud::{Markup, html};
use taskyard::core::{Priority, Status, Task};

use super::card::{doing, facts, waits};
use super::lists;
use super::page_address::PageAddress;
use super::seen::Seen;
use super::texts::{agent, mark, one_line, since, state, until};

/// Rows per page.
const ROWS: u64 = 100;
/// Default number of completed tasks shown.
const COMPLETED: usize = 5;

/// Which columns have content.
struct Columns {
    owner: bool,
    waits: bool,
    priority: bool,
    parts: bool,
    due: bool,
    tags: bool,
}

pub(super) fn view(seen: &Seen) -> Markup {
    if seen.survey.tasks.is_empty() {
        return lists::nothing_here(seen);
    }
    let address = &seen.address;
    let mut tasks: Vec<&Task> = seen.shown().collect();
    // Older completed tasks are folded, unless the user filtered or sorted.
    let mut folded = 0;
    if seen.survey.chosen.is_none() && address.sort.is_empty() {
        let completed = tasks.iter().filter(|task| task.status == Status::Completed).count();
        folded = completed.saturating_sub(COMPLETED);
        let first = tasks.len() - completed;
        drop(tasks.drain(first..first + folded));
    }
    let from = address.from.unwrap_or(0).min(tasks.len() as u64);
    let rows: Vec<&Task> = tasks
        .iter()
        .skip(usize::try_from(from).unwrap_or(0))
        .take(address.rows.map_or(ROWS as usize, |rows| rows.min(ROWS as usize)))
        .copied()
        .collect();
    let columns = Columns {
        owner: rows.iter().any(|task| task.owner().is_some()),
        waits: rows.iter().any(|task| !seen.blockers(task).is_empty()),
        priority: rows.iter().any(|task| task.stated_priority().is_some()),
        parts: rows.iter().any(|task| seen.survey.progress.contains_key(&task.id)),
        due: rows.iter().any(|task| task.due().is_some() || task.defer().is_some()),
        tags: rows.iter().any(|task| task.tags().next().is_some()),
    };
    let after = from + ROWS;
    html! {
        @if rows.is_empty() {
            p.empty { "No matching tasks. " a href=(address.at(address.list.clone(), address.view).href()) { "Show all" } }
        } @else {
            // The total number of tasks on all pages, if a query finds them all.
            @let total = (!address.needs && tasks.len() > rows.len()).then_some(tasks.len());
            table.tasks data-total=[total] {
                caption.sr { "The tasks of " (address.list) }
                thead { tr {
                    @if seen.may_change() { th scope="col" { input type="checkbox" data-act="select-all" aria-label="Select all"; } }
                    (head(address, "Task", "id", "subject"))
                    @if columns.owner { (head(address, "Owner", "owner", "owner")) }
                    @if columns.priority { (head(address, "Priority", "priority", "priority")) }
                    @if columns.parts { th.parts scope="col" { "Parts" } }
                    @if columns.due { (head(address, "Due", "due", "due")) }
                    @if columns.tags { th.tags scope="col" { "Tags" } }
                } }
                tbody #rows { @for task in rows { (row(seen, task, &columns)) } }
            }
        }
        div.paging {
            @if folded > 0 { a.more href=(address.chosen("status:completed").href()) { "+ " (folded) " completed" } }
            @if from > 0 { a href=(PageAddress { from: Some(from.saturating_sub(ROWS)).filter(|from| *from > 0), ..address.clone() }.href()) { "Earlier" } }
            @if after < tasks.len() as u64 {
                a.more href=(PageAddress { from: Some(after), ..address.clone() }.href()) { (tasks.len() as u64 - after) " more" }
            }
        }
    }
}

fn head(address: &PageAddress, name: &str, key: &str, class: &str) -> Markup {
    let (is_up, is_down) = (address.sort == key, address.sort.strip_prefix('-') == Some(key));
    let next = if is_up {
        format!("-{key}")
    } else if is_down {
        String::new()
    } else {
        key.to_owned()
    };
    let sorted = if is_up { Some("ascending") } else { is_down.then_some("descending") };
    html! {
        th class=(class) scope="col" aria-sort=[sorted] {
            a href=(PageAddress { sort: next, from: None, ..address.clone() }.href()) { (name) }
            @if is_up { span aria-hidden="true" { " ↑" } }
            @if is_down { span aria-hidden="true" { " ↓" } }
        }
    }
}

fn row(seen: &Seen, task: &Task, columns: &Columns) -> Markup {
    let blockers = seen.blockers(task);
    let is_blocked = !blockers.is_empty();
    let is_open = seen.address.task.as_ref() == Some(&task.id);
    let (now, is_going) = (seen.now(), task.status.is_open());
    let held = seen.holder(&task.id).filter(|_| is_going);
    html! {
        tr id={ "row-" (task.id) } class={ "is-" (state(task, is_blocked).0) (if is_open { " is-open" } else { "" }) } data-task=(task.id) data-status=(task.status.as_str()) {
            @if seen.may_change() { td.pick { input type="checkbox" data-act="select" aria-label={ "Select #" (task.id) }; } }
            td.subject {
                div.what {
                    (mark(task, is_blocked)) span.id { "#" (task.id) }
                    a.open dir="auto" href=(seen.href(&task.id)) aria-current=[is_open.then_some("true")] { (Seen::title(task)) }
                    @if let Some(need) = seen.need(task) { span.alarm { "▲ " (need.in_words()) } }
                    @if columns.waits && is_blocked { (waits(seen, blockers)) }
                }
                (doing(seen, task))
                // On a narrow screen, the content of these columns is below the subject.
                div.narrow { (facts(seen, task)) }
            }
            @if columns.owner {
                td.owner { @if let Some(owner) = task.owner() {
                    (agent(owner, seen.colour(owner)))
                    @if let Some(taken) = held.and_then(|(_, held)| held.since) { " " span.dim { (since(taken, now)) } }
                } }
            }
            @if columns.priority {
                td.priority { @match task.stated_priority() {
                    Some(Priority::High) => span.high { "↑ high" },
                    Some(Priority::Low) => span.dim { "↓ low" },
                    Some(Priority::Medium) => span.dim { "medium" },
                    None => {},
                } }
            }
            @if columns.parts { td.parts { @if let Some(parts) = seen.survey.progress.get(&task.id) { (parts) } } }
            @if columns.due {
                td.due {
                    @if let Some(due) = task.due().filter(|_| is_going) { (until(due, now)) }
                    @if let Some(defer) = task.defer().filter(|_| is_going && task.is_deferred(now)) { span.dim { "ready " (until(defer, now)) } }
                }
            }
            @if columns.tags { td.tags { @for tag in task.tags().take(4) { span.tag { (one_line(tag)) } " " } } }
        }
    }
}
