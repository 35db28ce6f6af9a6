//! A task as a form in an editor: fields at the top, the description below.

use std::fmt::Write as _;

pub use plan::{PlanDraft, PlanMistake, mark_conflicts, mark_mistake, print_plan, read_plan};

use crate::forms::one_line::parse_every;
use crate::rules::changes::editing::{Conflict, Draft, WORDS};
use crate::rules::changes::recurring::EVERY;
use crate::timing::{Clock, PartOfDay, WorkSpan, moment_in_words, parse_moment, work_in_full};
use crate::{DEFER, DUE, ESTIMATE, Priority, Status, TaskId, Timestamp};

mod plan;

/// The line between the fields and the description.
const BETWEEN: &str = "---";

const HELP: &str = "\
# The fields are above the line of dashes, the description below it. An empty value removes a field; a field whose line
# is missing keeps its value. Your changes apply when the editor exits; leave the file as it is to change nothing.
";

const AT_ODDS: &str = "\
# The task was changed in the meantime, in the same places. The other value of a field is below it; the description has
# both texts, one after the other. Edit the file to the result you want and save it.
";

/// Formats a task as a form, with times in the zone of the clock. `heading` names the task; conflicting fields show
/// both values.
pub fn print(draft: &Draft, heading: &str, conflicts: &[Conflict], clock: &Clock) -> String {
    form(draft, heading, conflicts, if conflicts.is_empty() { HELP } else { AT_ODDS }, clock)
}

/// Formats the form for a new task.
pub fn print_new(heading: &str, clock: &Clock) -> String {
    form(&Draft::default(), heading, &[], "# If the subject is empty, no task is created.\n", clock)
}

fn form(draft: &Draft, heading: &str, conflicts: &[Conflict], help: &str, clock: &Clock) -> String {
    let words = |name: &str, moment: Timestamp| {
        let part = if name == DUE { PartOfDay::End } else { PartOfDay::Start };
        moment_in_words(moment, part, clock)
    };
    let mut text = format!("# {}\n{help}", in_line(heading));
    let mut field = |name: &str, value: &str| {
        let space = if value.is_empty() { "" } else { " " };
        let _ = writeln!(text, "{name}:{space}{}", in_line(value));
        for theirs in
            conflicts.iter().filter(|conflict| conflict.field == name).filter_map(|found| found.theirs.as_ref())
        {
            let moment = Timestamp::parse(theirs).filter(|_| name == DUE || name == DEFER);
            let theirs = moment.map_or_else(|| theirs.clone(), |moment| words(name, moment));
            let _ = writeln!(text, "# changed in the meantime to: {}", in_line(&theirs));
        }
    };
    field("subject", &draft.subject);
    if let Some(status) = draft.status {
        field("status", status.as_str());
    }
    field("owner", draft.owner.as_deref().unwrap_or_default());
    field("activeForm", draft.active_form.as_deref().unwrap_or_default());
    field("priority", draft.priority.map_or("", |priority| priority.as_str()));
    field("tags", &draft.tags.join(", "));
    field("parent", draft.parent.as_ref().map_or("", TaskId::as_str));
    for (name, moment) in [(DUE, draft.due), (DEFER, draft.defer)] {
        field(name, &moment.map(|moment| words(name, moment)).unwrap_or_default());
    }
    field(ESTIMATE, &draft.estimate.map(work_in_full).unwrap_or_default());
    for (name, text) in WORDS.into_iter().zip(&draft.words) {
        text.iter().for_each(|text| field(name, text));
    }
    field("blockedBy", &ids_text(&draft.blocked_by));
    field("blocks", &ids_text(&draft.blocks));
    let _ = writeln!(text, "{BETWEEN}\n{}", draft.description);
    text
}

/// Formats a value on one line, as JSON if it would otherwise be misread.
fn in_line(value: &str) -> String {
    let is_plain = !value.starts_with('"') && value.trim() == value && !value.chars().any(char::is_control);
    if is_plain { value.to_owned() } else { serde_json::Value::from(value).to_string() }
}

fn ids_text(ids: &[TaskId]) -> String {
    ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", ")
}

