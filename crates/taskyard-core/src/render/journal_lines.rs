//! Displays of journal entries, revisions and missing tasks.

use super::line::cut_text;
use super::{Line, Look, Tone};
use crate::render::differences::{Change, DESCRIPTION, NOTE, difference, text_difference};
use crate::rules::history::vanishing::{Gone, KeptIn};
use crate::{Entry, ListId, Loss, Op, Revision, TaskField, TaskId, Timestamp, Verdict};

/// How much of each side of a change is shown if the display has no fixed width.
const VALUE: usize = 60;

/// Formats an entry: what happened on the first line, then one line per changed field.
pub fn entry_lines(entry: &Entry, look: &Look) -> Vec<Line> {
    let changes = changes(entry);
    let mut lines = vec![headline(entry, &changes, look)];
    let widest = changes.iter().map(|change| change.field.len()).max().unwrap_or(0);
    lines.extend(changes.iter().flat_map(|change| changed(change, widest, look)));
    lines.extend(taken_from_us(entry).map(|words| Line::new().with(Tone::Warning, &format!("      {words}"))));
    lines
}

/// Formats an entry and its changed fields on one line.
pub fn entry_line(entry: &Entry, look: &Look) -> Line {
    let changes = changes(entry);
    let mut line = headline(entry, &changes, look);
    for (number, change) in changes.iter().enumerate() {
        line.push(Tone::Dim, if number == 0 { ": " } else { "; " });
        line.push(Tone::Plain, &change.field);
        line.push(Tone::Plain, " ");
        line.append(sides(change, VALUE, look));
    }
    if let Some(words) = taken_from_us(entry) {
        line.push(Tone::Warning, &format!(" ({words})"));
    }
    look.fitted(line)
}

/// Returns what an operation did, in the past tense.
pub fn op_in_words(op: Op) -> &'static str {
    match op {
        Op::Create => "created",
        Op::Update => "updated",
        Op::Reopen => "reopened",
        Op::Claim => "claimed",
        Op::Release => "released",
        Op::Expire => "lost",
        Op::Delete => "deleted",
        Op::Clear => "cleared",
        Op::Undo => "undid",
        Op::Restore => "restored",
        Op::Merge => "merged",
        Op::Rename => "moved",
        Op::Import => "imported",
        Op::Mend => "mended",
        Op::PutBack => "put back",
        Op::CreatedElsewhere => "created elsewhere",
        Op::ChangedElsewhere => "changed elsewhere",
        Op::RemovedElsewhere => "removed elsewhere",
        Op::DeletedElsewhere => "deleted elsewhere",
    }
}

/// Returns the heading of an entry: revision, time and actor.
pub(super) fn heading(entry: &Entry, look: &Look) -> Line {
    let mut line = Line::new().with(Tone::Strong, &format!("r{}", entry.revision)).with(Tone::Plain, "  ");
    line.push(Tone::Dim, &look.time(entry.at));
    line.push(Tone::Plain, "  ");
    if !entry.op.is_elsewhere() {
        line.push(Tone::Owner, entry.actor.as_str());
        if let Some(user) = &entry.db_user {
            line.push(Tone::Dim, &format!(" ({})", super::escaping::one_line(user)));
        }
        line.push(Tone::Plain, " ");
    }
    line
}

/// Returns the changes of an entry; none if it created or removed the task.
fn changes(entry: &Entry) -> Vec<Change> {
    match (&entry.before, &entry.after) {
        (Some(before), Some(after)) => difference(&entry.task, before, after),
        _ => Vec::new(),
    }
}

/// Returns whether an entry only adds notes.
fn only_notes(entry: &Entry, changes: &[Change]) -> bool {
    let is_new_note = |change: &Change| change.field == NOTE && change.from.is_none();
    entry.op == Op::Update && !changes.is_empty() && changes.iter().all(is_new_note)
}

