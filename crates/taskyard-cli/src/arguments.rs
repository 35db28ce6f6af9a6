//! Arguments that several commands share.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, ValueEnum};
pub(crate) use notify::NotifyFlag;
use serde_json::Value;
use taskyard::config::{RuleWord, parse_duration, parse_size};
use taskyard::core::forms::one_line;
pub(crate) use taskyard::core::forms::one_line::parse_id;
use taskyard::core::forms::one_line::{EstimateWord, Extras, IdRange, parse_priority};
use taskyard::core::rules::looking::query::{FIELDS, is_keyword};
use taskyard::core::timing::{Clock, When};
use taskyard::core::{AgentName, ClientVersion, Priority, Revision, Status, TaskId, Timestamp, Token, json_text};
use taskyard::opening::WrittenAddress;
use taskyard::operations::UndoRange;
use taskyard::{Yard, config};

use crate::output::{ColorChoice, local_zone};
pub(crate) use crate::shorthand::{are_ids, only_ids_before, written_out};

mod notify;

/// The flags every command takes.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Globals {
    /// The list to work on [env: TASKYARD_LIST]; default: see `taskyard where`
    #[arg(long, global = true, value_name = "ID")]
    pub(crate) list: Option<String>,

    /// The store: `claude:`, `file:DIRECTORY`, `document:[FILE]`, `teaching:DIRECTORY`, `postgres://HOST/DATABASE` or `memory:` [env: TASKYARD_STORE]
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub(crate) store: Option<WrittenAddress>,

    /// The agent to act as [env: TASKYARD_AGENT]
    #[arg(long = "as", global = true, value_name = "AGENT")]
    pub(crate) agent: Option<String>,

    /// Answer with one JSON object
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Print only the bare result
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,

    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = false)]
    pub(crate) color: ColorChoice,

    /// Do not send output that is longer than the screen to $PAGER
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,

    /// The rules to apply [env: TASKYARD_RULES]
    #[arg(long, global = true, value_name = "RULES")]
    pub(crate) rules: Option<RulesFlag>,

    /// The recorded client that `--rules client` follows, 2.1.34 or 2.1.325 [env: TASKYARD_CLIENT_VERSION]
    #[arg(long, global = true, value_name = "VERSION")]
    pub(crate) client_version: Option<ClientVersion>,
}

/// The rule sets one can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RulesFlag {
    /// Accept any input, write only valid data (default)
    Strict,
    /// Behave like the recorded client
    Client,
}

impl From<RulesFlag> for RuleWord {
    fn from(flag: RulesFlag) -> Self {
        match flag {
            RulesFlag::Strict => Self::Strict,
            RulesFlag::Client => Self::Client,
        }
    }
}

/// Up to this many tasks, a store may read them one by one.
pub(crate) const FEW: usize = 100;

/// Which tasks a command is about. The command says with a group `which` whether some have to be named.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WhichTasks {
    /// The tasks: numbers and ranges, `3 4 7-9`
    #[arg(value_name = "ID", value_delimiter = ',', group = "which")]
    pub(crate) ids: Vec<IdRange>,

    /// All tasks that match (see `taskyard list --help`)
    #[arg(long = "where", value_name = "QUERY", allow_hyphen_values = true, group = "which", conflicts_with = "ids")]
    pub(crate) query: Option<String>,

    /// Change the tasks that can be changed and report the others; without it all of them or none
    #[arg(long)]
    pub(crate) keep_going: bool,

    /// Show what would be done, without doing it; hooks and checks do not run
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl WhichTasks {
    /// Returns the ids if they were given explicitly and are few.
    pub(crate) fn named(&self) -> Option<Vec<TaskId>> {
        let ids: Vec<TaskId> = self.ids.iter().flat_map(IdRange::ids).take(FEW + 1).collect();
        (self.query.is_none() && !ids.is_empty() && ids.len() <= FEW).then_some(ids)
    }

    /// Returns the task if exactly one was named.
    pub(crate) fn only_one(&self) -> Option<&TaskId> {
        match self.ids.as_slice() {
            [IdRange::One(id)] if self.query.is_none() => Some(id),
            _ => None,
        }
    }
}

pub(crate) fn parse_agent(text: &str) -> Result<AgentName, String> {
    AgentName::new(text).map_err(|error| error.to_string())
}

/// Parses a duration such as `90s` or `1h`; a bare number is in seconds.
pub(crate) fn parse_pause(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

/// Parses the lifetime of a lease or token. Zero is rejected.
pub(crate) fn parse_lifetime(text: &str) -> Result<Duration, String> {
    config::parse_lifetime(text).map_err(|error| error.to_string())
}

/// Parses a size such as `16MB`; a bare number is in bytes.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    parse_size(text).map_err(|error| error.to_string())
}

