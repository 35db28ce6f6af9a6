//! The `TaskClaim` tool.

use serde_json::{Value, json};

use super::refusing::Surroundings;
use super::schema::{Field, Object, Shape, Unknown};
use super::task_get::page;
use super::{Annotations, Answer, InputError, Scope, Tool, ToolSet};
use crate::answers::claim_answers::{ClaimLost, ClaimWon};
use crate::dialect::native;
use crate::render::{escaping, numbered};
use crate::rules::changes::notes::{notes_of, read_note};
use crate::rules::hooks::System;
use crate::rules::refusal::{ClaimRefusal, LostClaim, as_its_parent};
use crate::tools::refusing::{task_id, with_task_id};
use crate::tools::tool_answer::{IDS, NATIVE_TASK, TEXT_OR_NONE};
use crate::{AgentName, Rules, Status, Task, TaskId};

/// The tool under strict rules.
pub const TOOL: Tool = Tool {
    name: "TaskClaim",
    description: "Take a task to work on, so that no other agent does: the one named, or without taskId the best that is \
        ready (or the one you already have). Use it to get your next task and before you work on any task of a shared list; \
        it sets owner and in_progress. Exactly one agent wins. The answer holds the task's text, or says why not and what \
        to do instead.",
    input: Object {
        fields: &[
            Field::optional("taskId", Shape::Text),
            Field::optional("reserve", Shape::Flag).saying("Only become the owner; do not start yet"),
            Field::optional("agent", Shape::Text).saying("Your own name, if you are a subagent with one"),
        ],
        unknown: Unknown::Refused,
    },
    output: Object::answer(&[
        Field::required("claimed", Shape::Flag),
        Field::optional("task", NATIVE_TASK),
        Field::optional("token", Shape::Integer),
        Field::optional("expiresAt", TEXT_OR_NONE),
        Field::optional("agent", Shape::Text),
        Field::optional("resumed", Shape::Flag),
        Field::optional("why", Shape::Text),
        Field::optional("alsoHeld", IDS),
        Field::optional("reason", Shape::Text),
        Field::optional("owner", Shape::Text),
        Field::optional("freeAt", Shape::Text),
        Field::optional("blockedBy", IDS),
        Field::optional("through", Shape::Text),
        Field::optional("busyWith", IDS),
        Field::optional("assignableTo", Shape::List(&Shape::Text)),
        Field::optional("forOthers", Shape::Integer),
        Field::optional("nextAt", Shape::Text),
        Field::optional("since", Shape::Text),
        Field::optional("gone", Shape::Record),
        Field::optional("error", Shape::Record),
        Field::optional("revision", Shape::Integer),
    ]),
    annotations: Annotations::SETTLES,
    scope: Scope::Work,
    set: ToolSet::Core,
    system: System::Tasks,
};

/// The tool under client rules, which never change the task's status.
const CLIENTS_TOOL: Tool = Tool {
    description: "Take a task to work on, so that no other agent does: the one named, or without taskId the best that is \
        ready (or the one you already have). Use it to get your next task and before you work on any task of a shared list; \
        it sets the owner alone, so set in_progress with TaskUpdate when you begin. Exactly one agent wins. The answer holds \
        the task's text, or says why not and what to do instead.",
    ..TOOL
};

/// Returns the variant of the tool that these rules use.
pub(crate) const fn tool(rules: Rules) -> &'static Tool {
    match rules {
        Rules::Strict => &TOOL,
        Rules::Client(_) => &CLIENTS_TOOL,
    }
}

/// How many notes of previous owners are shown.
const NOTES: usize = 3;

/// A checked input of `TaskClaim`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskClaim {
    /// The task; `None` claims the best ready one.
    pub task: Option<TaskId>,
    /// Whether to set only the owner, without starting the task.
    pub reserve: bool,
    /// The claiming agent, if the call names one.
    pub agent: Option<AgentName>,
}

/// Parses an input.
pub fn read(input: &Value, rules: Rules) -> Result<TaskClaim, InputError> {
    let mut fields = TOOL.check(&with_task_id(input, rules), None, rules)?;
    let task = fields.text("taskId").map(|text| task_id(text, rules));
    let agent = fields.text("agent").and_then(|name| AgentName::new(name).ok());
    Ok(TaskClaim { task, reserve: fields.take("reserve") == Some(Value::Bool(true)), agent })
}