/// Why a form cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditFormError {
    /// The line between the fields and the description is missing.
    #[error("the line `{BETWEEN}` between the fields and the description is missing")]
    NoLineBetween,
    /// A line above the separator is not a field.
    #[error("line {line} is not a field: `{}`", .text.escape_debug())]
    NoField {
        /// The line number, from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// A field has an invalid value.
    #[error("line {line}: {why}")]
    BadValue {
        /// The line number, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
}

/// Parses a form. Fields that it does not mention keep their values from `base`. Times are interpreted with the
/// clock.
pub fn read(text: &str, base: &Draft, clock: &Clock) -> Result<Draft, EditFormError> {
    // An editor may have changed the line endings; a description that already had `\r\n` keeps it.
    let unified = (text.contains("\r\n") && !base.description.contains('\r')).then(|| text.replace("\r\n", "\n"));
    let text = unified.as_deref().unwrap_or(text);
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut draft = base.clone();
    let mut rest = text;
    let mut line = 0;
    loop {
        line += 1;
        let Some((this, after)) = rest.split_once('\n') else {
            if rest.trim_end() == BETWEEN {
                draft.description.clear();
                return Ok(draft);
            }
            return Err(EditFormError::NoLineBetween);
        };
        rest = after;
        match this.trim() {
            "" => {}
            BETWEEN => break,
            comment if comment.starts_with('#') => {}
            field => take(field, line, &mut draft, clock)?,
        }
    }
    // The final newline is not part of the description. A new description begins with its first non-empty line.
    let rest = if base.description.is_empty() { rest.trim_start_matches('\n') } else { rest };
    rest.strip_suffix('\n').unwrap_or(rest).clone_into(&mut draft.description);
    Ok(draft)
}

fn take(field: &str, line: usize, draft: &mut Draft, clock: &Clock) -> Result<(), EditFormError> {
    let no_field = || EditFormError::NoField { line, text: field.to_owned() };
    let bad = |why: String| EditFormError::BadValue { line, why };
    let (name, value) = field.split_once(':').ok_or_else(no_field)?;
    let value = value.trim();
    let value = match value.strip_prefix('"').map(|_| serde_json::from_str::<String>(value)) {
        Some(Ok(text)) => text,
        // The user typed a quotation mark.
        Some(Err(_)) | None => value.to_owned(),
    };
    let given = Some(value.clone()).filter(|value| !value.is_empty());
    match name.trim().to_ascii_lowercase().replace(['_', '-', ' '], "").as_str() {
        "subject" | "title" if value.is_empty() && !draft.subject.is_empty() => {
            return Err(bad("a task needs a subject".to_owned()));
        }
        "subject" | "title" => draft.subject = value,
        "status" => {
            let word = value.to_ascii_lowercase().replace(['-', ' '], "_");
            draft.status = Some(word.parse::<Status>().map_err(|error| bad(error.to_string()))?);
        }
        "owner" => draft.owner = given,
        "activeform" => draft.active_form = given,
        "priority" => {
            let word = given.map(|word| word.to_ascii_lowercase().parse::<Priority>());
            draft.priority = word.transpose().map_err(|error| bad(error.to_string()))?;
        }
        "tags" => draft.tags = items(&value).map(str::to_owned).collect(),
        "parent" => draft.parent = read_ids(&value).map_err(bad)?.pop(),
        "due" => draft.due = moment(given, PartOfDay::End, clock).map_err(bad)?,
        "defer" => draft.defer = moment(given, PartOfDay::Start, clock).map_err(bad)?,
        "estimate" => {
            let span = given.filter(|text| !is_none(text)).map(|text| WorkSpan::parse(&text));
            let span = span.transpose().map_err(|error| bad(error.to_string()))?;
            draft.estimate = span.map(|span| span.with_days_of(clock.working_day));
        }
        word if WORDS.contains(&word) => {
            let place = WORDS.iter().position(|known| *known == word).unwrap_or_default();
            draft.words[place] = match given.filter(|text| !is_none(text)) {
                Some(text) if word == EVERY => parse_every(&text, clock).map_err(bad)?.as_str().map(str::to_owned),
                other => other,
            };
        }
        "blockedby" => draft.blocked_by = read_ids(&value).map_err(bad)?,
        "blocks" => draft.blocks = read_ids(&value).map_err(bad)?,
        _ => return Err(no_field()),
    }
    Ok(())
}

fn moment(given: Option<String>, part: PartOfDay, clock: &Clock) -> Result<Option<Timestamp>, String> {
    let read = given.filter(|text| !is_none(text)).map(|text| parse_moment(&text, part, clock));
    read.transpose().map_err(|error| error.to_string())
}

/// Returns whether a text is the word that clears a time.
fn is_none(text: &str) -> bool {
    text.eq_ignore_ascii_case("none")
}

fn items(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|item| !item.is_empty())
}

