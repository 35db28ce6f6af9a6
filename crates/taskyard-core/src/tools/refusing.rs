//! Explains refusals and invalid input to a model, and repairs common mistakes in input.

use std::fmt;

use serde_json::{Map, Value};

use super::schema::{Issue, Received, Step, Wrong};
use crate::dialect::native;
use crate::near_words::nearest;
use crate::render::{escaping, numbered};
use crate::rules::claims::claiming::may_take;
use crate::rules::claims::readiness::rank;
use crate::rules::hooks::{HookEvent, System};
use crate::rules::refusal::{Refusal, as_its_parent};
use crate::{AgentName, ClientVersion, Rules, Status, Task, TaskId, Timestamp};

/// The context for explaining a refusal.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// All tasks of the list.
    pub tasks: &'a [Task],
    /// The agent that made the call.
    pub agent: &'a AgentName,
    /// The roles the agent has declared.
    pub roles: &'a [String],
    /// The present moment.
    pub now: Timestamp,
    /// The rules in force.
    pub rules: Rules,
    /// The names of the tools offered.
    pub names: ToolNames,
}

/// The names of the tools and fields that refusals mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolNames {
    /// The tool that lists the tasks.
    pub(crate) list: &'static str,
    /// The tool that claims a task.
    pub(crate) claim: &'static str,
    /// The tool that changes a task.
    pub(crate) update: &'static str,
    /// The field that sets a task's blockers.
    pub(crate) edges: &'static str,
}

impl ToolNames {
    /// Returns the names used by a system.
    pub const fn of(system: System) -> Self {
        match system {
            System::Document => {
                Self { list: "TodoRead", claim: "TodoWrite", update: "TodoWrite", edges: "dependencies" }
            }
            System::Teaching => {
                Self { list: "list_tasks", claim: "claim_task", update: "claim_task", edges: "blockedBy" }
            }
            System::Export => {
                Self { list: "TaskList", claim: "TaskUpdate", update: "TaskUpdate", edges: "dependencies" }
            }
            System::Tasks | System::Todos => {
                Self { list: "TaskList", claim: "TaskClaim", update: "TaskUpdate", edges: "addBlocks and addBlockedBy" }
            }
        }
    }
}

/// How many alternative tasks are offered.
const OFFERED: usize = 3;
/// How many tasks are named with their titles; if there are more, only ids are given.
const NAMED: usize = 10;
/// The longest cycle that is shown in full.
const LONGEST_CIRCLE: usize = 12;

impl Surroundings<'_> {
    /// Names the best tasks this agent could take instead.
    pub(super) fn instead(&self) -> String {
        let ready = rank(self.tasks, None, self.now, self.rules).into_iter().map(|ranked| ranked.task);
        let offered: Vec<String> = ready
            .filter(|task| may_take(task, self.agent, self.roles))
            .take(OFFERED)
            .map(|task| format!("#{} {}", task.id, escaping::one_line(&task.shown_subject())))
            .collect();
        if offered.is_empty() {
            return "Nothing else is ready now.".to_owned();
        }
        format!("Ready instead: {}.", offered.join(", "))
    }

    /// Lists tasks with id, title, status and owner.
    pub(super) fn named(&self, ids: &[TaskId]) -> String {
        if ids.len() > NAMED {
            return format!("{} and {} more", numbered(&ids[..NAMED]), ids.len() - NAMED);
        }
        ids.iter().map(|id| self.name(id)).collect::<Vec<_>>().join(", ")
    }

    fn name(&self, id: &TaskId) -> String {
        let Some(task) = self.tasks.iter().find(|task| task.id == *id) else { return format!("#{id}") };
        let owner = task.owner().map(|owner| format!(", {}", escaping::one_line(owner))).unwrap_or_default();
        format!("#{id} {} ({}{owner})", escaping::one_line(&task.shown_subject()), task.status)
    }

    /// Returns how many visible tasks are in progress and pending.
    pub(super) fn open(&self) -> (usize, usize) {
        let count = |status| self.tasks.iter().filter(|task| task.status == status && !task.is_internal()).count();
        (count(Status::InProgress), count(Status::Pending))
    }
}

