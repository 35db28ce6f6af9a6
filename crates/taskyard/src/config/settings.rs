//! What one `taskyard.toml` says, in types.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use taskyard_core::ClientVersion;

use super::quantity::{parse_duration, parse_size};
use crate::opening::WrittenAddress;

/// What one file sets; what is none is left to the other files.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The store's address.
    pub(crate) store: Option<WrittenAddress>,
    /// The list's name.
    pub(crate) list: Option<String>,
    /// The rules in force.
    pub(crate) rules: Option<RuleWord>,
    /// The recorded client that client rules follow.
    #[serde(deserialize_with = "client_version")]
    pub(crate) client_version: Option<ClientVersion>,
    /// How tasks are claimed.
    pub(crate) claims: Claims,
    /// Commands that a task may demand by name.
    pub checks: BTreeMap<String, String>,
    /// Commands that run on events.
    pub(crate) hooks: BTreeMap<String, Vec<Hook>>,
    /// Background commands.
    pub(crate) jobs: Jobs,
    /// How long history is kept.
    pub(crate) journal: Journal,
    /// Tidying up.
    pub(crate) gc: Gc,
    /// What becomes of changes of ours that another program did not know of.
    pub(crate) merge: Merge,
    /// How lists look.
    pub(crate) display: Display,
    /// The board in the terminal.
    pub(crate) board: Board,
    /// The server for agents.
    pub(crate) mcp: Mcp,
    /// Tasks of a kind.
    pub(crate) kinds: Kinds,
    /// How time is counted.
    pub(crate) time: Time,
    /// Which list is meant.
    pub(crate) lists: Lists,
}

/// Which list is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Lists {
    /// Whether every branch but the default one has a list of its own.
    pub(crate) per_branch: Option<bool>,
}

/// The server for agents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Mcp {
    /// Which of the client's two systems is on if `CLAUDE_CODE_ENABLE_TASKS` says nothing.
    pub(crate) when_unset: Option<WhenUnset>,
}

/// Which of the client's two systems is on if its variable says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WhenUnset {
    /// Tasks, as for a person.
    Tasks,
    /// Todos, as for a program.
    Todos,
    /// Todos if no person is there, tasks otherwise.
    Auto,
}

/// Tasks of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Kinds {
    /// How the marks before the title of a new task are written.
    pub(crate) marks: Option<Marks>,
}

/// How the marks before a title are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Marks {
    /// In columns, dim ended by `ESC [22m`.
    Columns,
    /// Without columns, dim ended by `ESC [0m`.
    Compact,
}

/// How time is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Time {
    /// How long a day of an estimate is; a bare number is hours.
    #[serde(deserialize_with = "hours")]
    pub(crate) working_day: Option<Duration>,
}

/// How long history is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Journal {
    /// For how long every change is kept.
    #[serde(deserialize_with = "duration")]
    pub(crate) keep: Option<Duration>,
    /// How many bytes the journal of a list may have before it is thinned out earlier.
    #[serde(deserialize_with = "size")]
    pub(crate) max_size: Option<u64>,
}

/// Tidying up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Gc {
    /// Whether a part of it happens without being asked for.
    pub(crate) auto: Option<bool>,
}

/// What becomes of changes of ours that another program did not know of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Merge {
    /// Whether what a stale write of another program took back is put back without asking.
    pub(crate) put_back: Option<bool>,
}

/// The word for a rule set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleWord {
    /// Taskyard's own rules.
    Strict,
    /// The recorded client's rules.
    Client,
}

/// How tasks are claimed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Claims {
    /// How long a lease lives without a sign of life.
    #[serde(deserialize_with = "duration")]
    pub(crate) lease: Option<Duration>,
    /// How many tasks an agent may have in progress.
    pub(crate) limit: Option<u32>,
    /// The roles of each agent: what it may take.
    pub(crate) roles: BTreeMap<String, Vec<String>>,
    /// How long the owner of a task who has no lease on it may show no life.
    #[serde(deserialize_with = "duration")]
    pub(crate) stale_owner: Option<Duration>,
}

