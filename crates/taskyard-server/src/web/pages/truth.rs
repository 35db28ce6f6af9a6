//! The line of truth: what needs a person, what is being done, what comes next, how far it is. Each part chooses what it counts.

use maud::{Markup, html};
use taskyard::core::Status;
use taskyard::teams::MemberState;

use super::page_address::{PageAddress, View};
use super::searching;
use super::seen::Seen;
use super::texts::{bar, count, one_line};

/// Draws it, with the field in which tasks are chosen below.
pub(super) fn line(seen: &Seen) -> Markup {
    let address = &seen.address;
    let tally = &seen.survey.glance.tally;
    let needs = seen.needs();
    let at_work = tally.of(Status::InProgress);
    html! {
        section #truth aria-label="How the list stands" {
            @if address.view != View::Lists {
                div.counts {
                    @if needs > 0 {
                        a.alarm href=(PageAddress { needs: true, ..address.chosen("") }.href()) aria-current=[address.needs.then_some("true")] {
                            b { "▲ " (needs) } (if needs == 1 { " needs you" } else { " need you" })
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
                }
                @if address.view.has_tasks() { (searching::field(seen)) }
                @if address.needs { (others(seen)) }
            }
        }
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

/// Draws what needs a person and is no task: agents, jobs, files that cannot be read, messages.
fn others(seen: &Seen) -> Markup {
    let at = |view| seen.address.at(seen.address.list.clone(), view);
    let unread = seen.mail.unread();
    html! {
        ul.needs aria-label="What else needs you" {
            @for row in seen.agents.iter().filter(|row| row.needs_a_person()) {
                li { span.alarm { "▲ " } a href=(at(View::Agents).href()) { (one_line(&row.name)) }
                    (if row.state == MemberState::Ghost { " is gone and has tasks still" } else { " waits for its plan to be approved" }) }
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