fn read_ids(value: &str) -> Result<Vec<TaskId>, String> {
    let id = |word: &str| word.parse::<TaskId>().map_err(|error| error.to_string());
    value.split([',', ' ']).map(str::trim).filter(|word| !word.is_empty()).map(id).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::tz::TimeZone;

    use super::EditFormError;
    use crate::rules::changes::editing::{Conflict, Draft};
    use crate::timing::Clock;
    use crate::{Priority, Status, TaskId, Timestamp};

    /// Noon of a Monday, 16 November 2026.
    fn clock() -> Clock {
        Clock::new(Timestamp::parse("2026-11-16T12:00:00Z").unwrap(), TimeZone::UTC)
    }

    fn print(draft: &Draft, heading: &str, conflicts: &[Conflict]) -> String {
        super::print(draft, heading, conflicts, &clock())
    }

    fn read(text: &str, base: &Draft) -> Result<Draft, EditFormError> {
        super::read(text, base, &clock())
    }

    fn full() -> Draft {
        Draft {
            subject: "\"Quoted\" and\nbroken".into(),
            status: Some(Status::InProgress),
            owner: Some(" ana ".into()),
            active_form: Some("Doing # it".into()),
            priority: Some(Priority::High),
            tags: vec!["a".into(), "b c".into()],
            parent: Some(TaskId::number(3)),
            due: Timestamp::parse("2026-11-20T17:00:00Z"),
            defer: Timestamp::parse("2026-11-18T00:00:00Z"),
            estimate: Some(Duration::from_secs(5400)),
            is_cancelled: false,
            words: [Some("bug".into()), None, None],
            blocked_by: vec![TaskId::number(1), TaskId::number(2)],
            blocks: Vec::new(),
            description: "# heading\n\n---\nsubject: no\n".into(),
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for draft in [full(), Draft { status: Some(Status::Pending), ..Draft::default() }] {
            let form = print(&draft, "Task #7", &[]);
            assert_eq!(read(&form, &Draft::default()), Ok(draft.clone()), "{form}");
            assert_eq!(read(&form.replace('\n', "\r\n"), &draft), Ok(draft), "{form}");
        }
        assert_eq!(read(&super::print_new("A new task", &clock()), &Draft::default()), Ok(Draft::default()));
    }

    #[test]
    fn a_field_that_is_gone_stays_and_an_empty_one_goes() {
        let form = "subject: New\npriority:\nBlocked-By: #5 6\n---\n";
        let expected = Draft {
            subject: "New".into(),
            priority: None,
            blocked_by: vec![TaskId::number(5), TaskId::number(6)],
            description: String::new(),
            ..full()
        };
        assert_eq!(read(form, &full()), Ok(expected));
    }

    #[test]
    fn what_is_wrong_is_told_by_line() {
        let wrong = |form: &str| read(form, &Draft::default()).unwrap_err().to_string();
        assert_eq!(read("subject: x\n", &Draft::default()), Err(EditFormError::NoLineBetween));
        assert_eq!(wrong("# help\nsubjct: x\n---\n"), "line 2 is not a field: `subjct: x`");
        assert_eq!(wrong("priority: urgent\n---\n"), "line 1: invalid priority `urgent`: expected low, medium or high");
        assert!(wrong("status: done\n---\n").starts_with("line 1: "));
        let no_subject = read("subject:\n---\n", &full()).unwrap_err();
        assert_eq!(no_subject.to_string(), "line 1: a task needs a subject");
    }

    #[test]
    fn what_others_made_of_a_field_stands_below_it_and_is_no_field() {
        let conflicts = [Conflict { field: "subject", theirs: Some("Theirs".into()) }];
        let form = print(&full(), "Task #7", &conflicts);
        assert!(form.contains("\n# changed in the meantime to: Theirs\nstatus: in_progress\n"), "{form}");
        assert_eq!(read(&form, &Draft::default()), Ok(full()));
    }

    #[test]
    fn times_are_read_in_peoples_words() {
        let form = print(&full(), "Task #7", &[]);
        assert!(form.contains("\ndue: 2026-11-20 17:00\ndefer: 2026-11-18\nestimate: 1h30m\n"), "{form}");
        let read = read("due: tomorrow\ndefer: none\nestimate: 2h\n---\n", &full()).unwrap();
        assert_eq!(read.due, Timestamp::parse("2026-11-17T23:59:59.999Z"));
        assert_eq!((read.defer, read.estimate), (None, Some(Duration::from_secs(7200))));
        let wrong = super::read("due: soon\n---\n", &full(), &clock()).unwrap_err().to_string();
        assert!(wrong.starts_with("line 1: invalid time `soon`"), "{wrong}");
    }
}
