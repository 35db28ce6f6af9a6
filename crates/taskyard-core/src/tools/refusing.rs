//! What is refused, said to a model: what stands in the way, that nothing was changed, and what to do now.

use crate::render::{escaping, numbered};
use crate::rules::claims::assignment::may_take;
use crate::rules::claims::readiness::rank;
use crate::rules::hooks::gate::System;
use crate::rules::hooks::hooking::HookEvent;
use crate::rules::refusal::{Refusal, as_its_parent};
use crate::{AgentName, Rules, Status, Task, TaskId, Timestamp};

/// What a refusal is explained with.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// All tasks of the list.
    pub tasks: &'a [Task],
    /// The agent that made the call.
    pub agent: &'a AgentName,
    /// What the agent declares itself to be.
    pub roles: &'a [String],
    /// The present moment.
    pub now: Timestamp,
    /// The rules in force.
    pub rules: Rules,
    /// What the tools that are offered are called.
    pub names: ToolNames,
}

/// What the tools and fields are called that a refusal names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolNames {
    /// The tool that lists the tasks.
    pub(crate) list: &'static str,
    /// The tool that takes a task.
    pub(crate) claim: &'static str,
    /// The tool that changes a task.
    pub(crate) update: &'static str,
    /// The field in which a task's blockers are given.
    pub(crate) edges: &'static str,
}

impl ToolNames {
    /// Returns the names that a system has.
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

/// So many tasks are offered instead of one that cannot be had.
const OFFERED: usize = 3;
/// So many tasks are named with their titles; of more only the numbers are told.
const NAMED: usize = 10;
/// The longest circle that is shown in full.
const LONGEST_CIRCLE: usize = 12;

impl Surroundings<'_> {
    /// Returns a sentence that names what this agent could take, best first.
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

    /// Returns tasks by number, title, state and owner.
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

    /// Returns how many visible tasks are in progress and how many are pending.
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
            "Task #{task} cannot be read: {why}. Its file was left alone; a person has to mend it. {}",
            around.instead()
        ),
        Refusal::EdgeToItself { task } => format!(
            "Task #{task} cannot wait for itself. Nothing was changed. Leave its own id out of {}.",
            around.names.edges
        ),
        Refusal::Cycle { path } => format!(
            "That would close a circle in which nothing could ever start: {}. Nothing was changed. Leave out the edge that \
             closes it, or say the order the other way round. A task waits for its parts, and they wait for what it waits for.",
            circle(path)
        ),
        Refusal::TaskExists { task } => {
            format!("There is a task {task} already. Change that one, or leave out the id.")
        }
        Refusal::NoSuchBlocker { task } => format!(
            "There is no task #{task} to depend on. Nothing was changed. {} shows every id; create the task first if it \
             is missing.",
            around.names.list
        ),
        Refusal::PartOfItself { task } => format!("Task #{task} cannot be a part of itself. Nothing was changed."),
        Refusal::NoSuchParent { task } => format!(
            "There is no task #{task} to be a part of. Nothing was changed. {} shows every id; create the task first if it is \
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
            "Token {token} no longer counts for task #{task}: {refusal}. Nothing was changed. Stop working on it, or claim it \
             anew with {}. {}",
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
            format!("{}\nNothing was changed. Mend what the hook complains of, then try again.", feedback.trim_end())
        }
        Refusal::CheckFailed { task, check, ended, output } => format!(
            "Task #{task} is not completed: its check `{}` {ended}. Nothing was changed. Mend what it complains of, then try \
             again.\n{output}",
            escaping::one_line(check)
        ),
        Refusal::NoSuchCheck { .. } | Refusal::UntrustedCheck { .. } => {
            format!("Not completed: {refusal}. Nothing was changed. Only a person can allow that check: say so.")
        }
        Refusal::OwnedByAnother { task, owner, .. } => format!(
            "Task #{task} is not started: {} has it. Nothing was changed. Take another task, or ask its owner to release it.",
            escaping::one_line(owner)
        ),
        // No tool undoes, restores, merges or says what it expects.
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
        | Refusal::NoSuchList { .. } => format!("Refused: {refusal}. Nothing was changed."),
    }
}

/// Returns a circle, each waiting for the next; of a long one its two ends.
fn circle(path: &[TaskId]) -> String {
    let waiting = |path: &[TaskId]| path.iter().map(|task| format!("#{task}")).collect::<Vec<_>>().join(" waits for ");
    if path.len() <= LONGEST_CIRCLE {
        return waiting(path);
    }
    let (first, last) = (&path[..LONGEST_CIRCLE / 2], &path[path.len() - LONGEST_CIRCLE / 2..]);
    format!("{}, {} more, {}", waiting(first), path.len() - LONGEST_CIRCLE, waiting(last))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Surroundings, ToolNames, explain};
    use crate::rules::hooks::gate::System;
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
    fn a_refused_start_names_the_open_blockers_and_what_is_ready_instead() {
        assert_eq!(
            told(&Refusal::Blocked { task: TaskId::number(3), by: ids([1, 2]), through: None }),
            "Task #3 cannot start: it waits for #1 Design (in_progress, ben), #2 Plan\\nall (pending). Nothing was changed. \
             Ready instead: #2 Plan\\nall, #5 Write."
        );
    }

    #[test]
    fn a_refused_circle_is_shown_and_a_long_one_by_its_ends() {
        let short = told(&Refusal::Cycle { path: ids([3, 1, 3]) });
        assert!(short.contains(": #3 waits for #1 waits for #3. Nothing was changed."), "{short}");
        let long = told(&Refusal::Cycle { path: ids((1..=1000).chain([1])) });
        assert!(long.contains("#6, 989 more, #996 waits for"), "{long}");
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
