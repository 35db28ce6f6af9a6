//! The `TaskUpdate` tool.

use serde_json::{Value, json};

use super::refusing::{Surroundings, explain};
use super::schema::{Field as Parameter, Object, Shape, Unknown};
use super::task_create::{DUE, PARENT, PRIORITY, TAGS, with_stated};
use super::{Annotations, Answer, InputError, Scope, Tool, ToolSet};
use crate::render::numbered;
use crate::rules::changes::patching::{Field, OwnerChange, Patch};
use crate::rules::hooks::System;
use crate::rules::refusal::Refusal;
use crate::tools::refusing::{is_repaired, rename, task_id, with_task_id};
use crate::{Rules, Status, TaskId};

/// The tool under strict rules.
pub const TOOL: Tool = Tool {
    name: "TaskUpdate",
    description: "Change a task: status, text, owner, or its place in the order. Set in_progress when you begin and completed \
        as soon as the work is entirely done (not with failing tests or open errors: keep it in_progress and add a task for \
        what is in the way); deleted removes it, and goes with no other change. Where other agents share the list, take a task with TaskClaim \
        instead of setting owner. Read it with TaskGet first if it may have changed.",
    input: Object {
        fields: &[
            TASK_ID,
            SUBJECT,
            DESCRIPTION,
            ACTIVE_FORM,
            STATUS,
            ADD_BLOCKS,
            ADD_BLOCKED_BY,
            OWNER,
            METADATA,
            Parameter::optional("removeBlocks", Shape::List(&Shape::Text)),
            Parameter::optional("removeBlockedBy", Shape::List(&Shape::Text)),
            PRIORITY,
            TAGS,
            PARENT,
            DUE,
            Parameter::optional("note", Shape::Text).saying("A dated comment to keep; the owner is notified"),
        ],
        unknown: Unknown::Refused,
    },
    // Not idempotent: every call adds another note.
    output: Object::answer(&[
        Parameter::required("success", Shape::Flag),
        Parameter::required("taskId", Shape::Text),
        Parameter::required("updatedFields", Shape::List(&Shape::Text)),
        Parameter::optional("error", Shape::Text),
        Parameter::optional(
            "statusChange",
            Shape::Object(Object::answer(&[
                Parameter::required("from", Shape::Text),
                Parameter::required("to", Shape::Text),
            ])),
        ),
    ]),
    annotations: Annotations { idempotent: false, ..Annotations::REPLACES },
    scope: Scope::Work,
    set: ToolSet::Core,
    system: System::Tasks,
};

/// The tool under client rules, which has no notes and ignores all other fields of a call that deletes.
const CLIENTS_TOOL: Tool = Tool {
    description: "Change a task: status, text, owner, or its place in the order. Set in_progress when you begin and completed \
        as soon as the work is entirely done (not with failing tests or open errors: keep it in_progress and add a task for \
        what is in the way); deleted removes it. Where other agents share the list, take a task with TaskClaim instead of \
        setting owner. Read it with TaskGet first if it may have changed.",
    input: Object {
        fields: &[
            TASK_ID.saying("The ID of the task to update"),
            SUBJECT,
            DESCRIPTION,
            ACTIVE_FORM,
            STATUS,
            ADD_BLOCKS.saying(""),
            ADD_BLOCKED_BY.saying(""),
            OWNER,
            METADATA.saying(""),
        ],
        unknown: Unknown::Refused,
    },
    annotations: Annotations::REPLACES,
    scope: Scope::Work,
    ..TOOL
};

const TASK_ID: Parameter = Parameter::required("taskId", Shape::Text);
const SUBJECT: Parameter = Parameter::optional("subject", Shape::Text);
const DESCRIPTION: Parameter = Parameter::optional("description", Shape::Text);
const ACTIVE_FORM: Parameter = Parameter::optional("activeForm", Shape::Text);
const STATUS: Parameter = Parameter::optional(
    "status",
    Shape::AnyOf(&[Shape::Choice(&["pending", "in_progress", "completed"]), Shape::Word("deleted")]),
);
const ADD_BLOCKS: Parameter =
    Parameter::optional("addBlocks", Shape::List(&Shape::Text)).saying("Ids of tasks that wait for this one");
