//! Reads the hooks from one of the client's `settings.json` files.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};
use taskyard_core::json_text;
use taskyard_core::rules::hooks::HookEvent;
use taskyard_core::rules::lists::Doubt;

use crate::config::{HookInput, Origin, Ownership, ownership};
use crate::process::CommandLine;
use crate::regular_file;

/// A larger settings file is not read.
const LARGEST: u64 = 4 * 1024 * 1024;

/// The hooks that one settings file defines for an event.
#[derive(Debug, Default)]
pub(super) struct SettingsFile {
    pub(super) hooks: Vec<Hook>,
    /// The value of `disableAllHooks`, if it is set.
    pub(super) disables_all: Option<bool>,
    /// The problems found in the file.
    pub(super) complaints: Vec<String>,
}

/// The accepted forms of hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shapes {
    /// The client's form only: groups that contain hooks. A bare hook in the place of a group is silently ignored, as
    /// in the client.
    Nested,
    /// Also bare hooks in the place of groups. They read the whole list, as users who write them expect.
    NestedAndFlat,
}

/// Reads the hooks of an event. A missing file has none; an invalid one has none and a complaint.
pub(super) fn read(path: &Path, origin: Origin, event: HookEvent, shapes: Shapes) -> SettingsFile {
    let mut file = SettingsFile::default();
    match ownership(path, origin) {
        Ownership::NoFile => return file,
        Ownership::Ours => {}
        Ownership::Doubtful(doubt) => {
            file.complaints.push(doubt.to_string());
            return file;
        }
    }
    match contents(path) {
        Ok(None) => {}
        Ok(Some(settings)) => {
            let source = HookSource { path: path.to_owned(), origin };
            gather(&settings, &source, event, shapes, &mut file);
        }
        Err(why) => file.complaints.push(why),
    }
    file
}

/// Returns the list that a settings file names for the client in `env.CLAUDE_CODE_TASK_LIST_ID`. An invalid file names
/// none.
pub fn task_list_in(path: &Path, origin: Origin) -> Result<Option<String>, Doubt> {
    let Ok(Some(settings)) = contents(path) else { return Ok(None) };
    let named = settings.get("env").and_then(|variables| variables.get("CLAUDE_CODE_TASK_LIST_ID"));
    let Some(list) = named.and_then(Value::as_str).filter(|list| !list.is_empty()) else { return Ok(None) };
    match ownership(path, origin) {
        Ownership::Doubtful(doubt) => Err(doubt),
        Ownership::NoFile | Ownership::Ours => Ok(Some(list.to_owned())),
    }
}

fn contents(path: &Path) -> Result<Option<Map<String, Value>>, String> {
    // The client follows a link here. What it points to runs only if the user trusts the directory.
    let text = match regular_file::read_following(path, LARGEST) {
        Ok(text) => text,
        Err(why) if why.is_missing() => return Ok(None),
        Err(why) => return Err(why.to_string()),
    };
    if text.trim_ascii().is_empty() {
        return Ok(None);
    }
    match json_text::from_slice(&text) {
        Ok(Value::Object(settings)) => Ok(Some(settings)),
        Ok(_) => Err("it is not a JSON object".to_owned()),
        Err(error) => Err(format!("it is not JSON: {error}")),
    }
}

fn gather(
    settings: &Map<String, Value>,
    source: &HookSource,
    event: HookEvent,
    shapes: Shapes,
    file: &mut SettingsFile,
) {
    file.disables_all = settings.get("disableAllHooks").and_then(Value::as_bool);
    let hooks = match settings.get("hooks") {
        None | Some(Value::Null) => return,
        Some(Value::Object(hooks)) => hooks,
        Some(_) => return file.complaints.push("`hooks` is not an object".to_owned()),
    };
    let groups = match hooks.get(event.as_str()) {
        None | Some(Value::Null) => return,
        Some(Value::Array(groups)) => groups,
        Some(_) => return file.complaints.push(format!("`hooks.{event}` is not an array")),
    };
    for (number, group) in groups.iter().enumerate() {
        let place = format!("hooks.{event}[{number}]");
        let matcher = group.get("matcher").and_then(Value::as_str);
        match group.get("hooks") {
            Some(Value::Array(inner)) => {
                for (number, hook) in inner.iter().enumerate() {
                    take(hook, matcher, None, source, &format!("{place}.hooks[{number}]"), file);
                }
            }
            None if group.get("command").is_some() => {
                if shapes == Shapes::NestedAndFlat {
                    take(group, matcher, Some(HookInput::Tasks), source, &place, file);
                }
            }
            _ => file.complaints.push(format!("`{place}` has no `hooks` array")),
        }
    }
}

