//! What there is to know of a task beside its texts, one fact on each line.

use maud::{Markup, html};
use taskyard::core::render::{Look, facts_of_block};
use taskyard::core::rules::leases::leasing::holds;
use taskyard::core::{Priority, Task};

use super::seen::Seen;
use super::texts::{agent, one_line, since, span_in_words, until};

/// Draws it. A line without a value is left out, except the owner, which every user may set.
pub(super) fn facts(seen: &Seen, task: &Task) -> Markup {
    let now = seen.now();
    let lease = seen.survey.leases.iter().find(|(lease, _)| holds(lease, task));
    let tags: Vec<&str> = task.tags().collect();
    html! {
        dl.facts {
            dt { "owner" }
            dd {
                @match task.owner() {
                    Some(owner) => (agent(owner, seen.colour(owner))),
                    None => span.dim { "nobody" },
                }
                @if seen.may_change() { " " button.link type="button" data-act="assign" title="Assign (a)" { "assign" } }
            }
            @if let Some((lease, state)) = lease {
                dt { "lease" }
                dd {
                    (one_line(&Look { now: Some(now), ..Look::PIPE }.lease(lease, state)))
                    ", taken " (since(lease.taken, now)) " ago"
                }
            }
            @if let Some(priority) = task.stated_priority() {
                dt { "priority" }
                dd .high[priority == Priority::High] { (priority) }
            }
            @if let Some(due) = task.due() { dt { "due" } dd .alarm[task.is_overdue(now)] { (until(due, now)) } }
            @if let Some(defer) = task.defer() { dt { "not before" } dd { (until(defer, now)) } }
            @if let Some(estimate) = task.estimate() {
                dt { "estimate" }
                dd { (span_in_words(i64::try_from(estimate.as_millis()).unwrap_or(i64::MAX))) }
            }
            @if !tags.is_empty() {
                dt { "tags" }
                dd { @for tag in tags {
                    a.tag href=(seen.address.chosen(&format!("tag:{tag}")).href()) { (one_line(tag)) } " "
                } }
            }
            @for (name, fact) in facts_of_block(task) { dt { (one_line(&name)) } dd { (one_line(&fact.to_string())) } }
        }
    }
}
