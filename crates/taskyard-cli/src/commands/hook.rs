//! `taskyard hook`

use std::path::Path;

use clap::Args;
use serde_json::{Map, Value, json};
use taskyard::core::render::{escaping, numbered};
use taskyard::core::rules::agents::naming::is_subagent;
use taskyard::core::rules::agents::unfinished::unfinished_of;
use taskyard::core::{AgentName, Status, Task, TaskId};
use taskyard::operations::{Departure, Filter};
use taskyard::{Outcome, Yard};
use taskyard_mcp::calls::names_given_in;

use super::hook_event::{OwnTools, read_event};
use super::{session_end, session_start};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::{Problem, ProblemKind};

/// Answer one of the client's hooks
///
/// A command for the `settings.json` of Claude Code: it reads the event as JSON on stdin and answers with the client's decision
/// object. `SessionStart` tells a new session what is open in the list of its directory. `SessionEnd` releases what the agents of a client
/// hold that ends. `SubagentStop` completes the tasks that the event names in `tasks_completed`, and does not let the agent end while
/// it holds unfinished work. The agent is --as, else the one that the event names.
#[derive(Debug, Args)]
pub(crate) struct Hook {
    /// The event: SessionStart, SessionEnd or SubagentStop
    #[arg(value_name = "EVENT")]
    event: String,

    /// Let the agent end though it holds unfinished work
    #[arg(long)]
    allow_unfinished: bool,
}

/// The events there is an answer to.
const KNOWN: [&str; 3] = [session_start::EVENT, session_end::EVENT, SUBAGENT_STOP];
const SUBAGENT_STOP: &str = "SubagentStop";
/// The key under which an event names tasks; the answer says what became of them where it is there.
const TASKS_COMPLETED: &str = "tasks_completed";

/// What became of the tasks an agent says it completed.
#[derive(Default)]
struct Completed {
    now: Vec<TaskId>,
    /// Those that could not be completed, each with the reason.
    not: Vec<String>,
}

impl Hook {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        if !KNOWN.contains(&self.event.as_str()) {
            let message = format!("there is no hook for `{}`", self.event.escape_debug());
            let problem = Problem::usage("unknown_event", message);
            // To the client exit code 2 is a block, and a misspelt event must not block anything.
            return Err(problem.hint(format!("the events are {}", KNOWN.join(", "))).of_kind(ProblemKind::CouldNot));
        }
        // An event brings its session, and what is told is told of that.
        context.consider_config_told();
        if self.event == session_start::EVENT {
            return session_start::answer(context, output);
        }
        if self.event == session_end::EVENT {
            return session_end::answer(context, output);
        }
        // To the client exit code 2 is a block: whatever is wrong on our side must not keep an agent from ending.
        self.subagent_stop(context, output).map(|()| Exit::Done).map_err(|problem| match problem.report().kind {
            ProblemKind::Usage => problem.of_kind(ProblemKind::CouldNot),
            _ => problem,
        })
    }

    fn subagent_stop(&self, context: &Context, output: &mut Output) -> Result<(), Problem> {
        let event = read_event()?;
        let text = |key: &str| event.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        let context = context.in_session(text("session_id"));
        let given = text("agent_transcript_path").map(|path| names_given_in(Path::new(path))).unwrap_or_default();
        let names: Vec<&str> = match context.named_agent() {
            Some(name) => vec![name],
            None => {
                let told = ["teammate_name", "agent_id", "agent_type"].into_iter().filter_map(text);
                told.chain(given.iter().map(String::as_str)).collect()
            }
        };
        let mut yard = context.yard()?;
        if let Some(actor) = names.first().and_then(|name| AgentName::new(*name).ok()) {
            yard = yard.acting_as(actor);
        }
        // What the agent did with the client's own tools may be in a list of the session's.
        let own_tools = OwnTools::beside(&yard, &context)?;
        let yards: Vec<&Yard> = std::iter::once(&yard).chain(&own_tools.yards).collect();
        let completed = complete(&yards, event.get(TASKS_COMPLETED))?;
        let mut reasons = completed.not;
        if !self.allow_unfinished {
            let listing = yard.list(&Filter::default())?;
            let mut unfinished = unfinished_of(&names, &listing.tasks);
            // `work` decides about the task of its run when the whole run ends.
            unfinished.retain(|task| yard.run().is_none_or(|run| run.task != task.id));
            reasons.extend(still_held(&unfinished, "", ""));
            for other in &own_tools.yards {
                let (list, tasks) = (other.list_id(), other.open_tasks_of(other.list_id())?);
                let (place, flags) = (format!(" in list {list}"), own_tools.flags(list));
                reasons.extend(still_held(&unfinished_of(&names, &tasks), &place, &flags));
            }
        }
        // The agent goes on because it was blocked before: blocking it again and again would never end.
        let goes_on = event.get("stop_hook_active") == Some(&Value::Bool(true));
        if goes_on {
            for reason in std::mem::take(&mut reasons) {
                output.warn(&reason)?;
            }
            if let Some(id) = text("agent_id").filter(|_| !self.allow_unfinished) {
                yards.iter().try_for_each(|yard| give_back_of_subagent(yard, id))?;
            }
        }
        // The client's own events name no tasks, and 2.1.34 throws a whole answer away that has more in it than it knows.
        let updates = event.contains_key(TASKS_COMPLETED).then_some(&completed.now[..]);
        output.bare_document(decision(updates, &reasons))?;
        Ok(context.tell_warnings(output)?)
    }
}

