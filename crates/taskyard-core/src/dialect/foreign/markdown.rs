//! Checklists in Markdown, read and written.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use serde_json::{Map, Value};

use super::imported::Imported;
use super::objects::set;
use crate::note::{NOTES, NoteRead, notes_of, read_note};
use crate::{Status, Task, TaskId, Timestamp};

/// Reads every item of every checklist. An item is known by the number before its text, or else by its text.
pub fn read(text: &str) -> Imported {
    let mut imported = Imported::default();
    let mut seen: HashMap<String, usize> = HashMap::new();
    // The items that the next one may be a part of, with the column of each.
    let mut above: Vec<(usize, TaskId)> = Vec::new();
    // The items without a number that come after others, with their whole texts.
    let mut without_number: Vec<(usize, &str)> = Vec::new();
    let mut section = String::new();
    let mut passed_over = 0;
    let mut in_code = false;
    for line in text.lines() {
        let column = line.len() - line.trim_start().len();
        let content = line.trim();
        let is_fence = content.starts_with("```");
        in_code ^= is_fence;
        let belongs = above.last().is_some_and(|(at, _)| column > *at);
        if let Some((mark, title)) = item(content).filter(|_| !in_code && !is_fence) {
            above.retain(|(at, _)| *at < column);
            let Named { mut task, is_numbered } = named(title, &mut seen);
            if !is_numbered && !task.blocked_by.is_empty() {
                without_number.push((imported.tasks.len(), title));
            }
            take_mark(mark, &mut task, &mut imported);
            if let Some((_, parent)) = above.last() {
                set(&mut task, "parent", parent.as_str());
            }
            if !section.is_empty() {
                set(&mut task, "section", section.as_str());
            }
            above.push((column, task.id.clone()));
            imported.tasks.push(task);
        } else if belongs && let Some(task) = imported.tasks.last_mut() {
            add_line(task, line, &above);
        } else if content.starts_with('#') && !in_code {
            content.trim_start_matches('#').trim().clone_into(&mut section);
            above.clear();
        } else if content.is_empty() {
            if let Some(task) = imported.tasks.last_mut().filter(|task| !task.description.is_empty()) {
                task.description.push('\n');
            }
        } else {
            above.clear();
            passed_over += 1;
        }
    }
    for task in &mut imported.tasks {
        task.description.truncate(task.description.trim_end().len());
    }
    keep_unknown_references(&mut imported, &without_number);
    if passed_over > 0 {
        imported.lose("text", format!("{passed_over} lines that belong to no item"));
    }
    imported
}

/// What a note begins with, and what its other lines do.
const NOTE: &str = "> note";
const MORE: &str = ">   ";

/// Writes tasks as a checklist, parts below what they are a part of.
pub fn write(tasks: &[Task]) -> String {
    let mut parts: HashMap<Option<TaskId>, Vec<&Task>> = HashMap::new();
    let ids: HashSet<&TaskId> = tasks.iter().map(|task| &task.id).collect();
    for task in tasks {
        let parent = task.parent().filter(|parent| *parent != task.id && ids.contains(parent));
        parts.entry(parent).or_default().push(task);
    }
    let mut text = String::new();
    write_parts(None, 0, &mut parts, &mut text);
    // Tasks that are parts of each other in a circle hang from nothing; they are written all the same.
    let mut left: Vec<&Task> = parts.into_values().flatten().collect();
    left.sort_by(|one, two| one.id.cmp(&two.id));
    left.into_iter().for_each(|task| write_item(task, 0, &mut text));
    text
}

fn write_parts(of: Option<TaskId>, depth: usize, parts: &mut HashMap<Option<TaskId>, Vec<&Task>>, text: &mut String) {
    for task in parts.remove(&of).unwrap_or_default() {
        write_item(task, depth, text);
        write_parts(Some(task.id.clone()), depth + 1, parts, text);
    }
}

fn write_item(task: &Task, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    let mark = match task.status {
        Status::Completed if task.is_cancelled() => '-',
        Status::Completed => 'x',
        Status::InProgress => '/',
        Status::Pending => ' ',
    };
    let subject: Vec<&str> = task.subject.split_whitespace().collect();
    let _ = write!(text, "{indent}- [{mark}] #{} {}", task.id, subject.join(" "));
    if !task.blocked_by.is_empty() {
        let on: Vec<String> = task.blocked_by.iter().map(|id| format!("#{id}")).collect();
        let _ = write!(text, " (after {})", on.join(", "));
    }
    text.push('\n');
    for line in task.description.lines() {
        if line.is_empty() {
            text.push('\n');
        } else {
            // A checklist within a description stays text.
            let line = if item(line.trim()).is_some() { line.replacen('[', "\\[", 1) } else { line.to_owned() };
            let _ = writeln!(text, "{indent}  {line}");
        }
    }
    for note in notes_of(task) {
        write_note(note, &indent, text);
    }
}