const ADD_BLOCKED_BY: Parameter =
    Parameter::optional("addBlockedBy", Shape::List(&Shape::Text)).saying("Ids of tasks this one waits for");
const OWNER: Parameter = Parameter::optional("owner", Shape::Text);
const METADATA: Parameter = Parameter::optional("metadata", Shape::Record).saying("Keys to merge; null removes one");

/// Returns the variant of the tool that these rules use.
pub(crate) const fn tool(rules: Rules) -> &'static Tool {
    match rules {
        Rules::Strict => &TOOL,
        Rules::Client(_) => &CLIENTS_TOOL,
    }
}

/// A checked input of `TaskUpdate`.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskUpdate {
    /// Delete the task. Under client rules all other fields of the call are ignored.
    Delete {
        /// The task.
        task: TaskId,
    },
    /// Change the task.
    Change {
        /// The task.
        task: TaskId,
        /// The fields to change.
        patch: Box<Patch>,
        /// Dependents to add.
        add_blocks: Vec<TaskId>,
        /// Blockers to add.
        add_blocked_by: Vec<TaskId>,
        /// Dependents to remove.
        remove_blocks: Vec<TaskId>,
        /// Blockers to remove.
        remove_blocked_by: Vec<TaskId>,
        /// The due date as written by the caller.
        due: Option<String>,
        /// A note to add.
        note: Option<String>,
    },
}

/// The effects of a change.
#[derive(Clone, Copy, Debug, Default)]
pub struct Changed<'a> {
    /// The fields that changed, in the order the client reports them.
    pub updated: &'a [Field],
    /// The status before and after, if it changed.
    pub status_change: Option<(Status, Status)>,
    /// The tasks that this completion unblocked.
    pub now_ready: &'a [TaskId],
    /// The open blockers of the task, if it was completed despite them.
    pub open_blockers: &'a [TaskId],
    /// The dependents that had already been started when the task was reopened.
    pub dependents_started: &'a [TaskId],
    /// Whether a team member other than the lead made the change.
    pub is_by_teammate: bool,
    /// Why an agent concerned, such as the new owner, could not be notified.
    pub not_told: Option<&'a str>,
    /// Why the block in the description could not be changed, if it should have been.
    pub block_left: Option<&'a str>,
    /// The recipients of a note, if one was added.
    pub noted: Option<&'a [String]>,
}

/// The client's text for a teammate that completed a task.
const NEXT: &str =
    "\n\nTask completed. Call TaskList now to find your next available task or see if your work unblocked others.";

/// Parses an input.
pub fn read(input: &Value, rules: Rules) -> Result<TaskUpdate, InputError> {
    let mut input = with_task_id(input, rules);
    if let Value::Object(input) = &mut input
        && is_repaired(rules)
    {
        rename(input, "active_form", "activeForm");
    }
    let mut fields = tool(rules).check(&input, None, rules)?;
    let task = task_id(fields.required_text("taskId"), rules);
    let status = fields.text("status");
    if status.as_deref() == Some("deleted") {
        if !rules.is_client() {
            tool(rules).refuse_clash(&fields.names(), "status: deleted", rules)?;
        }
        return Ok(TaskUpdate::Delete { task });
    }
    let mut metadata = with_stated(&mut fields, tool(rules), rules)?;
    if let Some(tags) = metadata.as_mut().filter(|_| !rules.is_client()).and_then(|metadata| metadata.get_mut("tags"))
        && tags.as_array().is_some_and(Vec::is_empty)
    {
        *tags = Value::Null;
    }
    Ok(TaskUpdate::Change {
        task,
        add_blocks: fields.task_ids(&["addBlocks"], rules),
        add_blocked_by: fields.task_ids(&["addBlockedBy"], rules),
        remove_blocks: fields.task_ids(&["removeBlocks"], rules),
        remove_blocked_by: fields.task_ids(&["removeBlockedBy"], rules),
        due: fields.text("due"),
        note: fields.text("note").filter(|text| !text.trim().is_empty()),
        patch: Box::new(Patch {
            subject: fields.text("subject"),
            description: fields.text("description"),
            active_form: fields.text("activeForm"),
            status: status.and_then(|status| status.parse().ok()),
            owner: fields.text("owner").map(|owner| owner_change(owner, rules)),
            metadata,
        }),
    })
}