fn headline(entry: &Entry, changes: &[Change], look: &Look) -> Line {
    let mut line = heading(entry, look);
    line.push(op_tone(entry), if only_notes(entry, changes) { "noted on" } else { did(entry) });
    if keeps_number(entry) {
        return line;
    }
    line.push(Tone::Plain, " ");
    line.push(Tone::Id, &format!("#{}", entry.task));
    let image = entry.after.as_ref().or(entry.before.as_ref());
    if let Some(Ok(task)) = image.map(|image| image.task(&entry.task)) {
        let after = taken_back(entry).chars().count() + 1;
        let room = look.width.map_or(VALUE, |width| width.saturating_sub(line.width() + after).max(SHORTEST));
        let subject = cut_text(&super::escaping::one_line(&task.shown_subject()), room, look.ellipsis());
        line.push(Tone::Plain, &format!(" {subject}"));
    }
    if entry.before.is_none() && entry.after.is_none() {
        line.push(Tone::Dim, " (it was not there)");
    }
    line.push(Tone::Dim, &taken_back(entry));
    line
}

/// Returns whether an entry only reserves the number of a task that was deleted before its list was renamed.
pub(super) fn keeps_number(entry: &Entry) -> bool {
    entry.op == Op::Rename && entry.before.is_none() && entry.after.is_none()
}

/// Returns the revisions that an entry undid, in brackets; empty if there are none.
pub(super) fn taken_back(entry: &Entry) -> String {
    if entry.undoes.is_empty() { String::new() } else { format!(" (reverts {})", revisions(&entry.undoes)) }
}

/// Describes the values of ours that another program's write overwrote, or returns `None` if there are none.
pub(super) fn taken_from_us(entry: &Entry) -> Option<String> {
    let losses = &entry.remark.taken_back;
    let named = |wanted: fn(Verdict) -> bool| {
        let fields = losses.iter().filter(|loss| wanted(loss.verdict));
        fields.map(lost_in_words).collect::<Vec<_>>().join(", ")
    };
    let taken = named(Verdict::is_accident);
    let meant = named(|verdict| verdict == Verdict::Meant);
    let replaced = named(|verdict| verdict == Verdict::Replaced);
    let of_other = named(|verdict| verdict == Verdict::OtherTask);
    let said = [
        ("overwrote with stale data", taken),
        ("took back", meant),
        ("replaced", replaced),
        ("put a different task in place of", of_other),
    ];
    let said: Vec<String> = said
        .iter()
        .filter(|(_, fields)| !fields.is_empty())
        .map(|(words, fields)| format!("{words} {fields}"))
        .collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// Names a lost value and the revision that set it, if known.
fn lost_in_words(loss: &Loss) -> String {
    let field = match &loss.field {
        TaskField::Note(_) => "a note".to_owned(),
        field => super::escaping::one_line(&field.to_string()).into_owned(),
    };
    if loss.revision == Revision(0) { field } else { format!("{field} of r{}", loss.revision) }
}

/// Returns what an entry did to its task. A commit that creates or removes a task also touches tasks that only gain
/// or lose a dependency.
pub(super) fn did(entry: &Entry) -> &'static str {
    let changed = entry.before.is_some() && entry.after.is_some();
    match entry.op {
        Op::Create | Op::Delete | Op::Clear | Op::Restore | Op::Merge | Op::Import if changed => "updated",
        Op::Rename if keeps_number(entry) => "renamed the list",
        op => op_in_words(op),
    }
}

/// Returns the colour of an entry's operation.
pub(super) fn op_tone(entry: &Entry) -> Tone {
    match (&entry.before, &entry.after) {
        (_, None) => Tone::Blocked,
        (None, Some(_)) => Tone::Done,
        (Some(_), Some(_)) => Tone::Plain,
    }
}

/// The minimum width to which a text is cut.
const SHORTEST: usize = 8;

/// A description with several lines, or with more characters than this, is shown as a difference.
const LONG: usize = 60;

fn changed(change: &Change, widest: usize, look: &Look) -> Vec<Line> {
    if let (DESCRIPTION, Some(from), Some(to)) = (change.field.as_str(), &change.from, &change.to)
        && !from.is_empty()
        && !to.is_empty()
        && [from, to].iter().any(|text| text.contains('\n') || text.chars().count() > LONG)
    {
        let mut lines = vec![Line::new().with(Tone::Dim, &format!("      {DESCRIPTION}"))];
        lines.extend(text_difference(from, to, 8, look));
        return lines;
    }
    vec![changed_in_line(change, widest, look)]
}

fn changed_in_line(change: &Change, widest: usize, look: &Look) -> Line {
    let mut line = Line::new().with(Tone::Dim, &format!("      {:widest$}  ", change.field));
    let sides_shown = if change.from.is_some() && change.to.is_some() { 2 } else { 1 };
    let room = look.width.map_or(VALUE, |width| (width.saturating_sub(widest + 12) / sides_shown).max(SHORTEST));
    line.append(sides(change, room, look));
    look.fitted(line)
}

