//! What waits for what, as a picture. Without a script it can be scrolled; with one it moves and grows under the pointer.

use std::collections::HashSet;

use maud::{Markup, PreEscaped, html};
use taskyard::core::render::graph::svg_part;
use taskyard::core::rules::graph::chains::Chains;
use taskyard::core::{Task, TaskId};

use super::lists;
use super::page_address::{PageAddress, View};
use super::seen::Seen;

/// So many tasks the picture has at most.
const MOST: usize = 200;

/// Draws it.
pub(super) fn view(seen: &Seen) -> Markup {
    if seen.survey.tasks.is_empty() {
        return lists::nothing_here(seen);
    }
    let rules = seen.yard.rules();
    // Of the whole list, however little of it is drawn.
    let longest = Chains::of(&seen.survey.tasks, rules).longest();
    let on_chain: HashSet<&TaskId> = longest.tasks.iter().collect();
    let mut tasks: Vec<&Task> = seen.shown().collect();
    let all = tasks.len();
    // If there are too many, what is open counts more than what is done, the longest chain more than the rest, and what is joined more than
    // what stands alone.
    if all > MOST {
        tasks.retain(|task| task.status.is_open());
        let is_alone = |task: &Task| task.blocked_by.is_empty() && task.blocks.is_empty() && task.parent().is_none();
        tasks.sort_by_key(|task| (!on_chain.contains(&task.id), is_alone(task)));
        tasks.truncate(MOST);
    }
    let mut tasks: Vec<Task> = tasks.into_iter().cloned().collect();
    tasks.sort_by(|one, two| one.id.cmp(&two.id));
    let left_out = all - tasks.len();
    html! {
        div.picture #picture {
            (PreEscaped(svg_part(&tasks, &longest, &|task| seen.href(&task.id), rules)))
        }
        p.legend {
            span.critical aria-hidden="true" { "━" } " the longest chain of what waits for what, "
            span.part aria-hidden="true" { "┄" } " from a task to its parts"
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