/// Writes a note as a quotation below its task, its date and its author before it.
fn write_note(note: &Value, indent: &str, text: &mut String) {
    let NoteRead { at, author, text: said } = read_note(note);
    let head: Vec<&str> = at.into_iter().chain(author).collect();
    let _ = write!(text, "{indent}  {NOTE}");
    if !head.is_empty() {
        let _ = write!(text, " ({})", head.join(" "));
    }
    for (number, line) in said.lines().enumerate() {
        let between = if number == 0 { ": ".to_owned() } else { format!("\n{indent}  {MORE}") };
        let _ = write!(text, "{between}{line}");
    }
    text.push('\n');
}

/// Adds what a line says of a note to a task; false where it says nothing of one.
fn take_note(task: &mut Task, line: &str) -> bool {
    if let Some(more) = line.strip_prefix(MORE)
        && let Some(Value::Array(notes)) = task.metadata.as_mut().and_then(|metadata| metadata.get_mut(NOTES))
        && let Some(Value::String(said)) = notes.last_mut().and_then(|note| note.get_mut("text"))
    {
        said.push('\n');
        said.push_str(more);
        return true;
    }
    let Some((head, said)) = line.strip_prefix(NOTE).and_then(|rest| rest.split_once(": ")) else { return false };
    let mut note = Map::new();
    if let Some(head) = head.strip_prefix(" (").and_then(|head| head.strip_suffix(')')) {
        let (at, author) = head.split_once(' ').map_or((Some(head), None), |(at, author)| (Some(at), Some(author)));
        let at = at.filter(|at| Timestamp::parse(at).is_some());
        let author = if at.is_some() { author } else { Some(head) };
        note.extend(at.map(|at| ("at".to_owned(), at.into())));
        note.extend(author.map(|author| ("author".to_owned(), author.into())));
    } else if !head.is_empty() {
        return false;
    }
    note.insert("text".to_owned(), said.into());
    let notes = task.metadata.get_or_insert_default().entry(NOTES).or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(notes) = notes {
        notes.push(Value::Object(note));
    }
    true
}

/// Returns a text that no earlier one has: the second of its kind gets a number.
pub(super) fn numbered_apart(text: &str, seen: &mut HashMap<String, usize>) -> String {
    loop {
        let count = seen.entry(text.to_owned()).or_default();
        *count += 1;
        let apart = if *count == 1 { text.to_owned() } else { format!("{text} ({count})") };
        if apart == text {
            return apart;
        }
        if !seen.contains_key(&apart) {
            seen.insert(apart.clone(), 1);
            return apart;
        }
    }
}

/// Takes a line for an item: its mark and its text.
fn item(line: &str) -> Option<(char, &str)> {
    let bullet = line.strip_prefix(['-', '*', '+']).or_else(|| {
        let rest = line.trim_start_matches(|character: char| character.is_ascii_digit());
        (rest.len() < line.len()).then_some(rest)?.strip_prefix(['.', ')'])
    })?;
    let (mark, title) = bullet.trim_start().strip_prefix('[')?.split_once(']')?;
    let mut marks = mark.chars();
    let (Some(mark), None) = (marks.next(), marks.next()) else { return None };
    Some((mark, title.trim())).filter(|(_, title)| !title.is_empty())
}

/// The task of an item.
struct Named {
    task: Task,
    is_numbered: bool,
}

