//! A task on one line: in Taskyard's form, in the client's, or by a template.

use std::borrow::Cow;
use std::str::FromStr;

use serde_json::Value;

use super::line::cut_text;
use super::{Line, Look, Tone, escaping};
use crate::dialect::macf::{Block, Subject};
use crate::near_words::nearest;
use crate::rules::looking::query::{Mistake, Times};
use crate::timing::work_in_words;
use crate::{Priority, Status, Task, TaskId, Todo};

/// The minimum width of a title, whatever follows it.
const SHORTEST_TITLE: usize = 12;

/// On displays narrower than this, blockers are shortened before the title is.
const NARROW: usize = 60;

/// Returns the client's own line, `#3 [pending] Deploy (ana) [blocked by #2]`, escaped for display.
pub fn client_line(id: &str, task: &Task, blockers: &[TaskId]) -> String {
    let mut line = format!("#{id} [{}] {}", task.status, task.shown_subject());
    if let Some(owner) = task.owner() {
        line.push_str(&format!(" ({owner})"));
    }
    if !blockers.is_empty() {
        line.push_str(&format!(" [blocked by {}]", numbered(blockers)));
    }
    escaping::one_line(&line).into_owned()
}

/// Formats ids as `#2, #3`.
pub fn numbered(ids: &[TaskId]) -> String {
    ids.iter().map(|id| format!("#{id}")).collect::<Vec<_>>().join(", ")
}

/// Formats a task with its mark, title and remarks in the width of the display.
///
/// `guides` is placed in front of it (the branches of a tree); ids are padded to `id_width`, including `#`.
pub fn task_line(guides: &str, id_width: usize, task: &Task, blockers: &[TaskId], look: &Look) -> Line {
    let mut before = marked(guides, task, blockers, look);
    before.push(id_tone(task), &format!("{:id_width$}", format!("#{}", task.id)));
    before.push(Tone::Plain, " ");
    titled(before, task, blockers, look)
}

/// Formats a todo item like a task without an id, in the width of the display.
pub fn todo_line(guides: &str, todo: &Todo, look: &Look) -> Line {
    let active_form = Some(todo.active_form.clone());
    let task = Task { status: todo.status, active_form, ..Task::new(TaskId::stored(""), todo.content.as_str()) };
    titled(marked(guides, &task, &[], look), &task, &[], look)
}

fn is_waiting(task: &Task, blockers: &[TaskId]) -> bool {
    task.status.is_open() && !blockers.is_empty()
}

fn marked(guides: &str, task: &Task, blockers: &[TaskId], look: &Look) -> Line {
    let (tone, mark) = look.mark(task);
    let dims = is_waiting(task, blockers) && task.status == Status::Pending;
    let tone = if dims { Tone::Dim } else { tone };
    Line::new().with(Tone::Dim, guides).with(tone, mark).with(Tone::Plain, " ")
}

fn titled(before: Line, task: &Task, blockers: &[TaskId], look: &Look) -> Line {
    let waiting = is_waiting(task, blockers);
    let blockers = if waiting { blockers } else { &[] };
    let subject = Subject::of(&task.id, &task.subject);
    let mut before = before;
    if let Some(parent) = subject.parent {
        before.push(Tone::Dim, &format!("[^#{parent}] "));
    }
    let title = escaping::one_line(subject.title);
    let Some(width) = look.width else {
        let after = remarks(task, &in_words(blockers), look);
        return joined(before, title_tone(task, waiting), &title, active_form(task, look), after);
    };
    let room = width.saturating_sub(before.width() + Line::plain(&title).width());
    let after = if width < NARROW {
        remarks_within(room, task, blockers, look)
    } else {
        remarks(task, &in_words(blockers), look)
    };
    let room = width.saturating_sub(before.width() + after.width()).max(SHORTEST_TITLE);
    let shown = cut_text(&title, room, look.ellipsis());
    let left = room.saturating_sub(Line::plain(&shown).width());
    let doing = active_form(task, look).filter(|doing| doing.width() <= left);
    joined(before, title_tone(task, waiting), &shown, doing, after).cut(width, look.ellipsis())
}

fn joined(mut before: Line, tone: Tone, title: &str, doing: Option<Line>, after: Line) -> Line {
    before.push(tone, title);
    if let Some(doing) = doing {
        before.append(doing);
    }
    before.append(after);
    before
}

fn id_tone(task: &Task) -> Tone {
    if task.status.is_open() { Tone::Id } else { Tone::Dim }
}