fn sides(change: &Change, room: usize, look: &Look) -> Line {
    let side = |value: &Option<String>, tone: Tone, line: &mut Line| match value {
        None => line.push(Tone::Dim, "none"),
        Some(text) if text.is_empty() => line.push(Tone::Dim, "empty"),
        Some(text) => line.push(tone, &cut_text(&super::escaping::one_line(text), room, look.ellipsis())),
    };
    let mut line = Line::new();
    if change.field != NOTE || change.from.is_some() {
        side(&change.from, Tone::Dim, &mut line);
        line.push(Tone::Dim, &format!(" {} ", look.arrow()));
    }
    side(&change.to, Tone::Strong, &mut line);
    line
}

fn revisions(revisions: &[Revision]) -> String {
    revisions.iter().map(|revision| format!("r{revision}")).collect::<Vec<_>>().join(", ")
}

/// Revisions that touch at most this many tasks are shown with one line per task.
const FEW: usize = 3;

/// The maximum number of ids or ranges of ids that are listed.
const NAMED: usize = 8;

/// Returns whether a revision touched so many tasks that it is shown on one line.
pub fn is_summed_up(touched: usize) -> bool {
    touched > FEW
}

/// Summarizes the entries of a revision on one line: actor, operation, number of tasks and their ids. Returns `None`
/// if there are no entries.
pub fn revision_line(entries: &[Entry], look: &Look) -> Option<Line> {
    let first = entries.first()?;
    let mut line = heading(first, look);
    let mut verbs: Vec<&str> = Vec::new();
    for entry in entries.iter().filter(|entry| !keeps_number(entry)) {
        if !verbs.contains(&did(entry)) {
            verbs.push(did(entry));
        }
    }
    for (number, verb) in verbs.into_iter().enumerate() {
        let these: Vec<&Entry> = entries.iter().filter(|entry| did(entry) == verb).collect();
        let ids: Vec<&TaskId> = these.iter().map(|entry| &entry.task).collect();
        let tone = these.first().map_or(Tone::Plain, |entry| op_tone(entry));
        line.push(Tone::Plain, if number == 0 { "" } else { ", " });
        line.push(tone, verb);
        line.push(Tone::Plain, if ids.len() == 1 { " 1 task (" } else { " " });
        if ids.len() > 1 {
            line.push(Tone::Plain, &format!("{} tasks (", ids.len()));
        }
        line.push(Tone::Id, &in_runs(&ids));
        line.push(Tone::Plain, ")");
    }
    line.push(Tone::Dim, &taken_back(first));
    let losers: Vec<&TaskId> =
        entries.iter().filter(|entry| taken_from_us(entry).is_some()).map(|entry| &entry.task).collect();
    if !losers.is_empty() {
        line.push(Tone::Warning, &format!(" (undid changes of {})", in_runs(&losers)));
    }
    Some(look.fitted(line))
}

/// Formats ids, combining consecutive numbers: `#1-#120, #130`.
fn in_runs(ids: &[&TaskId]) -> String {
    let mut numbers: Vec<u64> = ids.iter().filter_map(|id| id.as_number()).collect();
    numbers.sort_unstable();
    let runs = numbers.chunk_by(|one, next| next - one == 1);
    let runs = runs.flat_map(|run| match run {
        [first, _, .., last] => vec![(format!("#{first}-#{last}"), run.len())],
        few => few.iter().map(|number| (format!("#{number}"), 1)).collect(),
    });
    let others = ids.iter().filter(|id| id.as_number().is_none()).map(|id| (format!("#{id}"), 1));
    let all: Vec<(String, usize)> = runs.chain(others).collect();
    let named: Vec<&str> = all.iter().take(NAMED).map(|(text, _)| text.as_str()).collect();
    let rest: usize = all.iter().skip(NAMED).map(|(_, count)| count).sum();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}