/// Returns the answer for a successful claim. `is_of_run` tells whether `work` started the agent for this task.
pub fn won(won: &ClaimWon<'_>, is_of_run: bool) -> Answer {
    let ClaimWon { task: native::Shape(task), token, expires_at, agent, resumed, why, also_held, .. } = won;
    let mut text = match (resumed, why) {
        _ if is_of_run => format!("You are working on #{}: this run is for that task alone.\n", task.id),
        (true, _) => "You already have this task.\n".to_owned(),
        (false, Some(why)) => format!("Claimed ({why}).\n"),
        (false, None) => "Claimed.\n".to_owned(),
    };
    text.push_str(&page(task, Rules::Strict));
    for note in notes(task) {
        text.push_str(&format!("\nNote: {note}"));
    }
    let until = expires_at.as_ref().map(|end| format!(" until {end}, longer with every call you make"));
    text.push_str(&format!(
        "\n\nYours, as {}{} (token {token}).",
        escaping::one_line(agent),
        until.unwrap_or_default()
    ));
    if task.status == Status::Pending {
        text.push_str(" Reserved, not started: set status in_progress with TaskUpdate when you begin.");
    }
    text.push_str(&format!(
        " When it is done, call TaskUpdate with taskId \"{id}\" and status \"completed\". If you cannot finish it, call \
         TaskRelease with taskId \"{id}\" and the reason.",
        id = task.id
    ));
    text.push_str(&held_by_name(agent, also_held.0));
    Answer::new(text, json!(won))
}

/// Returns a sentence about other tasks held under a name the agent was not given; empty if there are none.
pub fn held_by_name(agent: &str, held: &[TaskId]) -> String {
    if held.is_empty() {
        return String::new();
    }
    format!(
        " A caller that gives no name is {} here, who also holds {}: leave that to the agent that claimed it, or go on \
         with it by calling TaskClaim with its taskId if that was you.",
        escaping::one_line(agent),
        numbered(held)
    )
}

/// Returns the notes of previous owners, newest last.
fn notes(task: &Task) -> Vec<String> {
    let notes = notes_of(task);
    let newest = &notes[notes.len().saturating_sub(NOTES)..];
    let told = |note: &Value| {
        let note = read_note(note);
        let author = note.author.map(|author| format!(" ({author})"));
        escaping::one_line(&format!("{}{}", note.text, author.unwrap_or_default())).into_owned()
    };
    newest.iter().map(told).collect()
}

/// Returns the answer for a failed claim. It is an error unless no task is ready.
pub fn lost(lost: &LostClaim, around: &Surroundings<'_>) -> Answer {
    let refusal = &lost.reason;
    let named = lost.id.as_ref().map_or_else(|| "The task".to_owned(), |id| format!("Task #{id}"));
    let next = || format!("{} Call TaskClaim without taskId to take the best.", around.instead());
    let text = match refusal {
        ClaimRefusal::TaskNotFound => format!("{named} not found. TaskList shows every task. {}", next()),
        ClaimRefusal::AlreadyClaimed { by, free_at: None } => {
            let by = escaping::one_line(by);
            format!("{named} is not yours: {by} has it. Leave it to {by}. {}", next())
        }
        ClaimRefusal::AlreadyClaimed { by, free_at: Some(at) } => {
            let by = escaping::one_line(by);
            format!("{named} is not yours yet: {by} has it, but its server has ended. It is free at {at}. {}", next())
        }
        ClaimRefusal::AlreadyResolved => format!("{named} is already completed. {}", next()),
        ClaimRefusal::Blocked { by, through } => {
            let why = as_its_parent(through.as_ref());
            format!("{named} cannot be claimed yet: it waits for {}{why}. {}", around.named(by), next())
        }
        ClaimRefusal::AgentBusy { with } => format!(
            "Not claimed: you are not finished with {}. Complete it with TaskUpdate or release it with TaskRelease, then \
             call TaskClaim again.",
            around.named(with)
        ),
        ClaimRefusal::OutsideRun { task, is_over: false } => format!(
            "Not claimed: this run is for {}; finish or release it first, with TaskUpdate or TaskRelease.",
            around.named(std::slice::from_ref(task))
        ),
        ClaimRefusal::OutsideRun { is_over: true, .. } => format!("Not claimed: {refusal}."),
        ClaimRefusal::NotAllowed { .. } => format!("{named} is not for you: {refusal}. {}", next()),
        ClaimRefusal::PlanNotApproved { lead } => format!(
            "Not claimed: your plan has to be approved first. Send it with SendMessage (to \"{lead}\", message \
             {{\"type\":\"plan_approval_request\",\"plan\":\"...\"}}) and wait for the answer in your inbox."
        ),
        ClaimRefusal::NothingReady { for_others, .. } => nothing_ready(*for_others, around),
    };
    let structured = json!(ClaimLost::from(lost));
    match refusal {
        ClaimRefusal::NothingReady { .. } => Answer::new(text, structured),
        _ => Answer::error(text).with(structured),
    }
}

