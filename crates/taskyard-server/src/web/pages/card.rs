//! A task on a card, and what there is to say of it.

use maud::{Markup, html};
use taskyard::core::{Priority, Status, Task, TaskId};

use super::seen::Seen;
use super::texts::{agent, mark, one_line, since, state, until};

/// So many blockers are named.
const BLOCKERS: usize = 4;
/// So many tags.
const TAGS: usize = 4;

/// Draws a card: its mark, its number, its subject; and below who has it and what else there is to say.
pub(super) fn card(seen: &Seen, task: &Task) -> Markup {
    let is_blocked = !seen.blockers(task).is_empty();
    let is_open = seen.address.task.as_ref() == Some(&task.id);
    html! {
        li id={ "card-" (task.id) } class={ "card is-" (state(task, is_blocked).0) (if is_open { " is-open" } else { "" }) }
            data-task=(task.id) data-status=(task.status.as_str()) {
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

/// Draws what is being done at the moment, while its owner is alive.
pub(super) fn doing(seen: &Seen, task: &Task) -> Markup {
    let text = task.active_form.as_deref().filter(|text| !text.trim().is_empty());
    let is_shown = task.status == Status::InProgress;
    html! {
        @if let Some(text) = text.filter(|_| is_shown) {
            @let is_alive = seen.holder(&task.id).is_some_and(|(row, _)| !row.needs_a_person());
            div.doing {
                @if is_alive { span.spinner aria-hidden="true" {} }
                (one_line(text.trim_end_matches('…').trim_end_matches("..."))) "…"
            }
        }
    }
}

/// Draws what there is to say of a task beside its subject; nothing where there is nothing.
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
    let is_bare = need.is_none()
        && parts.is_none()
        && owner.is_none()
        && blockers.is_empty()
        && due.is_none()
        && defer.is_none()
        && priority.is_none()
        && tags.is_empty();
    html! {
        @if !is_bare {
            div.facts {
                @if let Some(need) = need { span.alarm { "▲ " (need.in_words()) } }
                @if let Some(owner) = owner {
                    (agent(owner, seen.colour(owner)))
                    @if let Some(taken) = held.and_then(|(_, held)| held.since) { span.dim { (since(taken, now)) } }
                }
                @if !blockers.is_empty() { (waits(seen, blockers)) }
                @if let Some(parts) = parts { span.dim title="parts that are done" { (parts) } }
                @match priority {
                    Some(Priority::High) => span.high { "↑ high" },
                    Some(_) => span.dim { "↓ low" },
                    None => {},
                }
                @if let Some(due) = due { span.dim { "due " (until(due, now)) } }
                @if let Some(defer) = defer { span.dim { "ready " (until(defer, now)) } }
                @for tag in tags { span.tag { (one_line(tag)) } }
            }
        }
    }
}

/// Draws what a task waits for, by number, with the subjects where the mouse points at it.
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
