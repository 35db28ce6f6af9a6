//! A task as a row or a card of a board.

use crate::dialect::macf::Subject;
use crate::render::{Line, Look, Tone, cut_text, escaping};
use crate::rules::graph::parts::Progress;
use crate::rules::worktrees::record::worktree_of;
use crate::{Priority, Status, Task, TaskId, Timestamp};

use super::NeedKind;

/// The minimum width of a title.
const SHORTEST_TITLE: usize = 16;

/// The minimum width of a title beside its owner.
const LEAST_TITLE: usize = 4;

/// The maximum width of an owner's name.
const OWNER: usize = 14;

/// How many blockers are named.
const BLOCKERS: usize = 4;

/// A task with the other data that a row shows.
#[derive(Clone, Copy, Debug)]
pub struct RowFacts<'a> {
    /// The task.
    pub task: &'a Task,
    /// The open tasks that block it.
    pub blockers: &'a [TaskId],
    /// The progress of its parts.
    pub parts: Option<Progress>,
    /// Whether its parts are folded.
    pub is_folded: bool,
    /// Why it needs attention.
    pub need: Option<NeedKind>,
    /// Since when its owner has been working on it.
    pub since: Option<Timestamp>,
    /// The colour of its owner, if a team assigns one.
    pub owner_tone: Tone,
    /// The spinner shown while it is in progress.
    pub spinner: &'a str,
}

/// Formats a task as one row of `width` columns: the task on the left, its owner and duration on the right.
pub fn row_line(guides: &str, id_width: usize, facts: &RowFacts<'_>, width: usize, look: &Look) -> Line {
    let task = facts.task;
    let mut left = marked(guides, facts, look);
    left.push(id_tone(task), &format!("{:id_width$} ", format!("#{}", task.id)));
    let subject = Subject::of(&task.id, &task.subject);
    if let Some(parent) = subject.parent {
        left.push(Tone::Dim, &format!("[^#{parent}] "));
    }
    let title = escaping::one_line(beginning(subject.title));
    let title_width = Line::plain(&title).width();
    // Who has it is left out before the title is.
    let right = who_and_since(facts, look);
    let has_room = left.width() + title_width.min(LEAST_TITLE) + right.width() + 2 <= width;
    let right = if has_room { right } else { Line::new() };
    let beside = if right.width() > 0 { right.width() + 2 } else { 0 };
    let room = width.saturating_sub(left.width() + beside);
    // The active form matters more than tags.
    let doing_width = doing(facts, look).map_or(0, |doing| doing.width());
    let doing_width = if title_width + doing_width <= room { doing_width } else { 0 };
    let kept = title_width.min(SHORTEST_TITLE).max(if doing_width > 0 { title_width } else { 0 }) + doing_width;
    let remarks = remarks(facts, room.saturating_sub(kept), look);
    let title = cut_text(&title, room.saturating_sub(remarks.width()), look.ellipsis());
    let left_over = room.saturating_sub(remarks.width() + Line::plain(&title).width());
    left.push(title_tone(facts), &title);
    if let Some(doing) = doing(facts, look).filter(|doing| doing.width() <= left_over) {
        left.append(doing);
    }
    left.append(remarks);
    if right.width() == 0 || left.width() + beside > width {
        return left.cut(width, look.ellipsis());
    }
    let mut line = left.padded(width - right.width());
    line.append(right);
    line
}

/// Formats a task as a card of two lines of `width` columns: the title, and the remarks.
pub fn card_lines(facts: &RowFacts<'_>, width: usize, look: &Look) -> [Line; 2] {
    let task = facts.task;
    let mut first = marked("", facts, look);
    first.push(id_tone(task), &format!("#{} ", task.id));
    let subject = Subject::of(&task.id, &task.subject);
    first.push(title_tone(facts), &escaping::one_line(beginning(subject.title)));
    let who = who_and_since(facts, look);
    let mut second = Line::plain(if who.width() > 0 { "  " } else { " " });
    second.append(who);
    if let Some(doing) = doing(facts, look) {
        second.append(doing);
    }
    second.append(remarks(facts, width, look));
    [first.cut(width, look.ellipsis()), second.cut(width, look.ellipsis())]
}

