//! `taskyard hook`: answers the client's hooks, including the start and end of sessions.

use std::io::Read as _;
use std::path::Path;

use clap::Args;
use serde_json::{Map, Value, json};
use taskyard::core::dialect::native::LARGEST;
use taskyard::core::render::{brief_lines, brief_names, escaping, loss_in_words, numbered, run_line};
use taskyard::core::rules::agents::{is_subagent, unfinished_of};
use taskyard::core::rules::lists::short_session_list;
use taskyard::core::{AgentName, ListId, Status, Task, TaskId, json_text};
use taskyard::opening::Address;
use taskyard::operations::{Brief, Departure, Filter};
use taskyard::{Outcome, Yard};
use taskyard_mcp::calls::names_given_in;

use crate::context::Context;
use crate::environment::TASKYARD_SESSION_AGENT;
use crate::exit::{Exit, Problem, ProblemKind};
use crate::output::Output;
use crate::{environment, places};

/// Answer one of the client's hooks
///
/// A command for the `settings.json` of Claude Code: it reads the event as JSON on stdin and answers with the client's
/// decision object. `SessionStart` tells a new session about the open tasks in its directory's list. `SessionEnd`
/// releases the tasks of a client's agents when it ends. `SubagentStop` completes the tasks that the event names in
/// `tasks_completed`, and does not let the agent end while it holds unfinished work. The agent is --as, else the one
/// that the event names.
#[derive(Debug, Args)]
pub(crate) struct Hook {
    /// The event: SessionStart, SessionEnd or SubagentStop
    #[arg(value_name = "EVENT")]
    event: String,

    /// Let the agent end even if it holds unfinished work
    #[arg(long)]
    allow_unfinished: bool,
}

/// The supported events.
const KNOWN: [&str; 3] = [SESSION_START, SESSION_END, SUBAGENT_STOP];
const SUBAGENT_STOP: &str = "SubagentStop";
/// The key for completed tasks in an event. If present, the answer reports on them.
const TASKS_COMPLETED: &str = "tasks_completed";

/// The result for the tasks that an agent reports as completed.
#[derive(Default)]
struct Completed {
    now: Vec<TaskId>,
    /// Reasons for the tasks that could not be completed.
    not: Vec<String>,
}

impl Hook {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        if !KNOWN.contains(&self.event.as_str()) {
            let message = format!("unknown hook event `{}`", self.event.escape_debug());
            let problem = Problem::usage("unknown_event", message);
            // Exit code 2 means "block" to the client; a misspelt event must not block anything.
            return Err(problem.hint(format!("expected one of {}", KNOWN.join(", "))).of_kind(ProblemKind::CouldNot));
        }
        // The event names its session, which is warned instead.
        context.consider_config_told();
        if self.event == SESSION_START {
            return answer_session_start(context, output);
        }
        if self.event == SESSION_END {
            return answer_session_end(context, output);
        }
        // Exit code 2 means "block" to the client; an error of ours must not keep an agent from ending.
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
        // Tasks that the agent handled with the client's own tools may be in the session's list.
        let own_tools = OwnTools::beside(&yard, &context)?;
        let yards: Vec<&Yard> = std::iter::once(&yard).chain(&own_tools.yards).collect();
        let completed = complete(&yards, event.get(TASKS_COMPLETED))?;
        let mut reasons = completed.not;
        if !self.allow_unfinished {
            let listing = yard.list(&Filter::default())?;
            let mut unfinished = unfinished_of(&names, &listing.tasks);
            // `work` decides about the task of its run when the run ends.
            unfinished.retain(|task| yard.run().is_none_or(|run| run.task != task.id));
            reasons.extend(still_held(&unfinished, "", ""));
            for other in &own_tools.yards {
                let (list, tasks) = (other.list_id(), other.open_tasks_of(other.list_id())?);
                let (place, flags) = (format!(" in list {list}"), own_tools.flags(list));
                reasons.extend(still_held(&unfinished_of(&names, &tasks), &place, &flags));
            }
        }
        // The agent continues because it was blocked before. Blocking it again could go on forever.
        let goes_on = event.get("stop_hook_active") == Some(&Value::Bool(true));
        if goes_on {
            for reason in std::mem::take(&mut reasons) {
                output.warn(&reason)?;
            }
            if let Some(id) = text("agent_id").filter(|_| !self.allow_unfinished) {
                yards.iter().try_for_each(|yard| give_back_of_subagent(yard, id))?;
            }
        }
        // The client's own events name no tasks, and 2.1.34 rejects an answer with unknown keys.
        let updates = event.contains_key(TASKS_COMPLETED).then_some(&completed.now[..]);
        output.bare_document(decision(updates, &reasons))?;
        Ok(context.tell_warnings(output)?)
    }
}

/// Releases the tasks of an ending subagent, whose name is never reused.
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

