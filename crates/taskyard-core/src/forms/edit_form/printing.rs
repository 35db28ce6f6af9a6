//! Writing the form.

use std::fmt::Write as _;

use crate::rules::changes::editing::{Conflict, Draft};
use crate::timing::{Clock, PartOfDay, moment_in_words, work_in_full};
use crate::{DEFER, DUE, ESTIMATE, TaskId, Timestamp};

/// The line between the fields and the description.
pub(super) const BETWEEN: &str = "---";

const HELP: &str = "\
# Up to the line of dashes stand the fields, below it the description. An empty value takes a field away; a field whose
# line is gone stays as it was. Whatever is saved when the editor ends counts; leave the file as it is to change nothing.
";

const AT_ODDS: &str = "\
# Somebody changed the task meanwhile, and both changed the same. What they made of a field stands below it; in the
# description both texts stand one after the other. Save the file as it shall be.
";

/// Returns a task as people edit it, its times by their clock. `heading` says which one it is; where two sides are at odds, both stand in it.
pub fn print(draft: &Draft, heading: &str, conflicts: &[Conflict], clock: &Clock) -> String {
    form(draft, heading, conflicts, if conflicts.is_empty() { HELP } else { AT_ODDS }, clock)
}

/// Returns the form of a task that is yet to be made.
pub fn print_new(heading: &str, clock: &Clock) -> String {
    form(&Draft::default(), heading, &[], "# Without a subject nothing is made.\n", clock)
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
            let _ = writeln!(text, "# changed meanwhile to: {}", in_line(&theirs));
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
    field("blockedBy", &ids(&draft.blocked_by));
    field("blocks", &ids(&draft.blocks));
    let _ = writeln!(text, "{BETWEEN}\n{}", draft.description);
    text
}

/// Returns a value on one line: as JSON where it would be misread otherwise.
fn in_line(value: &str) -> String {
    let is_plain = !value.starts_with('"') && value.trim() == value && !value.chars().any(char::is_control);
    if is_plain { value.to_owned() } else { serde_json::Value::from(value).to_string() }
}

fn ids(ids: &[TaskId]) -> String {
    ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", ")
}