/// Formats a duration as briefly as possible: `45s`, `12m`, `3h`, `2d`.
pub(crate) fn short_span(milliseconds: i64) -> String {
    let seconds = milliseconds.max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Returns no more of a text than any display could show, so that a huge title costs little.
fn beginning(text: &str) -> &str {
    const LONGEST: usize = 2048;
    &text[..text.floor_char_boundary(LONGEST)]
}

fn is_waiting(facts: &RowFacts<'_>) -> bool {
    facts.task.status.is_open() && !facts.blockers.is_empty()
}

fn marked(guides: &str, facts: &RowFacts<'_>, look: &Look) -> Line {
    let (tone, mark) = look.mark(facts.task);
    let is_dim = facts.task.status == Status::Pending && is_waiting(facts);
    let tone = if is_dim { Tone::Dim } else { tone };
    Line::new().with(Tone::Dim, guides).with(tone, mark).with(Tone::Plain, " ")
}

fn id_tone(task: &Task) -> Tone {
    if task.status.is_open() { Tone::Id } else { Tone::Dim }
}

fn title_tone(facts: &RowFacts<'_>) -> Tone {
    match facts.task.status {
        Status::InProgress => Tone::Strong,
        Status::Completed => Tone::Struck,
        Status::Pending if is_waiting(facts) => Tone::Dim,
        Status::Pending => Tone::Plain,
    }
}

/// Returns the active form of a task in progress, with the spinner.
fn doing(facts: &RowFacts<'_>, look: &Look) -> Option<Line> {
    if facts.task.status != Status::InProgress {
        return None;
    }
    let mut line = Line::new();
    if let Some(text) = facts.task.active_form.as_deref().filter(|text| !text.is_empty()) {
        let text = beginning(text).trim_end_matches('…').trim_end_matches("...");
        line.push(Tone::Dim, look.dot());
        line.push(Tone::Active, &format!("{text}{}", look.ellipsis()));
    }
    if !facts.spinner.is_empty() {
        line.push(Tone::Active, &format!(" {}", facts.spinner));
    }
    Some(line)
}

/// Returns the remarks that fit into a width, the most important first.
fn remarks(facts: &RowFacts<'_>, room: usize, look: &Look) -> Line {
    let mut pieces: Vec<(Tone, String)> = Vec::new();
    if let Some(need) = facts.need {
        pieces.push((Tone::Error, format!(" {} {}", look.either("▲", "!"), need.in_words())));
    }
    let tree = worktree_of(facts.task).filter(|_| facts.task.status.is_open());
    if let Some((state, words)) = tree.as_ref().and_then(|tree| Some((tree.state, tree.state.in_words()?))) {
        pieces.push((if state.is_stuck() { Tone::Warning } else { Tone::Active }, format!(" {words}")));
    }
    if is_waiting(facts) {
        let ids: Vec<String> = facts.blockers.iter().take(BLOCKERS).map(|id| format!("#{id}")).collect();
        let more = facts.blockers.len().saturating_sub(BLOCKERS);
        let more = if more > 0 { format!(" +{more}") } else { String::new() };
        pieces.push((Tone::Dim, format!(" {} {}{more}", look.either("‹", "<"), ids.join(" "))));
    }
    if let Some(parts) = facts.parts {
        let folded = if facts.is_folded { look.either(" ▸", " +") } else { "" };
        pieces.push((Tone::Dim, format!(" {parts}{folded}")));
    }
    if facts.task.is_cancelled() {
        pieces.push((Tone::Dim, " cancelled".to_owned()));
    }
    if let Some(now) = look.now.filter(|_| facts.task.status.is_open()) {
        if let Some(due) = facts.task.due().filter(|due| *due >= now) {
            pieces.push((Tone::Dim, format!(" due {}", look.until(due))));
        }
        if let Some(defer) = facts.task.defer().filter(|_| facts.task.is_deferred(now)) {
            pieces.push((Tone::Dim, format!(" deferred, ready {}", look.until(defer))));
        }
    }
    if facts.task.status.is_open() {
        match facts.task.stated_priority() {
            Some(Priority::High) => pieces.push((Tone::Warning, look.either(" ↑high", " (high)").to_owned())),
            Some(Priority::Low) => pieces.push((Tone::Dim, look.either(" ↓low", " (low)").to_owned())),
            Some(Priority::Medium) | None => {}
        }
        pieces.extend(facts.task.tags().map(|tag| (Tone::Dim, format!(" +{tag}"))));
    }
    if let Some(tree) = &tree {
        let size = tree.changes.map(|size| format!(" {size}")).unwrap_or_default();
        pieces.push((Tone::Dim, format!(" {}{size}", escaping::one_line(beginning(&tree.branch)))));
    }
    let mut line = Line::new();
    for (tone, text) in pieces {
        let piece = Line::new().with(tone, &text);
        if line.width() + piece.width() <= room {
            line.append(piece);
        }
    }
    line
}

/// Returns the owner of a task, and since when it has been working on it.
fn who_and_since(facts: &RowFacts<'_>, look: &Look) -> Line {
    let mut line = Line::new();
    let Some(owner) = facts.task.owner().filter(|_| facts.task.status.is_open()) else { return line };
    let owner = escaping::one_line(beginning(owner));
    line.push(facts.owner_tone, &cut_text(&owner, OWNER, look.ellipsis()));
    let since = facts.since.zip(look.now).filter(|_| facts.task.status == Status::InProgress);
    if let Some((since, now)) = since {
        line.push(Tone::Dim, &format!(" {:>3}", short_span(now.0.saturating_sub(since.0))));
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{NeedKind, RowFacts, card_lines, row_line, short_span};
    use crate::render::{Look, Tone};
    use crate::rules::graph::parts::Progress;
    use crate::rules::worktrees::record::{ChangeSize, TaskWorktree, WorktreeState};
    use crate::{Status, Task, TaskId, Timestamp};

    fn facts(task: &Task) -> RowFacts<'_> {
        RowFacts {
            task,
            blockers: &[],
            parts: None,
            is_folded: false,
            need: None,
            since: None,
            owner_tone: Tone::Owner,
            spinner: "",
        }
    }

    const LOOK: Look = Look { now: Some(Timestamp(720_000)), ..Look::PIPE };

    #[test]
    fn what_it_is_stands_on_the_left_and_who_has_it_on_the_right() {
        let mut task = Task::new(TaskId::number(7), "Parser");
        task.status = Status::InProgress;
        task.owner = Some("bo".into());
        task.active_form = Some("Writing tests".into());
        let facts = RowFacts { since: Some(Timestamp(0)), spinner: "⠋", ..facts(&task) };
        assert_eq!(
            row_line("", 3, &facts, 50, &LOOK).to_string(),
            "◼ #7  Parser · Writing tests… ⠋             bo 12m"
        );
        let [first, second] = card_lines(&facts, 24, &LOOK);
        assert_eq!((first.to_string(), second.to_string()), ("◼ #7 Parser".into(), "  bo 12m · Writing test…".into()));
    }

    #[test]
    fn narrow_row_has_its_title_rather_than_its_owner() {
        let task = Task { owner: Some("bo".into()), ..Task::new(TaskId::number(7), "Parser") };
        assert_eq!(row_line("", 2, &facts(&task), 13, &LOOK).to_string(), "◻ #7 Par…  bo");
        assert_eq!(row_line("", 2, &facts(&task), 12, &LOOK).to_string(), "◻ #7 Parser");
    }

    #[test]
    fn what_holds_a_task_up_is_named_and_the_title_gives_way() {
        let mut task = Task::new(TaskId::number(15), "Ship it to everybody who asked for it");
        task.metadata = json!({"tags": ["docs"], "priority": "high"}).as_object().cloned();
        let blockers = [TaskId::number(7), TaskId::number(12)];
        let parts = Some(Progress { done: 3, total: 7 });
        let facts = RowFacts { blockers: &blockers, parts, need: Some(NeedKind::Overdue), ..facts(&task) };
        let line = row_line("", 3, &facts, 60, &LOOK).to_string();
        assert_eq!(line, "◻ #15 Ship it to everybo… ▲ overdue ‹ #7 #12 3/7 ↑high +docs");
        let line = row_line("", 3, &facts, 34, &LOOK).to_string();
        assert_eq!(line, "◻ #15 Ship it to everyb… ▲ overdue");
    }

    #[test]
    fn branch_its_size_and_its_place_in_the_queue_are_shown() {
        let tree = TaskWorktree::new("taskyard/7-x".into(), "main".into(), "/w".into());
        let changes = Some(ChangeSize { files: 1, added: 12, removed: 3 });
        let told = |status, state| {
            let tree = TaskWorktree { changes, ..tree.in_state(state) };
            let task = Task { status, metadata: Some(tree.as_patch()), ..Task::new(TaskId::number(7), "x") };
            row_line("", 0, &facts(&task), 60, &LOOK).to_string()
        };
        use WorktreeState::{Conflict, Merged, Merging, Waiting, Working};
        assert_eq!(told(Status::InProgress, Working), "◼ #7 x taskyard/7-x +12 -3");
        assert_eq!(told(Status::InProgress, Merging), "◼ #7 x merging taskyard/7-x +12 -3");
        assert_eq!(told(Status::InProgress, Waiting), "◼ #7 x waits for the checkout taskyard/7-x +12 -3");
        assert_eq!(told(Status::Pending, Conflict), "◻ #7 x conflict taskyard/7-x +12 -3");
        assert_eq!(told(Status::Completed, Merged), "✔ #7 x");
    }

    #[test]
    fn spans_are_told_in_their_largest_unit() {
        let told: Vec<String> = [-5, 5_000, 720_000, 7_300_000, 200_000_000].map(short_span).to_vec();
        assert_eq!(told, ["0s", "5s", "12m", "2h", "2d"]);
    }

    proptest! {
        #[test]
        fn no_row_and_no_card_is_wider_than_its_place(subject in "\\PC{0,40}", owner in "\\PC{0,20}", width in 0..90_usize) {
            let mut task = Task::new(TaskId::number(3), subject);
            task.owner = Some(owner);
            task.status = Status::InProgress;
            let facts = RowFacts { since: Some(Timestamp(0)), spinner: "⠋", ..facts(&task) };
            prop_assert!(row_line("  ", 3, &facts, width, &LOOK).width() <= width);
            for line in card_lines(&facts, width, &LOOK) {
                prop_assert!(line.width() <= width);
            }
        }
    }
}
