//! The page with all details of a task.

use std::borrow::Cow;

use serde_json::Value;

use super::markdown::markdown_lines;
use super::task_line::task_line;
use super::{Line, Look, Span, Tone, escaping, state_in_words};
use crate::dialect::macf::Block;
use crate::render::journal_lines::did;
use crate::render::line::wrapped;
use crate::render::message_lines::job_line;
use crate::rules::changes::notes::{notes_of, read_note};
use crate::rules::leases::leasing::LeaseState;
use crate::timing::work_in_words;
use crate::{DEFER, DUE, ESTIMATE, Entry, Job, Lease, Task, Timestamp};

/// A task and related data.
#[derive(Clone, Copy, Debug)]
pub struct TaskPage<'a> {
    /// The task.
    pub task: &'a Task,
    /// Its open blockers.
    pub open_blockers: &'a [Task],
    /// Its dependents.
    pub dependents: &'a [Task],
    /// Its parts.
    pub subtasks: &'a [Task],
    /// The jobs that run or ran for it.
    pub jobs: &'a [Job],
    /// The client session in which its owner works, as far as the client's files show.
    pub session: &'a [(&'static str, String)],
    /// Its lease; `None` if no agent holds one.
    pub lease: Option<(&'a Lease, &'a LeaseState)>,
    /// The journal entry that created it.
    pub made: Option<&'a Entry>,
    /// The newest entry of its journal.
    pub changed: Option<&'a Entry>,
}

/// The fact that is shown as the parent.
const PARENT: &str = "parent_id";

/// The metadata keys that have their own lines.
const KNOWN: [&str; 6] = ["priority", "tags", "parent", "cancelled", "notes", "_internal"];

/// Formats all details of a task.
pub fn task_page(page: &TaskPage<'_>, look: &Look) -> Vec<Line> {
    let task = page.task;
    let mut lines = title(task, look);
    let mut facts: Vec<(Cow<'_, str>, Line)> = Vec::new();
    if let Some(owner) = task.owner() {
        facts.push(("owner".into(), Line::new().with(Tone::Owner, owner)));
    }
    facts.extend(page.session.iter().map(|(name, value)| ((*name).into(), Line::plain(&escaping::one_line(value)))));
    if let Some((lease, state)) = page.lease {
        facts.push(("lease".into(), Line::plain(&format!("{} (token {})", look.lease(lease, state), lease.token))));
    }
    if let Some(priority) = task.stated_priority() {
        facts.push(("priority".into(), Line::plain(priority.as_str())));
    }
    let tags: Vec<&str> = task.tags().collect();
    if !tags.is_empty() {
        facts.push(("tags".into(), Line::plain(&tags.join(", "))));
    }
    if let Some(parent) = task.parent() {
        facts.push(("part of".into(), Line::new().with(Tone::Id, &format!("#{parent}"))));
    }
    if let Some(stated) = &task.stated_id {
        let text = format!("the file's content says #{stated}, its name #{}; the name is used", task.id);
        facts.push(("id".into(), Line::new().with(Tone::Warning, &text)));
    }
    for (key, value) in task.metadata.iter().flatten().filter(|(key, _)| !KNOWN.contains(&key.as_str())) {
        let words = match key.as_str() {
            DUE => task.due().map(|due| look.planned(due)),
            DEFER => task.defer().map(|defer| look.planned(defer)),
            ESTIMATE => task.estimate().map(work_in_words),
            _ => None,
        };
        let words = words.unwrap_or_else(|| value_in_words(value));
        facts.push((key.as_str().into(), Line::plain(&words)));
    }
    facts.extend(facts_of_block(task).map(|(key, line)| (key.into(), line)));
    for (key, value) in &task.extra {
        facts.push((key.as_str().into(), Line::new().with(Tone::Dim, &value_in_words(value))));
    }
    lines.extend(aligned(facts, look));
    description(task, look, &mut lines);
    section("Waits for", page.open_blockers, look, &mut lines);
    section("Waiting for it", page.dependents, look, &mut lines);
    section("Parts", page.subtasks, look, &mut lines);
    if !page.jobs.is_empty() {
        lines.push(Line::new());
        lines.push(Line::new().with(Tone::Dim, "  Jobs"));
        // The page already names the task, so the job need not.
        let own = |job: &Job| Job { task: None, ..job.clone() };
        lines.extend(page.jobs.iter().map(|job| job_line("    ", &own(job), look)));
    }
    notes(task, look, &mut lines);
    let changed = page.changed.filter(|changed| page.made.is_none_or(|made| made.revision != changed.revision));
    if page.made.is_some() || changed.is_some() {
        lines.push(Line::new());
    }
    lines.extend(page.made.into_iter().chain(changed).flat_map(|entry| happened(entry, look)));
    lines
}

/// Describes what happened, by whom, when and in which revision.
fn happened(entry: &Entry, look: &Look) -> Vec<Line> {
    let who = if entry.op.is_elsewhere() { String::new() } else { format!(" by {}", entry.actor) };
    let text = format!("  {}{who}, {} (revision {})", did(entry), look.time(entry.at), entry.revision);
    let line = Line::new().with(Tone::Dim, &text);
    match look.width {
        Some(width) => line.wrapped(width, 4),
        None => vec![line],
    }
}

/// Returns the description: the facts of its block, then its prose.
pub fn task_text(task: &Task, look: &Look) -> Vec<Line> {
    let mut lines = aligned(facts_of_block(task).collect(), look);
    description(task, look, &mut lines);
    lines
}

/// Returns the facts of the block in a task's description if it can be read, except the parent and nulls.
pub fn facts_of_block(task: &Task) -> impl Iterator<Item = (String, Line)> {
    let facts = Block::find(&task.description).and_then(|block| block.facts().ok());
    let facts = facts.into_iter().flatten().filter(|fact| fact.key != PARENT && !fact.value.is_null());
    facts.map(|fact| {
        let words = value_in_words(&fact.value);
        (fact.key, Line::plain(&escaping::one_line(words.trim_end())))
    })
}

/// Aligns facts below each other, with their names in one column.
fn aligned(facts: Vec<(impl AsRef<str>, Line)>, look: &Look) -> Vec<Line> {
    let names: Vec<String> = facts.iter().map(|(name, _)| escaping::one_line(name.as_ref()).into_owned()).collect();
    let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).min(20);
    let lines = names.iter().zip(&facts);
    lines.flat_map(|(name, (_, fact))| fact_lines(&format!("  {name:widest$}  "), fact, look)).collect()
}