/// Explains a refusal to a model.
pub fn explain(refusal: &Refusal, around: &Surroundings<'_>) -> String {
    match refusal {
        Refusal::NoSuchTask { task } => {
            format!("Task #{task} not found. Nothing was changed. {} shows every task.", around.names.list)
        }
        Refusal::Unreadable { task, why, .. } => format!(
            "Task #{task} cannot be read: {why}. Its file was not changed; a person has to repair it. {}",
            around.instead()
        ),
        Refusal::EdgeToItself { task } => format!(
            "Task #{task} cannot wait for itself. Nothing was changed. Leave its own id out of {}.",
            around.names.edges
        ),
        Refusal::Cycle { path } => format!(
            "That would create a dependency cycle, in which no task could ever start: {}. Nothing was changed. Leave out the \
             edge that closes it, or reverse the order. A task waits for its parts, and they wait for what it waits for.",
            circle(path)
        ),
        Refusal::TaskExists { task } => {
            format!("Task {task} already exists. Change that one, or leave out the id.")
        }
        Refusal::NoSuchBlocker { task } => format!(
            "There is no task #{task} to depend on. Nothing was changed. {} shows every id; create the task first if it \
             is missing.",
            around.names.list
        ),
        Refusal::PartOfItself { task } => format!("Task #{task} cannot be a part of itself. Nothing was changed."),
        Refusal::NoSuchParent { task } => format!(
            "There is no task #{task} to be the parent. Nothing was changed. {} shows every id; create the task first if it is \
             missing.",
            around.names.list
        ),
        Refusal::Blocked { task, by, through } => format!(
            "Task #{task} cannot start: it waits for {}{}. Nothing was changed. {}",
            around.named(by),
            as_its_parent(through.as_ref()),
            around.instead()
        ),
        Refusal::OpenParts { task, parts } => format!(
            "Task #{task} cannot be completed: it has open parts: {}. Nothing was changed. Complete those first; the task itself is \
             ready when the last of them is closed.",
            around.named(parts)
        ),
        Refusal::NotMerged { task, branch } => format!(
            "Task #{task} is completed by merging its branch {branch} when your run ends successfully. Nothing was \
             changed. Leave your work in the worktree and end; do not complete the task yourself."
        ),
        Refusal::Leased { task, holder, until, .. } => {
            let until = until.map(|until| format!(" until {until}")).unwrap_or_default();
            let holder = escaping::one_line(holder.as_str());
            format!(
                "Task #{task} is taken: {holder} is working on it{until}. Nothing was changed. Leave it to {holder} and take \
                 another. {}",
                around.instead()
            )
        }
        Refusal::StaleToken { task, token, .. } => format!(
            "Token {token} is no longer valid for task #{task}: {refusal}. Nothing was changed. Stop working on it, or claim \
             it again with {}. {}",
            around.names.claim,
            around.instead()
        ),
        Refusal::AlreadyCompleted { task } => format!(
            "Task #{task} is completed, so there is nothing to give back. If it has to be done again, set its status to \
             pending with {}.",
            around.names.update
        ),
        Refusal::PlanNotApproved { lead, .. } => format!(
            "Not started: your plan has to be approved first. Nothing was changed. Send it with SendMessage (to \"{lead}\", message \
             {{\"type\":\"plan_approval_request\",\"plan\":\"...\"}}) and wait for the answer in your inbox."
        ),
        Refusal::AgentBusy { task, with } => format!(
            "Task #{task} was not started: you are not finished with {}. Nothing was changed. Complete that first, or set it back to \
             pending with {}.",
            around.named(with),
            around.names.update
        ),
        Refusal::HookBlocked { event: HookEvent::TaskCreated, feedback, .. } => feedback.clone(),
        Refusal::HookBlocked { feedback, .. } => {
            format!("{}\nNothing was changed. Fix what the hook complains about, then try again.", feedback.trim_end())
        }
        Refusal::CheckFailed { task, check, ended, output } => format!(
            "Task #{task} is not completed: its check `{}` {ended}. Nothing was changed. Fix what it complains about, then \
             try again.\n{output}",
            escaping::one_line(check)
        ),
        Refusal::NoSuchCheck { .. } | Refusal::UntrustedCheck { .. } => {
            format!("Not completed: {refusal}. Nothing was changed. Only a person can allow that check: say so.")
        }
        Refusal::OwnedByAnother { task, owner, .. } => format!(
            "Task #{task} is not started: {} has it. Nothing was changed. Take another task, or ask its owner to release it.",
            escaping::one_line(owner)
        ),
        // No tool can undo, restore, merge, or state an expectation; those for claims and teams have words of their own.
        Refusal::ChangedSince { .. }
        | Refusal::NotAsExpected { .. }
        | Refusal::NoSuchRevision { .. }
        | Refusal::RevisionThinned { .. }
        | Refusal::AlreadyUndone { .. }
        | Refusal::ListRenamed { .. }
        | Refusal::NothingToUndo
        | Refusal::NothingOwnToUndo { .. }
        | Refusal::NotRemoved { .. }
        | Refusal::NotMissing { .. }
        | Refusal::MergeIntoItself
        | Refusal::NoSuchList { .. }
        | Refusal::Claim(_)
        | Refusal::Team(_) => format!("Refused: {refusal}. Nothing was changed."),
    }
}

