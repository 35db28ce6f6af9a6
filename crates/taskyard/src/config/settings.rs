//! The typed contents of one `taskyard.toml`, and the parsers for its durations and sizes.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use taskyard_core::ClientVersion;
use taskyard_core::rules::lists::Doubt;

use crate::opening::WrittenAddress;

/// The settings of one file. A setting that is `None` is taken from the other files.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Settings {
    pub(crate) store: Option<WrittenAddress>,
    pub(crate) list: Option<String>,
    pub(crate) rules: Option<RuleWord>,
    /// The client release that `rules = "client"` follows.
    #[serde(deserialize_with = "client_version")]
    pub(crate) client_version: Option<ClientVersion>,
    pub(crate) claims: Claims,
    /// Commands that a task may require by name.
    pub checks: BTreeMap<String, String>,
    /// Commands that run on events, keyed by event.
    pub(crate) hooks: BTreeMap<String, Vec<Hook>>,
    pub(crate) jobs: Jobs,
    pub(crate) journal: Journal,
    pub(crate) gc: Gc,
    pub(crate) merge: Merge,
    pub(crate) display: Display,
    pub(crate) board: Board,
    pub(crate) mcp: Mcp,
    pub(crate) kinds: Kinds,
    pub(crate) time: Time,
    pub(crate) lists: Lists,
    pub(crate) work: Work,
    pub(crate) notify: Notify,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Work {
    /// Patterns of untracked files that are copied into each worktree.
    pub(crate) copy: Option<Vec<String>>,
    /// Paths that are linked into each worktree.
    pub(crate) link: Option<Vec<String>>,
    /// The command that runs in each new worktree.
    pub(crate) setup: Option<String>,
    /// Whether a merge needs a person's approval.
    pub(crate) review: Option<bool>,
    /// The directory in which worktrees are created.
    pub(crate) directory: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Notify {
    /// The shell command that shows a notice.
    pub(crate) command: Option<String>,
    /// The kinds of notices that are shown.
    pub(crate) on: Option<Vec<NoticeKind>>,
}

/// The event that a desktop notice reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoticeKind {
    /// A task was completed.
    Done,
    /// A task was given up or lost by `work`.
    Failed,
    /// A background job ended.
    Job,
    /// A message arrived.
    Message,
    /// A task was claimed after a wait, or `work` has no tasks left.
    Claim,
    /// A task on the board newly needs a person.
    Need,
}

impl NoticeKind {
    pub(crate) const ALL: [Self; 6] = [Self::Done, Self::Failed, Self::Job, Self::Message, Self::Claim, Self::Need];