fn title(task: &Task, look: &Look) -> Vec<Line> {
    let (tone, mark) = look.mark(task);
    let mut line = Line::new().with(tone, mark).with(Tone::Plain, " ");
    line.push(Tone::Id, &format!("#{} ", task.id));
    let mut state = Line::new().with(tone, state_in_words(task));
    if task.is_internal() {
        state.push(Tone::Dim, &format!("{}internal", look.dot()));
    }
    let subject = task.shown_subject();
    let title = Line::new().with(Tone::Strong, &subject);
    let mut lines = Vec::new();
    match look.width {
        // A title too long for one line is wrapped.
        Some(width) if line.width() + title.width() + 2 + state.width() > width => {
            line.append(state);
            lines.push(look.fitted(line));
            let broken = wrapped(&subject, width.saturating_sub(2));
            lines.extend(broken.iter().map(|part| Line::plain("  ").with(Tone::Strong, part)));
        }
        _ => {
            line.append(title);
            line.push(Tone::Plain, "  ");
            line.append(state);
            lines.push(line);
        }
    }
    if let Some(doing) = task.active_form.as_deref().filter(|text| !text.is_empty()) {
        let text = format!("  {}{}", doing.trim_end_matches('…'), look.ellipsis());
        lines.push(look.fitted(Line::new().with(Tone::Active, &text)));
    }
    lines
}

fn description(task: &Task, look: &Look, lines: &mut Vec<Line>) {
    let text = task.shown_description();
    let text = text.trim_end();
    if text.is_empty() {
        return;
    }
    lines.push(Line::new());
    lines.extend(written(text, 2, look));
}

/// Formats text written by people: as Markdown on a terminal, unchanged in a pipe.
fn written(text: &str, indent: usize, look: &Look) -> Vec<Line> {
    if look.width.is_some() {
        return markdown_lines(text, indent, look);
    }
    let spaces = " ".repeat(indent);
    escaping::many_lines(text).lines().map(|line| Line::plain(&format!("{spaces}{line}"))).collect()
}

