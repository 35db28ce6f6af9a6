//! Displays of a whole list: as a board, as a one-screen overview, or as a brief for an agent.

use std::collections::{HashMap, HashSet};

use super::line::cut_text;
use super::task_line::task_line;
use super::{Line, Look, Tone, escaping};
use crate::render::journal_lines::loss_in_words;
use crate::rules::claims::readiness::{Brief, Ranked};
use crate::rules::graph::parts::Progress;
use crate::{ListId, Status, Task, TaskId, Timestamp};

/// Maximum indentation depth of the tree; deeper parts are not indented further.
const DEEPEST: usize = 16;

/// Width of the progress bar in columns.
const BAR: usize = 16;

/// A list to display.
#[derive(Clone, Copy, Debug)]
pub struct Board<'a> {
    /// The list's name.
    pub title: &'a str,
    /// The tasks to show, in display order.
    pub tasks: &'a [Task],
    /// The open blockers of each task.
    pub blockers: &'a HashMap<TaskId, Vec<TaskId>>,
    /// The progress of the parts of each task that has parts.
    pub progress: &'a HashMap<TaskId, Progress>,
    /// The numbers of pending, in-progress and completed tasks in the whole list.
    pub counts: [usize; 3],
    /// How many completed tasks are shown before the rest is folded into `+N completed`; `None` shows all.
    pub completed_after: Option<usize>,
}

impl Board<'_> {
    /// Renders the list as a tree, with subtasks below their parents.
    pub fn tree(&self, look: &Look) -> Vec<Line> {
        let children = children(self.tasks);
        let hidden = self.hidden(&children);
        let mut lines = vec![self.header(look), Line::new()];
        let width = self.id_width(&hidden);
        for (place, guides) in walk(self.tasks, &children, &hidden, look) {
            lines.push(self.task(place, &guides, width, look));
        }
        self.add_fold(&mut lines, &hidden);
        lines
    }

    /// Renders the list without nesting.
    pub fn flat(&self, look: &Look) -> Vec<Line> {
        let hidden = self.hidden(&vec![Vec::new(); self.tasks.len()]);
        let mut lines = vec![self.header(look), Line::new()];
        let width = self.id_width(&hidden);
        for place in (0..self.tasks.len()).filter(|place| !hidden.contains(place)) {
            lines.push(self.task(place, "  ", width, look));
        }
        self.add_fold(&mut lines, &hidden);
        lines
    }

    /// Renders the header: name, progress bar and counts.
    pub fn header(&self, look: &Look) -> Line {
        let mut line = Line::new().with(Tone::Plain, "  ").with(Tone::Strong, self.title).with(Tone::Plain, "  ");
        line.append(bar(self.counts, look));
        line.push(Tone::Plain, " ");
        line.append(counts_in_words(self.counts, look));
        look.fitted(line)
    }

    fn task(&self, place: usize, guides: &str, id_width: usize, look: &Look) -> Line {
        let task = &self.tasks[place];
        let blockers = self.blockers.get(&task.id).map(Vec::as_slice).unwrap_or_default();
        let Some(progress) = self.progress.get(&task.id) else {
            return task_line(guides, id_width, task, blockers, look);
        };
        let progress = Line::new().with(Tone::Dim, &format!(" {progress}"));
        let narrower = Look { width: look.width.map(|width| width.saturating_sub(progress.width())), ..*look };
        let mut line = task_line(guides, id_width, task, blockers, &narrower);
        line.append(progress);
        line
    }

    fn id_width(&self, hidden: &HashSet<usize>) -> usize {
        let shown = self.tasks.iter().enumerate().filter(|(place, _)| !hidden.contains(place));
        shown.map(|(_, task)| task.id.as_str().len() + 1).max().unwrap_or(0)
    }

    fn add_fold(&self, lines: &mut Vec<Line>, hidden: &HashSet<usize>) {
        if !hidden.is_empty() {
            lines.push(Line::new().with(Tone::Dim, &format!("    +{} completed", hidden.len())));
        }
    }

    /// Returns the indexes of the completed tasks folded into `+N completed`: the oldest ones, except parents of open
    /// subtasks.
    fn hidden(&self, children: &[Vec<usize>]) -> HashSet<usize> {
        let Some(limit) = self.completed_after else { return HashSet::new() };
        let completed = (0..self.tasks.len()).filter(|place| self.tasks[*place].status == Status::Completed);
        let mut hidden: HashSet<usize> = completed.collect();
        if hidden.len() <= limit {
            return HashSet::new();
        }
        let mut newest: Vec<usize> = hidden.iter().copied().collect();
        newest.sort_unstable_by(|one, two| self.tasks[*two].id.cmp(&self.tasks[*one].id));
        for place in newest.into_iter().take(limit) {
            hidden.remove(&place);
        }
        let mut parent = vec![None; self.tasks.len()];
        for (place, below) in children.iter().enumerate() {
            below.iter().for_each(|child| parent[*child] = Some(place));
        }
        for place in (0..self.tasks.len()).filter(|place| self.tasks[*place].status.is_open()) {
            let mut above = parent[place];
            while let Some(place) = above {
                above = if hidden.remove(&place) { parent[place] } else { None };
            }
        }
        hidden
    }
}

