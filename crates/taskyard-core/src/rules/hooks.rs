//! How the outcome of a hook is judged, and which of the client's task systems is active.

use std::fmt;

use serde_json::{Map, Value};

use crate::{Rules, Status, Task, TaskId, json_text};

/// An event that hooks receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HookEvent {
    /// A task was created.
    TaskCreated,
    /// A task is about to be completed.
    TaskCompleted,
    /// An agent finished its work.
    SubagentStop,
    /// A teammate has nothing left to do.
    TeammateIdle,
}

impl HookEvent {
    /// All events.
    pub const ALL: [Self; 4] = [Self::TaskCreated, Self::TaskCompleted, Self::SubagentStop, Self::TeammateIdle];

    /// Returns the client's name for the event.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TaskCreated => "TaskCreated",
            Self::TaskCompleted => "TaskCompleted",
            Self::SubagentStop => "SubagentStop",
            Self::TeammateIdle => "TeammateIdle",
        }
    }

    /// Returns whether matchers apply to this event. The client ignores them for the others.
    pub const fn has_matchers(self) -> bool {
        matches!(self, Self::SubagentStop)
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Returns whether `taskyard setup` registers this command: it is exactly `taskyard hook EVENT`. If such a hook is
/// missing, no warning is needed, because it only tells the client what this program already knows.
pub fn is_own_command(command: &str) -> bool {
    let event = command.strip_prefix("taskyard hook ").unwrap_or_default();
    !event.is_empty() && event.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// How a hook's command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEnd {
    /// It exited with this code.
    Exited(i32),
    /// It was killed by this signal.
    Signalled(i32),
    /// It ran into its timeout.
    TimedOut,
}

/// The result of running a hook.
#[derive(Clone, Copy, Debug)]
pub struct HookRun<'a> {
    /// The command as written in the settings.
    pub command: &'a str,
    /// How the command ended.
    pub end: HookEnd,
    /// Its output on stdout.
    pub stdout: &'a str,
    /// Its output on stderr.
    pub stderr: &'a str,
}

/// What a hook decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookAnswer {
    /// The feedback with which the hook blocks the event, or `None` if it allows it.
    pub blocks: Option<String>,
    /// The reason why the agent must stop, or `None` if it may continue.
    pub stops: Option<String>,
    /// The tasks that the hook wants to change, with their new status.
    pub tasks_to_update: Vec<(TaskId, Status)>,
}

/// Interprets the result of a hook.
///
/// Exit code 2 blocks with the text on stderr, whatever stdout contains. A JSON object on stdout is read for every exit
/// code and may block with its reason. Everything else allows the event: other exit codes, plain text, a signal, a
/// timeout.
pub fn judge_hook(run: HookRun<'_>) -> HookAnswer {
    let mut answer = json_of(run.stdout).map(|output| answer_of(&output)).unwrap_or_default();
    if run.end == HookEnd::Exited(2) {
        let said = if run.stderr.is_empty() { "No stderr output" } else { run.stderr };
        answer.blocks = Some(format!("[{}]: {said}", run.command));
    }
    answer
}

/// Returns the text in which the client passes on the feedback of hooks.
pub fn feedback(event: HookEvent, feedbacks: &[String]) -> String {
    // The client uses one text for every kind of agent that stops.
    let name = if event == HookEvent::SubagentStop { "Stop" } else { event.as_str() };
    let text = format!("{name} hook feedback:\n{}", feedbacks.join("\n"));
    // The client trims the text of a failed tool call but not that of a successful one.
    if event == HookEvent::TaskCreated { text.trim_end().to_owned() } else { text }
}

/// Returns whether a hook applies to this type of agent: it has no matcher, or the matcher is `*`, the type, or a list
/// separated by `|` that contains the type.
pub fn matcher_takes(matcher: Option<&str>, agent_type: &str) -> bool {
    match matcher.map(str::trim) {
        None | Some("" | "*") => true,
        Some(names) => names.split('|').any(|name| name.trim() == agent_type),
    }
}

/// Returns whether a change completes a task, so that hooks and checks must run. Cancelling a task does not.
///
/// The client runs its hooks when the status changes. Under strict rules, turning a cancelled task into a done one
/// counts as completion too; otherwise, cancelling a task first would bypass every check.
pub fn completes(before: &Task, after: &Task, rules: Rules) -> bool {
    let is_done = |task: &Task| task.status == Status::Completed && !task.is_cancelled();
    if !rules.is_client() {
        return !is_done(before) && is_done(after);
    }
    let cancels = after.is_cancelled() && before.meta("cancelled") != after.meta("cancelled");
    before.status != Status::Completed && after.status == Status::Completed && !cancels
}

fn json_of(stdout: &str) -> Option<Map<String, Value>> {
    let text = stdout.trim();
    if !text.starts_with('{') {
        return None;
    }
    json_text::from_str(text).ok()
}