/// Describes the open tasks of an agent, their list if it is not the one in use, and the flags for working on it.
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
        "you still hold unfinished work{place}: {}. Finish it and complete {} with TaskUpdate or `taskyard done ID{flags} \
         --as` that \
         name, or release it with TaskRelease or `taskyard release ID{flags} --as` that name",
        named.join(", "),
        numbered(&ids)
    ))
}

/// Returns the client's decision object, with the completed tasks if the event listed any.
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

/// Reads the event from stdin.
pub(super) fn read_event() -> Result<Map<String, Value>, Problem> {
    let mut bytes = Vec::new();
    let failed = |error| Problem::io("cannot read the event from stdin", &error);
    std::io::stdin().lock().take(LARGEST).read_to_end(&mut bytes).map_err(failed)?;
    let wrong = |why: String| {
        Problem::new(ProblemKind::CouldNot, "bad_event", format!("invalid event on stdin: {why}"))
            .hint("this command is run by the client's hooks, which write one JSON object")
    };
    match json_text::from_slice(&bytes) {
        Ok(Value::Object(event)) => Ok(event),
        Ok(_) => Err(wrong("it is not a JSON object".to_owned())),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// The lists that the client's own task tools may use in the session, other than the one in use.
pub(super) struct OwnTools {
    /// A yard for each list.
    pub(super) yards: Vec<Yard>,
    /// Whether they are in the store in use.
    pub(super) is_same_store: bool,
}

impl OwnTools {
    /// Determines these lists: the session's, under its full or short name, unless a variable names another.
    pub(super) fn beside(yard: &Yard, context: &Context) -> Result<Self, Problem> {
        let environment = context.environment();
        let is_same_store = *context.address()? == Address::Claude;
        let of_session = |session: &String| vec![session.clone(), short_session_list(session)];
        let lists = match (&environment.client_session, &environment.client_list) {
            (None, _) => Vec::new(),
            (Some(_), Some(list)) => vec![list.clone()],
            (Some(session), None) => of_session(session),
        };
        let lists: Vec<ListId> = lists.into_iter().filter_map(|list| ListId::new(list).ok()).collect();
        if lists.is_empty() || (is_same_store && lists.contains(yard.list_id())) {
            return Ok(Self { yards: Vec::new(), is_same_store });
        }
        let theirs = if is_same_store { yard.clone() } else { context.on_clients_files(yard)? };
        Ok(Self { yards: lists.into_iter().map(|list| theirs.on(list)).collect(), is_same_store })
    }

    /// Returns the flags for working on one of the lists.
    pub(super) fn flags(&self, list: &ListId) -> String {
        let store = if self.is_same_store { "" } else { " --store claude:" };
        format!("{store} --list {list}")
    }
}

pub(super) const SESSION_START: &str = "SessionStart";

/// Tells a new client session which list is in use and what is open. Only an unreadable event is an error; other
/// failures must not disturb the session.
pub(super) fn answer_session_start(context: &Context, output: &mut Output) -> Result<Exit, Problem> {
    let event = read_event()?;
    match facts(context, &event, output) {
        Ok(facts) => {
            let told = json!({"hookEventName": SESSION_START, "additionalContext": facts.join("\n")});
            output.bare_document(json!({ "hookSpecificOutput": told }))?;
        }
        Err(problem) => output.warn(&problem.report().message)?,
    }
    Ok(Exit::Done)
}

fn facts(context: &Context, event: &Map<String, Value>, output: &mut Output) -> Result<Vec<String>, Problem> {
    let text = |key: &str| event.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let context = context.in_session(text("session_id")).at(text("cwd").map(Path::new));
    // Opening the first yard names the client.
    let yard = context.yard();
    tell_session_agent(&context, output)?;
    let (yard, choice) = (yard?, context.choice()?);
    let brief = yard.brief()?;
    let mut facts: Vec<String> = yard.task_of_run()?.iter().map(|(task, is_held)| run_line(task, *is_held)).collect();
    let here = format!("Taskyard keeps the tasks here in list {} ({})", choice.list, choice.reason);
    if brief.open() > 0 || is_loss(&brief) {
        facts.push(format!("{here}; `taskyard prime` explains how to work with them."));
        facts.extend(brief_lines(yard.list_id(), &brief));
    } else {
        facts.push(format!("{here}; it has no open tasks."));
    }
    facts.extend(kept_by_own_tools(&context, &yard, brief.open())?);
    facts.extend(left_in_the_directory(&context, &yard)?);
    facts.extend(left_by_sessions(&context, &yard)?);
    context.tell_warnings(output)?;
    Ok(facts)
}

/// Makes the session's commands act under the same name as its MCP server.
fn tell_session_agent(context: &Context, output: &mut Output) -> Result<(), Problem> {
    let (Some(file), Some(agent)) = (&context.environment().client_environment_file, context.session_agent()) else {
        return Ok(());
    };
    if let Err(error) = environment::set(file, TASKYARD_SESSION_AGENT, agent.as_str()) {
        output.warn(&format!("cannot set {TASKYARD_SESSION_AGENT} in `{}`: {error}", file.display()))?;
    }
    Ok(())
}

fn is_loss(brief: &Brief) -> bool {
    brief.gone.is_some_and(|gone| gone.is_loss())
}

/// Returns a note about the list of the client's own task tools, if it differs from the one in use and either has
/// open tasks.
fn kept_by_own_tools(context: &Context, yard: &Yard, open_here: usize) -> Result<Option<String>, Problem> {
    let own_tools = OwnTools::beside(yard, context)?;
    if own_tools.yards.is_empty() {
        return Ok(None);
    }
    let mut theirs = String::new();
    for other in &own_tools.yards {
        let (list, open) = (other.list_id(), other.open_tasks_of(other.list_id())?);
        if !open.is_empty() {
            let (tasks, them) = counted(open.len());
            let bring = match own_tools.is_same_store {
                true => format!("; `taskyard adopt {list}` brings {them} here"),
                false => format!(", Claude Code's own files; `--store claude: --list {list}` works on {them} there"),
            };
            theirs.push_str(&format!(" ({tasks} open in {list}: {}{bring})", brief_names(&open)));
        }
    }
    // The client's tools only support their own files.
    let unite = own_tools.is_same_store.then_some("; `taskyard setup claude --scope project` has them use this one");
    let is_told = (open_here > 0 && own_tools.is_same_store) || !theirs.is_empty();
    let unite = unite.unwrap_or_default();
    Ok(is_told.then(|| format!("Claude Code's own task tools keep another list{theirs}{unite}")))
}

fn counted(open: usize) -> (String, &'static str) {
    if open == 1 { ("1 task is".to_owned(), "it") } else { (format!("{open} tasks are"), "them") }
}

/// Returns a note about the directory's own list, if another is in use and it has open tasks. Its tasks stay there,
/// since people share it.
fn left_in_the_directory(context: &Context, yard: &Yard) -> Result<Option<String>, Problem> {
    let list = context.list_of_directory()?.list;
    if list == *yard.list_id() {
        return Ok(None);
    }
    let brief = yard.on(list.clone()).brief()?;
    if is_loss(&brief) {
        return Ok(brief.gone.and_then(|gone| loss_in_words(&gone, &list, |moment| moment.to_string())));
    }
    let (tasks, them) = counted(brief.open());
    let how = format!("`--list {list}` works on {them} there");
    Ok((brief.open() > 0).then(|| format!("{tasks} open in {list}, the shared list of this directory; {how}")))
}

/// Returns a note about open tasks in the lists of earlier sessions in the directory.
fn left_by_sessions(context: &Context, yard: &Yard) -> Result<Option<String>, Problem> {
    let config = places::client_config(context.environment())?;
    let mut left = yard.left_by_sessions(&config, context.directory()?)?;
    left.retain(|earlier| Some(&earlier.session) != context.environment().client_session.as_ref());
    let open: usize = left.iter().map(|session| session.open.len()).sum();
    let tasks = if open == 1 { "1 open task".to_owned() } else { format!("{open} open tasks") };
    Ok((open > 0).then(|| format!("Earlier sessions in this directory left {tasks}; `taskyard adopt` shows them")))
}

pub(super) const SESSION_END: &str = "SessionEnd";

/// The reasons for which a session ends while the client continues with another (`docs/interop.md`).
const CLIENT_GOES_ON: [&str; 2] = ["clear", "resume"];

/// Releases the tasks of an ending client's agents. Only an unreadable event is an error; other failures must not
/// disturb the client, and its remaining leases end with its process.
pub(super) fn answer_session_end(context: &Context, output: &mut Output) -> Result<Exit, Problem> {
    let event = read_event()?;
    let reason = event.get("reason").and_then(Value::as_str).unwrap_or_default();
    if !CLIENT_GOES_ON.contains(&reason)
        && let Err(problem) = release(context, &event)
    {
        output.warn(&problem.report().message)?;
    }
    output.bare_document(json!({}))?;
    Ok(Exit::Done)
}

fn release(context: &Context, event: &Map<String, Value>) -> Result<(), Problem> {
    let text = |key: &str| event.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let context = context.in_session(text("session_id")).at(text("cwd").map(Path::new));
    let yard = context.yard()?;
    let own_tools = OwnTools::beside(&yard, &context)?;
    for yard in std::iter::once(&yard).chain(&own_tools.yards) {
        if yard.store().has(yard.list_id()).map_err(taskyard::Error::from)? {
            release_in(yard, &context)?;
        }
    }
    Ok(())
}

fn release_in(yard: &Yard, context: &Context) -> Result<(), Problem> {
    if let Some(client) = context.client_process() {
        yard.release_of_client(client)?;
    }
    // An explicitly given name may be in use elsewhere; under it, only what lives with the client is released.
    if let (None, Some(agent)) = (context.named_agent(), context.session_agent()) {
        yard.depart(&agent, Departure::Shutdown)?;
    }
    Ok(())
}