/// Formats counts as in `4 of 9 done · 1 in progress · 4 pending`.
pub fn counts_in_words([pending, in_progress, completed]: [usize; 3], look: &Look) -> Line {
    let total = pending + in_progress + completed;
    let mut line = Line::new().with(Tone::Done, &format!("{completed} of {total} done"));
    if in_progress > 0 {
        line.push(Tone::Dim, look.dot());
        line.push(Tone::Active, &format!("{in_progress} in progress"));
    }
    if pending > 0 {
        line.push(Tone::Dim, look.dot());
        line.push(Tone::Plain, &format!("{pending} pending"));
    }
    line
}

pub(super) fn bar([pending, in_progress, completed]: [usize; 3], look: &Look) -> Line {
    let total = pending + in_progress + completed;
    let part = |count: usize| (count * BAR).checked_div(total).unwrap_or(0);
    let done = part(completed);
    // Work in progress always gets at least one column.
    let active = part(in_progress).max(usize::from(in_progress > 0)).min(BAR - done);
    let rest = BAR - done - active;
    Line::new()
        .with(Tone::Done, &look.either("━", "=").repeat(done))
        .with(Tone::Active, &look.either("╍", ">").repeat(active))
        .with(Tone::Dim, &look.either("─", "-").repeat(rest))
}

/// Returns, for each task, the indexes of its displayed subtasks in display order. A task in a cycle of parents is
/// nobody's subtask.
fn children(tasks: &[Task]) -> Vec<Vec<usize>> {
    let places: HashMap<&TaskId, usize> = tasks.iter().enumerate().map(|(place, task)| (&task.id, place)).collect();
    let parents: Vec<Option<usize>> =
        tasks.iter().map(|task| task.parent().and_then(|parent| places.get(&parent).copied())).collect();
    let mut children = vec![Vec::new(); tasks.len()];
    for place in 0..tasks.len() {
        if let Some(parent) = parents[place]
            && !in_circle(place, &parents)
        {
            children[parent].push(place);
        }
    }
    children
}

fn in_circle(start: usize, parents: &[Option<usize>]) -> bool {
    let mut place = parents[start];
    let mut steps = 0;
    while let Some(above) = place {
        if above == start {
            return true;
        }
        steps += 1;
        if steps > parents.len() {
            return false;
        }
        place = parents[above];
    }
    false
}