fn answer_of(output: &Map<String, Value>) -> HookAnswer {
    let text = |key: &str| output.get(key).and_then(Value::as_str);
    let blocks = text("decision") == Some("block");
    let stops = output.get("continue") == Some(&Value::Bool(false));
    let updates = output.get("hookSpecificOutput").and_then(|output| output.get("tasks_to_update"));
    HookAnswer {
        blocks: blocks.then(|| filled(text("reason")).unwrap_or("Blocked by hook").to_owned()),
        stops: stops.then(|| filled(text("stopReason")).unwrap_or("Stopped by hook").to_owned()),
        tasks_to_update: updates.and_then(Value::as_array).into_iter().flatten().filter_map(update_of).collect(),
    }
}

fn filled(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

fn update_of(update: &Value) -> Option<(TaskId, Status)> {
    let id = match update.get("task_id")? {
        Value::String(id) => id.parse().ok()?,
        Value::Number(number) => TaskId::number(number.as_u64()?),
        _ => return None,
    };
    Some((id, update.get("status")?.as_str()?.parse().ok()?))
}

/// The system that tracks work: one of the client's two, or that of another dialect. At most one is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// `TaskCreate` and the related tools, stored on disk.
    Tasks,
    /// `TodoWrite`.
    Todos,
    /// `TodoWrite` and `TodoRead` on a document.
    Document,
    /// `create_task` and the related tools on a teaching folder.
    Teaching,
    /// `TaskCreate`, `TaskUpdate` and `TaskList` in the format of an export.
    Export,
}

impl System {
    /// Returns whether this is one of the client's own two systems.
    pub fn is_the_clients(self) -> bool {
        matches!(self, Self::Tasks | Self::Todos)
    }

    /// Returns whether agents share tasks in this system, instead of each keeping its own todos.
    pub fn has_tasks(self) -> bool {
        self != Self::Todos
    }
}

