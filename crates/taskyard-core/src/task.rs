//! Tasks: their ids, status, times, notes and assignees.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::{AgentName, Timestamp};

/// Additional data of a task. Keys keep their order.
pub type Metadata = Map<String, Value>;

/// Maps with at most this many keys are searched linearly.
const FEW: usize = 8;

/// One task of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The id of the task: the stem of its file name.
    pub id: TaskId,
    /// The id written inside the file, if it differs from the file name.
    pub stated_id: Option<String>,
    /// The title.
    pub subject: String,
    /// What to do.
    pub description: String,
    /// The text shown while the task is in progress ("Writing the parser").
    pub active_form: Option<String>,
    /// The owner. Claude Code can store an empty name, which means no owner; see [`Task::owner`].
    pub owner: Option<String>,
    /// The status.
    pub status: Status,
    /// The tasks that depend on this one.
    pub blocks: Vec<TaskId>,
    /// The tasks this one depends on.
    pub blocked_by: Vec<TaskId>,
    /// Additional data.
    pub metadata: Option<Metadata>,
    /// Keys of the file that Claude Code does not know; they are written back unchanged.
    pub extra: Map<String, Value>,
}

impl Task {
    /// Creates a pending task that has only a title.
    pub fn new(id: TaskId, subject: impl Into<String>) -> Self {
        Self {
            id,
            stated_id: None,
            subject: subject.into(),
            description: String::new(),
            active_form: None,
            owner: None,
            status: Status::Pending,
            blocks: Vec::new(),
            blocked_by: Vec::new(),
            metadata: None,
            extra: Map::new(),
        }
    }

    /// Returns the id to display: the one written in the file, if it differs.
    pub fn shown_id(&self) -> &str {
        self.stated_id.as_deref().unwrap_or(self.id.as_str())
    }

    /// Returns the owner, or `None` if there is none or the name is empty.
    pub fn owner(&self) -> Option<&str> {
        self.owner.as_deref().filter(|name| !name.is_empty())
    }

    /// Returns the metadata value of a key.
    pub fn meta(&self, key: &str) -> Option<&Value> {
        let metadata = self.metadata.as_ref()?;
        if metadata.len() > FEW {
            return metadata.get(key);
        }
        // Comparing a few keys is faster than hashing one.
        metadata.iter().find(|(other, _)| *other == key).map(|(_, value)| value)
    }

    /// Returns whether the task is Claude Code's own bookkeeping (`metadata._internal` is truthy).
    pub fn is_internal(&self) -> bool {
        self.meta("_internal").is_some_and(is_truthy)
    }

    /// Returns whether the task was cancelled rather than completed.
    pub fn is_cancelled(&self) -> bool {
        self.status == Status::Completed && self.meta("cancelled").is_some_and(is_truthy)
    }

    /// Returns the priority; medium if none is set or it is invalid.
    pub fn priority(&self) -> Priority {
        self.stated_priority().unwrap_or_default()
    }

    /// Returns the priority if a valid one is set.
    pub fn stated_priority(&self) -> Option<Priority> {
        self.meta("priority")?.as_str()?.parse().ok()
    }

    /// Returns the tags.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        let tags = self.meta("tags").and_then(Value::as_array);
        tags.into_iter().flatten().filter_map(Value::as_str)
    }
}

/// The urgency of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Priority {
    /// Can wait.
    Low,
    /// The default.
    #[default]
    Medium,
    /// First.
    High,
}

impl Priority {
    /// Every priority, from low to high.
    pub(crate) const ALL: [Self; 3] = [Self::Low, Self::Medium, Self::High];

    /// Returns the word used in metadata and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A word that is not a valid priority.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid priority `{word}`: expected low, medium or high")]
pub struct UnknownPriority {
    /// The rejected word.
    pub(crate) word: String,
}

impl FromStr for Priority {
    type Err = UnknownPriority;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|priority| priority.as_str() == word)
            .ok_or_else(|| UnknownPriority { word: word.to_owned() })
    }
}