/// Formats a dependency cycle; the middle of a long one is left out.
fn circle(path: &[TaskId]) -> String {
    let waiting = |path: &[TaskId]| path.iter().map(|task| format!("#{task}")).collect::<Vec<_>>().join(" → ");
    if path.len() <= LONGEST_CIRCLE {
        return waiting(path);
    }
    let (first, last) = (&path[..LONGEST_CIRCLE / 2], &path[path.len() - LONGEST_CIRCLE / 2..]);
    format!("{} → {} more → {}", waiting(first), path.len() - LONGEST_CIRCLE, waiting(last))
}

/// Why a tool rejects an input. The text is the client's, without the tag that the client puts around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// The name of the tool.
    pub(crate) tool: &'static str,
    /// What the caller probably meant, and what to do instead.
    pub(crate) hint: Option<&'static str>,
    /// All issues.
    pub issues: Vec<Issue>,
    /// The client whose wording is used.
    pub(crate) client: ClientVersion,
}

impl InputError {
    /// Returns the client's structured text: every issue as zod serializes it.
    pub(crate) fn details(&self) -> String {
        format!("InputValidationError: {}", self.raw())
    }

    fn raw(&self) -> String {
        native::stringify(&self.issues.iter().map(Issue::to_json).collect::<Value>())
    }

    /// Returns the lines that the client prints for the issues: missing parameters, then unexpected ones, then wrong
    /// types. If there are any of these, newer clients also list all other issues in the order found.
    fn lines(&self) -> Vec<String> {
        let mut missing = Vec::new();
        let mut unexpected = Vec::new();
        let mut types = Vec::new();
        let mut others = Vec::new();
        for issue in &self.issues {
            let place = issue.place();
            match &issue.wrong {
                Wrong::Type { received: Received::Undefined, .. } => {
                    missing.push(format!("The required parameter `{place}` is missing"));
                }
                Wrong::Type { expected, received } => types.push(format!(
                    "The parameter `{place}` type is expected as `{expected}` but provided as `{received}`"
                )),
                Wrong::UnknownKeys { keys, allowed: None } => {
                    unexpected.extend(keys.iter().map(|key| format!("An unexpected parameter `{key}` was provided")))
                }
                Wrong::UnknownKeys { keys, allowed: Some(allowed) } => {
                    unexpected.extend(keys.iter().map(|key| unexpected_key(issue, key, allowed)))
                }
                Wrong::Union(_) => others.push(format!("The parameter `{place}` matches none of the accepted forms")),
                Wrong::Value(_) | Wrong::Discriminator(_) | Wrong::TooSmall { .. } | Wrong::TooBig { .. } => {
                    others.push(format!("The parameter `{place}` is invalid: {}", issue.message()));
                }
                Wrong::Clash { .. } => {}
            }
        }
        let mut lines = [missing, unexpected, types].concat();
        if !lines.is_empty() && self.client >= ClientVersion::V2_1_325 {
            lines.append(&mut others);
        }
        lines
    }
}

/// Reports a key that strict rules refuse, and suggests the key that was probably meant.
fn unexpected_key(issue: &Issue, key: &str, allowed: &[&'static str]) -> String {
    let path = issue.path.iter().cloned().chain([Step::Key(key.to_owned())]).collect();
    let place = Issue { path, wrong: issue.wrong.clone() }.place();
    let quoted = || allowed.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let advice = match meant_by(key, allowed) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if allowed.is_empty() => "there are no parameters".to_owned(),
        None => format!("possible here: {}", quoted()),
    };
    format!("An unexpected parameter `{place}` was provided; {advice}")
}