fn title_tone(task: &Task, waiting: bool) -> Tone {
    match task.status {
        Status::InProgress => Tone::Strong,
        Status::Completed => Tone::Struck,
        Status::Pending if waiting => Tone::Dim,
        Status::Pending => Tone::Plain,
    }
}

/// Returns the active form of a task in progress, if it has one.
fn active_form(task: &Task, look: &Look) -> Option<Line> {
    let doing = task.active_form.as_deref().filter(|text| task.status == Status::InProgress && !text.is_empty())?;
    let doing = doing.trim_end_matches('…').trim_end_matches("...");
    Some(Line::new().with(Tone::Dim, look.dot()).with(Tone::Active, &format!("{doing}{}", look.ellipsis())))
}

/// Returns the remarks that fit beside an uncut title: blockers in words, as ids only, or not at all.
fn remarks_within(room: usize, task: &Task, blockers: &[TaskId], look: &Look) -> Line {
    let ids: Vec<String> = blockers.iter().map(|id| format!("#{id}")).collect();
    let forms = [in_words(blockers), ids.join(" ")].into_iter().map(|waits| remarks(task, &waits, look));
    forms.into_iter().find(|line| line.width() <= room).unwrap_or_else(|| remarks(task, "", look))
}

/// Returns the blockers in words; empty if there are none.
fn in_words(blockers: &[TaskId]) -> String {
    if blockers.is_empty() { String::new() } else { format!("blocked by {}", some_of(blockers)) }
}

fn remarks(task: &Task, waits: &str, look: &Look) -> Line {
    let mut line = Line::new();
    if task.status.is_open() {
        match task.stated_priority() {
            Some(Priority::High) => line.push(Tone::Warning, look.either(" ▲ high", " (high)")),
            Some(Priority::Low) => line.push(Tone::Dim, look.either(" ▽ low", " (low)")),
            Some(Priority::Medium) | None => {}
        }
        for tag in task.tags() {
            line.push(Tone::Dim, &format!(" +{tag}"));
        }
    }
    if let Some(owner) = task.owner() {
        line.push(Tone::Owner, &format!(" ({owner})"));
    }
    line.append(times(task, look));
    if task.is_cancelled() {
        line.push(Tone::Dim, " cancelled");
    }
    if task.is_internal() {
        line.push(Tone::Dim, " internal");
    }
    if !waits.is_empty() {
        line.push(Tone::Dim, look.either(" ‹ ", " < "));
        line.push(Tone::Blocked, waits);
    }
    line
}

/// Returns the due date and deferral of an open task, if the present is known.
fn times(task: &Task, look: &Look) -> Line {
    let mut line = Line::new();
    let Some(now) = look.now.filter(|_| task.status.is_open()) else { return line };
    match task.due() {
        Some(due) if due < now => line.push(Tone::Error, &format!(" overdue {}", look.time(due))),
        Some(due) => line.push(Tone::Dim, &format!(" due {}", look.until(due))),
        None => {}
    }
    if let Some(defer) = task.defer().filter(|_| task.is_deferred(now)) {
        line.push(Tone::Dim, &format!(" deferred, ready {}", look.until(defer)));
    }
    line
}

/// Returns the first few ids and the number of others.
fn some_of(ids: &[TaskId]) -> String {
    match ids {
        [first, second, third, rest @ ..] if rest.len() > 1 => {
            format!("#{first}, #{second}, #{third} and {} more", rest.len())
        }
        _ => numbered(ids),
    }
}

/// Formats a task as client 2.1.19 did: `#67. [in_progress] Title`.
pub fn historic_line(task: &Task) -> Line {
    let line = Line::plain(&format!("#{}. [{}] ", task.id, task.status));
    historic_title(line, task)
}

/// Formats a task as client 2.1.20 did: without its number, unless that is a dim mark in the subject.
pub fn historic_mark_line(task: &Task) -> Line {
    let mark = match task.status {
        Status::InProgress => "  \u{25fc} ",
        Status::Pending => "  \u{25fb} ",
        Status::Completed => "  \u{2714} ",
    };
    let mut line = Line::plain(mark);
    if let Some(id) = Subject::of(&task.id, &task.subject).id {
        line.push(Tone::Dim, &format!("#{id} "));
    }
    historic_title(line, task)
}

fn historic_title(mut line: Line, task: &Task) -> Line {
    let subject = Subject::of(&task.id, &task.subject);
    if let Some(parent) = subject.parent {
        line.push(Tone::Dim, &format!("[^#{parent}] "));
    }
    line.push(Tone::Plain, subject.title);
    line
}

