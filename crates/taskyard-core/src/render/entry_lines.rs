//! The journal, for people.

use crate::{Entry, Loss, Op, Revision, TaskField, Verdict};

use super::difference::{Change, DESCRIPTION, NOTE, difference};
use super::line::cut_text;
use super::text_difference::text_difference;
use super::{Line, Look, Tone};

/// How much of a value is shown on each side of a change where the display has no width of its own.
const VALUE: usize = 60;

/// Returns one entry: what happened on the first line, and each field that changed on a line of its own.
pub fn entry_lines(entry: &Entry, look: &Look) -> Vec<Line> {
    let changes = changes(entry);
    let mut lines = vec![headline(entry, &changes, look)];
    let widest = changes.iter().map(|change| change.field.len()).max().unwrap_or(0);
    lines.extend(changes.iter().flat_map(|change| changed(change, widest, look)));
    lines.extend(taken_from_us(entry).map(|words| Line::new().with(Tone::Warning, &format!("      {words}"))));
    lines
}

/// Returns one entry on one line, its changed fields behind it.
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

/// Returns what an entry did, in the past tense.
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

/// Returns the beginning of what is said of an entry: its revision, when, and who.
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

/// Returns what an entry changed; nothing where its task came or went by it.
fn changes(entry: &Entry) -> Vec<Change> {
    match (&entry.before, &entry.after) {
        (Some(before), Some(after)) => difference(&entry.task, before, after),
        _ => Vec::new(),
    }
}

/// Tells whether the agent noted something and changed nothing else.
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

/// Tells whether an entry only keeps the number of a task that was gone before its list was renamed from being given out again.
pub(super) fn keeps_number(entry: &Entry) -> bool {
    entry.op == Op::Rename && entry.before.is_none() && entry.after.is_none()
}

/// Returns which revisions an entry took back, in brackets; nothing where it took none back.
pub(super) fn taken_back(entry: &Entry) -> String {
    if entry.undoes.is_empty() { String::new() } else { format!(" (took back {})", revisions(&entry.undoes)) }
}

/// Says what a write of another program took away from ours; none where it took nothing away.
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
        ("took back without knowing", taken),
        ("took back", meant),
        ("wrote over", replaced),
        ("put a different task in place of", of_other),
    ];
    let said: Vec<String> = said
        .iter()
        .filter(|(_, fields)| !fields.is_empty())
        .map(|(words, fields)| format!("{words} {fields}"))
        .collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// Names what was lost and the revision it came with, where that is known.
fn lost_in_words(loss: &Loss) -> String {
    let field = match &loss.field {
        TaskField::Note(_) => "a note".to_owned(),
        field => super::escaping::one_line(&field.to_string()).into_owned(),
    };
    if loss.revision == Revision(0) { field } else { format!("{field} of r{}", loss.revision) }
}

/// Returns what this entry did to its task; beside a task that comes or goes stand others that only gain or lose an edge.
pub(super) fn did(entry: &Entry) -> &'static str {
    let changed = entry.before.is_some() && entry.after.is_some();
    match entry.op {
        Op::Create | Op::Delete | Op::Clear | Op::Restore | Op::Merge | Op::Import if changed => "updated",
        Op::Rename if keeps_number(entry) => "renamed the list",
        op => op_in_words(op),
    }
}

/// Returns the colour of what an entry did.
pub(super) fn op_tone(entry: &Entry) -> Tone {
    match (&entry.before, &entry.after) {
        (_, None) => Tone::Blocked,
        (None, Some(_)) => Tone::Done,
        (Some(_), Some(_)) => Tone::Plain,
    }
}

/// No text is cut shorter than this.
const SHORTEST: usize = 8;

/// A description that has several lines, or one so long, is shown as what changed in it.
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