/// Parses a task id that follows another; the filler word `on` yields `None`.
pub(crate) fn parse_other(text: &str) -> Result<Option<TaskId>, String> {
    if text.eq_ignore_ascii_case("on") { Ok(None) } else { parse_id(text).map(Some) }
}

/// Parses a status. Accepts hyphens and spaces instead of underscores, and other programs' words.
pub(crate) fn parse_status(text: &str) -> Result<Status, String> {
    let word = text.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    match &*word {
        "todo" => Ok(Status::Pending),
        "doing" | "started" | "wip" => Ok(Status::InProgress),
        "done" | "closed" | "complete" | "finished" => Ok(Status::Completed),
        word => word.parse().map_err(|error: taskyard::core::UnknownStatus| error.to_string()),
    }
}

/// A state to filter a list by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListedState {
    Is(Status),
    /// Open, with open blockers.
    Blocked,
}

pub(crate) fn parse_listed_state(text: &str) -> Result<ListedState, String> {
    if text.trim().eq_ignore_ascii_case("blocked") {
        return Ok(ListedState::Blocked);
    }
    parse_status(text).map(ListedState::Is)
}

/// Parses a revision: `41` or `r41`.
pub(crate) fn parse_revision(text: &str) -> Result<Revision, String> {
    let number = text.trim().trim_start_matches(['r', 'R']);
    number.parse().map(Revision).map_err(|_| format!("invalid revision `{}`: expected a number", text.escape_debug()))
}

/// The point after which history is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    Revision(Revision),
    Moment(Timestamp),
}

/// Parses a revision (`41`, `r41`) or a past time (`yesterday`, `2h`, `fri 17:00`).
pub(crate) fn parse_since(text: &str) -> Result<Since, String> {
    if let Ok(revision) = parse_revision(text) {
        return Ok(Since::Revision(revision));
    }
    let bad =
        || format!("invalid revision or time `{}`: write `41`, `2h`, `yesterday` or `fri 17:00`", text.escape_debug());
    let moment = When::parse(text).ok().and_then(|when| when.past_moment(&writers_clock()));
    moment.map(Since::Moment).ok_or_else(bad)
}

/// Parses a revision or a range: `41` or `41..45`.
pub(crate) fn parse_revisions(text: &str) -> Result<UndoRange, String> {
    match text.split_once("..") {
        None => parse_revision(text).map(UndoRange::One),
        Some((first, last)) => {
            let (first, last) = (parse_revision(first)?, parse_revision(last)?);
            if first > last {
                return Err(format!("the range {first}..{last} is reversed; write {last}..{first}"));
            }
            Ok(UndoRange::Range(first, last))
        }
    }
}

/// The flags that end up in a task's metadata.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct MetadataFlags {
    /// The priority: low, medium or high
    #[arg(long, short, value_name = "PRIORITY", value_parser = parse_priority)]
    pub(crate) priority: Option<Priority>,

    /// A tag; may be given several times
    #[arg(id = "tag", long = "tag", short = 't', value_name = "TAG", value_delimiter = ',')]
    pub(crate) tags: Vec<String>,

    /// The task it is a part of
    #[arg(long, value_name = "ID", value_parser = parse_id)]
    pub(crate) parent: Option<TaskId>,

    /// What kind of task it is, in a word of your own; mission, experiment, phase, bug, detour and task put their mark before
    /// the title
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,

    /// When it is due: `tomorrow 9:00`, `fri`, `20 nov`, `eow`, `next week`, `2h`, `1mo`, `2026-11-20` (its end);
    /// `none` removes it
    #[arg(long, value_name = "TIME", value_parser = parse_due)]
    pub(crate) due: Option<Value>,

    /// The task is not ready before this moment: `mon`, `2h`, `next week`, `2026-11-20` (its beginning); `none` removes
    /// it
    #[arg(long, value_name = "TIME", value_parser = parse_defer)]
    pub(crate) defer: Option<Value>,

    /// How long it should take: `30m`, `2h`, `1d` (a working day, 8 h by default); `none` removes it
    #[arg(long, value_name = "DURATION")]
    pub(crate) estimate: Option<EstimateWord>,

    /// When it is done, the next one is made: `mon`, `mon,thu`, `weekday`, `2w`, `1mo`, `first mon`, `last fri`, `15th`; `none` ends that
    #[arg(long, value_name = "RULE", value_parser = parse_every)]
    pub(crate) every: Option<Value>,

    /// Anything else to keep with it; the value is JSON, so quote text twice: 'note="soon"'
    #[arg(long = "meta", value_name = "KEY=JSON", value_parser = parse_meta)]
    pub(crate) meta: Vec<(String, Value)>,
}