/// A command that runs on an event: the client's fields, and what it reads on stdin.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Hook {
    /// The command, given to the shell; the bare program where there are arguments.
    pub(crate) command: String,
    /// The arguments of a program that is run without a shell.
    #[serde(default)]
    pub(crate) args: Option<Vec<String>>,
    /// Whether it is started and not waited for.
    #[serde(default, rename = "async")]
    pub(crate) is_async: bool,
    /// The kind of hook; the client knows `command`.
    #[serde(default = "command_type", rename = "type")]
    pub(crate) kind: String,
    /// Which tools or agents it is for; everything where none is given.
    #[serde(default)]
    pub(crate) matcher: Option<String>,
    /// How long it may take; a bare number is seconds, as in the client's settings.
    #[serde(default, deserialize_with = "duration")]
    pub(crate) timeout: Option<Duration>,
    /// What it reads on stdin; the client's own event where nothing is said.
    #[serde(default)]
    pub(crate) stdin: Option<HookInput>,
}

/// What a hook reads on stdin instead of the client's event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub(crate) enum HookInput {
    /// The task it is about.
    Task,
    /// The whole list.
    Tasks,
}

/// Background commands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Jobs {
    /// How many bytes of output one job keeps.
    #[serde(deserialize_with = "size")]
    pub(crate) max_output: Option<u64>,
    /// How many bytes the output of all jobs may take.
    #[serde(deserialize_with = "size")]
    pub(crate) quota: Option<u64>,
    /// How long finished jobs are kept.
    #[serde(deserialize_with = "duration")]
    pub(crate) keep: Option<Duration>,
    /// How long a job that is asked to end has for it.
    #[serde(deserialize_with = "duration")]
    pub(crate) grace: Option<Duration>,
    /// The recorded client whose output form is written.
    #[serde(deserialize_with = "client_version")]
    pub(crate) output_form: Option<ClientVersion>,
}

/// How lists look.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Display {
    /// How many completed tasks are shown before the rest becomes `+N completed`.
    pub(crate) completed_after: Option<usize>,
    /// The style of `list`.
    pub(crate) style: Option<String>,
    /// The command that shows what is longer than the screen.
    pub(crate) pager: Option<String>,
}

/// The board in the terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Board {
    /// The keys that do something, by its name.
    pub(crate) keys: BTreeMap<String, BoardKeys>,
    /// Whose colours are used: `terminal`, `light`, `dark` or `none`.
    pub(crate) theme: Option<String>,
}

/// The keys that do one thing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub(crate) enum BoardKeys {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

fn command_type() -> String {
    "command".to_owned()
}

fn client_version<'de, D: Deserializer<'de>>(input: D) -> Result<Option<ClientVersion>, D::Error> {
    String::deserialize(input)?.parse().map(Some).map_err(D::Error::custom)
}

fn hours<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Duration>, D::Error> {
    let text = text_or_number(input)?;
    let is_number = text.parse::<f64>().is_ok();
    let day = parse_duration(&if is_number { format!("{text}h") } else { text }).map_err(D::Error::custom)?;
    let is_plausible = !day.is_zero() && day <= Duration::from_secs(86_400);
    if is_plausible {
        Ok(Some(day))
    } else {
        Err(D::Error::custom("a working day has more than 0 and at most 24 hours"))
    }
}

fn duration<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Duration>, D::Error> {
    parse_duration(&text_or_number(input)?).map(Some).map_err(D::Error::custom)
}

fn size<'de, D: Deserializer<'de>>(input: D) -> Result<Option<u64>, D::Error> {
    parse_size(&text_or_number(input)?).map(Some).map_err(D::Error::custom)
}

/// Takes `"1h"` as well as `3600`.
fn text_or_number<'de, D: Deserializer<'de>>(input: D) -> Result<String, D::Error> {
    match toml::Value::deserialize(input)? {
        toml::Value::String(text) => Ok(text),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        other => Err(D::Error::custom(format!("expected text or a number, found {}", other.type_str()))),
    }
}