fn take(
    hook: &Value,
    matcher: Option<&str>,
    stdin: Option<HookInput>,
    source: &HookSource,
    place: &str,
    file: &mut SettingsFile,
) {
    // Hooks that are not commands are run by the client only.
    if hook.get("type").and_then(Value::as_str).is_some_and(|kind| kind != "command") {
        return;
    }
    let Some(command) = hook.get("command").and_then(Value::as_str).filter(|command| !command.trim().is_empty()) else {
        return file.complaints.push(format!("`{place}` has no `command`"));
    };
    let arguments = match hook.get("args") {
        None | Some(Value::Null) => None,
        Some(Value::Array(words)) if words.iter().all(Value::is_string) => {
            Some(words.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        }
        Some(_) => return file.complaints.push(format!("`{place}.args` is not an array of strings")),
    };
    let timeout = match hook.get("timeout") {
        None | Some(Value::Null) => TIMEOUT,
        Some(value) => match value.as_f64().filter(|seconds| *seconds > 0.0).map(Duration::try_from_secs_f64) {
            Some(Ok(timeout)) => timeout,
            _ => {
                file.complaints
                    .push(format!("`{place}.timeout` is not a number of seconds; {} s is used", TIMEOUT.as_secs()));
                TIMEOUT
            }
        },
    };
    file.hooks.push(Hook {
        command: command.to_owned(),
        arguments,
        matcher: matcher.map(str::to_owned),
        timeout,
        is_async: hook.get("async") == Some(&Value::Bool(true)),
        stdin,
        source: source.clone(),
    });
}

/// The default timeout of a hook, as in the client.
pub(super) const TIMEOUT: Duration = Duration::from_secs(600);

/// A command that runs on an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The command as it is written.
    pub(crate) command: String,
    /// The arguments of a program that runs without a shell.
    pub(crate) arguments: Option<Vec<String>>,
    /// The agents that it is for.
    pub(crate) matcher: Option<String>,
    pub(crate) timeout: Duration,
    /// Whether it is started without waiting for it.
    pub(crate) is_async: bool,
    /// What it reads on stdin; `None` for the client's event.
    pub(crate) stdin: Option<HookInput>,
    /// The file that defines it.
    pub source: HookSource,
}

/// The file that defines a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookSource {
    /// The path of the file.
    pub path: PathBuf,
    pub(crate) origin: Origin,
}

impl Hook {
    pub(super) fn command_line(&self) -> CommandLine {
        match &self.arguments {
            Some(arguments) => CommandLine::Words(self.command.clone(), arguments.clone()),
            None => CommandLine::Shell(self.command.clone()),
        }
    }

    /// Returns the command with its arguments, as it is named in feedback.
    pub fn name(&self) -> String {
        let arguments = self.arguments.iter().flatten();
        std::iter::once(&self.command).chain(arguments).map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// Returns whether two hooks run the same command with the same input.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        self.command == other.command && self.arguments == other.arguments && self.stdin == other.stdin
    }
}

/// The variable that tells a hook, and everything it starts, the turn it runs in.
pub const HOOK_TURN: &str = "TASKYARD_HOOK_TURN";

/// The exclusive right to pass the whole list to hooks. Ends when it is dropped.
#[derive(Debug)]
pub(crate) struct HookTurn {
    pub(super) name: String,
    /// `None` if the turn belongs to a hook that started this process and is still running.
    pub(super) _file: Option<File>,
}

impl HookTurn {
    /// Returns the value of [`HOOK_TURN`] for the hooks of this turn.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

/// A warning about a hook that did not run as configured. None of them blocks anything.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HookWarning {
    /// Hooks of an untrusted directory did not run.
    #[error("{hooks} hook{} of `{}` did not run: the directory is not trusted", plural(*.hooks), .directory.display())]
    Untrusted {
        /// The root of the project.
        directory: PathBuf,
        /// The number of hooks.
        hooks: usize,
    },
    /// A settings file, or a part of it, was ignored.
    #[error("`{}` is ignored: {why}", .path.display())]
    BadSettings {
        /// The file.
        path: PathBuf,
        /// The problem.
        why: String,
    },
    /// We could not determine whether a directory is trusted, so it is treated as untrusted.
    #[error("cannot tell whether `{}` is trusted: {why}", .directory.display())]
    TrustUnknown {
        /// The root of the project.
        directory: PathBuf,
        /// The cause.
        why: String,
    },
    /// A hook could not be started. It blocks nothing.
    #[error("hook `{}` could not be started: {why}", .command.escape_debug())]
    NotStarted {
        /// The command as it is written.
        command: String,
        /// The underlying error.
        why: String,
    },
    /// A hook that reads the whole list was given it while another process had the turn, so its copy may become
    /// outdated.
    #[error("hook `{}` was given the list out of turn: {why}", .command.escape_debug())]
    OutOfTurn {
        /// The command as it is written.
        command: String,
        /// Why it did not wait (any longer) for its turn.
        why: String,
    },
    /// A hook timed out and was killed. It blocks nothing.
    #[error("hook `{}` did not end within {} s and was stopped", .command.escape_debug(), .after.as_secs_f64())]
    TimedOut {
        /// The command as it is written.
        command: String,
        /// The timeout.
        after: Duration,
    },
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use taskyard_core::rules::hooks::HookEvent;