/// Groups of words that models use for the same parameter, in lower case and without separators.
const SAME_MEANING: [&[&str]; 19] = [
    &[
        "blockedby",
        "addblockedby",
        "dependencies",
        "dependson",
        "dependency",
        "deps",
        "requires",
        "prerequisites",
        "after",
    ],
    &["blocks", "addblocks", "blocking", "dependents", "before"],
    &["owner", "assignee", "assignedto", "assigned", "agent", "agentname", "agentid", "user", "teammate"],
    &["subject", "title", "name", "summary", "heading"],
    &["description", "content", "body", "text", "details", "detail", "instructions", "prompt", "spec"],
    &["note", "notes", "comment", "comments", "remark", "remarks"],
    &["taskid", "id", "task", "number", "taskids", "ids"],
    &["tags", "tag", "labels", "label", "addtags"],
    &["due", "duedate", "dueat", "dueby", "deadline"],
    &["parent", "parentid", "parenttask", "parenttaskid", "partof", "epic"],
    &["status", "state", "completed", "done"],
    &["priority", "importance", "urgency", "severity"],
    &["metadata", "meta", "custom", "customfields", "extra", "fields"],
    &["activeform", "active", "presentcontinuous"],
    &["reason", "why", "feedback", "comment"],
    &["to", "recipient", "recipients", "target"],
    &["message", "content", "text", "body", "msg"],
    &["command", "cmd", "script"],
    &["timeout", "timeoutms", "timelimit", "wait"],
];

