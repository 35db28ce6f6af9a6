//! A task's card and its details.

use maud::{Markup, html};
use taskyard::core::rules::changes::notes::notes_of;
use taskyard::core::rules::worktrees::record::{TaskWorktree, worktree_of};
use taskyard::core::{Priority, Status, Task, TaskId};

use super::seen::Seen;
use super::texts::{avatar, count, mark, one_line, since, state, until};

/// Maximum number of blockers named.
const BLOCKERS: usize = 4;
/// Maximum number of tags shown.
const TAGS: usize = 4;

/// Renders a card: parent, mark, number and subject, and below them the owner and other details. A task may have a
/// card in several lanes. Below its parent, the parent is not named again.
pub(super) fn card(seen: &Seen, task: &Task, lane: Option<&str>, is_below_parent: bool) -> Markup {
    let is_blocked = !seen.blockers(task).is_empty();
    let is_open = seen.address.task.as_ref() == Some(&task.id);
    let parent = task.parent().filter(|_| !is_below_parent && lane.is_none());
    html! {
        li id={ "card-" (task.id) (lane.unwrap_or_default()) } class={ "card is-" (state(task, is_blocked).0) (if is_open { " is-open" } else { "" }) }
            data-task=(task.id) data-status=(task.status.as_str()) {
            @if let Some(parent) = parent.and_then(|parent| seen.task(&parent)) { div.above-title { "#" (parent.id) " " (Seen::title(parent)) } }
            div.what {
                (mark(task, is_blocked))
                span.id { "#" (task.id) }
                a.open dir="auto" href=(seen.href(&task.id)) draggable="false" aria-current=[is_open.then_some("true")] { (Seen::title(task)) }
            }
            (facts(seen, task))
            (doing(seen, task))
        }
    }
}

/// Renders the progress of a task's subtasks.
pub(super) fn parts_bar(seen: &Seen, task: &Task) -> Markup {
    html! {
        @if let Some(parts) = seen.survey.progress.get(&task.id) {
            span.parts-bar title="parts that are done" {
                svg.bar viewBox="0 0 1000 4" preserveAspectRatio="none" aria-hidden="true" {
                    rect.rest width="1000" height="4" {}
                    rect.done width=(parts.done * 1000 / parts.total.max(1)) height="4" {}
                }
                span { (parts) }
            }
        }
    }
}

/// Renders the current activity of a task in progress.
pub(super) fn doing(seen: &Seen, task: &Task) -> Markup {
    let text = task.active_form.as_deref().filter(|text| !text.trim().is_empty());
    let is_shown = task.status == Status::InProgress;
    let last_line = seen.last_lines.get(&task.id).filter(|_| is_shown);
    html! {
        @if let Some((job, line)) = last_line {
            div.doing.of-job { span.spinner aria-hidden="true" {} span.dim { (one_line(job)) } " " code { (one_line(line)) } }
        }
        @if let Some(text) = text.filter(|_| is_shown) {
            @let is_alive = seen.holder(&task.id).is_some_and(|(row, _)| !row.needs_a_person());
            div.doing {
                @if is_alive { span.spinner aria-hidden="true" {} }
                (one_line(text.trim_end_matches('…').trim_end_matches("..."))) "…"
            }
        }
    }
}

/// Renders the details of a task besides its subject; empty if there are none.
pub(super) fn facts(seen: &Seen, task: &Task) -> Markup {
    let (now, is_open) = (seen.now(), task.status.is_open());
    let need = seen.need(task);
    let parts = seen.survey.progress.get(&task.id);
    let held = seen.holder(&task.id).filter(|_| is_open);
    let owner = task.owner().filter(|_| is_open);
    let blockers = seen.blockers(task);
    let due = task.due().filter(|due| is_open && *due >= now);
    let defer = task.defer().filter(|_| is_open && task.is_deferred(now));
    let priority = task.stated_priority().filter(|priority| is_open && *priority != Priority::Medium);
    let tags: Vec<&str> = task.tags().filter(|_| is_open).take(TAGS).collect();
    let notes = if is_open { notes_of(task).len() } else { 0 };
    let tree = worktree_of(task).filter(|_| is_open);
    let is_bare = need.is_none()
        && tree.is_none()
        && parts.is_none()
        && owner.is_none()
        && blockers.is_empty()
        && due.is_none()
        && defer.is_none()
        && priority.is_none()
        && tags.is_empty()
        && notes == 0;
    html! {
        @if !is_bare {
            div.facts {
                @if let Some(need) = need { span.alarm { "▲ " (need.in_words()) } }
                @if let Some(owner) = owner {
                    (avatar(owner, seen.colour(owner)))
                    @if let Some(taken) = held.and_then(|(_, held)| held.since) { span.dim { (since(taken, now)) } }
                }
                @if !blockers.is_empty() { (waits(seen, blockers)) }
                @if parts.is_some() { (parts_bar(seen, task)) }
                @match priority {
                    Some(Priority::High) => span.high { "↑ high" },
                    Some(_) => span.dim { "↓ low" },
                    None => {},
                }
                @if let Some(due) = due { span.dim { "due " (until(due, now)) } }
                @if let Some(defer) = defer { span.dim { "ready " (until(defer, now)) } }
                @for tag in tags { span.tag { (one_line(tag)) } }
                @if let Some(tree) = &tree { (branch(tree)) }
                @if notes > 0 { span.dim title=(count(notes, "note", "notes")) { span aria-hidden="true" { "✎ " } (notes) span.sr { (if notes == 1 { " note" } else { " notes" }) } } }
            }
        }
    }
}

/// Renders the state of a task's worktree, its branch, and how much that changes.
fn branch(tree: &TaskWorktree) -> Markup {
    let class = if tree.state.is_stuck() { "alarm" } else { "dim" };
    html! {
        @if let Some(words) = tree.state.in_words() { span class=(class) title=[tree.reason.as_deref()] { (words) } }
        span.dim title={ "branch, in " (tree.path) } { (one_line(&tree.branch)) @if let Some(size) = tree.changes { " " (size) } }
    }
}

/// Renders the blockers by number, with their subjects as a tooltip.
pub(super) fn waits(seen: &Seen, blockers: &[TaskId]) -> Markup {
    let title = |id: &TaskId| match seen.task(id) {
        Some(task) => format!("#{id} {}", Seen::title(task)),
        None => format!("#{id} is missing"),
    };
    let titles: Vec<String> = blockers.iter().take(12).map(title).collect();
    let more = blockers.len().saturating_sub(BLOCKERS);
    html! {
        span.waits title={ "blocked by " (titles.join(", ")) } {
            span aria-hidden="true" { "‹" } span.sr { "blocked by" }
            @for id in blockers.iter().take(BLOCKERS) { " " a.id href=(seen.href(id)) draggable="false" { "#" (id) } }
            @if more > 0 { " +" (more) }
        }
    }
}
