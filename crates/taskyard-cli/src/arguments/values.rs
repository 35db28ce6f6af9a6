//! From what was typed to what is meant.

use std::time::Duration;

use taskyard::config::{self, parse_duration, parse_size};
pub(crate) use taskyard::core::forms::id_range::parse_id;
use taskyard::core::timing::When;
use taskyard::core::{AgentName, Revision, Status, TaskId, Timestamp};
use taskyard::operations::UndoRange;

use super::times::writers_clock;

/// Reads the name of an agent.
pub(crate) fn parse_agent(text: &str) -> Result<AgentName, String> {
    AgentName::new(text).map_err(|error| error.to_string())
}

/// Reads a duration: `90s`, `1h`; a bare number is seconds.
pub(crate) fn parse_pause(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

/// Reads how long something counts: a lease, a token. What would be over at once is a mistake.
pub(crate) fn parse_lifetime(text: &str) -> Result<Duration, String> {
    config::parse_lifetime(text).map_err(|error| error.to_string())
}

/// Reads a size: `16MB`; a bare number is bytes.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    parse_size(text).map_err(|error| error.to_string())
}

/// Reads a task's id behind another one; `on` between the two is no id.
pub(crate) fn parse_other(text: &str) -> Result<Option<TaskId>, String> {
    if text.eq_ignore_ascii_case("on") { Ok(None) } else { parse_id(text).map(Some) }
}

/// Reads a status; a hyphen or a space is as good as an underscore, and the words of other programs count.
pub(crate) fn parse_status(text: &str) -> Result<Status, String> {
    let word = text.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    match &*word {
        "todo" => Ok(Status::Pending),
        "doing" | "started" | "wip" => Ok(Status::InProgress),
        "done" | "closed" | "complete" | "finished" => Ok(Status::Completed),
        word => word.parse().map_err(|error: taskyard::core::UnknownStatus| error.to_string()),
    }
}

/// A state that a list can be narrowed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListedState {
    /// A status.
    Is(Status),
    /// Open, and waiting for others.
    Blocked,
}

/// Reads a state that a list can be narrowed to.
pub(crate) fn parse_listed_state(text: &str) -> Result<ListedState, String> {
    if text.trim().eq_ignore_ascii_case("blocked") {
        return Ok(ListedState::Blocked);
    }
    parse_status(text).map(ListedState::Is)
}

/// Reads a revision; `r41` is 41.
pub(crate) fn parse_revision(text: &str) -> Result<Revision, String> {
    let number = text.trim().trim_start_matches(['r', 'R']);
    number.parse().map(Revision).map_err(|_| format!("`{}` is no revision; use a number", text.escape_debug()))
}

/// The point after which history is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    Revision(Revision),
    Moment(Timestamp),
}

/// Reads a revision (`41`, `r41`), or a time that has passed (`yesterday`, `2h`, `fri 17:00`).
pub(crate) fn parse_since(text: &str) -> Result<Since, String> {
    if let Ok(revision) = parse_revision(text) {
        return Ok(Since::Revision(revision));
    }
    let bad = || {
        format!(
            "`{}` is neither a revision nor a time; write `41`, `2h`, `yesterday` or `fri 17:00`",
            text.escape_debug()
        )
    };
    let moment = When::parse(text).ok().and_then(|when| when.past_moment(&writers_clock()));
    moment.map(Since::Moment).ok_or_else(bad)
}

/// Reads a revision or a range of them: `41` or `41..45`.
pub(crate) fn parse_revisions(text: &str) -> Result<UndoRange, String> {
    match text.split_once("..") {
        None => parse_revision(text).map(UndoRange::One),
        Some((first, last)) => {
            let (first, last) = (parse_revision(first)?, parse_revision(last)?);
            if first > last {
                return Err(format!("the range {first}..{last} runs backwards; write {last}..{first}"));
            }
            Ok(UndoRange::Range(first, last))
        }
    }
}

#[cfg(test)]
mod tests {
    use taskyard::core::{Revision, Status};
    use taskyard::operations::UndoRange;

    use super::{parse_revisions, parse_status};

    #[test]
    fn status_may_be_written_as_in_other_programs() {
        assert_eq!(parse_status("in progress"), Ok(Status::InProgress));
        assert_eq!(parse_status("In-Progress"), Ok(Status::InProgress));
        assert_eq!(parse_status("done"), Ok(Status::Completed));
        assert!(parse_status("deleted").is_err());
    }

    #[test]
    fn revisions_come_alone_or_as_a_range() {
        assert_eq!(parse_revisions("r4"), Ok(UndoRange::One(Revision(4))));
        assert_eq!(parse_revisions("4..7"), Ok(UndoRange::Range(Revision(4), Revision(7))));
        assert!(parse_revisions("7..4").is_err());
        assert!(parse_revisions("..").is_err());
    }
}