/// Returns the subject for display: without the task's own number, which some tools put in front of it, on one line,
/// and with terminal control characters escaped.
pub fn shown_subject<'a>(id: &TaskId, subject: &'a str) -> Cow<'a, str> {
    if !subject.contains('\x1b') {
        // Without an escape character there are no dim marks.
        return escaping::one_line(subject);
    }
    match Subject::of(id, subject) {
        Subject { parent: Some(parent), title, .. } => {
            Cow::Owned(format!("[^#{parent}] {}", escaping::one_line(title)))
        }
        Subject { title, .. } => escaping::one_line(title),
    }
}

impl Task {
    /// Returns the subject for display; see [`shown_subject`].
    pub fn shown_subject(&self) -> Cow<'_, str> {
        shown_subject(&self.id, &self.subject)
    }

    /// Converts an edited [`Task::shown_subject`] back to a subject: escaped characters of the stored title are
    /// restored.
    pub fn subject_typed(&self, typed: &str) -> String {
        let mut subject = typed.to_owned();
        for character in Subject::of(&self.id, &self.subject).title.chars().filter(|one| escaping::is_unsafe(*one)) {
            let character = character.to_string();
            subject = subject.replace(&*escaping::one_line(&character), &character);
        }
        subject
    }

    /// Returns the description without its metadata block if the block can be read; displays show the facts
    /// separately.
    pub fn shown_description(&self) -> Cow<'_, str> {
        match Block::find(&self.description).filter(|block| block.facts().is_ok()) {
            Some(block) => {
                let (before, after) = block.around();
                Cow::Owned(format!("{}{after}", before.trim_end()))
            }
            None => Cow::Borrowed(&self.description),
        }
    }
}

/// The template for printing a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Field(&'static str),
    Metadata(String),
}

/// The names allowed between braces, besides `metadata.KEY`.
const FIELDS: [&str; 18] = [
    "id",
    "subject",
    "status",
    "owner",
    "priority",
    "tags",
    "parent",
    "kind",
    "due",
    "defer",
    "estimate",
    "description",
    "activeForm",
    "blocks",
    "blockedBy",
    "created",
    "changed",
    "list",
];

impl Template {
    /// Returns whether it uses creation or change times, which only the journal has.
    pub fn asks_for_times(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Field("created" | "changed")))
    }

    /// Fills in the template for a task of a list. Missing values are empty.
    pub fn filled(&self, task: &Task, list: &str, times: Option<&Times>) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(literal) => text.push_str(literal),
                Piece::Field(field) => text.push_str(&value(field, task, list, times)),
                Piece::Metadata(key) => text.push_str(&task.meta(key).map(field_in_words).unwrap_or_default()),
            }
        }
        text
    }
}

impl FromStr for Template {
    type Err = Mistake;

    /// Parses a template: fields between braces, `{{` and `}}` for braces, `\\n` and `\\t` for a newline and a tab.
    fn from_str(text: &str) -> Result<Self, Mistake> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut characters = text.char_indices().peekable();
        while let Some((at, character)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            match (character, next) {
                ('{', Some('{')) | ('}', Some('}')) | ('\\', Some('\\')) => {
                    characters.next();
                    literal.push(character);
                }
                ('\\', Some('n' | 't')) => {
                    characters.next();
                    literal.push(if next == Some('n') { '\n' } else { '\t' });
                }
                ('{', _) => {
                    let Some(length) = text[at..].find('}') else {
                        let mistake = Mistake::new(text, at..at + 1, "this brace is never closed");
                        return Err(mistake.advising("write `{{` for a brace"));
                    };
                    pieces.push(Piece::Text(std::mem::take(&mut literal)));
                    pieces.push(field(text, at + 1, &text[at + 1..at + length])?);
                    while characters.next_if(|(place, _)| *place <= at + length).is_some() {}
                }
                (character, _) => literal.push(character),
            }
        }
        pieces.push(Piece::Text(literal));
        pieces.retain(|piece| *piece != Piece::Text(String::new()));
        Ok(Self { pieces })
    }
}

