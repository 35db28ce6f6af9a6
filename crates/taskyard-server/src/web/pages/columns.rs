//! A list as columns: what is pending, in progress and done, side by side.

use maud::{Markup, html};
use taskyard::core::{Priority, Status, Task};

use super::card::card;
use super::lists;
use super::page_address::{PageAddress, View};
use super::seen::Seen;

/// So many cards a column shows; the rest is in the list.
const CARDS: usize = 60;
/// So many of what is done, the newest.
const DONE: usize = 12;

/// Draws it.
pub(super) fn view(seen: &Seen) -> Markup {
    if seen.survey.tasks.is_empty() {
        return lists::nothing_here(seen);
    }
    let of = |status: Status| -> Vec<&Task> { seen.shown().filter(|task| task.status == status).collect() };
    let (mut ready, waiting): (Vec<&Task>, Vec<&Task>) =
        of(Status::Pending).into_iter().partition(|task| seen.blockers(task).is_empty());
    // What comes next stands first: what needs a person, then what is urgent.
    ready.sort_by_key(|task| {
        (seen.need(task).is_none(), task.is_deferred(seen.now()), std::cmp::Reverse(priority(task)))
    });
    let mut done = of(Status::Completed);
    done.reverse();
    let pending = ready.len() + waiting.len();
    html! {
        div.columns {
            section.column data-status="pending" aria-labelledby="head-pending" {
                h2 #head-pending { span.mark.pending aria-hidden="true" { "◻" } " Pending " span.count { (pending) } }
                (cards(seen, "cards-ready", &ready, CARDS, "status:pending not blocked"))
                @if !waiting.is_empty() {
                    h3 { "Blocked " span.count { (waiting.len()) } }
                    (cards(seen, "cards-waiting", &waiting, CARDS, "status:pending blocked"))
                }
            }
            (column(seen, "in_progress", ("active", "◼", "In progress"), &of(Status::InProgress), CARDS))
            (column(seen, "completed", ("done", "✔", "Done"), &done, if seen.survey.chosen.is_some() { CARDS } else { DONE }))
        }
    }
}

fn priority(task: &Task) -> Priority {
    task.priority()
}

fn column(seen: &Seen, status: &str, (class, sign, name): (&str, &str, &str), tasks: &[&Task], most: usize) -> Markup {
    html! {
        section.column data-status=(status) aria-labelledby={ "head-" (status) } {
            h2 id={ "head-" (status) } { span class={ "mark " (class) } aria-hidden="true" { (sign) } " " (name) " " span.count { (tasks.len()) } }
            (cards(seen, &format!("cards-{status}"), tasks, most, &format!("status:{status}")))
        }
    }
}

fn cards(seen: &Seen, id: &str, tasks: &[&Task], most: usize, query: &str) -> Markup {
    let more = tasks.len().saturating_sub(most);
    let address = &seen.address;
    let query = if address.query.is_empty() { query.to_owned() } else { format!("({}) {query}", address.query) };
    let rest = PageAddress { query, ..address.at(address.list.clone(), View::Table) };
    html! {
        ul.cards id=(id) {
            @for task in tasks.iter().take(most) { (card(seen, task)) }
        }
        @if more > 0 { a.more href=(rest.href()) { (more) " more" } }
    }
}
