//! The status line: what needs a person, what is in progress, what comes next, and the overall progress. Each part
//! filters by what it counts.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use maud::{Markup, html};
use taskyard::core::{Status, Task};
use taskyard::teams::MemberState;

use super::page_address::{PageAddress, View};
use super::searching;
use super::seen::Seen;
use super::texts::{bar, count, one_line};

/// Renders the status line, with the query field below.
pub(super) fn line(seen: &Seen) -> Markup {
    let address = &seen.address;
    let tally = &seen.survey.glance.tally;
    let needs = seen.needs();
    let at_work = tally.of(Status::InProgress);
    // While the user types a query only what it changes is sent; the rest stays on the page.
    let is_typing = address.rows.is_some();
    let key = (address.view != View::Lists).then(|| format!("{}/{}", address.list, address.view.word()));
    html! {
        section #truth data-key=[key] aria-label="Status of the list" {
            @if address.view != View::Lists {
                @if !is_typing { div.counts #counts data-keep {
                    @if needs > 0 {
                        a.alarm href=(PageAddress { needs: true, ..address.chosen("") }.href()) aria-current=[address.needs.then_some("true")] {
                            b { "▲ " (needs) } (if needs == 1 { " needs attention" } else { " need attention" })
                        }
                    }
                    (part(address, "active", "◼", at_work, "in progress", "status:in_progress"))
                    (part(address, "pending", "◻", tally.ready, "ready", "ready"))
                    (part(address, "blocked", "◻", tally.blocked, "blocked", "blocked"))
                    @if tally.total() > 0 {
                        a.done href=(address.chosen("status:completed").href()) aria-current=[(address.query == "status:completed").then_some("true")] {
                            b { "✔ " (tally.of(Status::Completed)) } " of " (tally.total())
                        }
                        (bar(tally.counts))
                    }
                } }
                @if address.view.has_tasks() { (searching::field(seen)) }
                @if address.needs { (others(seen)) }
            }
            @if !is_typing { (known(seen)) }
        }
    }
}

/// Maximum number of tags and names suggested.
const KNOWN: usize = 100;

/// Renders the names and tags suggested while typing.
fn known(seen: &Seen) -> Markup {
    let mut tags: BTreeMap<&str, usize> = BTreeMap::new();
    seen.survey.tasks.iter().flat_map(Task::tags).for_each(|tag| *tags.entry(tag).or_default() += 1);
    let mut tags: Vec<(&str, usize)> = tags.into_iter().collect();
    tags.sort_by_key(|(_, count)| Reverse(*count));
    let owners = seen.survey.tasks.iter().filter_map(Task::owner);
    let mut people: Vec<&str> = seen.agents.iter().map(|row| row.name.as_str()).chain(owners).collect();
    people.push(seen.yard.actor().as_str());
    people.sort_unstable();
    people.dedup();
    html! {
        datalist #people data-keep { @for name in people.iter().take(KNOWN) { option value=(name) {} } }
        datalist #tags data-keep { @for (tag, _) in tags.iter().take(KNOWN) { option value=(tag) {} } }
    }
}

fn part(address: &PageAddress, class: &str, sign: &str, count: usize, words: &str, query: &str) -> Markup {
    let is_chosen = address.query == query;
    html! {
        @if count > 0 {
            a class=(class) href=(address.chosen(if is_chosen { "" } else { query }).href()) aria-current=[is_chosen.then_some("true")] {
                b { (sign) " " (count) } " " (words)
            }
        }
    }
}

/// Renders what needs a person besides tasks: agents, jobs, unreadable files and messages.
fn others(seen: &Seen) -> Markup {
    let at = |view| seen.address.at(seen.address.list.clone(), view);
    let unread = seen.mail.unread();
    html! {
        ul.needs aria-label="What else needs attention" {
            @for row in seen.agents.iter().filter(|row| row.needs_a_person()) {
                li { span.alarm { "▲ " } a href=(at(View::Agents).href()) { (one_line(&row.name)) }
                    (if row.state == MemberState::Ghost { " is gone and still has tasks" } else { " is waiting for approval of its plan" }) }
            }
            @for row in seen.job_rows.iter().filter(|row| row.needs_a_person) {
                li { span.alarm { "▲ " } a href=(PageAddress { open: Some(row.id.as_str().to_owned()), ..at(View::Jobs) }.href()) { (one_line(&row.description)) }
                    " " (row.how.as_deref().unwrap_or(row.state.as_str())) }
            }
            @for problem in &seen.survey.problems {
                li { span.alarm { "▲ " } (one_line(&problem.file())) " cannot be read: " (one_line(&problem.why.to_string()))
                    @if problem.last_known.is_some() { "; its last known state is shown" }
                    "; run " code { "taskyard doctor" } }
            }
            @if unread > 0 {
                li { span.alarm { "▲ " } a href=(at(View::Messages).href()) { (count(unread, "message", "messages")) } " unread" }
            }
        }
    }
}