/// Returns the indexes to show in depth-first order, each with its tree branches.
fn walk(tasks: &[Task], children: &[Vec<usize>], hidden: &HashSet<usize>, look: &Look) -> Vec<(usize, String)> {
    let (through, last, bar) = (look.either("├ ", "|-"), look.either("└ ", "`-"), look.either("│ ", "| "));
    let is_child: HashSet<usize> = children.iter().flatten().copied().collect();
    let shown =
        |places: &[usize]| -> Vec<usize> { places.iter().copied().filter(|place| !hidden.contains(place)).collect() };
    let roots: Vec<usize> =
        (0..tasks.len()).filter(|place| !is_child.contains(place) && !hidden.contains(place)).collect();
    let mut pending: Vec<(usize, String, String, usize)> =
        roots.into_iter().rev().map(|place| (place, "  ".to_owned(), "  ".to_owned(), 0)).collect();
    let mut order = Vec::with_capacity(tasks.len());
    while let Some((place, guides, below, depth)) = pending.pop() {
        order.push((place, guides));
        let inner = shown(&children[place]);
        let count = inner.len();
        for (number, child) in inner.into_iter().enumerate().rev() {
            let is_last = number + 1 == count;
            let guides = format!("{below}{}", if is_last { last } else { through });
            let deeper = match depth {
                DEEPEST.. => below.clone(),
                _ => format!("{below}{}", if is_last { "  " } else { bar }),
            };
            pending.push((child, guides, deeper, depth + 1));
        }
    }
    order
}

/// Something that needs the user's attention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// What it is.
    pub what: String,
    /// The command to run.
    pub way: String,
}

/// A task in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnderWay {
    /// The task.
    pub task: Task,
    /// Since when its owner has held it, if known.
    pub since: Option<Timestamp>,
}

/// A list as a one-screen overview.
#[derive(Clone, Copy, Debug)]
pub struct Overview<'a> {
    /// The list's name.
    pub title: &'a str,
    /// The numbers of pending, in-progress and completed tasks in the whole list.
    pub counts: [usize; 3],
    /// How many of the pending tasks are blocked.
    pub blocked: usize,
    /// How many of the open tasks are deferred.
    pub deferred: usize,
    /// What needs the user's attention.
    pub needs: &'a [Need],
    /// The tasks in progress.
    pub under_way: &'a [UnderWay],
    /// The tasks that can start now, best first.
    pub ready: &'a [Ranked],
}

/// On screens narrower than this, optional details are omitted.
const NARROW: usize = 60;

/// The minimum number of lines of a non-empty section, if the screen has room.
const FEWEST: usize = 2;