fn section(name: &str, tasks: &[Task], look: &Look, lines: &mut Vec<Line>) {
    if tasks.is_empty() {
        return;
    }
    lines.push(Line::new());
    lines.push(Line::new().with(Tone::Dim, &format!("  {name}")));
    let width = tasks.iter().map(|task| task.id.as_str().len() + 1).max().unwrap_or(0);
    lines.extend(tasks.iter().map(|task| task_line("    ", width, task, &[], look)));
}

/// Adds the notes, each with its time and author if stated.
fn notes(task: &Task, look: &Look, lines: &mut Vec<Line>) {
    let list = notes_of(task);
    if list.is_empty() {
        return;
    }
    lines.push(Line::new());
    lines.push(Line::new().with(Tone::Dim, "  Notes"));
    for note in list {
        let note = read_note(note);
        let when = note.at.map(|at| Timestamp::parse(at).map_or_else(|| at.to_owned(), |at| look.time(at)));
        let head: Vec<String> = when.into_iter().chain(note.author.map(str::to_owned)).collect();
        if !head.is_empty() {
            let head = format!("    {}", escaping::one_line(&head.join(", ")));
            lines.push(look.fitted(Line::new().with(Tone::Dim, &head)));
        }
        lines.extend(written(note.text.trim_end(), 6, look));
    }
}

/// Formats a fact after its name, wrapped if necessary.
fn fact_lines(name: &str, fact: &Line, look: &Look) -> Vec<Line> {
    let indent = Line::plain(name).width();
    let tone = fact.spans().first().map_or(Tone::Plain, Span::tone);
    let text = fact.to_string();
    let parts = match look.width {
        Some(width) => wrapped(&text, width.saturating_sub(indent).max(20)),
        None => vec![text],
    };
    let lines = parts.iter().enumerate().map(|(number, part)| {
        let before = if number == 0 { name.to_owned() } else { " ".repeat(indent) };
        Line::new().with(Tone::Dim, &before).with(tone, part)
    });
    lines.collect()
}

fn value_in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{TaskPage, task_page};
    use crate::render::Look;
    use crate::{Status, Task, TaskId};

    #[test]
    fn a_task_is_told_in_full() {
        let mut task = Task::new(TaskId::number(7), "Write the parser");
        task.status = Status::InProgress;
        task.owner = Some("ana".into());
        task.active_form = Some("Writing the parser".into());
        task.description = "First line\n\nand a \x1b[31msecond".into();
        task.metadata = json!({"priority": "high", "tags": ["core", "x"], "kind": "feature"}).as_object().cloned();
        let blocker = Task::new(TaskId::number(3), "Design");
        let page = TaskPage {
            session: &[],
            task: &task,
            open_blockers: &[blocker],
            dependents: &[],
            subtasks: &[],
            jobs: &[],
            lease: None,
            made: None,
            changed: None,
        };
        let text: Vec<String> = task_page(&page, &Look::PIPE).iter().map(|line| line.to_string()).collect();
        assert_eq!(
            text,
            [
                "◼ #7 Write the parser  in progress",
                "  Writing the parser…",
                "  owner     ana",
                "  priority  high",
                "  tags      core, x",
                "  kind      feature",
                "",
                "  First line",
                "  ",
                "  and a \\x1b[31msecond",
                "",
                "  Waits for",
                "    ◻ #3 Design",
            ]
        );
    }

    #[test]
    fn long_text_is_wrapped_and_never_cut() {
        let mut task = Task::new(TaskId::number(1), "x");
        task.subject = "title ".repeat(20);
        task.metadata = json!({"note": "note ".repeat(30)}).as_object().cloned();
        task.description = "word ".repeat(40);
        let page = TaskPage {
            session: &[],
            task: &task,
            open_blockers: &[],
            dependents: &[],
            subtasks: &[],
            jobs: &[],
            lease: None,
            made: None,
            changed: None,
        };
        let lines = task_page(&page, &Look { width: Some(40), ..Look::PIPE });
        assert!(lines.iter().all(|line| line.width() <= 40));
        let text: String = lines.iter().map(ToString::to_string).collect();
        let count = |word: &str| text.matches(word).count();
        assert_eq!((count("title"), count("note"), count("word")), (20, 31, 40));
    }
}