fn nothing_ready(for_others: usize, around: &Surroundings<'_>) -> String {
    let others =
        if for_others > 0 { format!(" {for_others} ready for other agents or roles only.") } else { String::new() };
    match around.open() {
        (0, 0) => "Nothing is left to do: no task is open.".to_owned(),
        (in_progress, pending) => format!(
            "Nothing is ready for you now: {in_progress} in progress, {pending} pending and waiting or taken.{others} Do not \
             start those. Call TaskClaim again when something is completed, or stop here."
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{TaskClaim, lost, read, won};
    use crate::answers::claim_answers::ClaimWon;
    use crate::dialect::native::{Ids, Shape};
    use crate::rules::hooks::System;
    use crate::rules::refusal::{ClaimRefusal, Refusal};
    use crate::tools::{Surroundings, ToolNames};
    use crate::{AgentName, Rules, Status, Task, TaskId, Timestamp};

    fn refused(id: Option<u64>, refusal: &ClaimRefusal, tasks: &[Task]) -> super::Answer {
        let agent = AgentName::new("ana").unwrap();
        let around = Surroundings {
            tasks,
            agent: &agent,
            roles: &[],
            now: Timestamp(0),
            rules: Rules::Strict,
            names: ToolNames::of(System::Tasks),
        };
        let refusal = Refusal::claim(id.map(TaskId::number).as_ref(), refusal.clone(), None);
        let Refusal::Claim(refused) = refusal else { unreachable!("it is of a claim") };
        lost(&refused, &around)
    }

    #[test]
    fn a_task_is_named_or_left_to_the_list() {
        let next = TaskClaim { task: None, reserve: false, agent: None };
        assert_eq!(read(&json!({}), Rules::Strict), Ok(next));
        let named = TaskClaim { task: Some(TaskId::number(7)), reserve: true, agent: None };
        assert_eq!(read(&json!({ "id": "#7", "reserve": true }), Rules::Strict), Ok(named));
        let scout = read(&json!({ "agent": "scout" }), Rules::Strict).unwrap().agent;
        assert_eq!(scout, AgentName::new("scout").ok());
        assert_eq!(read(&json!({ "agent": " " }), Rules::Strict).unwrap().agent, None);
        assert!(read(&json!({ "taskId": null }), Rules::Strict).is_err());
    }

    #[test]
    fn won_claim_has_text_token_notes_and_next_step() {
        let notes = json!({ "notes": ["by hand", {"at": "x", "author": "ben", "text": "no\nnetwork"}] });
        let task = Task {
            description: "All of it".into(),
            status: Status::InProgress,
            metadata: notes.as_object().cloned(),
            ..Task::new(TaskId::number(7), "Write")
        };
        let claimed = |also_held| ClaimWon {
            claimed: true,
            task: Shape(&task),
            token: 12,
            expires_at: Some("2026-11-15T01:02:03.000Z".to_owned()),
            agent: "ana",
            resumed: false,
            why: Some("unblocks 2 tasks"),
            also_held: Ids(also_held),
            revision: Some(3),
        };
        let answer = won(&claimed(&[]), false);
        assert_eq!(
            answer.text,
            "Claimed (unblocks 2 tasks).\nTask #7: Write\nStatus: in_progress\nDescription: All of it\nNote: by hand\n\
             Note: no\\nnetwork (ben)\n\nYours, as ana until 2026-11-15T01:02:03.000Z, longer with every call you make (token 12). \
             When it is done, call TaskUpdate with taskId \"7\" and status \"completed\". If you cannot finish it, call \
             TaskRelease with taskId \"7\" and the reason."
        );
        let structured = answer.structured.unwrap();
        assert_eq!((&structured["token"], &structured["agent"]), (&json!(12), &json!("ana")));
        assert_eq!(structured.get("alsoHeld"), None);
        let shared = won(&claimed(&[TaskId::number(3)]), false);
        assert!(shared.text.contains("A caller that gives no name is ana here, who also holds #3:"), "{}", shared.text);
        assert_eq!(shared.structured.unwrap()["alsoHeld"], json!(["3"]));
    }

    #[test]
    fn a_lost_claim_gives_the_reason_and_what_to_do_now() {
        let tasks = [
            Task { owner: Some("ben".into()), ..Task::new(TaskId::number(7), "Write") },
            Task::new(TaskId::number(8), "Test"),
        ];
        let answer = refused(Some(7), &ClaimRefusal::AlreadyClaimed { by: "ben".into(), free_at: None }, &tasks);
        assert_eq!(
            answer.text,
            "Task #7 is not yours: ben has it. Leave it to ben. Ready instead: #8 Test. Call TaskClaim without taskId to take \
             the best."
        );
        assert!(answer.is_error);
        let busy = refused(None, &ClaimRefusal::AgentBusy { with: vec![TaskId::number(7)] }, &tasks);
        assert!(busy.text.starts_with("Not claimed: you are not finished with #7 Write (pending, ben)."));
        let structured = busy.structured.unwrap();
        assert_eq!((&structured["claimed"], &structured["busyWith"]), (&json!(false), &json!(["7"])));
        assert_eq!((&structured["reason"], &structured["error"]["code"]), (&json!("agent_busy"), &json!("agent_busy")));
    }

    #[test]
    fn that_nothing_is_ready_is_no_error_and_says_whether_to_wait() {
        let nothing = ClaimRefusal::NothingReady { for_others: 1, next_at: None };
        let waiting = [Task { owner: Some("ben".into()), ..Task::new(TaskId::number(7), "Write") }];
        let answer = refused(None, &nothing, &waiting);
        assert!(!answer.is_error);
        assert!(answer.text.contains("0 in progress, 1 pending"), "{}", answer.text);
        assert_eq!(refused(None, &nothing, &[]).text, "Nothing is left to do: no task is open.");
    }
}
