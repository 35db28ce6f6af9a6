//! The line of truth: what needs a person, what is being done, what comes next, how far it is. Each part chooses what it counts.

use maud::{Markup, html};
use taskyard::core::Status;
use taskyard::teams::MemberState;

use super::place::{Place, View};
use super::searching;
use super::seen::Seen;
use super::texts::{bar, count, one_line};

/// Draws it, with the field in which tasks are chosen below.
pub(super) fn line(seen: &Seen) -> Markup {
    let place = &seen.place;
    let tally = &seen.survey.glance.tally;
    let needs = seen.needs();
    let at_work = tally.of(Status::InProgress);
    html! {
        section #truth aria-label="How the list stands" {
            @if place.view != View::Lists {
                div.counts {
                    @if needs > 0 {
                        a.alarm href=(Place { needs: true, ..place.chosen("") }.href()) aria-current=[place.needs.then_some("true")] {
                            b { "▲ " (needs) } (if needs == 1 { " needs you" } else { " need you" })
                        }
                    }
                    (part(place, "active", "◼", at_work, "in progress", "status:in_progress"))
                    (part(place, "pending", "◻", tally.ready, "ready", "ready"))
                    (part(place, "blocked", "◻", tally.blocked, "blocked", "blocked"))
                    @if tally.total() > 0 {
                        a.done href=(place.chosen("status:completed").href()) aria-current=[(place.query == "status:completed").then_some("true")] {
                            b { "✔ " (tally.of(Status::Completed)) } " of " (tally.total())
                        }
                        (bar(tally.counts))
                    }
                }
                @if place.view.has_tasks() { (searching::field(seen)) }
                @if place.needs { (others(seen)) }
            }
        }
    }
}

fn part(place: &Place, class: &str, sign: &str, count: usize, words: &str, query: &str) -> Markup {
    let is_chosen = place.query == query;
    html! {
        @if count > 0 {
            a class=(class) href=(place.chosen(if is_chosen { "" } else { query }).href()) aria-current=[is_chosen.then_some("true")] {
                b { (sign) " " (count) } " " (words)
            }
        }
    }
}

/// Draws what needs a person and is no task: agents, jobs, messages.
fn others(seen: &Seen) -> Markup {
    let at = |view| Place::at(seen.place.list.clone(), view);
    let unread = seen.mail.unread();
    html! {
        ul.needs aria-label="What else needs you" {
            @for row in seen.agents.iter().filter(|row| row.needs_a_person()) {
                li { span.alarm { "▲ " } a href=(at(View::Agents).href()) { (one_line(&row.name)) }
                    (if row.state == MemberState::Ghost { " is gone and has tasks still" } else { " waits for its plan to be approved" }) }
            }
            @for row in seen.job_rows.iter().filter(|row| row.needs_a_person) {
                li { span.alarm { "▲ " } a href=(Place { open: Some(row.id.as_str().to_owned()), ..at(View::Jobs) }.href()) { (one_line(&row.description)) }
                    " " (row.how.as_deref().unwrap_or(row.state.as_str())) }
            }
            @if unread > 0 {
                li { span.alarm { "▲ " } a href=(at(View::Messages).href()) { (count(unread, "message", "messages")) } " unread" }
            }
        }
    }
}