    use super::{SettingsFile, Shapes, read};
    use crate::config::{HookInput, Origin};

    fn parsed(text: &str, shapes: Shapes) -> SettingsFile {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("settings.json");
        std::fs::write(&path, text).unwrap();
        read(&path, Origin::User, HookEvent::SubagentStop, shapes)
    }

    fn commands(file: &SettingsFile) -> Vec<&str> {
        file.hooks.iter().map(|hook| hook.command.as_str()).collect()
    }

    #[test]
    fn the_nested_shape_is_read_with_every_field() {
        let file = parsed(
            r#"{"hooks":{"SubagentStop":[
                {"matcher":"builder","hooks":[
                    {"type":"command","command":"a","timeout":1.5,"async":true},
                    {"command":"b","args":["x y","z"]},
                    {"type":"http","url":"http://x"}]},
                {"hooks":[{"type":"command","command":"c"}]}],
              "Stop":[{"hooks":[{"type":"command","command":"other"}]}]}}"#,
            Shapes::Nested,
        );
        assert_eq!(commands(&file), ["a", "b", "c"]);
        assert_eq!(file.complaints, Vec::<String>::new());
        assert_eq!(file.hooks[0].matcher.as_deref(), Some("builder"));
        assert_eq!(file.hooks[0].timeout, Duration::from_millis(1500));
        assert!(file.hooks[0].is_async && !file.hooks[1].is_async);
        assert_eq!(file.hooks[1].arguments.as_deref().unwrap(), ["x y", "z"]);
        assert_eq!(file.hooks[2].timeout, Duration::from_secs(600));
    }

    #[test]
    fn the_flat_shape_is_read_only_where_it_is_asked_for() {
        let flat = r#"{"hooks":{"SubagentStop":[{"type":"command","command":"node ./sync.js"}]}}"#;
        let ignored = parsed(flat, Shapes::Nested);
        assert!(ignored.hooks.is_empty() && ignored.complaints.is_empty());
        assert_eq!(commands(&parsed(flat, Shapes::NestedAndFlat)), ["node ./sync.js"]);
    }

    #[test]
    fn a_flat_hook_reads_the_whole_list_and_a_nested_one_the_event() {
        let both = r#"{"hooks":{"SubagentStop":[{"type":"command","command":"a"},{"hooks":[{"type":"command","command":"a"}]}]}}"#;
        let stdin: Vec<_> = parsed(both, Shapes::NestedAndFlat).hooks.iter().map(|hook| hook.stdin).collect();
        assert_eq!(stdin, [Some(HookInput::Tasks), None]);
    }

    #[test]
    fn what_makes_no_sense_is_passed_over_and_told() {
        for (text, complaint) in [
            ("{\"hooks\":", "it is not JSON"),
            ("[1]", "it is not a JSON object"),
            (r#"{"hooks":[]}"#, "`hooks` is not an object"),
            (r#"{"hooks":{"SubagentStop":{}}}"#, "`hooks.SubagentStop` is not an array"),
            (r#"{"hooks":{"SubagentStop":[7]}}"#, "`hooks.SubagentStop[0]` has no `hooks` array"),
            (
                r#"{"hooks":{"SubagentStop":[{"hooks":[{"command":7}]}]}}"#,
                "`hooks.SubagentStop[0].hooks[0]` has no `command`",
            ),
            (r#"{"hooks":{"SubagentStop":[{"hooks":[{"command":"a","args":"b"}]}]}}"#, "is not an array of strings"),
        ] {
            let file = parsed(text, Shapes::NestedAndFlat);
            assert!(file.hooks.is_empty(), "{text}");
            assert!(
                file.complaints.len() == 1 && file.complaints[0].contains(complaint),
                "{text}: {:?}",
                file.complaints
            );
        }
    }

    #[test]
    fn a_time_limit_that_is_none_does_not_take_the_hook_away() {
        let file =
            parsed(r#"{"hooks":{"SubagentStop":[{"hooks":[{"command":"a","timeout":"soon"}]}]}}"#, Shapes::Nested);
        assert_eq!((commands(&file), file.complaints.len()), (vec!["a"], 1));
    }

    #[test]
    fn empty_files_and_other_settings_say_nothing() {
        for text in ["", " \n", "{}", r#"{"model":"x"}"#, r#"{"hooks":null}"#] {
            let file = parsed(text, Shapes::Nested);
            assert!(file.hooks.is_empty() && file.complaints.is_empty() && file.disables_all.is_none(), "{text:?}");
        }
        assert_eq!(parsed(r#"{"disableAllHooks":true}"#, Shapes::Nested).disables_all, Some(true));
    }
}
