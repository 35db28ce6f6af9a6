//! What waits for what, as a picture. Without a script it can be scrolled; with one it moves and grows under the pointer.

use maud::{Markup, PreEscaped, html};
use taskyard::core::Task;
use taskyard::core::render::graph::svg_part;

use super::lists;
use super::page_address::{PageAddress, View};
use super::seen::Seen;

/// So many tasks the picture has at most.
const MOST: usize = 400;

/// Draws it.
pub(super) fn view(seen: &Seen) -> Markup {
    if seen.survey.tasks.is_empty() {
        return lists::nothing_here(seen);
    }
    let mut tasks: Vec<&Task> = seen.shown().collect();
    let all = tasks.len();
    // Where there are too many, what is open counts more than what is done, and what is joined more than what stands alone.
    if all > MOST {
        tasks.retain(|task| task.status.is_open());
        tasks.sort_by_key(|task| task.blocked_by.is_empty() && task.blocks.is_empty());
        tasks.truncate(MOST);
    }
    let mut tasks: Vec<Task> = tasks.into_iter().cloned().collect();
    tasks.sort_by(|one, two| one.id.cmp(&two.id));
    let left_out = all - tasks.len();
    html! {
        div.picture #picture {
            (PreEscaped(svg_part(&tasks, &|task| seen.href(&task.id))))
        }
        p.legend {
            span.critical aria-hidden="true" { "━" } " the longest chain of what waits for what"
            @if left_out > 0 {
                ", " (left_out) " more in the " a href=(PageAddress { from: None, ..seen.address.view(View::Table) }.href()) { "list" }
            }
            span.tools {
                button type="button" data-act="zoom-out" aria-label="Show more of it" title="-" { "−" }
                button type="button" data-act="zoom-in" aria-label="Show it larger" title="+" { "+" }
                button type="button" data-act="zoom-fit" { "Fit" }
            }
        }
    }
}
