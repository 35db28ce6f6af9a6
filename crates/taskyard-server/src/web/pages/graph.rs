//! The dependency graph of a list. Without a script it can be scrolled; with one it can be panned and zoomed.

use std::collections::HashSet;

use maud::{Markup, html};
use taskyard::core::rules::graph::chains::Chains;
use taskyard::core::{Task, TaskId};

use super::framed_graph::{Framing, framed};
use super::lists;
use super::page_address::{PageAddress, View};
use super::seen::Seen;

/// Maximum number of tasks drawn.
const MOST: usize = 160;

pub(super) fn view(seen: &Seen) -> Markup {
    if seen.survey.tasks.is_empty() {
        return lists::nothing_here(seen);
    }
    // The longest chain of the whole list, even if only part of it is drawn.
    let longest = Chains::of(&seen.survey.tasks, seen.yard.rules()).longest();
    let on_chain: HashSet<&TaskId> = longest.tasks.iter().collect();
    let address = &seen.address;
    let near = address.focus.as_ref().map(|focus| around(&seen.survey.tasks, focus));
    let mut tasks: Vec<&Task> =
        seen.shown().filter(|task| near.as_ref().is_none_or(|near| near.contains(&task.id))).collect();
    let all = tasks.len();
    // If there are too many tasks, keep open ones rather than completed ones, the longest chain rather than others,
    // and connected tasks rather than isolated ones.
    if all > MOST {
        tasks.retain(|task| task.status.is_open());
        let is_alone = |task: &Task| task.blocked_by.is_empty() && task.blocks.is_empty() && task.parent().is_none();
        tasks.sort_by_key(|task| (!on_chain.contains(&task.id), is_alone(task)));
        tasks.truncate(MOST);
    }
    let mut tasks: Vec<Task> = tasks.into_iter().cloned().collect();
    tasks.sort_by(|one, two| one.id.cmp(&two.id));
    let left_out = all - tasks.len();
    let blocked = tasks.iter().filter(|task| !seen.blockers(task).is_empty()).map(|task| task.id.clone()).collect();
    let folded = address.folded.iter().cloned().collect();
    let fold_href = |id: &TaskId| {
        let mut folded = address.folded.clone();
        match folded.iter().position(|other| other == id) {
            Some(place) => drop(folded.remove(place)),
            None => folded.push(id.clone()),
        }
        PageAddress { folded, ..address.clone() }.href()
    };
    let with_done = PageAddress { done: !address.done, ..address.clone() }.href();
    let framing = Framing {
        href: &|id| seen.href(id),
        fold_href: &fold_href,
        done_href: &with_done,
        longest: &longest.tasks,
        folded: &folded,
        blocked: &blocked,
        shows_done: address.done,
        open: address.task.as_ref(),
    };
    let is_any_done = tasks.iter().any(|task| !task.status.is_open());
    html! {
        div.picture #picture { (framed(&tasks, &framing)) }
        p.legend {
            span.critical aria-hidden="true" { "━" } " the longest chain, " (longest.tasks.len()) " tasks"
            @if left_out > 0 {
                ", " (left_out) " more in the " a href=(PageAddress { from: None, ..seen.address.view(View::Table) }.href()) { "list" }
            }
            span.tools {
                @if let Some(focus) = &address.focus {
                    a.button href=(PageAddress { focus: None, ..address.clone() }.href()) { "Only around #" (focus) " ×" }
                }
                @if is_any_done { a.button href=(with_done) { (if address.done { "Fold done" } else { "Show done" }) } }
                button type="button" data-act="zoom-out" aria-label="Show more of it" title="-" { "−" }
                button type="button" data-act="zoom-in" aria-label="Show it larger" title="+" { "+" }
                button type="button" data-act="zoom-fit" { "Fit" }
            }
        }
    }
}

/// Returns all direct and indirect blockers and dependents of a task, with their parents and subtasks.
fn around(tasks: &[Task], focus: &TaskId) -> HashSet<TaskId> {
    let mut near: HashSet<TaskId> = HashSet::new();
    for forwards in [true, false] {
        let mut found: HashSet<TaskId> = [focus.clone()].into_iter().collect();
        let mut left = vec![focus.clone()];
        while let Some(id) = left.pop() {
            for task in tasks {
                let (before, behind) = (task.blocked_by.contains(&id), task.blocks.contains(&id));
                let is_next = if forwards { before } else { behind }
                    || tasks.iter().any(|one| {
                        one.id == id
                            && if forwards { one.blocks.contains(&task.id) } else { one.blocked_by.contains(&task.id) }
                    });
                // Subtasks come with their parents.
                if (is_next || task.parent().as_ref() == Some(&id)) && found.insert(task.id.clone()) {
                    left.push(task.id.clone());
                }
            }
        }
        near.extend(found);
    }
    let above = |id: &TaskId| tasks.iter().find(|task| task.id == *id).and_then(Task::parent);
    for id in near.clone() {
        near.extend(std::iter::successors(above(&id), above).take(tasks.len()));
    }
    near
}