/// Returns whether JavaScript treats this value as true.
fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64().is_none_or(|number| number != 0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

/// The id of a task within its list: the stem of its file name, nearly always a number.
///
/// Ids typed by people and agents are parsed with [`TaskId::from_str`], which accepts only what Claude Code can
/// store. An id found inside a file (in `blockedBy`, for example) may hold anything; [`TaskId::file_stem`] is the
/// only way from an id to a file name, and it replaces unsafe characters exactly as Claude Code does.
#[derive(Clone)]
pub struct TaskId {
    text: String,
    /// The number, parsed once: ids are compared far more often than they are created.
    number: Option<u64>,
}

/// The reason why text is not a valid task id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTaskId {
    /// The text is empty.
    #[error("a task id cannot be empty")]
    Empty,
    /// It contains a character that task file names cannot have.
    #[error("invalid task id `{}`: only letters, digits, `_` and `-` are allowed", .text.escape_debug())]
    Character {
        /// The rejected text.
        text: String,
    },
    /// It is too long for a file name.
    #[error("a task id of {length} bytes is too long (the limit is {})", TaskId::LONGEST)]
    TooLong {
        /// The rejected length, in bytes.
        length: usize,
    },
}

impl TaskId {
    /// The maximum length of an id in bytes. It leaves room for `.json.lock` in a file name.
    pub(crate) const LONGEST: usize = 240;

    /// Returns the id of a numbered task.
    pub fn number(number: u64) -> Self {
        Self { text: number.to_string(), number: Some(number) }
    }

    /// Creates an id from text found in a file, without validating it.
    pub fn stored(text: impl Into<String>) -> Self {
        let text = text.into();
        let number = canonical_number(&text);
        Self { text, number }
    }

    /// Creates an id from any text, replacing unsafe characters by `-` as Claude Code does.
    pub fn sanitized(text: &str) -> Self {
        Self::stored(crate::list::sanitize(text))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the id as a number, or `None` if it is not the canonical form of one (`7`, not `07` or `7x`).
    pub const fn as_number(&self) -> Option<u64> {
        self.number
    }

    /// Returns the file name stem of this task, which is safe whatever the id holds.
    pub fn file_stem(&self) -> String {
        crate::list::sanitize(&self.text)
    }
}

fn canonical_number(text: &str) -> Option<u64> {
    let is_canonical = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| is_canonical)
}

impl fmt::Debug for TaskId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "#{}", self.text)
    }
}

impl PartialEq for TaskId {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for TaskId {}

impl Hash for TaskId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl FromStr for TaskId {
    type Err = BadTaskId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // People copy ids with the `#` that displays put before them.
        let text = text.strip_prefix('#').unwrap_or(text);
        if text.is_empty() {
            return Err(BadTaskId::Empty);
        }
        if text.len() > Self::LONGEST {
            return Err(BadTaskId::TooLong { length: text.len() });
        }
        if !text.bytes().all(crate::list::is_safe_byte) {
            return Err(BadTaskId::Character { text: text.to_owned() });
        }
        Ok(Self::stored(text))
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl Ord for TaskId {
    /// Orders numbers by value, then other ids by their bytes.
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.as_number(), other.as_number()) {
            (Some(one), Some(two)) => one.cmp(&two),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => self.text.cmp(&other.text),
        }
    }
}

impl PartialOrd for TaskId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The status of a task. Deleted is not a status: a deleted task has no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// No agent works on it.
    Pending,
    /// An agent works on it.
    InProgress,
    /// Done, or cancelled (then `metadata.cancelled` is set).
    Completed,
}

impl Status {
    /// Every status, in the order in which a task passes through them.
    pub const ALL: [Self; 3] = [Self::Pending, Self::InProgress, Self::Completed];

    /// Returns the word used in task files and JSON output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }

    /// Returns whether a task with this status still blocks the tasks that depend on it.
    pub const fn is_open(self) -> bool {
        !matches!(self, Self::Completed)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A word that is not a valid status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid status `{word}`: expected pending, in_progress or completed")]
pub struct UnknownStatus {
    /// The rejected word.
    pub(crate) word: String,
}

impl FromStr for Status {
    type Err = UnknownStatus;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == word)
            .ok_or_else(|| UnknownStatus { word: word.to_owned() })
    }
}

/// The metadata key of the due date.
pub const DUE: &str = "due";
/// The metadata key of the moment before which a task should not start.
pub(crate) const DEFER: &str = "defer";
/// The metadata key of the estimate, in seconds.
pub(crate) const ESTIMATE: &str = "estimate";

impl Task {
    /// Returns the due date. A bare date means the end of that day.
    pub fn due(&self) -> Option<Timestamp> {
        moment(self.meta(DUE)?, "T23:59:59.999Z")
    }

    /// Returns the moment before which the task should not start. A bare date means the start of that day.
    pub fn defer(&self) -> Option<Timestamp> {
        moment(self.meta(DEFER)?, "T00:00:00Z")
    }

    /// Returns the estimated duration.
    pub fn estimate(&self) -> Option<Duration> {
        let seconds = self.meta(ESTIMATE)?.as_f64()?;
        Duration::try_from_secs_f64(seconds).ok()
    }

    /// Returns whether the task is open and its due date has passed.
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        self.status.is_open() && self.due().is_some_and(|due| due < now)
    }

    /// Returns whether the task is open and should not start yet.
    pub fn is_deferred(&self, now: Timestamp) -> bool {
        self.status.is_open() && self.defer().is_some_and(|defer| defer > now)
    }
}

/// Parses a moment. Taskyard writes full timestamps; a bare date, which another program may have written, gets
/// `part_of_day` appended.
fn moment(value: &Value, part_of_day: &str) -> Option<Timestamp> {
    let text = value.as_str()?;
    Timestamp::parse(text).or_else(|| Timestamp::parse(&format!("{text}{part_of_day}")))
}

/// The metadata key of notes.
pub const NOTES: &str = "notes";

/// A note on a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// When it was written.
    pub at: Timestamp,
    /// The agent that wrote it.
    pub author: AgentName,
    /// The text of the note.
    pub text: String,
}

/// A note as found in a task, possibly written by another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteRead<'a> {
    /// When it was written, if stated.
    pub at: Option<&'a str>,
    /// Its author, if stated.
    pub author: Option<&'a str>,
    /// The text of the note.
    pub text: Cow<'a, str>,
}

/// Returns the notes of a task in order. A value that is not an array counts as one note.
pub fn notes_of(task: &Task) -> &[Value] {
    elements(task.meta(NOTES))
}

/// Reads a note written by any program. A value without a `text` is rendered as JSON.
pub fn read_note(note: &Value) -> NoteRead<'_> {
    let field = |name: &str| note.get(name).and_then(Value::as_str);
    let text = match (note, field("text")) {
        (Value::String(text), _) => text.as_str().into(),
        (_, Some(text)) => text.into(),
        (other, None) => other.to_string().into(),
    };
    NoteRead { at: field("at"), author: field("author"), text }
}

/// Returns the elements of a `notes` value.
pub(crate) fn elements(notes: Option<&Value>) -> &[Value] {
    match notes {
        None | Some(Value::Null) => &[],
        Some(Value::Array(notes)) => notes,
        Some(other) => std::slice::from_ref(other),
    }
}

/// An agent or a role to which a task is restricted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Assignee {
    /// The agent of this name.
    Agent(AgentName),
    /// Every agent with this role.
    Role(String),
}

impl Assignee {
    /// Parses `role:NAME` or the name of an agent. Returns `None` if the text is no valid agent name, such as blank
    /// text.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        let word = word.trim();
        let role = word.strip_prefix("role:").map(str::trim).filter(|role| !role.is_empty());
        role.map_or_else(|| AgentName::new(word).ok().map(Self::Agent), |role| Some(Self::Role(role.to_owned())))
    }
}