/// Describes how many open tasks disappeared from a list, what else did, between which checks, and how to restore
/// them. Returns `None` if only completed tasks are gone.
pub fn loss_in_words(gone: &Gone, list: &ListId, time: impl Fn(Timestamp) -> String) -> Option<String> {
    if !gone.is_loss() {
        return None;
    }
    let (tasks, are, them) = match gone.open {
        1 => ("1 open task".to_owned(), "is", "it"),
        open => (format!("{open} open tasks"), "are", "them"),
    };
    let completed = match gone.completed {
        0 => String::new(),
        1 => " (and 1 completed)".to_owned(),
        completed => format!(" (and {completed} completed)"),
    };
    let with = match gone.with {
        Some(KeptIn::Directory) => format!(", and the directory with {them}"),
        Some(KeptIn::File) => format!(", and the file with {them}"),
        None => String::new(),
    };
    let (seen, noticed) = (time(gone.last_seen), time(gone.noticed));
    let name = list.directory();
    Some(format!(
        "{tasks}{completed} of list {list} {are} gone{with}: lost between {seen} and {noticed}, and not deleted with Taskyard. \
         `taskyard restore --all --list {name}` brings {them} back; `taskyard clear --list {name}` confirms that they were deleted on purpose."
    ))
}

/// Describes the removal of completed tasks, or returns `None` if open tasks are gone, too.
pub fn clearing_in_words(gone: &Gone) -> Option<String> {
    let them = match gone.completed {
        _ if gone.is_loss() => return None,
        1 => "another program cleared 1 completed task; `taskyard restore --all` brings it back".to_owned(),
        count => format!("another program cleared {count} completed tasks; `taskyard restore --all` brings them back"),
    };
    Some(them)
}

#[cfg(test)]
mod tests {
    use super::{entry_line, entry_lines};
    use crate::dialect::native;
    use crate::render::Look;
    use crate::{AgentName, Entry, Op, Remark, Revision, Rules, Status, Task, TaskId, Timestamp};

    fn update() -> Entry {
        let mut task = Task::new(TaskId::number(7), "Write\x1b the parser");
        let before = native::write(None, &task, Rules::Strict).unwrap();
        task.status = Status::InProgress;
        task.owner = Some("ana".into());
        let after = native::write(Some(&before), &task, Rules::Strict).unwrap();
        Entry {
            revision: Revision(41),
            at: Timestamp(0),
            actor: AgentName::new("ana").unwrap(),
            op: Op::Update,
            task: task.id,
            before: Some(before),
            after: Some(after),
            undoes: Vec::new(),
            remark: Remark::default(),
            attempt: None,
            db_user: None,
        }
    }

    #[test]
    fn an_entry_says_who_did_what_when_and_what_changed() {
        let lines: Vec<String> = entry_lines(&update(), &Look::PIPE).iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "r41  1970-01-01T00:00:00.000Z  ana updated #7 Write\\x1b the parser",
                "      owner   none → ana",
                "      status  pending → in_progress",
            ]
        );
    }

    #[test]
    fn database_user_stands_behind_the_actor() {
        let entry = Entry { db_user: Some("team_a".into()), ..update() };
        let line = entry_lines(&entry, &Look::PIPE)[0].to_string();
        assert_eq!(line, "r41  1970-01-01T00:00:00.000Z  ana (team_a) updated #7 Write\\x1b the parser");
    }

    #[test]
    fn a_note_is_told_by_its_text() {
        let mut task = Task::new(TaskId::number(7), "Parser");
        let before = native::write(None, &task, Rules::Strict).unwrap();
        task.metadata = serde_json::json!({"notes": [{"author": "ana", "text": "slow\ndisk"}]}).as_object().cloned();
        let after = native::write(Some(&before), &task, Rules::Strict).unwrap();
        let noted = Entry { before: Some(before.clone()), after: Some(after.clone()), ..update() };
        let told =
            |entry: &Entry| entry_line(entry, &Look::PIPE).to_string().split_once("  ana ").unwrap().1.to_owned();
        assert_eq!(told(&noted), "noted on #7 Parser: note slow\\ndisk");
        let removed = Entry { before: Some(after), after: Some(before), ..noted };
        assert_eq!(told(&removed), "updated #7 Parser: note slow\\ndisk → none");
    }

    #[test]
    fn a_task_that_only_gained_an_edge_was_not_created() {
        let entry = Entry { op: Op::Create, ..update() };
        assert!(entry_line(&entry, &Look::PIPE).to_string().contains("ana updated #7"));
    }

    #[test]
    fn renaming_says_nothing_of_a_number_without_a_task() {
        let entry = Entry { op: Op::Rename, before: None, after: None, ..update() };
        let line = entry_line(&entry, &Look::PIPE).to_string();
        assert_eq!(line, "r41  1970-01-01T00:00:00.000Z  ana renamed the list");
    }

    #[test]
    fn an_entry_fits_on_one_line_too() {
        let look = Look { now: Some(Timestamp(0)), ..Look::PIPE };
        assert_eq!(
            entry_line(&update(), &look).to_string(),
            "r41  just now  ana updated #7 Write\\x1b the parser: owner none → ana; status pending → in_progress"
        );
    }
}