/// Parses a boolean word: 1, true, yes or on; 0, false, no or off. Ignores case and surrounding whitespace. Returns
/// `None` for anything else.
pub fn yes_or_no(word: &str) -> Option<bool> {
    match word.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// Returns the active system in an interactive session, given `CLAUDE_CODE_ENABLE_TASKS`.
pub fn system_when_interactive(enable_tasks: Option<&str>) -> System {
    system(enable_tasks, System::Tasks)
}

/// Returns the active system in a non-interactive session, given `CLAUDE_CODE_ENABLE_TASKS`.
pub fn system_when_not_interactive(enable_tasks: Option<&str>) -> System {
    system(enable_tasks, System::Todos)
}

fn system(enable_tasks: Option<&str>, otherwise: System) -> System {
    match enable_tasks.and_then(yes_or_no) {
        Some(true) => System::Tasks,
        Some(false) => System::Todos,
        None => otherwise,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{HookAnswer, HookEnd, HookEvent, HookRun, completes, feedback, judge_hook, matcher_takes};
    use crate::{ClientVersion, Rules, Status, Task, TaskId};

    const CLIENT: Rules = Rules::Client(ClientVersion::V2_1_325);

    fn run<'a>(end: HookEnd, stdout: &'a str, stderr: &'a str) -> HookRun<'a> {
        HookRun { command: "./gate.sh", end, stdout, stderr }
    }

    fn blocks(end: HookEnd, stdout: &str, stderr: &str) -> Option<String> {
        judge_hook(run(end, stdout, stderr)).blocks
    }

    #[test]
    fn exit_code_2_blocks_with_stderr_as_it_is() {
        let told = blocks(HookEnd::Exited(2), "out", "not yet\n");
        assert_eq!(told.as_deref(), Some("[./gate.sh]: not yet\n"));
        assert_eq!(blocks(HookEnd::Exited(2), "out", "").as_deref(), Some("[./gate.sh]: No stderr output"));
    }

    #[test]
    fn json_cannot_take_exit_code_2_back() {
        for stdout in [r#"{"decision":"approve"}"#, r#"{"decision":"block","reason":"other"}"#] {
            assert_eq!(blocks(HookEnd::Exited(2), stdout, "no").as_deref(), Some("[./gate.sh]: no"), "{stdout}");
        }
    }

    #[test]
    fn a_json_decision_blocks_with_its_reason_on_every_exit_code() {
        for end in [HookEnd::Exited(0), HookEnd::Exited(1), HookEnd::Exited(7), HookEnd::TimedOut] {
            let told = blocks(end, "\n {\"decision\":\"block\",\"reason\":\"r\"}\n", "x");
            assert_eq!(told.as_deref(), Some("r"), "{end:?}");
        }
        for stdout in [r#"{"decision":"block"}"#, r#"{"decision":"block","reason":""}"#] {
            assert_eq!(blocks(HookEnd::Exited(0), stdout, "").as_deref(), Some("Blocked by hook"), "{stdout}");
        }
    }

    #[test]
    fn everything_else_passes() {
        for (end, stdout, stderr) in [
            (HookEnd::Exited(0), "", ""),
            (HookEnd::Exited(1), "", "err one"),
            (HookEnd::Exited(0), "plain stdout", ""),
            (HookEnd::Exited(0), r#"{"decision":"block","reason":"cut"#, ""),
            (HookEnd::Exited(0), r#"[{"decision":"block"}]"#, ""),
            (HookEnd::Exited(0), r#"{"decision":true}"#, ""),
            (HookEnd::Exited(0), r#"{"hookSpecificOutput":{"additionalContext":"x"}}"#, ""),
            (HookEnd::Signalled(9), "", "killed"),
            (HookEnd::TimedOut, "", "slow"),
        ] {
            assert_eq!(judge_hook(run(end, stdout, stderr)), HookAnswer::default(), "{end:?} {stdout}");
        }
    }

    #[test]
    fn a_hook_may_stop_the_agent_and_name_tasks_to_change() {
        let stdout = json!({
            "continue": false,
            "stopReason": "enough",
            "hookSpecificOutput": {"tasks_to_update": [
                {"task_id": "3", "status": "completed"},
                {"task_id": 4, "status": "in_progress"},
                {"task_id": "../5", "status": "completed"},
                {"task_id": "6", "status": "lost"},
                "7",
            ]},
        });
        let answer = judge_hook(run(HookEnd::Exited(0), &stdout.to_string(), ""));
        assert_eq!((answer.blocks, answer.stops.as_deref()), (None, Some("enough")));
        let wanted = [(TaskId::number(3), Status::Completed), (TaskId::number(4), Status::InProgress)];
        assert_eq!(answer.tasks_to_update, wanted);
        let silent = judge_hook(run(HookEnd::Exited(0), r#"{"continue":false}"#, ""));
        assert_eq!(silent.stops.as_deref(), Some("Stopped by hook"));
    }

    #[test]
    fn feedback_is_worded_as_the_client_words_it() {
        let two = ["[a]: one\n".to_owned(), "two\n".to_owned()];
        assert_eq!(feedback(HookEvent::TaskCompleted, &two), "TaskCompleted hook feedback:\n[a]: one\n\ntwo\n");
        assert_eq!(feedback(HookEvent::TaskCreated, &two), "TaskCreated hook feedback:\n[a]: one\n\ntwo");
        assert_eq!(feedback(HookEvent::SubagentStop, &two[1..]), "Stop hook feedback:\ntwo\n");
        assert_eq!(feedback(HookEvent::TeammateIdle, &two[1..]), "TeammateIdle hook feedback:\ntwo\n");
    }

    #[test]
    fn a_matcher_names_the_types_of_agents_it_is_for() {
        for (matcher, taken) in [
            (None, true),
            (Some(""), true),
            (Some("*"), true),
            (Some("builder"), true),
            (Some("tester | builder"), true),
            (Some("build"), false),
            (Some("tester"), false),
        ] {
            assert_eq!(matcher_takes(matcher, "builder"), taken, "{matcher:?}");
        }
    }

    #[test]
    fn cancelling_is_no_completion_and_no_way_around_one() {
        let task = |status, cancelled: bool| Task {
            status,
            metadata: cancelled.then(|| json!({"cancelled": true}).as_object().cloned().unwrap()),
            ..Task::new(TaskId::number(1), "x")
        };
        let (open, done) = (task(Status::Pending, false), task(Status::Completed, false));
        let cancelled = task(Status::Completed, true);
        for rules in [Rules::Strict, CLIENT] {
            assert!(completes(&open, &done, rules), "{rules:?}");
            assert!(!completes(&open, &cancelled, rules), "{rules:?}");
            assert!(!completes(&done, &done, rules), "{rules:?}");
            assert!(!completes(&done, &open, rules), "{rules:?}");
        }
        assert!(completes(&cancelled, &done, Rules::Strict));
        // The client does not know cancellation: the status is unchanged, and an old key has no effect.
        assert!(!completes(&cancelled, &done, CLIENT));
        assert!(completes(&task(Status::Pending, true), &cancelled, CLIENT));
    }
}

#[cfg(test)]
mod gate_tests {
    use super::{System, system_when_interactive, system_when_not_interactive, yes_or_no};

    #[test]
    fn words_for_yes_and_no_are_taken_in_any_case_and_trimmed() {
        for word in ["1", "true", "YES", " On "] {
            assert_eq!(yes_or_no(word), Some(true), "{word}");
        }
        for word in ["0", "False", "no", "\tOFF\n"] {
            assert_eq!(yes_or_no(word), Some(false), "{word}");
        }
        for word in ["", "2", "enabled", "y"] {
            assert_eq!(yes_or_no(word), None, "{word}");
        }
    }

    #[test]
    fn unset_means_tasks_for_a_person_and_todos_for_a_program() {
        for unset in [None, Some(""), Some("perhaps")] {
            assert_eq!(system_when_interactive(unset), System::Tasks);
            assert_eq!(system_when_not_interactive(unset), System::Todos);
        }
    }

    #[test]
    fn the_variable_decides_where_it_says_something() {
        assert_eq!(system_when_interactive(Some("off")), System::Todos);
        assert_eq!(system_when_not_interactive(Some("true")), System::Tasks);
    }
}
