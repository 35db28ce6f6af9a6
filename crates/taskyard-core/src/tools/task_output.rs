//! The `TaskOutput` tool.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::schema::{Field, Object, Preset, Shape, Unknown};
use super::{Annotations, Answer, InputError, Scope, Tool, ToolSet};
use crate::dialect::native;
use crate::rules::hooks::System;
use crate::tools::refusing::with_job_id;
use crate::tools::tool_answer::{LONGEST, suffix, units};
use crate::{Job, Rules};

/// The tool under strict rules.
pub const TOOL: Tool = Tool {
    name: "TaskOutput",
    description: "Get status and output of a background command by its id (b...), not of a task of the list. Waits for its end \
        unless block is false.",
    input: Object { fields: &[TASK_ID, BLOCK, TIMEOUT.saying("ms to wait")], unknown: Unknown::Refused },
    output: Object::answer(&[
        Field::required("retrieval_status", Shape::Choice(&["success", "timeout", "not_ready"])),
        Field::required("task", Shape::Object(RETRIEVED)),
    ]),
    annotations: Annotations::LOOKS,
    scope: Scope::Read,
    set: ToolSet::Core,
    system: System::Tasks,
};

/// The tool with the client's parameter names.
const CLIENTS_TOOL: Tool = Tool {
    input: Object {
        fields: &[
            TASK_ID.saying("The task ID to get output from"),
            BLOCK.saying("Whether to wait for completion"),
            TIMEOUT.saying("Max wait time in ms"),
        ],
        unknown: Unknown::Refused,
    },
    ..TOOL
};

/// A job in the structured content.
const RETRIEVED: Object = Object::answer(&[
    Field::required("task_id", Shape::Text),
    Field::required("task_type", Shape::Text),
    Field::required("status", Shape::Text),
    Field::required("description", Shape::Text),
    Field::required("output", Shape::Text),
    Field::optional("exitCode", Shape::Integer),
]);

const TASK_ID: Field = Field::preset("task_id", Shape::Text, Preset::Blank);
const BLOCK: Field = Field::preset("block", Shape::Flag, Preset::Flag(true));
const TIMEOUT: Field = Field::preset("timeout", Shape::Number { minimum: 0, maximum: 600_000 }, Preset::Number(30_000));

/// Returns the variant of the tool that these rules use.
pub(crate) const fn tool(rules: Rules) -> &'static Tool {
    match rules {
        Rules::Strict => &TOOL,
        Rules::Client(_) => &CLIENTS_TOOL,
    }
}

/// The separator between the parts of an answer.
const BETWEEN: &str = "\n\n";
/// The default number of characters of output shown.
const USUAL: usize = 30_000;
/// The maximum number of characters of output shown.
const MOST: usize = 150_000;

/// A checked input of `TaskOutput`.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskOutput {
    /// The job's id or name; empty if none was given.
    pub job: String,
    /// How long to wait for the job to end; `None` means not at all.
    pub wait: Option<Duration>,
}

/// How the wait for a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retrieval {
    /// The job has ended.
    Success,
    /// The timeout expired first.
    Timeout,
    /// The job is running, and the caller did not want to wait.
    NotReady,
}

/// The end of a job's output.
#[derive(Clone, Copy, Debug)]
pub struct Tail<'a> {
    /// The text.
    pub text: &'a str,
    /// Whether that is the whole output.
    pub is_all: bool,
    /// The maximum number of characters to show, in UTF-16 code units.
    pub longest: usize,
}

/// Parses an input.
pub fn read(input: &Value, rules: Rules) -> Result<TaskOutput, InputError> {
    let mut fields = TOOL.check(&with_job_id(input, &["taskId", "id", "agentId", "bash_id"], rules), None, rules)?;
    let job = fields.required_text("task_id");
    let is_blocking = fields.take("block") == Some(Value::Bool(true));
    let timeout = fields.take("timeout").and_then(|timeout| timeout.as_f64()).unwrap_or_default();
    // The schema limits it to ten minutes.
    let wait = Duration::try_from_secs_f64(timeout / 1000.0).unwrap_or_default();
    Ok(TaskOutput { job, wait: is_blocking.then_some(wait) })
}

