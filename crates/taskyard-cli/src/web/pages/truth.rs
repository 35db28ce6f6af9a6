//! The line of truth: what needs a person, what is being done, what comes next, how far it is. Each part chooses what it counts.

use maud::{Markup, html};
use taskyard::core::Status;

use super::place::{Place, View};
use super::searching;
use super::seen::Seen;
use super::texts::bar;

/// Draws it, with the field in which tasks are chosen below.
pub(super) fn line(seen: &Seen) -> Markup {
    let place = &seen.place;
    let tally = &seen.survey.glance.tally;
    let needs = seen.needs();
    let at_work = tally.of(Status::InProgress);
    html! {
        div #truth {
            @if place.view != View::Lists {
                div.counts role="group" aria-label="How the list stands" {
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