impl MetadataFlags {
    /// Converts the flags.
    pub(crate) fn extras(self) -> Extras {
        Extras {
            priority: self.priority,
            tags: self.tags,
            parent: self.parent,
            kind: self.kind,
            due: self.due,
            defer: self.defer,
            estimate: self.estimate,
            every: self.every,
            metadata: self.meta,
        }
    }
}

fn parse_meta(text: &str) -> Result<(String, Value), String> {
    let Some((key, value)) = text.split_once('=') else {
        return Err("there is no `=` between key and value".to_owned());
    };
    if key.is_empty() {
        return Err("there is no key before the `=`".to_owned());
    }
    match json_text::from_str(value) {
        Ok(value) => Ok((key.to_owned(), value)),
        Err(_) => {
            Err(format!("`{}` is not JSON; quote text twice: '{key}={}'", value.escape_debug(), Value::from(value)))
        }
    }
}

/// Returns the clock for times the user types: this machine's, in the zone of `TZ` or the system's.
pub(crate) fn writers_clock() -> Clock {
    Clock::new(Timestamp(jiff::Timestamp::now().as_millisecond()), local_zone().clone())
}

fn parse_due(text: &str) -> Result<Value, String> {
    one_line::parse_due(text, &writers_clock())
}

fn parse_defer(text: &str) -> Result<Value, String> {
    one_line::parse_defer(text, &writers_clock())
}

fn parse_every(text: &str) -> Result<Value, String> {
    one_line::parse_every(text, &writers_clock())
}

/// The flags of writes on a task that another agent may be working on.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct LeaseFlags {
    /// The token of the lease on the task; an old token is refused
    #[arg(long, value_name = "N")]
    pub(crate) token: Option<u64>,

    /// Override the lease of the agent that is working on it
    #[arg(long)]
    pub(crate) force: bool,
}

impl LeaseFlags {
    /// Returns the yard whose writes use the token or override leases, as given.
    pub(crate) fn on(self, yard: Yard) -> Yard {
        match (self.force, self.token) {
            (true, _) => yard.overruling(),
            (false, Some(token)) => yard.proving(Token(token)),
            (false, None) => yard,
        }
    }
}

/// The commands that take a query.
const ASKING: [&str; 3] = ["list", "search", "watch"];

/// Rewrites an argument of a query that begins with a hyphen (`-tag:old`) with `not`, since it would be parsed as a
/// flag.
pub(crate) fn with_negations(typed: Vec<OsString>) -> Vec<OsString> {
    let mut asks = false;
    let written = |argument: OsString| {
        asks |= ASKING.iter().any(|command| argument == *command);
        match argument.to_str().filter(|_| asks).and_then(negated) {
            Some(query) => OsString::from(format!("not {query}")),
            None => argument,
        }
    };
    typed.into_iter().map(written).collect()
}

/// Returns the negated query term, if the argument is one.
fn negated(argument: &str) -> Option<&str> {
    let query = argument.strip_prefix('-')?;
    let name = query.split([':', '<', '>', '=', '!']).next().filter(|name| name.len() < query.len());
    let is_field = name.is_some_and(|name| FIELDS.iter().any(|field| field.eq_ignore_ascii_case(name)));
    let begins_with_keyword = query.split_whitespace().next().is_some_and(is_keyword);
    Some(query).filter(|query| is_field || begins_with_keyword || query.starts_with(['(', '"']))
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

#[cfg(test)]
mod metadata_tests {
    use serde_json::json;

    use super::parse_meta;

    #[test]
    fn text_without_quotes_is_refused_with_the_way_to_write_it() {
        assert_eq!(parse_meta("a={\"b\":[1]}"), Ok(("a".into(), json!({"b": [1]}))));
        assert_eq!(parse_meta("a=null"), Ok(("a".into(), json!(null))));
        assert!(parse_meta("note=soon").unwrap_err().ends_with("'note=\"soon\"'"));
        assert!(parse_meta("note").is_err());
    }
}

#[cfg(test)]
mod query_tests {
    use std::ffi::OsString;

    use super::with_negations;

    #[test]
    fn only_what_says_something_of_a_task_is_no_flag() {
        let typed = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let read = |words: &[&str]| with_negations(typed(words));
        assert_eq!(read(&["taskyard", "list", "-tag:old b"]), typed(&["taskyard", "list", "not tag:old b"]));
        assert_eq!(read(&["taskyard", "list", "-(a or b)"]), typed(&["taskyard", "list", "not (a or b)"]));
        assert_eq!(
            read(&["taskyard", "list", "-blocked", "-done"]),
            typed(&["taskyard", "list", "not blocked", "not done"])
        );
        for words in [["x", "list", "-x"], ["x", "list", "--tag"], ["x", "create", "-due:x"], ["x", "list", "-n5:"]] {
            assert_eq!(read(&words), typed(&words));
        }
    }
}