/// Returns the maximum number of characters of output, given the value of `TASK_MAX_OUTPUT_LENGTH`.
pub fn longest_output(variable: Option<&str>) -> usize {
    match variable.and_then(native::parse_int) {
        Some(length) if length >= MOST as f64 => MOST,
        Some(length) if length >= 1.0 => length as usize,
        _ => USUAL,
    }
}

/// Returns how many bytes to read from the end of an output to show `longest` characters of it, including at least
/// one more byte if there is more.
pub fn bytes_needed(longest: usize) -> u64 {
    // A UTF-16 code unit takes at most three bytes in UTF-8.
    (longest as u64).saturating_mul(3).saturating_add(4)
}

/// Returns the answer for an existing job.
pub fn retrieved(retrieval: Retrieval, job: &Job, tail: &Tail<'_>) -> Answer {
    let path = job.output_file.display().to_string();
    let output = shown(tail, &path);
    let exit_code = job.own_exit_code();
    let mut parts = vec![
        format!("<retrieval_status>{}</retrieval_status>", retrieval.as_str()),
        format!("<task_id>{}</task_id>", job.id),
        format!("<task_type>{}</task_type>", job.kind),
        format!("<status>{}</status>", job.state()),
    ];
    parts.extend(exit_code.map(|code| format!("<exit_code>{code}</exit_code>")));
    if !output.trim().is_empty() {
        let room = LONGEST - units(&parts.join(BETWEEN)) - units(BETWEEN) - units(&in_tags(""));
        let output = shown(&Tail { longest: tail.longest.min(room), ..*tail }, &path);
        parts.push(in_tags(output.trim_end()));
    }
    let mut task = Map::new();
    task.insert("task_id".to_owned(), job.id.to_string().into());
    task.insert("task_type".to_owned(), job.kind.to_string().into());
    task.insert("status".to_owned(), job.state().to_string().into());
    task.insert("description".to_owned(), job.description.clone().into());
    task.insert("output".to_owned(), output.into());
    task.extend(exit_code.map(|code| ("exitCode".to_owned(), code.into())));
    Answer::new(parts.join(BETWEEN), json!({ "retrieval_status": retrieval.as_str(), "task": task }))
}

/// Returns the answer to a call that names no job.
pub fn without_id() -> Answer {
    Answer::error("Task ID is required")
}

/// Returns the answer if there is no such job.
pub fn not_found(job: &str) -> Answer {
    Answer::error(format!("No task found with ID: {job}"))
}

impl Retrieval {
    /// Returns the client's word for it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Timeout => "timeout",
            Self::NotReady => "not_ready",
        }
    }
}

/// Returns the end of an output, with a notice if it was cut. The notice counts towards the limit.
fn shown(tail: &Tail<'_>, path: &str) -> String {
    if tail.is_all && units(tail.text) <= tail.longest {
        return tail.text.to_owned();
    }
    let notice = format!("[Truncated. Full output: {path}]\n\n");
    let room = tail.longest.saturating_sub(units(&notice));
    format!("{notice}{}", &tail.text[suffix(tail.text, room)..])
}