    /// Returns the name used in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Job => "job",
            Self::Message => "message",
            Self::Claim => "claim",
            Self::Need => "need",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Lists {
    /// Whether every branch except the default one has its own list.
    pub(crate) per_branch: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Mcp {
    /// Which of the client's two systems is on if `CLAUDE_CODE_ENABLE_TASKS` is unset.
    pub(crate) when_unset: Option<WhenUnset>,
}

/// Which of the client's two systems, tasks or todos, is on if `CLAUDE_CODE_ENABLE_TASKS` is unset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WhenUnset {
    /// Tasks, the client's default in an interactive session.
    Tasks,
    /// Todos, the client's default in a non-interactive session.
    Todos,
    /// Todos if the session is non-interactive, otherwise tasks.
    Auto,
}

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
    /// In columns; dim text ends with `ESC [22m`.
    Columns,
    /// Without columns; dim text ends with `ESC [0m`.
    Compact,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Time {
    /// The length of a working day in estimates. A bare number is hours.
    #[serde(deserialize_with = "hours")]
    pub(crate) working_day: Option<Duration>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Journal {
    /// How long every change is kept.
    #[serde(deserialize_with = "duration")]
    pub(crate) keep: Option<Duration>,
    /// The size in bytes above which a list's journal is pruned before `keep` has passed.
    #[serde(deserialize_with = "size")]
    pub(crate) max_size: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Gc {
    /// Whether some of the cleanup runs automatically.
    pub(crate) auto: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Merge {
    /// Whether changes that another program overwrote with stale data are reapplied automatically.
    pub(crate) put_back: Option<bool>,
}

/// The name of a rule set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleWord {
    /// Taskyard's own rules.
    Strict,
    /// The rules of the recorded client.
    Client,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Claims {
    /// How long a lease lives without being renewed.
    #[serde(deserialize_with = "duration")]
    pub(crate) lease: Option<Duration>,
    /// How many tasks an agent may have in progress.
    pub(crate) limit: Option<u32>,
    /// The roles of each agent, which determine the tasks it may claim.
    pub(crate) roles: BTreeMap<String, Vec<String>>,
    /// How long a task's owner without a lease may be inactive before the owner counts as stale.
    #[serde(deserialize_with = "duration")]
    pub(crate) stale_owner: Option<Duration>,
}

/// A command that runs on an event, with the fields of the client's own hooks plus `stdin`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Hook {
    /// The shell command, or the program to run directly if `args` is set.
    pub(crate) command: String,
    /// The arguments. If set, the program runs without a shell.
    #[serde(default)]
    pub(crate) args: Option<Vec<String>>,
    /// Whether the hook is started without waiting for it.
    #[serde(default, rename = "async")]
    pub(crate) is_async: bool,
    /// The kind of hook. The client knows `command`.
    #[serde(default = "command_type", rename = "type")]
    pub(crate) kind: String,
    /// The tools or agents that the hook is for; `None` for all.
    #[serde(default)]
    pub(crate) matcher: Option<String>,
    /// The timeout. A bare number is seconds, as in the client's settings.
    #[serde(default, deserialize_with = "duration")]
    pub(crate) timeout: Option<Duration>,
    /// What the hook reads on stdin; `None` for the client's own event.
    #[serde(default)]
    pub(crate) stdin: Option<HookInput>,
}

/// What a hook reads on stdin instead of the client's event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub(crate) enum HookInput {
    /// The task that the event is about.
    Task,
    /// The whole list.
    Tasks,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Jobs {
    /// How many bytes of output are kept for each job.
    #[serde(deserialize_with = "size")]
    pub(crate) max_output: Option<u64>,
    /// The limit in bytes for the output of all jobs together.
    #[serde(deserialize_with = "size")]
    pub(crate) quota: Option<u64>,
    /// How long finished jobs are kept.
    #[serde(deserialize_with = "duration")]
    pub(crate) keep: Option<Duration>,
    /// How long a job has to exit after it was asked to.
    #[serde(deserialize_with = "duration")]
    pub(crate) grace: Option<Duration>,
    /// The client release whose output format is written.
    #[serde(deserialize_with = "client_version")]
    pub(crate) output_form: Option<ClientVersion>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Display {
    /// How many completed tasks are shown before the rest are summarised as `+N completed`.
    pub(crate) completed_after: Option<usize>,
    /// The style of `list`.
    pub(crate) style: Option<String>,
    /// The pager for output that is longer than the screen.
    pub(crate) pager: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Board {
    /// The keys bound to each action, by the action's name.
    pub(crate) keys: BTreeMap<String, BoardKeys>,
    /// The colour theme: `terminal`, `light`, `dark` or `none`.
    pub(crate) theme: Option<String>,
}

/// The keys bound to one action.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub(crate) enum BoardKeys {
    One(String),
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

/// Accepts `"1h"` as well as `3600`.
fn text_or_number<'de, D: Deserializer<'de>>(input: D) -> Result<String, D::Error> {
    match toml::Value::deserialize(input)? {
        toml::Value::String(text) => Ok(text),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        other => Err(D::Error::custom(format!("expected text or a number, found {}", other.type_str()))),
    }
}

/// Text that is not a valid duration or size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadQuantity {
    /// Not a duration.
    #[error("invalid duration `{}`: write a number and ms, s, m, h or d (`90s`, `1h30m`)", .text.escape_debug())]
    Duration {
        /// The invalid text.
        text: String,
    },
    /// A duration of zero where a lifetime is required.
    #[error("`{}` is too short; give at least one second", .text.escape_debug())]
    OverAtOnce {
        /// The invalid text.
        text: String,
    },
    /// Not a size.
    #[error("invalid size `{}`: write a number and B, KB, MB or GB (`30MB`)", .text.escape_debug())]
    Size {
        /// The invalid text.
        text: String,
    },
}

/// Parses a lifetime, for example of a lease or a token. Fails if it is zero.
pub fn parse_lifetime(text: &str) -> Result<Duration, BadQuantity> {
    match parse_duration(text)? {
        Duration::ZERO => Err(BadQuantity::OverAtOnce { text: text.to_owned() }),
        lifetime => Ok(lifetime),
    }
}

/// Parses a duration: a number with `ms`, `s`, `m`, `h` or `d`, or several of them in descending order (`1h30m`). A
/// bare number is seconds.
pub fn parse_duration(text: &str) -> Result<Duration, BadQuantity> {
    let bad = || BadQuantity::Duration { text: text.to_owned() };
    if let Some((seconds, unit)) = split(text)
        && unit.is_empty()
    {
        return Duration::try_from_secs_f64(seconds).map_err(|_| bad());
    }
    let mut rest = text.trim();
    let (mut sum, mut longest) = (Duration::ZERO, f64::INFINITY);
    while !rest.is_empty() {
        let end = rest.find(|character: char| character.is_ascii_alphabetic()).ok_or_else(bad)?;
        let (part, after) = rest.split_at(end);
        let end = after.find(|character: char| !character.is_ascii_alphabetic()).unwrap_or(after.len());
        let (number, unit) = split(&format!("{part}{}", &after[..end])).ok_or_else(bad)?;
        let seconds = seconds_of(&unit).filter(|seconds| *seconds < longest).ok_or_else(bad)?;
        let span = Duration::try_from_secs_f64(number * seconds).map_err(|_| bad())?;
        sum = sum.checked_add(span).ok_or_else(bad)?;
        longest = seconds;
        rest = after[end..].trim_start();
    }
    if longest.is_finite() { Ok(sum) } else { Err(bad()) }
}

fn seconds_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" => 0.001,
        "s" | "sec" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        _ => return None,
    })
}

/// Parses a size in bytes: a number with `B`, `KB`, `MB` or `GB` (powers of 1024). A bare number is bytes.
pub fn parse_size(text: &str) -> Result<u64, BadQuantity> {
    let bad = || BadQuantity::Size { text: text.to_owned() };
    let (number, unit) = split(text).ok_or_else(bad)?;
    let factor = match unit.as_str() {
        "" | "b" => 1u64,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        _ => return Err(bad()),
    };
    let bytes = number * factor as f64;
    if bytes < u64::MAX as f64 { Ok(bytes as u64) } else { Err(bad()) }
}

/// Returns the number and the lower-case unit.
fn split(text: &str) -> Option<(f64, String)> {
    let text = text.trim();
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let number = text[..end].parse::<f64>().ok()?;
    Some((number, text[end..].trim().to_ascii_lowercase()))
}

/// Who a configuration file belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The user.
    User,
    /// A project directory. Commands in it run only if the user trusts the directory.
    Project,
}