#[cfg(test)]
mod revision_line_tests {
    use super::{in_runs, is_summed_up, revision_line};
    use crate::dialect::native;
    use crate::render::Look;
    use crate::{AgentName, Entry, Op, Remark, Revision, Rules, Task, TaskId, Timestamp};

    fn entry(number: u64, op: Op, is_new: bool) -> Entry {
        let image = native::write(None, &Task::new(TaskId::number(number), "task"), Rules::Strict).unwrap();
        Entry {
            revision: Revision(7),
            at: Timestamp(0),
            actor: AgentName::new("ana").unwrap(),
            op,
            task: TaskId::number(number),
            before: (!is_new).then(|| image.clone()),
            after: Some(image),
            undoes: Vec::new(),
            remark: Remark::default(),
            attempt: None,
            db_user: None,
        }
    }

    #[test]
    fn a_revision_is_summed_up_by_what_it_did_to_how_many_tasks() {
        let mut entries: Vec<Entry> = (3..=40).map(|number| entry(number, Op::Import, true)).collect();
        entries.push(entry(1, Op::Import, false));
        let line = revision_line(&entries, &Look::PIPE).unwrap().to_string();
        assert_eq!(line, "r7  1970-01-01T00:00:00.000Z  ana imported 38 tasks (#3-#40), updated 1 task (#1)");
        assert!(is_summed_up(entries.len()) && !is_summed_up(2));
        let narrow = revision_line(&entries, &Look { width: Some(40), ..Look::PIPE }).unwrap();
        assert!(narrow.width() <= 40);
    }

    #[test]
    fn a_number_without_a_task_is_not_counted() {
        let mut entries: Vec<Entry> = (1..=4).map(|number| entry(number, Op::Rename, true)).collect();
        entries.push(Entry { after: None, ..entry(9, Op::Rename, true) });
        let line = revision_line(&entries, &Look::PIPE).unwrap().to_string();
        assert_eq!(line, "r7  1970-01-01T00:00:00.000Z  ana moved 4 tasks (#1-#4)");
    }

    #[test]
    fn numbers_that_follow_one_another_are_a_run() {
        let ids: Vec<TaskId> =
            [9, 1, 2, 3, 5, 6].map(TaskId::number).into_iter().chain([TaskId::stored("abc")]).collect();
        assert_eq!(in_runs(&ids.iter().collect::<Vec<_>>()), "#1-#3, #5, #6, #9, #abc");
        let many: Vec<TaskId> = (0..20).map(|number| TaskId::number(number * 2 + 1)).collect();
        assert!(in_runs(&many.iter().collect::<Vec<_>>()).ends_with("#13, #15 and 12 more"));
    }
}

#[cfg(test)]
mod gone_words_tests {
    use super::{clearing_in_words, loss_in_words};
    use crate::rules::history::vanishing::{Gone, KeptIn};
    use crate::{ListId, Timestamp};

    #[test]
    fn a_loss_is_told_with_what_went_along_and_when() {
        let list = ListId::new("L").unwrap();
        let time = |moment: Timestamp| format!("t{}", moment.0);
        let with = Some(KeptIn::Directory);
        let gone = Gone { open: 2, completed: 1, with, last_seen: Timestamp(1), noticed: Timestamp(2) };
        assert_eq!(
            loss_in_words(&gone, &list, time).unwrap(),
            "2 open tasks (and 1 completed) of list L are gone, and the directory with them: lost between t1 and t2, and not \
             deleted with Taskyard. `taskyard restore --all --list L` brings them back; `taskyard clear --list L` confirms that \
             they were deleted on purpose."
        );
        assert_eq!(clearing_in_words(&gone), None);
        let cleared = Gone { open: 0, ..gone };
        assert_eq!(loss_in_words(&cleared, &list, time), None);
        assert!(clearing_in_words(&cleared).unwrap().starts_with("another program cleared 1 completed task"));
    }
}