fn in_tags(output: &str) -> String {
    format!("<output>\n{output}\n</output>")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::{LONGEST, MOST, Retrieval, Tail, TaskOutput, USUAL, longest_output, read, retrieved, units};
    use crate::job_samples::{ended, running};
    use crate::{ClientVersion, CommandEnd, JobEnding, Rules};

    const OLD: Rules = Rules::Client(ClientVersion::V2_1_34);

    fn all(text: &str) -> Tail<'_> {
        Tail { text, is_all: true, longest: USUAL }
    }

    #[test]
    fn a_call_waits_half_a_minute_where_it_says_nothing_else() {
        let asked = |wait| TaskOutput { job: "b3f0874".into(), wait };
        let half_a_minute = Some(Duration::from_secs(30));
        assert_eq!(read(&json!({ "task_id": "b3f0874" }), OLD), Ok(asked(half_a_minute)));
        assert_eq!(read(&json!({ "task_id": "b3f0874", "block": false, "timeout": 5 }), OLD), Ok(asked(None)));
        let short = Some(Duration::from_micros(500));
        assert_eq!(read(&json!({ "bash_id": "b3f0874", "timeout": 0.5 }), Rules::Strict), Ok(asked(short)));
        for rules in [OLD, Rules::Client(ClientVersion::V2_1_325)] {
            assert!(read(&json!({ "bash_id": "b3f0874" }), rules).is_err(), "the client knows no other name");
        }
        assert_eq!(read(&json!({}), OLD).unwrap().job, "");
        assert!(read(&json!({ "task_id": 5 }), OLD).unwrap_err().to_string().contains("`task_id` type is expected"));
    }

    #[test]
    fn what_there_is_to_say_is_said_in_the_clients_order() {
        let answer = retrieved(Retrieval::Success, &ended(JobEnding::Exited(3)), &all("out1\n[stderr] err1\nout2\n\n"));
        assert_eq!(
            answer.text,
            "<retrieval_status>success</retrieval_status>\n\n<task_id>b3f0874</task_id>\n\n<task_type>local_bash</task_type>\
             \n\n<status>failed</status>\n\n<exit_code>3</exit_code>\n\n<output>\nout1\n[stderr] err1\nout2\n</output>"
        );
        let answer = retrieved(Retrieval::NotReady, &running(), &all(" \n"));
        assert!(answer.text.ends_with("<status>running</status>"), "{}", answer.text);
        let killed = retrieved(Retrieval::Success, &ended(JobEnding::Stopped(CommandEnd::Exited(4))), &all(""));
        assert!(killed.text.ends_with("<status>killed</status>"), "{}", killed.text);
        let signalled = retrieved(Retrieval::Success, &ended(JobEnding::Signalled(9)), &all(""));
        assert!(signalled.text.ends_with("<exit_code>137</exit_code>"), "{}", signalled.text);
    }

    #[test]
    fn a_long_output_is_cut_at_its_beginning_and_the_notice_counts() {
        let shown = |text: &str, is_all| {
            let answer = retrieved(Retrieval::NotReady, &running(), &Tail { text, is_all, longest: 100 });
            answer.structured.unwrap()["task"]["output"].as_str().unwrap().to_owned()
        };
        let fits = "x".repeat(100);
        assert_eq!(shown(&fits, true), fits);
        let notice = "[Truncated. Full output: /tmp/x/b3f0874.output]\n\n";
        for text in ["x".repeat(101), "é".repeat(200), "😀".repeat(100)] {
            let cut = shown(&text, true);
            assert!(cut.starts_with(notice) && text.ends_with(&cut[notice.len()..]), "{cut}");
            assert!((99..=100).contains(&units(&cut)), "{cut}");
        }
        assert_eq!(shown("rest", false), format!("{notice}rest"));
    }

    #[test]
    fn long_output_keeps_newest_lines_and_closing_tag() {
        let lines: Vec<String> = (0..20_000).map(|number| format!("line {number}")).collect();
        for (text, is_all) in [(lines.join("\n"), true), ("é".repeat(MOST), false)] {
            let tail = Tail { text: &text, is_all, longest: MOST };
            let answer = retrieved(Retrieval::Success, &ended(JobEnding::Exited(3)), &tail);
            assert!(units(&answer.text) <= LONGEST && units(&answer.text) > LONGEST - 100, "{}", units(&answer.text));
            let (before, output) = answer.text.split_once("<output>\n").unwrap();
            assert!(before.ends_with("<exit_code>3</exit_code>\n\n"));
            let shown = output.strip_suffix("\n</output>").unwrap();
            let newest = shown.strip_prefix("[Truncated. Full output: /tmp/x/b3f0874.output]\n\n").unwrap();
            assert!(text.ends_with(newest));
        }
    }

    #[test]
    fn the_length_can_be_set_within_bounds() {
        for (variable, length) in [
            (None, USUAL),
            (Some("500"), 500),
            (Some("999999"), MOST),
            (Some("0"), USUAL),
            (Some("-5"), USUAL),
            (Some("much"), USUAL),
        ] {
            assert_eq!(longest_output(variable), length, "{variable:?}");
        }
    }
}