impl Overview<'_> {
    /// Renders the overview in at most `rows` rows.
    pub fn lines(&self, rows: usize, look: &Look) -> Vec<Line> {
        let mut lines = vec![self.header(look)];
        let sections: [(&str, Tone, Vec<Line>); 3] = [
            ("Needs you", Tone::Error, self.needs.iter().map(|need| need_line(need, look)).collect()),
            ("In progress", Tone::Active, self.under_way.iter().map(|task| under_way_line(task, look)).collect()),
            ("Ready", Tone::Strong, self.ready.iter().map(|ranked| ready_line(ranked, look)).collect()),
        ];
        // The header takes one row, each section two (an empty line and its heading), and the prompt the last one.
        let shown = sections.iter().filter(|(_, _, lines)| !lines.is_empty()).count();
        let mut left = rows.saturating_sub(2 + 2 * shown);
        let fewest = if left > 3 * FEWEST { FEWEST } else { 1 };
        let counts = [self.needs.len(), self.under_way.len(), self.ready.len()];
        for (place, (name, tone, mut inner)) in sections.into_iter().enumerate() {
            if inner.is_empty() {
                continue;
            }
            // Reserve rows for the later sections; the last one gets all that remain.
            let later = counts[place + 1..].iter();
            let reserved: usize =
                later.filter(|count| **count > 0).map(|count| (*count).min(left / 3).max(fewest)).sum();
            let room = left.saturating_sub(reserved).max(fewest);
            let count = inner.len();
            if count > room {
                inner.truncate(room - 1);
                inner.push(Line::new().with(Tone::Dim, &format!("    +{} more", count - (room - 1))));
            }
            left = left.saturating_sub(inner.len());
            lines.push(Line::new());
            lines.push(Line::plain("  ").with(tone, name).with(Tone::Dim, &format!(" {count}")));
            lines.extend(inner);
        }
        if self.ready.is_empty() && self.counts[0] > 0 {
            let text = match (self.blocked, self.deferred) {
                (0, 0) => "  Nothing is ready".to_owned(),
                (count, 0) => format!("  Nothing is ready: {count} blocked"),
                (0, count) => format!("  Nothing is ready: {count} deferred"),
                (blocked, deferred) => format!("  Nothing is ready: {blocked} blocked, {deferred} deferred"),
            };
            lines.extend([Line::new(), Line::new().with(Tone::Dim, &text)]);
        }
        lines
    }

    /// Renders the first line: name, progress, and the numbers of tasks that need attention. Parts that do not fit
    /// are omitted.
    fn header(&self, look: &Look) -> Line {
        let mut line = Line::plain("  ").with(Tone::Strong, self.title).with(Tone::Plain, "  ");
        if look.width.is_none_or(|width| width >= NARROW) {
            line.append(bar(self.counts, look));
            line.push(Tone::Plain, " ");
        }
        line.push(Tone::Done, &format!("{} of {} done", self.counts[2], self.counts.iter().sum::<usize>()));
        let verb = if self.needs.len() == 1 { "needs" } else { "need" };
        let needs = format!("{} {} {verb} you", look.either("▲", "!"), self.needs.len());
        for (count, tone, text) in [
            (self.needs.len(), Tone::Error, needs),
            (self.blocked, Tone::Dim, format!("{} blocked", self.blocked)),
            (self.deferred, Tone::Dim, format!("{} deferred", self.deferred)),
        ] {
            let part = Line::new().with(Tone::Dim, look.dot()).with(tone, &text);
            if count > 0 && look.width.is_none_or(|width| line.width() + part.width() <= width) {
                line.append(part);
            }
        }
        look.fitted(line)
    }
}

fn need_line(need: &Need, look: &Look) -> Line {
    let line = Line::plain("  ").with(Tone::Error, look.either("▲", "!")).with(Tone::Plain, " ");
    let mut line = line.with(Tone::Plain, &need.what);
    let mut way = Line::plain("  ").with(Tone::Hint, &need.way);
    let room = look.width.map_or(usize::MAX, |width| width.saturating_sub(line.width()));
    if way.width() <= room {
        line.append(std::mem::take(&mut way));
    }
    look.fitted(line)
}

fn under_way_line(under_way: &UnderWay, look: &Look) -> Line {
    // On a narrow screen the owner matters more.
    let since = under_way.since.filter(|_| look.width.is_none_or(|width| width >= NARROW)).map(|since| {
        let words = look.time(since);
        format!("  {}", words.strip_suffix(" ago").unwrap_or(&words))
    });
    let since = Line::new().with(Tone::Dim, since.as_deref().unwrap_or_default());
    let narrower = Look { width: look.width.map(|width| width.saturating_sub(since.width())), ..*look };
    let mut line = task_line("  ", 0, &under_way.task, &[], &narrower);
    line.append(since);
    line
}

fn ready_line(ranked: &Ranked, look: &Look) -> Line {
    let mut line = task_line("  ", 0, &ranked.task, &[], look);
    // The task line already says that the task is overdue, and since when.
    let reasons: Vec<&str> = ranked.why.split("; ").filter(|why| !matches!(*why, "" | "overdue")).collect();
    let why = Line::new().with(Tone::Dim, &format!("  {}", reasons.join("; ")));
    let room = look.width.map_or(usize::MAX, |width| width.saturating_sub(line.width()));
    if !reasons.is_empty() && why.width() <= room {
        line.append(why);
    }
    line
}

/// The maximum number of tasks that are listed by name.
const MOST: usize = 5;
/// The maximum width of a title in columns.
const COLUMNS: usize = 60;