/// Makes the task of an item, with the number before its text and what it comes after.
fn named(title: &str, seen: &mut HashMap<String, usize>) -> Named {
    let number = title.strip_prefix('#').and_then(|rest| rest.split_once(' '));
    let number = number.filter(|(id, rest)| id.parse::<TaskId>().is_ok() && !rest.trim().is_empty());
    let (id, rest) = number.unwrap_or((title, title));
    let id = numbered_apart(id, seen);
    let after = rest.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (after #"));
    let ids = after.map(|(_, on)| on.split(", #").map(str::parse).collect::<Result<Vec<TaskId>, _>>());
    let task = match (after, ids) {
        (Some((subject, _)), Some(Ok(on))) => Task { blocked_by: on, ..Task::new(TaskId::stored(id), subject.trim()) },
        _ => Task::new(TaskId::stored(id), rest.trim()),
    };
    Named { task, is_numbered: number.is_some() }
}

/// Leaves `(after #1)` in the text of an item without a number where no item is #1, so that a reader can still make sense of it;
/// the import tells that the edge is missing.
fn keep_unknown_references(imported: &mut Imported, without_number: &[(usize, &str)]) {
    let known: HashSet<TaskId> = imported.tasks.iter().map(|task| task.id.clone()).collect();
    for (place, title) in without_number {
        let task = &mut imported.tasks[*place];
        if task.blocked_by.iter().any(|on| !known.contains(on)) {
            (*title).clone_into(&mut task.subject);
        }
    }
}

fn take_mark(mark: char, task: &mut Task, imported: &mut Imported) {
    task.status = match mark {
        'x' | 'X' | '-' | '~' => Status::Completed,
        '/' | '>' => Status::InProgress,
        _ => Status::Pending,
    };
    if matches!(mark, '-' | '~') {
        set(task, "cancelled", true);
    }
    imported.map("status", &format!("[{mark}]"), task.status.as_str());
}

fn add_line(task: &mut Task, line: &str, above: &[(usize, TaskId)]) {
    if take_note(task, line.trim_start()) {
        return;
    }
    if !task.description.is_empty() {
        task.description.push('\n');
    }
    let column = above.last().map_or(0, |(column, _)| column + 2);
    let line = line.get(column..).filter(|_| line.len() - line.trim_start().len() >= column).unwrap_or(line.trim());
    let bare = line.replacen("\\[", "[", 1);
    task.description.push_str(if item(bare.trim()).is_some() { &bare } else { line });
}

#[cfg(test)]
mod tests {
    use super::{read, write};
    use crate::{Status, Task, TaskId};

    const LIST: &str = "# Release\n\nWhat is left.\n\n- [x] Design\n- [ ] Build\n  Both crates.\n  - [ ] Parser\n  - [/] Printer\n* [-] Old idea\n1. [ ] Build\n\n```\n- [ ] no item\n```\n";

    #[test]
    fn items_come_with_marks_parts_and_text() {
        let imported = read(LIST);
        let told: Vec<_> = imported.tasks.iter().map(|task| (task.id.as_str(), task.status)).collect();
        let expected = [
            ("Design", Status::Completed),
            ("Build", Status::Pending),
            ("Parser", Status::Pending),
            ("Printer", Status::InProgress),
            ("Old idea", Status::Completed),
            ("Build (2)", Status::Pending),
        ];
        assert_eq!(told, expected);
        assert_eq!(imported.tasks[1].description, "Both crates.");
        assert_eq!(imported.tasks[3].parent(), Some(TaskId::stored("Build")));
        assert!(imported.tasks[4].is_cancelled());
        assert_eq!(imported.tasks[0].meta("section").unwrap(), "Release");
        assert_eq!(imported.losses.len(), 1);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let one = Task {
            status: Status::Completed,
            description: "First\n\n- [ ] not a task\n    code".into(),
            metadata: serde_json::json!({"notes": [
                {"at": "2026-01-02T12:00:00.000Z", "author": "ana maria", "text": "one: two\n\nthree"},
                {"author": "ben", "text": "four"},
                {"text": "five"},
            ]})
            .as_object()
            .cloned(),
            ..Task::new(TaskId::number(1), "Design")
        };
        let two = Task { blocked_by: vec![TaskId::number(1)], ..Task::new(TaskId::number(2), "Build (soon)") };
        let mut part = Task::new(TaskId::number(3), "Parser");
        part.metadata = serde_json::json!({"parent": "2"}).as_object().cloned();
        let tasks = vec![one, two, part];
        let text = write(&tasks);
        assert_eq!(read(&text).tasks, tasks, "{text}");
        assert_eq!(read(&text).losses, []);
    }

    #[test]
    fn an_item_without_a_number_comes_after_those_that_have_one() {
        let imported = read("- [ ] #1 Design\n- [ ] Build (after #1)\n- [ ] Ship (after #9)\n");
        let [_, build, ship] = imported.tasks.as_slice() else { panic!("{imported:?}") };
        assert_eq!((build.subject.as_str(), &build.blocked_by), ("Build", &vec![TaskId::number(1)]));
        // That there is no #9 is reported when the tasks are connected.
        assert_eq!((ship.subject.as_str(), &ship.blocked_by), ("Ship (after #9)", &vec![TaskId::number(9)]));
    }

    #[test]
    fn parts_of_each_other_are_written_once() {
        let part_of = |id: u64, parent: &str| Task {
            metadata: serde_json::json!({ "parent": parent }).as_object().cloned(),
            ..Task::new(TaskId::number(id), "x")
        };
        assert_eq!(write(&[part_of(1, "2"), part_of(2, "1")]), "- [ ] #1 x\n- [ ] #2 x\n");
    }
}
