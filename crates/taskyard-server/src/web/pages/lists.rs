//! The lists of the store: a sidebar on each page, and a page. Also the text of an empty list.

use std::cmp::Reverse;

use maud::{Markup, PreEscaped, html};
use taskyard::core::render::charts::burn_up_spark_svg;
use taskyard::core::view::ListRow;

use super::page_address::View;
use super::seen::Seen;
use super::texts::{ago, bar, count, how_far, one_line};

/// Maximum number of lists in the sidebar; the page shows all.
const BESIDE: usize = 40;
/// Maximum number of active agents named.
const NAMES: usize = 3;

/// Renders the sidebar: lists with live agents first, then by last change.
pub(super) fn beside(seen: &Seen) -> Markup {
    let mut rows: Vec<&ListRow> = seen.lists.iter().flatten().collect();
    let all = rows.len();
    let is_here = |row: &ListRow| row.list == seen.address.list && seen.address.view != View::Lists;
    rows.sort_by_key(|row| (row.alive.is_empty() && row.gone.is_none(), Reverse(row.changed)));
    let here = rows.iter().position(|row| is_here(row));
    // Always include the displayed list.
    if let Some(here) = here.filter(|here| *here >= BESIDE) {
        rows.swap(here, BESIDE - 1);
    }
    let all_lists = seen.address.at(seen.address.list.clone(), View::Lists).href();
    html! {
        nav #lists aria-label="Lists" {
            a.all href=(all_lists) aria-current=[(seen.address.view == View::Lists).then_some("page")] { "All lists" }
            ul {
                @for row in rows.iter().take(BESIDE) {
                    li { a data-list=(row.list) href=(seen.address.at(row.list.clone(), View::Columns).href()) aria-current=[is_here(row).then_some("page")] {
                        span.name {
                            @if !row.alive.is_empty() { span.alive role="img" aria-label="an agent is at work" { "●" } " " }
                            @if row.gone.is_some() { span.alarm role="img" aria-label="tasks are gone" { "▲" } " " }
                            (one_line(row.list.as_str()))
                        }
                        span.dim { (how_far(row)) }
                        (bar(row.counts))
                    } }
                }
            }
            @if all > BESIDE { a.more href=(all_lists) { (all - BESIDE) " more" } }
        }
    }
}

/// Renders the page of all lists.
pub(super) fn view(seen: &Seen) -> Markup {
    let mut rows: Vec<&ListRow> = seen.lists.iter().flatten().collect();
    rows.sort_by_key(|row| (row.alive.is_empty() && row.gone.is_none(), Reverse(row.changed)));
    html! {
        @if rows.is_empty() {
            p.empty { "No lists yet. Create a task to get one: " code { "taskyard create \"Write the parser\"" } }
        }
        @if seen.may_change() { p.above { button type="button" data-act="create-list" { "New list" } } }
        ul.lists {
            @for row in rows {
                @let address = seen.address.at(row.list.clone(), View::Columns);
                li id={ "list-" (row.list) } data-item {
                    a.open href=(address.href()) { (one_line(row.list.as_str())) }
                    @if seen.may_change() {
                        button.more-button type="button" data-act="list-menu" data-list=(row.list) aria-haspopup="dialog" aria-label={ "Actions for " (row.list) } { "⋯" }
                    }
                    @if let Some(gone) = &row.gone {
                        span.alarm { "▲ gone: " (count(gone.open, "open task", "open tasks")) }
                    }
                    @if let Some(burn_up) = seen.burn_ups.get(&row.list).filter(|_| row.counts != [0; 3]) { (PreEscaped(burn_up_spark_svg(burn_up))) }
                    (bar(row.counts))
                    div.facts {
                        @if let Some(needs) = seen.needs_of_lists.get(&row.list).copied().filter(|needs| *needs > 0) {
                            span.alarm { "▲ " (needs) (if needs == 1 { " needs attention" } else { " need attention" }) }
                        }
                        @let [pending, in_progress, completed] = row.counts;
                        @if row.counts == [0; 3] { span.dim { "empty" } }
                        @if in_progress > 0 { span.active { "◼ " (in_progress) " in progress" } }
                        @if pending > 0 { span.dim { "◻ " (pending) " pending" } }
                        @if completed > 0 { span.done { "✔ " (completed) " done" } }
                        @if !row.alive.is_empty() {
                            span.alive { "● " (names(&row.alive)) " at work" }
                        }
                        @if let Some(changed) = row.changed { span.dim { (ago(changed, seen.now())) } }
                    }
                }
            }
        }
    }
}

fn names(alive: &[String]) -> String {
    let first: Vec<String> = alive.iter().take(NAMES).map(|name| one_line(name)).collect();
    let more = alive.len().saturating_sub(NAMES);
    if more > 0 { format!("{} and {more} more", first.join(", ")) } else { first.join(", ") }
}

/// Renders a list without tasks: what to do first, or what has disappeared.
pub(super) fn nothing_here(seen: &Seen) -> Markup {
    html! {
        div.empty {
            @if let Some(gone) = seen.survey.gone.as_ref().filter(|gone| gone.open > 0) {
                h2.alarm { "▲ " (count(gone.open, "open task is gone", "open tasks are gone")) }
                p { "They were not deleted here: another program removed their files. They can be restored as they were." }
                @if seen.may_change() { p { button.primary type="button" data-act="restore" { "Restore them" } } }
            } @else {
                h2 { "No tasks yet" }
                p { "Create the first one with " kbd { "c" } ", or from a shell:" }
                p { code { "taskyard --list " (seen.address.list) " create \"Write the parser\"" } }
                p.dim { "Changes by agents appear here automatically." }
                @if seen.may_change() { p { button.primary type="button" data-act="create" { "New task" } } }
            }
        }
    }
}