/// Summarizes a list in a few lines, escaped for display: counts, who works on what, and what can start.
pub fn brief_lines(list: &ListId, brief: &Brief) -> Vec<String> {
    let blocked = match brief.blocked {
        0 => String::new(),
        1 => "; 1 blocked".to_owned(),
        count => format!("; {count} blocked"),
    };
    let [pending, in_progress, completed] = brief.counts;
    let counts = format!("{pending} pending, {in_progress} in progress, {completed} completed");
    let mut lines = vec![format!("List {list}: {counts}{blocked}")];
    lines.extend(brief.gone.and_then(|gone| loss_in_words(&gone, list, |moment| moment.to_string())));
    if !brief.in_progress.is_empty() {
        let named = brief.in_progress.iter().take(MOST).map(|task| match task.owner() {
            Some(owner) => format!("{} ({})", named(task), escaping::one_line(owner)),
            None => named(task),
        });
        lines.push(format!("In progress: {}", listed(named.collect(), brief.in_progress.len())));
    }
    if !brief.best.is_empty() {
        let best = brief.best.iter().map(|ranked| named(&ranked.task)).collect();
        lines.push(format!("Ready, best first: {}", listed(best, brief.ready)));
    }
    lines
}

/// Describes the task for which `work` started an agent, and whether the agent still holds it.
pub fn run_line(task: &Task, is_held: bool) -> String {
    let (named, id) = (named(task), &task.id);
    match is_held {
        true => format!(
            "This run is for {named}: work on that and nothing else. Finished: `taskyard done {id}`. Not going to finish it: `taskyard \
             release {id}`."
        ),
        false => format!("This run was for {named}, which is no longer yours."),
    }
}

/// Returns the ids and titles of the first few tasks: `#1 Write the parser, #2 Ship, and 3 more`.
pub fn brief_names(tasks: &[Task]) -> String {
    listed(tasks.iter().take(MOST).map(named).collect(), tasks.len())
}

fn named(task: &Task) -> String {
    format!("#{} {}", task.id, cut_text(&task.shown_subject(), COLUMNS, "…"))
}

fn listed(named: Vec<String>, count: usize) -> String {
    let more = count.saturating_sub(named.len());
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::json;

    use super::Board;
    use crate::render::Look;
    use crate::rules::graph::parts::progress;
    use crate::{Rules, Status, Task, TaskId};

    fn task(number: u64, status: Status, parent: Option<u64>) -> Task {
        let mut task = Task::new(TaskId::number(number), format!("t{number}"));
        task.status = status;
        task.metadata = parent.and_then(|parent| json!({"parent": parent.to_string()}).as_object().cloned());
        task
    }

    fn tree(tasks: &[Task], completed_after: Option<usize>) -> Vec<String> {
        let progress = progress(tasks, Rules::Strict);
        let board = Board {
            title: "L",
            tasks,
            blockers: &HashMap::new(),
            progress: &progress,
            counts: [0, 0, 0],
            completed_after,
        };
        board.tree(&Look::PIPE).iter().skip(2).map(ToString::to_string).collect()
    }

    #[test]
    fn subtasks_stand_below_their_parents() {
        let tasks = [
            task(2, Status::InProgress, Some(1)),
            task(1, Status::Pending, None),
            task(3, Status::Pending, Some(1)),
            task(4, Status::Pending, Some(2)),
        ];
        assert_eq!(tree(&tasks, None), ["  ◻ #1 t1 0/2", "  ├ ◼ #2 t2 0/1", "  │ └ ◻ #4 t4", "  └ ◻ #3 t3"]);
    }

    #[test]
    fn tasks_that_are_each_others_parents_are_still_shown() {
        let tasks =
            [task(1, Status::Pending, Some(2)), task(2, Status::Pending, Some(1)), task(3, Status::Pending, Some(1))];
        assert_eq!(tree(&tasks, None), ["  ◻ #1 t1 0/1", "  └ ◻ #3 t3", "  ◻ #2 t2"]);
    }

    #[test]
    fn parts_of_parts_without_end_stay_on_the_page() {
        let tasks: Vec<Task> =
            (1..=5000).map(|number| task(number, Status::Pending, (number > 1).then(|| number - 1))).collect();
        let lines = tree(&tasks, None);
        assert_eq!(lines.len(), 5000);
        assert!(lines.iter().all(|line| line.chars().count() < 60));
    }

    #[test]
    fn older_completed_tasks_become_a_number() {
        let tasks: Vec<Task> = (1..=4).map(|number| task(number, Status::Completed, None)).collect();
        assert_eq!(tree(&tasks, Some(1)), ["  ✔ #4 t4", "    +3 completed"]);
        assert_eq!(tree(&tasks, Some(4)).len(), 4);
    }

    #[test]
    fn a_completed_parent_of_open_work_is_never_folded_away() {
        let tasks =
            [task(9, Status::Pending, Some(1)), task(1, Status::Completed, None), task(2, Status::Completed, None)];
        assert_eq!(tree(&tasks, Some(0)), ["  ✔ #1 t1 0/1", "  └ ◻ #9 t9", "    +1 completed"]);
    }
}