/// Gives back what a subagent claimed that ends now: no agent will ever have its name again.
fn give_back_of_subagent(yard: &Yard, id: &str) -> Result<(), Problem> {
    let tasks = yard.open_tasks_of(yard.list_id())?;
    let is_its = |task: &&Task| task.owner().is_some_and(|owner| is_subagent(owner, id));
    let held = tasks.iter().find(is_its);
    if let Some(subagent) = held.and_then(Task::owner).and_then(|name| AgentName::new(name).ok()) {
        yard.depart(&subagent, Departure::Terminated)?;
    }
    Ok(())
}

/// Completes each task in the first list that contains it, and skips tasks that are already completed.
fn complete(yards: &[&Yard], named: Option<&Value>) -> Result<Completed, Problem> {
    let mut completed = Completed::default();
    for value in named.and_then(Value::as_array).into_iter().flatten() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let id: TaskId = match text.parse() {
            Ok(id) => id,
            Err(error) => {
                completed.not.push(format!("{error}"));
                continue;
            }
        };
        let mut found = None;
        for &yard in yards {
            found = yard.store().read(yard.list_id())?.find(&id)?.task().map(|task| (yard, task));
            if found.is_some() {
                break;
            }
        }
        if found.as_ref().is_some_and(|(_, task)| task.status == Status::Completed) {
            continue;
        }
        let yard = found.map_or(yards[0], |(yard, _)| yard);
        match yard.done(&id)? {
            Outcome::Done(_) => completed.now.push(id),
            Outcome::Refused(refusal) => completed.not.push(not_completed(&id, refusal)),
        }
    }
    Ok(completed)
}

fn not_completed(id: &TaskId, refusal: taskyard::core::rules::refusal::Refusal) -> String {
    let problem = Problem::from(refusal);
    let report = problem.report();
    let said = report.said.as_deref().map(|said| format!(":\n{}", said.trim_end())).unwrap_or_default();
    format!("task #{id} could not be completed: {}{said}", report.message)
}

/// Says what an agent has in hand, in which list if it is not the one in use, and with which flags commands work on that.
fn still_held(tasks: &[&Task], place: &str, flags: &str) -> Option<String> {
    if tasks.is_empty() {
        return None;
    }
    let named = tasks.iter().map(|task| {
        let owner = escaping::one_line(task.owner().unwrap_or_default()).into_owned();
        format!("#{} {} (as {owner})", task.id, task.shown_subject())
    });
    let named: Vec<String> = named.collect();
    let ids: Vec<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
    Some(format!(
        "you still hold unfinished work{place}: {}. Finish it and say so for {} with TaskUpdate or `taskyard done ID{flags} --as` that \
         name, or give it back with TaskRelease or `taskyard release ID{flags} --as` that name",
        named.join(", "),
        numbered(&ids)
    ))
}

/// Returns the client's decision object, with what was completed where the event asked for that.
fn decision(updates: Option<&[TaskId]>, reasons: &[String]) -> Value {
    let mut decision = Map::new();
    if !reasons.is_empty() {
        decision.insert("decision".to_owned(), "block".into());
        decision.insert("reason".to_owned(), reasons.join("\n").into());
    }
    if let Some(completed) = updates {
        let update = |id: &TaskId| json!({"task_id": id.as_str(), "status": Status::Completed.as_str()});
        let updates: Vec<Value> = completed.iter().map(update).collect();
        let more = json!({"hookEventName": SUBAGENT_STOP, "tasks_to_update": updates});
        decision.insert("hookSpecificOutput".to_owned(), more);
    }
    Value::Object(decision)
}
