//! The hooks in one of the client's `settings.json` files.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};
use taskyard_core::json_text;
use taskyard_core::rules::hooks::hooking::HookEvent;
use taskyard_core::rules::lists::ownership::Doubt;

use super::hook::{Hook, HookSource, TIMEOUT};
use crate::config::{HookInput, Origin, Ownership, ownership};
use crate::regular_file;

/// A settings file larger than this is not looked into.
const LARGEST: u64 = 4 * 1024 * 1024;

/// What one settings file says of the hooks of an event.
#[derive(Debug, Default)]
pub(super) struct SettingsFile {
    pub(super) hooks: Vec<Hook>,
    /// Whether it switches all hooks off, where it says anything of it.
    pub(super) disables_all: Option<bool>,
    /// What is wrong with it, one remark each.
    pub(super) complaints: Vec<String>,
}

/// Which shapes of hooks are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shapes {
    /// The client's alone: groups that hold hooks. A bare hook in the place of a group is passed over without a word, as the
    /// client does.
    Nested,
    /// Bare hooks in the place of groups too. They read the whole list, as users who write them so expect.
    NestedAndFlat,
}

/// Reads the hooks of an event; a file that is not there has none, one that makes no sense has none and a complaint.
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

/// Returns the list that a settings file names for the client, in `env.CLAUDE_CODE_TASK_LIST_ID`. A file that makes no sense names none.
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
    // The client follows a link here, and what is behind it runs only where the user trusts the directory.
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
        Ok(_) => Err("it is no JSON object".to_owned()),
        Err(error) => Err(format!("it is no JSON: {error}")),
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
        Some(_) => return file.complaints.push("`hooks` is no object".to_owned()),
    };
    let groups = match hooks.get(event.as_str()) {
        None | Some(Value::Null) => return,
        Some(Value::Array(groups)) => groups,
        Some(_) => return file.complaints.push(format!("`hooks.{event}` is no array")),
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
            _ => file.complaints.push(format!("`{place}` has no array `hooks`")),
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
    // Hooks that are no commands are the client's to run.
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
        Some(_) => return file.complaints.push(format!("`{place}.args` is no array of text")),
    };
    let timeout = match hook.get("timeout") {
        None | Some(Value::Null) => TIMEOUT,
        Some(value) => match value.as_f64().filter(|seconds| *seconds > 0.0).map(Duration::try_from_secs_f64) {
            Some(Ok(timeout)) => timeout,
            _ => {
                file.complaints
                    .push(format!("`{place}.timeout` is no number of seconds; {} s count", TIMEOUT.as_secs()));
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use taskyard_core::rules::hooks::hooking::HookEvent;

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
            ("{\"hooks\":", "no JSON"),
            ("[1]", "no JSON object"),
            (r#"{"hooks":[]}"#, "`hooks` is no object"),
            (r#"{"hooks":{"SubagentStop":{}}}"#, "`hooks.SubagentStop` is no array"),
            (r#"{"hooks":{"SubagentStop":[7]}}"#, "`hooks.SubagentStop[0]` has no array `hooks`"),
            (
                r#"{"hooks":{"SubagentStop":[{"hooks":[{"command":7}]}]}}"#,
                "`hooks.SubagentStop[0].hooks[0]` has no `command`",
            ),
            (r#"{"hooks":{"SubagentStop":[{"hooks":[{"command":"a","args":"b"}]}]}}"#, "is no array of text"),
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