/// Strict rules treat an empty name as no owner. The client stores it as it is.
fn owner_change(owner: String, rules: Rules) -> OwnerChange {
    if owner.is_empty() && !rules.is_client() { OwnerChange::Clear } else { OwnerChange::Set(owner) }
}

/// Returns the answer for a successful change, including one without effect.
pub fn changed(id: &TaskId, changed: &Changed<'_>, rules: Rules) -> Answer {
    let fields: Vec<&str> = changed.updated.iter().copied().map(Field::as_str).collect();
    let fields: Vec<&str> = fields.into_iter().chain(changed.noted.map(|_| "note")).collect();
    let mut structured = json!({ "success": true, "taskId": id.as_str(), "updatedFields": fields });
    if let Some((from, to)) = changed.status_change {
        structured["statusChange"] = json!({ "from": from.as_str(), "to": to.as_str() });
    }
    let mut text = format!("Updated task #{id} {}", fields.join(", "));
    let is_completed = changed.status_change.is_some_and(|(_, to)| to == Status::Completed);
    match rules.is_client() {
        true if is_completed && changed.is_by_teammate => text.push_str(NEXT),
        true => {}
        false => text.push_str(&consequences(changed)),
    }
    Answer::new(text, structured)
}

/// Describes the effects on other tasks, which the client does not report.
fn consequences(changed: &Changed<'_>) -> String {
    let mut text = String::new();
    let [ready, open, started] = [changed.now_ready, changed.open_blockers, changed.dependents_started];
    if !ready.is_empty() {
        text.push_str(&format!("\nNow ready: {}. Take one with TaskClaim.", numbered(ready)));
    }
    if !open.is_empty() {
        text.push_str(&format!("\nIt was completed although it waits for {}, still open.", numbered(open)));
    }
    if !started.is_empty() {
        text.push_str(&format!("\nAlready started, and waiting for it again: {}.", numbered(started)));
    }
    let is_completed = changed.status_change.is_some_and(|(_, to)| to == Status::Completed);
    if is_completed && changed.is_by_teammate && ready.is_empty() {
        text.push_str("\nCall TaskClaim without taskId for your next task.");
    }
    if let Some(told) = changed.noted.filter(|told| !told.is_empty()) {
        text.push_str(&format!("\nThe note was sent to {}.", told.join(", ")));
    }
    if let Some(why) = changed.not_told {
        let whom = if changed.noted.is_some() { "Not everyone concerned" } else { "The new owner" };
        let could = if changed.noted.is_some() { "could" } else { "could not" };
        text.push_str(&format!("\n{whom} {could} be notified: {why}."));
    }
    if let Some(why) = changed.block_left {
        text.push_str(&format!("\nThe block in its description was not changed: {why}."));
    }
    text
}

/// Returns the answer for a deleted task.
pub fn deleted(id: &TaskId, before: Status) -> Answer {
    let change = json!({ "from": before.as_str(), "to": "deleted" });
    let structured =
        json!({ "success": true, "taskId": id.as_str(), "updatedFields": ["deleted"], "statusChange": change });
    Answer::new(format!("Updated task #{id} deleted"), structured)
}