/// One configuration file that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// The path of the file.
    pub path: PathBuf,
    /// Whether it is the user's file or a project's.
    pub origin: Origin,
    /// The settings it contains.
    pub settings: Settings,
    /// The keys that Taskyard does not know.
    pub(crate) unknown: Vec<String>,
    /// The keys that take effect only if the directory is trusted.
    pub needs_trust: Vec<&'static str>,
}

/// A warning about configuration that is ignored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigWarning {
    /// Keys of a project's file are ignored because the user does not trust the project.
    #[error("{} in `{}` {} ignored: the directory is not trusted", .keys.join(", "), .path.display(), are(.keys))]
    Untrusted {
        /// The file.
        path: PathBuf,
        /// The ignored keys. These are static names of ours, so that an untrusted file cannot influence the message.
        keys: Vec<&'static str>,
    },
    /// We could not determine whether a project is trusted, so it is treated as untrusted.
    #[error("cannot tell whether `{}` is trusted: {why}", .directory.display())]
    TrustUnknown {
        /// The root of the project.
        directory: PathBuf,
        /// The cause.
        why: String,
    },
    /// The whole file is ignored.
    #[error("`{}` is ignored: {doubt}", .path.display())]
    NotCounted {
        /// The file.
        path: PathBuf,
        /// Why another user could have written it.
        doubt: Doubt,
    },
}

fn are(keys: &[&str]) -> &'static str {
    if keys.len() == 1 { "is" } else { "are" }
}

/// Why a configuration file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file could not be read.
    #[error("cannot read `{}`: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// The file is not valid TOML, or a value has the wrong type for its key.
    #[error("`{}` line {line}: {message}", .path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The problem.
        message: String,
    },
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{parse_duration, parse_size};

    #[test]
    fn durations_take_the_usual_units() {
        for (text, seconds) in [
            ("90", 90.0),
            ("90s", 90.0),
            ("1h", 3600.0),
            ("1.5 m", 90.0),
            ("250ms", 0.25),
            ("2D", 172_800.0),
            ("1h30m", 5400.0),
            ("1d 2h 3.5s", 93_603.5),
            ("1m30S", 90.0),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in
            ["", "h", "-1s", "1 fortnight", "1e400d", "1h30", "30m1h", "1h1h", "1h-30m", "1h30m?", "1 2m", "inf", "NaN"]
        {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_count_by_1024() {
        for (text, bytes) in [("10", 10), ("2KB", 2048), ("1.5 MiB", 1_572_864), ("1g", 1 << 30)] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        assert!(parse_size("lots").is_err());
    }
}
