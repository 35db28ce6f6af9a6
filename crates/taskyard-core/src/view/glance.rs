//! Lists at a glance, as rows and as numbers.

use std::collections::HashSet;

use super::{Need, NeedKind, Tally};
use crate::render::{Line, Look, Tone, counts_in_words, cut_text};
use crate::rules::history::vanishing::Gone;
use crate::rules::looking::query::{Query, Surroundings};
use crate::{ListId, Status, Task, TaskId, Timestamp};

/// A whole list at a glance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glance {
    /// Its numbers.
    pub tally: Tally,
    /// What needs attention.
    pub needs: Vec<Need>,
    /// The tasks that can start now.
    pub(crate) ready: HashSet<TaskId>,
}

impl Glance {
    /// Summarizes a list; internal tasks are ignored.
    pub fn at(tasks: &[Task], around: &impl Surroundings) -> Self {
        let mut glance = Self::default();
        for task in tasks.iter().filter(|task| !task.is_internal()) {
            glance.tally.counts[task.status as usize] += 1;
            if !task.status.is_open() {
                continue;
            }
            if let Some(kind) = NeedKind::of(task, around.now()) {
                glance.needs.push(Need { task: task.id.clone(), kind });
            }
            if around.is_ready(task) {
                glance.ready.insert(task.id.clone());
            } else if task.status == Status::Pending && around.is_blocked(task) {
                glance.tally.blocked += 1;
            }
        }
        glance.tally.ready = glance.ready.len();
        glance
    }
}

/// Returns the tasks that match a query, or `None` if all match.
pub fn chosen_by(query: &Query, tasks: &[Task], around: &impl Surroundings) -> Option<HashSet<TaskId>> {
    let is_chosen = |task: &&Task| query.is_true_of(task, around);
    (!query.is_empty()).then(|| tasks.iter().filter(is_chosen).map(|task| task.id.clone()).collect())
}

/// The width of a progress bar in columns.
const BAR: usize = 10;

/// How many names of active agents are shown.
const NAMES: usize = 3;

/// A list of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRow {
    /// Its name.
    pub list: ListId,
    /// The numbers of pending, in-progress and completed tasks.
    pub counts: [usize; 3],
    /// When it last changed.
    pub changed: Option<Timestamp>,
    /// What was removed from it, if open tasks disappeared without any agent intending it.
    pub gone: Option<Gone>,
    /// The names of the agents with a live lease on it.
    pub alive: Vec<String>,
}