fn field(text: &str, at: usize, name: &str) -> Result<Piece, Mistake> {
    if let Some(key) = name.strip_prefix("metadata.").filter(|key| !key.is_empty()) {
        return Ok(Piece::Metadata(key.to_owned()));
    }
    match FIELDS.iter().find(|field| field.eq_ignore_ascii_case(name)) {
        Some(field) => Ok(Piece::Field(field)),
        None => {
            let what = format!("unknown field `{name}`");
            let mistake = Mistake::new(text, at..at + name.len(), what).meaning(nearest(name, &FIELDS));
            Err(mistake.advising(format!("the fields are {} and metadata.KEY", FIELDS.join(", "))))
        }
    }
}

fn value(field: &str, task: &Task, list: &str, times: Option<&Times>) -> String {
    let moment = |moment: Option<crate::Timestamp>| moment.map(|moment| moment.to_string()).unwrap_or_default();
    match field {
        "id" => task.id.to_string(),
        "subject" => task.shown_subject().into_owned(),
        "status" => task.status.to_string(),
        "owner" => task.owner().unwrap_or_default().to_owned(),
        "priority" => task.priority().to_string(),
        "tags" => task.tags().collect::<Vec<_>>().join(","),
        "parent" => task.parent().map(|parent| parent.to_string()).unwrap_or_default(),
        "kind" => task.meta("kind").map(field_in_words).unwrap_or_default(),
        "due" => moment(task.due()),
        "defer" => moment(task.defer()),
        "estimate" => task.estimate().map(work_in_words).unwrap_or_default(),
        "description" => task.description.clone(),
        "activeForm" => task.active_form.clone().unwrap_or_default(),
        "blocks" => joined_values(&task.blocks),
        "blockedBy" => joined_values(&task.blocked_by),
        "created" => moment(times.map(|times| times.created)),
        "changed" => moment(times.map(|times| times.updated)),
        _ => list.to_owned(),
    }
}

fn joined_values(ids: &[TaskId]) -> String {
    ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(",")
}

fn field_in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{client_line, task_line};
    use crate::render::Look;
    use crate::{Status, Task, TaskId};

    fn task(subject: &str) -> Task {
        Task::new(TaskId::number(3), subject)
    }

    #[test]
    fn the_clients_line_is_the_clients() {
        let mut task = task("Deploy");
        assert_eq!(client_line("3", &task, &[]), "#3 [pending] Deploy");
        task.owner = Some("ana".into());
        let blockers = [TaskId::number(2), TaskId::number(4)];
        assert_eq!(client_line("3", &task, &blockers), "#3 [pending] Deploy (ana) [blocked by #2, #4]");
        task.owner = Some(String::new());
        assert_eq!(client_line("3", &task, &[]), "#3 [pending] Deploy");
    }

    #[test]
    fn what_is_in_progress_says_what_is_being_done() {
        let mut task = task("Deploy");
        task.status = Status::InProgress;
        task.active_form = Some("Deploying".into());
        assert_eq!(task_line("", 3, &task, &[], &Look::PIPE).to_string(), "◼ #3  Deploy · Deploying…");
        let ascii = Look { unicode: false, ..Look::PIPE };
        assert_eq!(task_line("", 2, &task, &[], &ascii).to_string(), "[>] #3 Deploy, Deploying...");
    }

    #[test]
    fn a_long_title_gives_way_to_owner_and_blockers() {
        let mut task = task("A title that goes on and on and on");
        task.owner = Some("ana".into());
        task.metadata = json!({"priority": "high", "tags": ["core"]}).as_object().cloned();
        let look = Look { width: Some(60), ..Look::PIPE };
        let line = task_line("", 2, &task, &[TaskId::number(2)], &look);
        assert_eq!(line.to_string(), "◻ #3 A title that goes o… ▲ high +core (ana) ‹ blocked by #2");
        assert_eq!(line.width(), 60);
    }

    #[test]
    fn on_a_narrow_display_the_title_wins_over_the_blockers() {
        let look = Look { width: Some(40), ..Look::PIPE };
        let told = |subject: &str| {
            task_line("", 2, &task(subject), &[TaskId::number(2), TaskId::number(5)], &look).to_string()
        };
        assert_eq!(told("Ship it"), "◻ #3 Ship it ‹ blocked by #2, #5");
        assert_eq!(told("Write the migration guide"), "◻ #3 Write the migration guide ‹ #2 #5");
        assert_eq!(told("Write the integration tests now"), "◻ #3 Write the integration tests now");
        assert_eq!(told("Write the integration tests for all of it"), "◻ #3 Write the integration tests for al…");
    }

    #[test]
    fn no_line_is_wider_than_the_display() {
        let mut task = task("A title");
        task.owner = Some("somebody with a long name".into());
        for width in 0..80 {
            let look = Look { width: Some(width), ..Look::PIPE };
            assert!(task_line("  ", 4, &task, &[TaskId::number(2)], &look).width() <= width, "{width}");
        }
    }
}