impl fmt::Display for Assignee {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(name) => name.fmt(formatter),
            Self::Role(role) => write!(formatter, "role:{role}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Task;
    use crate::TaskId;

    #[test]
    fn internal_means_truthy_as_javascript_sees_it() {
        let mut task = Task::new(TaskId::number(1), "x");
        for (value, internal) in
            [(json!(true), true), (json!(false), false), (json!(0), false), (json!("no"), true), (json!({}), true)]
        {
            task.metadata = json!({ "_internal": value }).as_object().cloned();
            assert_eq!(task.is_internal(), internal, "{value}");
        }
    }
}

#[cfg(test)]
mod task_id_tests {
    use super::{BadTaskId, TaskId};

    #[test]
    fn numbers_come_first_and_rise() {
        let mut ids: Vec<TaskId> = ["abc", "10", "2", "12x", "1"].map(TaskId::stored).to_vec();
        ids.sort();
        assert_eq!(ids, ["1", "2", "10", "12x", "abc"].map(TaskId::stored));
    }

    #[test]
    fn a_path_is_no_task_id() {
        assert!(matches!("../../x".parse::<TaskId>(), Err(BadTaskId::Character { .. })));
        assert_eq!(TaskId::stored("../L1/3").file_stem(), "---L1-3");
    }

    #[test]
    fn a_mark_before_the_number_is_taken_off() {
        assert_eq!("#7".parse::<TaskId>().unwrap(), TaskId::number(7));
    }
}

#[cfg(test)]
mod task_times_tests {
    use serde_json::{Value, json};

    use crate::{Status, Task, TaskId, Timestamp};

    fn task(metadata: &Value) -> Task {
        Task { metadata: metadata.as_object().cloned(), ..Task::new(TaskId::number(1), "x") }
    }

    #[test]
    fn a_bare_date_is_due_at_its_end_and_deferred_to_its_beginning() {
        let dated = task(&json!({"due": "2026-11-16", "defer": "2026-11-16"}));
        assert_eq!(dated.due().unwrap().to_string(), "2026-11-16T23:59:59.999Z");
        assert_eq!(dated.defer().unwrap().to_string(), "2026-11-16T00:00:00.000Z");
    }

    #[test]
    fn what_is_no_moment_or_span_is_none() {
        let odd = task(&json!({"due": "soon", "defer": 7, "estimate": -3}));
        assert_eq!((odd.due(), odd.defer(), odd.estimate()), (None, None, None));
    }

    #[test]
    fn only_open_tasks_are_overdue_or_deferred() {
        let moment = json!({"due": "2026-11-16T10:00:00Z", "defer": "2026-11-16T10:00:00Z"});
        let (open, at) = (task(&moment), Timestamp::parse("2026-11-16T10:00:00Z").unwrap());
        let (before, after) = (Timestamp(at.0 - 1), Timestamp(at.0 + 1));
        assert_eq!((open.is_overdue(at), open.is_overdue(after)), (false, true));
        assert_eq!((open.is_deferred(before), open.is_deferred(at)), (true, false));
        let done = Task { status: Status::Completed, ..open };
        assert!(!done.is_overdue(after) && !done.is_deferred(before));
    }
}

#[cfg(test)]
mod assignee_tests {
    use super::Assignee;
    use crate::AgentName;

    #[test]
    fn word_names_role_or_agent_and_is_shown_as_written() {
        assert_eq!(Assignee::parse("role:review"), Some(Assignee::Role("review".into())));
        assert_eq!(Assignee::parse(" role: review "), Some(Assignee::Role("review".into())));
        assert_eq!(Assignee::parse("ana"), AgentName::new("ana").ok().map(Assignee::Agent));
        for word in ["role:review", "ana", "bob@alpha"] {
            assert_eq!(Assignee::parse(word).unwrap().to_string(), word);
        }
    }

    #[test]
    fn blank_word_names_nobody_and_empty_role_matches_nothing() {
        assert_eq!(Assignee::parse("  "), None);
        assert_eq!(Assignee::parse("role:"), AgentName::new("role:").ok().map(Assignee::Agent));
    }
}