/// Formats a list on one line, with its name in `name_width` columns. `is_shown` marks the current list.
pub fn list_line(row: &ListRow, is_shown: bool, name_width: usize, look: &Look) -> Line {
    let mut line = match row.alive.is_empty() {
        true => Line::plain("  "),
        false => Line::new().with(Tone::Active, look.either("● ", "* ")),
    };
    let tone = if is_shown { Tone::Strong } else { Tone::Plain };
    let name = cut_text(row.list.as_str(), name_width, look.ellipsis());
    line.append(Line::new().with(tone, &name).padded(name_width));
    line.push(Tone::Plain, "  ");
    match &row.gone {
        Some(gone) => {
            let tasks = if gone.open == 1 { "1 open task".to_owned() } else { format!("{} open tasks", gone.open) };
            line.push(Tone::Error, &format!("{} gone: {tasks}", look.either("▲", "!")));
        }
        None if row.counts == [0; 3] => line.push(Tone::Dim, "empty"),
        None => {
            line.append(progress_bar(row.counts, BAR, look));
            line.push(Tone::Plain, " ");
            line.append(counts_in_words(row.counts, look));
        }
    }
    if !row.alive.is_empty() {
        let names: Vec<&str> = row.alive.iter().take(NAMES).map(String::as_str).collect();
        let more = row.alive.len().saturating_sub(NAMES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        line.push(Tone::Dim, look.dot());
        line.push(Tone::Active, &format!("{}{more} at work", names.join(", ")));
    }
    if let Some(changed) = row.changed {
        line.push(Tone::Dim, &format!("{}{}", look.dot(), look.time(changed)));
    }
    line
}

/// Draws the progress of a list as a bar of `cells` columns: done, in progress and the rest.
pub fn progress_bar([pending, in_progress, completed]: [usize; 3], cells: usize, look: &Look) -> Line {
    let total = (pending + in_progress + completed).max(1);
    let done = completed * cells / total;
    let active = (in_progress * cells / total).max(usize::from(in_progress > 0)).min(cells - done);
    Line::new()
        .with(Tone::Done, &look.either("━", "=").repeat(done))
        .with(Tone::Active, &look.either("━", ">").repeat(active))
        .with(Tone::Dim, &look.either("─", "-").repeat(cells - done - active))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Glance, chosen_by};
    use crate::rules::looking::query::{ListSurroundings, Query};
    use crate::view::NeedKind;
    use crate::{Rules, Status, Task, TaskId, Timestamp};

    fn list() -> Vec<Task> {
        let task = |id: u64, status| Task { status, ..Task::new(TaskId::number(id), "x") };
        let mut tasks = vec![
            task(1, Status::InProgress),
            task(2, Status::Pending),
            task(3, Status::Pending),
            task(4, Status::Completed),
            task(5, Status::Pending),
        ];
        tasks[1].blocked_by = vec![TaskId::number(1)];
        tasks[2].metadata.get_or_insert_default().insert("due".to_owned(), json!("2026-01-01T00:00:00.000Z"));
        tasks[4].metadata.get_or_insert_default().insert("_internal".to_owned(), json!(true));
        tasks
    }

    #[test]
    fn glance_counts_ready_blocked_and_needing_a_person() {
        let (tasks, now) = (list(), Timestamp(1_800_000_000_000));
        let glance = Glance::at(&tasks, &ListSurroundings::of(&tasks, now, Rules::Strict));
        assert_eq!(glance.tally.counts, [2, 1, 1], "an internal task counts for nothing");
        assert_eq!((glance.tally.ready, glance.tally.blocked), (1, 1));
        assert_eq!(glance.needs.len(), 1);
        assert_eq!(glance.needs[0].kind, NeedKind::Overdue);
    }

    #[test]
    fn nothing_is_chosen_where_nobody_asks() {
        let tasks = list();
        let around = ListSurroundings::of(&tasks, Timestamp(0), Rules::Strict);
        assert_eq!(chosen_by(&Query::parse("").unwrap(), &tasks, &around), None);
        let chosen = chosen_by(&Query::parse("blocked").unwrap(), &tasks, &around).unwrap();
        assert_eq!(chosen, [TaskId::number(2)].into());
    }
}

#[cfg(test)]
mod lists_tests {
    use super::{ListRow, list_line, progress_bar};
    use crate::render::Look;
    use crate::{ListId, Timestamp};

    #[test]
    fn a_list_says_how_far_it_is_and_who_is_alive() {
        let look = Look { now: Some(Timestamp(7_200_000)), ..Look::PIPE };
        let alive = ["ana", "bo", "cleo", "dan"].map(str::to_owned).to_vec();
        let list = ListId::new("rocket").unwrap();
        let row = ListRow { list, counts: [3, 1, 6], changed: Some(Timestamp(0)), gone: None, alive };
        let line = list_line(&row, true, 8, &look).to_string();
        assert!(line.starts_with("● rocket    ━━━━━━━─── "), "{line}");
        assert!(line.ends_with(" · ana, bo, cleo and 1 more at work · 2 h ago"), "{line}");
        let quiet = ListRow { counts: [0; 3], alive: Vec::new(), changed: None, ..row };
        assert_eq!(list_line(&quiet, false, 8, &look).to_string(), "  rocket    empty");
    }

    #[test]
    fn whatever_is_in_progress_is_seen_in_the_bar() {
        assert_eq!(progress_bar([990, 1, 9], 10, &Look::PIPE).to_string(), "━─────────");
        assert_eq!(progress_bar([0, 0, 0], 4, &Look::PIPE).to_string(), "────");
    }
}
