//! What the run of a hook means: whether it forbids something, and what it says.
//!
//! This rule looks at what a finished command left behind. Which hooks there are and how they are run is not its business.

use std::fmt;

use serde_json::{Map, Value};

use crate::json_text;
use crate::{Rules, Status, Task, TaskId};

/// Something that hooks are told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HookEvent {
    /// A task was made.
    TaskCreated,
    /// A task is about to be completed.
    TaskCompleted,
    /// An agent ended its work.
    SubagentStop,
    /// An agent has nothing left to do.
    TeammateIdle,
}

impl HookEvent {
    /// Every event.
    pub const ALL: [Self; 4] = [Self::TaskCreated, Self::TaskCompleted, Self::SubagentStop, Self::TeammateIdle];

    /// Returns the client's name for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TaskCreated => "TaskCreated",
            Self::TaskCompleted => "TaskCompleted",
            Self::SubagentStop => "SubagentStop",
            Self::TeammateIdle => "TeammateIdle",
        }
    }

    /// Tells whether the matcher of a hook counts for this event; the client passes over it for the others.
    pub const fn has_matchers(self) -> bool {
        matches!(self, Self::SubagentStop)
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Tells whether a hook is one that `taskyard setup` registers: it runs `taskyard hook EVENT` and nothing else. Its absence needs no warning,
/// since it only tells the client what this program knows itself.
pub fn is_own_command(command: &str) -> bool {
    let event = command.strip_prefix("taskyard hook ").unwrap_or_default();
    !event.is_empty() && event.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// How the command of a hook ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEnd {
    /// With this exit code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// Not in the time it had.
    TimedOut,
}

/// A hook that was run.
#[derive(Clone, Copy, Debug)]
pub struct HookRun<'a> {
    /// The command as it is written in the settings.
    pub command: &'a str,
    /// How it ended.
    pub end: HookEnd,
    /// What it wrote to stdout.
    pub stdout: &'a str,
    /// What it wrote to stderr.
    pub stderr: &'a str,
}

/// What a hook has to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookAnswer {
    /// The feedback with which it forbids what it was told of; none where it lets it pass.
    pub blocks: Option<String>,
    /// The reason for which the agent is to stop; none where it may go on.
    pub stops: Option<String>,
    /// The tasks it wants changed.
    pub tasks_to_update: Vec<(TaskId, Status)>,
}

/// Says what the run of a hook means.
///
/// Exit code 2 blocks with what stands on stderr, whatever stdout says. A JSON object on stdout is read on every exit code
/// and may block with its reason. Everything else lets pass: other exit codes, plain text, a signal, a time-out.
pub fn judge_hook(run: HookRun<'_>) -> HookAnswer {
    let mut answer = json_of(run.stdout).map(|output| answer_of(&output)).unwrap_or_default();
    if run.end == HookEnd::Exited(2) {
        let said = if run.stderr.is_empty() { "No stderr output" } else { run.stderr };
        answer.blocks = Some(format!("[{}]: {said}", run.command));
    }
    answer
}

/// Returns the text in which the client hands the feedback of hooks on.
pub fn feedback(event: HookEvent, feedbacks: &[String]) -> String {
    // The client has one text for every agent that ends.
    let name = if event == HookEvent::SubagentStop { "Stop" } else { event.as_str() };
    let text = format!("{name} hook feedback:\n{}", feedbacks.join("\n"));
    // A tool that failed answers with trimmed text, one that did not with the text as it is.
    if event == HookEvent::TaskCreated { text.trim_end().to_owned() } else { text }
}

/// Tells whether a hook is for this agent: no matcher, `*`, its type, or one of several separated by `|`.
pub fn matcher_takes(matcher: Option<&str>, agent_type: &str) -> bool {
    match matcher.map(str::trim) {
        None | Some("" | "*") => true,
        Some(names) => names.split('|').any(|name| name.trim() == agent_type),
    }
}

/// Tells whether a change completes a task, so that hooks and checks are asked. Cancelling it does not.
///
/// The client asks when the status changes. In strict rules a cancelled task that counts as done from now on is completed
/// too: else cancelling first would be a way around every check.
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
        // The client knows no cancellation: to it the status stays, and an old key changes nothing.
        assert!(!completes(&cancelled, &done, CLIENT));
        assert!(completes(&task(Status::Pending, true), &cancelled, CLIENT));
    }
}