#[cfg(test)]
mod overview_tests {
    use super::{Need, Overview, UnderWay};
    use crate::render::Look;
    use crate::rules::claims::readiness::Ranked;
    use crate::{Status, Task, TaskId, Timestamp};

    fn screen(counts: [usize; 3], rows: usize, width: usize) -> Vec<String> {
        let task = |number: u64, status| Task { status, ..Task::new(TaskId::number(number), format!("Task {number}")) };
        let ranked = |number: u64| Ranked {
            task: task(number, Status::Pending),
            why: "unblocks 2 tasks".into(),
            chain: 1,
            unblocks: Vec::new(),
        };
        let needs = [Need { what: "3 unread messages".into(), way: "taskyard inbox".into() }];
        let under_way: Vec<UnderWay> = (1..=counts[1] as u64)
            .map(|id| UnderWay { task: task(id, Status::InProgress), since: Some(Timestamp(0)) })
            .collect();
        let ready: Vec<Ranked> = (1..=counts[0] as u64).map(ranked).collect();
        let overview = Overview {
            title: "rocket",
            counts,
            blocked: 2,
            deferred: 1,
            needs: &needs,
            under_way: &under_way,
            ready: &ready,
        };
        let look = Look { width: Some(width), now: Some(Timestamp(720_000)), ..Look::PIPE };
        let lines = overview.lines(rows, &look);
        assert!(lines.iter().all(|line| line.width() <= width));
        lines.iter().map(|line| line.to_string().trim_end().to_owned()).collect()
    }

    #[test]
    fn one_screen_answers_in_order() {
        let lines = screen([2, 1, 1], 24, 80);
        assert_eq!(
            lines,
            [
                "  rocket  ━━━━╍╍╍╍──────── 1 of 4 done · ▲ 1 needs you · 2 blocked · 1 deferred",
                "",
                "  Needs you 1",
                "  ▲ 3 unread messages  taskyard inbox",
                "",
                "  In progress 1",
                "  ◼ #1 Task 1  12 min",
                "",
                "  Ready 2",
                "  ◻ #1 Task 1  unblocks 2 tasks",
                "  ◻ #2 Task 2  unblocks 2 tasks",
            ]
        );
    }

    #[test]
    fn a_narrow_screen_leaves_out_what_has_no_room() {
        assert_eq!(screen([2, 1, 1], 24, 40)[0], "  rocket  1 of 4 done · ▲ 1 needs you");
        assert_eq!(screen([2, 1, 1], 24, 30)[0], "  rocket  1 of 4 done");
    }

    #[test]
    fn whatever_there_is_fits_the_screen() {
        for rows in [12, 16, 24, 50] {
            let lines = screen([100, 100, 1], rows, 40);
            assert!(lines.len() < rows, "{} lines on {rows} rows", lines.len());
            assert!(lines.iter().any(|line| line.contains("more")), "{lines:?}");
        }
    }
}