/// Returns the answer for the deletion of a task that was already missing.
pub fn deleted_missing(id: &TaskId, before: Status) -> Answer {
    let mut answer = deleted(id, before);
    answer.text.push_str(". It was already missing, and no longer counts as missing.");
    answer
}

/// Returns the answer for a refused call.
pub fn refused(id: &TaskId, refusal: &Refusal, around: &Surroundings<'_>) -> Answer {
    let structured =
        |error: &str| json!({ "success": false, "taskId": id.as_str(), "updatedFields": [], "error": error });
    match refusal {
        // If another task named in a dependency is missing, the model must learn which one.
        Refusal::NoSuchTask { task } if task == id => Answer::new("Task not found", structured("Task not found")),
        // The client returns this as a normal answer, so that the model reads the hook's feedback.
        Refusal::HookBlocked { feedback, .. } if around.rules.is_client() => {
            Answer::new(feedback.as_str(), structured(feedback))
        }
        refusal => {
            let text = explain(refusal, around);
            Answer::error(text.as_str()).with(structured(&text))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Changed, TaskUpdate, changed, read};
    use crate::rules::changes::patching::{Field, OwnerChange};
    use crate::{ClientVersion, Rules, Status, TaskId};

    const OLD: Rules = Rules::Client(ClientVersion::V2_1_34);
    const NEW: Rules = Rules::Client(ClientVersion::V2_1_325);

    #[test]
    fn several_issues_follow_client_order_and_newest_unions() {
        let input = json!({ "status": "done", "owner": 5, "zz": 1, "addBlocks": ["1", 2, [3]], "metadata": null });
        let lines = "InputValidationError: TaskUpdate failed due to the following issues:\n\
                     The required parameter `taskId` is missing\n\
                     An unexpected parameter `zz` was provided\n\
                     The parameter `addBlocks[1]` type is expected as `string` but provided as `number`\n\
                     The parameter `addBlocks[2]` type is expected as `string` but provided as `array`\n\
                     The parameter `owner` type is expected as `string` but provided as `number`\n\
                     The parameter `metadata` type is expected as `record` but provided as `null`";
        assert_eq!(read(&input, OLD).unwrap_err().to_string(), lines);
        let union = "\nThe parameter `status` matches none of the accepted forms";
        assert_eq!(read(&input, NEW).unwrap_err().to_string(), format!("{lines}{union}"));
        let strict = read(&input, Rules::Strict).unwrap_err().to_string();
        assert!(strict.contains("An unexpected parameter `zz` was provided; possible here: `taskId`, "), "{strict}");
    }

    #[test]
    fn strict_rules_take_the_keys_that_update_takes() {
        let input = json!({ "taskId": "1", "removeBlocks": ["2"], "removeBlockedBy": ["#3"], "priority": "high",
            "tags": [], "parent": "#4", "due": "none" });
        let Ok(TaskUpdate::Change { patch, remove_blocks, remove_blocked_by, due, .. }) = read(&input, Rules::Strict)
        else {
            panic!("it is a change");
        };
        assert_eq!((remove_blocks, remove_blocked_by), (vec![TaskId::number(2)], vec![TaskId::number(3)]));
        assert_eq!(due.as_deref(), Some("none"));
        let metadata = json!({ "priority": "high", "tags": null, "parent": "4" });
        assert_eq!(patch.metadata, metadata.as_object().cloned());
        assert!(read(&input, OLD).is_err() && read(&input, NEW).is_err());
        let edges = read(&json!({ "taskId": "1", "blockedBy": ["2"] }), Rules::Strict).unwrap_err().to_string();
        assert!(edges.ends_with("`blockedBy` was provided; did you mean `addBlockedBy`?"), "{edges}");
    }

    #[test]
    fn strict_rules_delete_nothing_with_other_changes() {
        let input = json!({ "taskId": "1", "status": "deleted", "subject": "s", "note": "n" });
        let text = read(&input, Rules::Strict).unwrap_err().to_string();
        assert!(
            text.starts_with("TaskUpdate cannot take `subject`, `note` together with `status: deleted`."),
            "{text}"
        );
        let subject = json!({ "taskId": "1", "status": "deleted", "subject": "s" });
        assert!([OLD, NEW].iter().all(|rules| read(&subject, *rules).is_ok()));
    }

    #[test]
    fn second_task_name_is_used_only_if_first_is_missing() {
        let task = |input, rules| match read(&input, rules) {
            Ok(TaskUpdate::Change { task, .. } | TaskUpdate::Delete { task }) => Some(task),
            Err(_) => None,
        };
        assert_eq!(task(json!({ "task_id": "4" }), NEW), Some(TaskId::number(4)));
        assert_eq!(task(json!({ "task_id": "4" }), OLD), None);
        assert_eq!(task(json!({ "taskId": "1", "id": "2" }), NEW), None);
        assert_eq!(
            task(json!({ "id": " ", "task_id": "4" }), NEW),
            None,
            "a blank one names nothing, and is unexpected"
        );
        assert_eq!(task(json!({ "id": 4 }), NEW), None);
        assert_eq!(task(json!({ "taskId": "4", "active_form": "a" }), NEW), Some(TaskId::number(4)));
        assert_eq!(task(json!({ "taskId": "4", "active_form": "" }), NEW), None);
        assert_eq!(task(json!({ "taskId": "#1" }), NEW), Some(TaskId::stored("#1")));
        assert_eq!(task(json!({ "taskId": "#1", "status": "deleted" }), Rules::Strict), Some(TaskId::number(1)));
    }

    #[test]
    fn a_note_is_taken_in_strict_rules_alone() {
        let note = |rules| match read(&json!({ "taskId": "1", "note": "slow disk" }), rules) {
            Ok(TaskUpdate::Change { note, .. }) => note,
            Ok(other) => panic!("{other:?}"),
            Err(error) => Some(error.to_string()),
        };
        assert_eq!(note(Rules::Strict).as_deref(), Some("slow disk"));
        let unexpected = "InputValidationError: TaskUpdate failed due to the following issue:\n\
                          An unexpected parameter `note` was provided";
        assert_eq!((note(OLD).as_deref(), note(NEW).as_deref()), (Some(unexpected), Some(unexpected)));
    }

    #[test]
    fn an_empty_owner_is_stored_by_the_client_and_cleared_by_us() {
        let owner = |rules| match read(&json!({ "taskId": "1", "owner": "" }), rules) {
            Ok(TaskUpdate::Change { patch, .. }) => patch.owner,
            other => panic!("{other:?}"),
        };
        assert_eq!(owner(NEW), Some(OwnerChange::Set(String::new())));
        assert_eq!(owner(Rules::Strict), Some(OwnerChange::Clear));
    }

    #[test]
    fn what_a_change_means_for_others_is_told_in_strict_rules_alone() {
        let (ready, open) = ([TaskId::number(8), TaskId::number(9)], [TaskId::number(2)]);
        let done = Changed {
            updated: &[Field::Status],
            status_change: Some((Status::Pending, Status::Completed)),
            now_ready: &ready,
            open_blockers: &open,
            dependents_started: &[],
            is_by_teammate: true,
            not_told: None,
            block_left: None,
            noted: None,
        };
        let told = changed(&TaskId::number(7), &done, Rules::Strict).text;
        assert_eq!(
            told,
            "Updated task #7 status\nNow ready: #8, #9. Take one with TaskClaim.\n\
             It was completed although it waits for #2, still open."
        );
        assert_eq!(
            changed(&TaskId::number(7), &done, NEW).text,
            "Updated task #7 status\n\nTask completed. Call TaskList now to find your next available task or see if your \
             work unblocked others."
        );
        let by_lead = Changed { is_by_teammate: false, ..done };
        assert_eq!(changed(&TaskId::number(7), &by_lead, NEW).text, "Updated task #7 status");
    }
}