/// Returns the allowed key that was probably meant, or `None` if none is similar.
fn meant_by(key: &str, allowed: &[&'static str]) -> Option<&'static str> {
    let key = bare(key);
    let mut words: Vec<(String, &'static str)> = Vec::new();
    for name in allowed {
        let bare = bare(name);
        let same = SAME_MEANING.iter().filter(|words| words.contains(&bare.as_str())).copied().flatten();
        words.extend(same.map(|word| ((*word).to_owned(), *name)));
        words.push((bare, name));
    }
    let named = |word: &str| words.iter().find(|(known, _)| known == word).map(|(_, name)| *name);
    let spelled: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
    named(&key).or_else(|| named(nearest(&key, &spelled)?))
}

/// Returns a key in lower case without separators.
fn bare(key: &str) -> String {
    key.chars().filter(|character| !matches!(character, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

impl fmt::Display for InputError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The input matches the schema; strict rules reject it because part of it would be ignored.
        if let Some(Issue { wrong: Wrong::Clash { with }, .. }) = self.issues.first() {
            let places: Vec<String> = self.issues.iter().map(|issue| format!("`{}`", issue.place())).collect();
            let places = places.join(", ");
            return write!(
                formatter,
                "{} cannot take {places} together with `{with}`. Nothing was changed. Leave one of them out.",
                self.tool
            );
        }
        formatter.write_str("InputValidationError: ")?;
        if let Some(hint) = self.hint {
            write!(formatter, "{hint}\n\n")?;
        }
        let lines = self.lines();
        if lines.is_empty() {
            return formatter.write_str(&self.raw());
        }
        let issues = if lines.len() == 1 { "issue" } else { "issues" };
        write!(formatter, "{} failed due to the following {issues}:\n{}", self.tool, lines.join("\n"))
    }
}

impl std::error::Error for InputError {}

/// Returns whether input is repaired: under strict rules and those of the newest client.
pub(super) fn is_repaired(rules: Rules) -> bool {
    rules.client_version() >= ClientVersion::V2_1_325
}

/// Renames a key that holds a non-blank string, unless the target key exists.
pub(super) fn rename(input: &mut Map<String, Value>, from: &str, to: &str) {
    if !input.contains_key(to)
        && is_filled(input.get(from))
        && let Some(value) = input.shift_remove(from)
    {
        input.insert(to.to_owned(), value);
    }
}

/// Returns whether a value is a non-blank string.
pub(super) fn is_filled(value: Option<&Value>) -> bool {
    value.and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty())
}

/// Accepts `id` and `task_id` for `taskId`.
pub(super) fn with_task_id(input: &Value, rules: Rules) -> Value {
    let Value::Object(given) = input else { return input.clone() };
    let mut repaired = given.clone();
    if is_repaired(rules) {
        rename(&mut repaired, "id", "taskId");
        rename(&mut repaired, "task_id", "taskId");
    }
    Value::Object(repaired)
}

/// Accepts other keys for a job's `task_id`. The client accepts none of them.
pub(super) fn with_job_id(input: &Value, others: &[&str], rules: Rules) -> Value {
    let Value::Object(given) = input else { return input.clone() };
    let mut repaired = given.clone();
    if !rules.is_client() {
        for other in others {
            rename(&mut repaired, other, "task_id");
        }
    }
    Value::Object(repaired)
}

/// Converts a task id from a model. Strict rules drop a leading `#`; under client rules it is part of the id.
pub(super) fn task_id(text: String, rules: Rules) -> TaskId {
    match text.strip_prefix('#') {
        Some(bare) if !rules.is_client() => TaskId::stored(bare),
        _ => TaskId::stored(text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Surroundings, ToolNames, explain};
    use crate::rules::hooks::System;
    use crate::rules::refusal::Refusal;
    use crate::{AgentName, Rules, Status, Task, TaskId, Timestamp};

    fn told(refusal: &Refusal) -> String {
        let agent = AgentName::new("ana").unwrap();
        let task = |number, subject: &str| Task::new(TaskId::number(number), subject);
        let tasks = [
            Task { status: Status::InProgress, owner: Some("ben".into()), ..task(1, "Design") },
            task(2, "Plan\nall"),
            Task { blocked_by: vec![TaskId::number(1), TaskId::number(2)], ..task(3, "Build") },
            Task { metadata: json!({ "assignable_to": "ben" }).as_object().cloned(), ..task(4, "Review") },
            task(5, "Write"),
        ];
        explain(
            refusal,
            &Surroundings {
                tasks: &tasks,
                agent: &agent,
                roles: &[],
                now: Timestamp(0),
                rules: Rules::Strict,
                names: ToolNames::of(System::Tasks),
            },
        )
    }

    fn ids(numbers: impl IntoIterator<Item = u64>) -> Vec<TaskId> {
        numbers.into_iter().map(TaskId::number).collect()
    }

    #[test]
    fn refused_start_names_blockers_and_what_is_ready() {
        assert_eq!(
            told(&Refusal::Blocked { task: TaskId::number(3), by: ids([1, 2]), through: None }),
            "Task #3 cannot start: it waits for #1 Design (in_progress, ben), #2 Plan\\nall (pending). Nothing was changed. \
             Ready instead: #2 Plan\\nall, #5 Write."
        );
    }

    #[test]
    fn a_refused_circle_is_shown_and_a_long_one_by_its_ends() {
        let short = told(&Refusal::Cycle { path: ids([3, 1, 3]) });
        assert!(short.contains(": #3 → #1 → #3. Nothing was changed."), "{short}");
        let long = told(&Refusal::Cycle { path: ids((1..=1000).chain([1])) });
        assert!(long.contains("#6 → 989 more → #996 → "), "{long}");
        assert!(long.len() < 500);
    }

    #[test]
    fn a_lease_in_the_way_is_told_with_its_holder_and_its_end() {
        let holder = AgentName::new("ben").unwrap();
        let until = Some(Timestamp(1_794_704_523_000));
        assert_eq!(
            told(&Refusal::Leased { task: TaskId::number(1), holder, since: None, until }),
            "Task #1 is taken: ben is working on it until 2026-11-15T01:02:03.000Z. Nothing was changed. Leave it to ben and \
             take another. Ready instead: #2 Plan\\nall, #5 Write."
        );
    }
}

#[cfg(test)]
mod input_error_tests {
    use super::meant_by;

    #[test]
    fn the_key_that_was_meant_is_found_by_spelling_or_meaning() {
        let allowed = ["subject", "description", "activeForm", "blockedBy", "blocks", "owner", "priority", "tags"];
        for (key, meant) in [
            ("blocked_by", "blockedBy"),
            ("depends_on", "blockedBy"),
            ("dependsOn", "blockedBy"),
            ("asignee", "owner"),
            ("assigned_to", "owner"),
            ("Prority", "priority"),
            ("labels", "tags"),
            ("subjet", "subject"),
            ("details", "description"),
        ] {
            assert_eq!(meant_by(key, &allowed), Some(meant), "{key}");
        }
        assert_eq!(meant_by("xyzzy", &allowed), None);
        assert_eq!(meant_by("comments", &["taskId", "reason"]), Some("reason"));
        assert_eq!(meant_by("status", &[]), None);
    }
}