#[cfg(test)]
mod historic_tests {
    use super::{historic_line, historic_mark_line};
    use crate::render::Tone;
    use crate::{Status, Task, TaskId};

    #[test]
    fn both_forms_are_those_that_were_seen() {
        let mut mission = Task::new(TaskId::number(67), "\x1b[2m#67\x1b[0m \u{1f5fa}\u{fe0f} MISSION: Task CLI");
        mission.status = Status::InProgress;
        let phase = Task::new(TaskId::number(68), "[^#67] \u{1f4cb} Phase 1");
        assert_eq!(historic_line(&mission).to_string(), "#67. [in_progress] \u{1f5fa}\u{fe0f} MISSION: Task CLI");
        assert_eq!(historic_line(&phase).to_string(), "#68. [pending] [^#67] \u{1f4cb} Phase 1");
        let line = historic_mark_line(&mission);
        assert_eq!(line.to_string(), "  \u{25fc} #67 \u{1f5fa}\u{fe0f} MISSION: Task CLI");
        assert_eq!((line.spans()[1].text(), line.spans()[1].tone()), ("#67 ", Tone::Dim));
        assert_eq!(historic_mark_line(&phase).to_string(), "  \u{25fb} [^#67] \u{1f4cb} Phase 1");
    }
}

#[cfg(test)]
mod title_tests {
    use crate::{Task, TaskId};

    fn titled(subject: &str) -> Task {
        Task::new(TaskId::number(5), subject)
    }

    #[test]
    fn only_the_marks_of_a_kind_are_left_out() {
        for (stored, shown) in [
            ("\x1b[2m  #5\x1b[22m \x1b[2m[^#67]\x1b[22m \u{1f4cb} Phase", "[^#67] \u{1f4cb} Phase"),
            ("\x1b[2m#5\x1b[0m Fix", "Fix"),
            ("\x1b[2m#6\x1b[0m Fix", "\\x1b[2m#6\\x1b[0m Fix"),
            ("\x1b[2m#5\x1b[0m a \x1b[2mb\x1b[22m", "a \\x1b[2mb\\x1b[22m"),
            ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
            ("one\ntwo\u{9b}2m\u{202e}", "one\\ntwo\\x9b2m\\u{202e}"),
            ("#5 plain \\x1b", "#5 plain \\x1b"),
        ] {
            assert_eq!(titled(stored).shown_subject(), shown, "{stored:?}");
        }
    }

    #[test]
    fn edited_title_keeps_the_characters_it_had() {
        let task = titled("\x1b[2m#5\x1b[0m a\x1b[31mb\u{202e}\n");
        assert_eq!(task.subject_typed("new a\\x1b[31mb\\u{202e}\\n"), "new a\x1b[31mb\u{202e}\n");
        assert_eq!(titled("\x1b[2m#5\x1b[0m plain").subject_typed("about \\x1b"), "about \\x1b");
    }
}

#[cfg(test)]
mod template_tests {
    use serde_json::json;

    use super::Template;
    use crate::{Task, TaskId};

    #[test]
    fn a_template_is_filled_with_what_the_task_has() {
        let task = Task {
            blocked_by: vec![TaskId::number(1), TaskId::number(2)],
            metadata: json!({"tags": ["a", "b"], "estimate": 5400, "x": {"y": 1}}).as_object().cloned(),
            ..Task::new(TaskId::number(7), "Write é")
        };
        let filled = |text: &str| text.parse::<Template>().unwrap().filled(&task, "L", None);
        assert_eq!(filled(r"{id}\t{Subject}\n"), "7\tWrite é\n");
        assert_eq!(filled("{{{id}}} é {owner}|{tags}|{blockedby}"), "{7} é |a,b|1,2");
        assert_eq!(filled("{estimate} {metadata.x} {list}"), r#"1h30m {"y":1} L"#);
        assert_eq!(filled(""), "");
    }

    #[test]
    fn what_is_no_field_is_marked() {
        let mistake = "{id} {sbject}".parse::<Template>().unwrap_err();
        assert_eq!(mistake.marked()[1], "      ^^^^^^ did you mean `subject`?");
        assert_eq!("{id".parse::<Template>().unwrap_err().what, "this brace is never closed");
        assert!("{metadata.}".parse::<Template>().is_err());
    }
}
