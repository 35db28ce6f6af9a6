//! `taskyard lists rename` and `taskyard lists remove`

use clap::Subcommand;
use serde_json::json;
use taskyard::Yard;
use taskyard::core::render::{Line, Tone};
use taskyard::core::{ListId, Op};
use taskyard::machine::Machine;
use taskyard::store::{HistoryQuery, StoreError};

use crate::context::Context;
use crate::exit::Exit;
use crate::output::{Output, quoted};
use crate::places;
use crate::problem::{Problem, ProblemKind};

#[derive(Debug, Subcommand)]
pub(crate) enum ListsAction {
    /// Give a list another name; the directories that use it use the new one
    Rename {
        /// The list
        #[arg(value_name = "OLD")]
        from: String,
        /// Its new name, which no list has
        #[arg(value_name = "NEW")]
        to: String,
        /// Also while agents work on its tasks
        #[arg(long)]
        force: bool,
    },
    /// Remove a list: its tasks go to the journal, from which they can be restored
    Remove {
        /// The list
        #[arg(value_name = "NAME")]
        removed: String,
        /// Also if it is in use: by a directory, by a team, by a job, or by agents that work on its tasks
        #[arg(long)]
        force: bool,
    },
}

impl ListsAction {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        output.consider_list_named();
        match self {
            Self::Rename { from, to, force } => rename(&from, &to, force, context, output),
            Self::Remove { removed, force } => remove(&removed, force, context, output),
        }
    }
}

fn rename(from: &str, to: &str, force: bool, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
    let (from, to) = (context.list_named(from)?, context.list_to_be(to)?);
    let yard = context.yard()?.on(from.clone());
    if from == to {
        let tasks = yard.rename_list(&from, &to)?.done()?.len();
        return tell_of_renaming(&Renamed { from, to, tasks, directories: 0, left: Vec::new() }, output);
    }
    if let Some(team) = team_of(&yard, &from)? {
        return Err(in_use(&from, &team, "a team's list has the name of the team"));
    }
    if let Some(job) = job_on(&from, context)? {
        return Err(in_use(&from, &job, "wait for its end, or stop it with `taskyard job stop`"));
    }
    if !force && let Some(agent) = agent_on(&yard)? {
        return Err(in_use(&from, &agent, "rename it all the same with `--force`"));
    }
    let store = context.address()?.to_string();
    if context.list_of_directory().is_ok_and(|own| own.list == from) {
        // Records that this directory uses the list, so that it follows the new name.
        context.claim_list(output)?;
    }
    let yard = if force { yard.overruling() } else { yard };
    // If an earlier call was stopped between the two steps, the tasks are there already.
    let tasks = if has_moved(&yard, &to)? { 0 } else { moved(&yard, &from, &to)? };
    taskyard::failpoint::reach("rename: the tasks have moved");
    let data = places::data(context.environment()).ok();
    let followed = data.map(|data| Machine::open(&data)?.rename_uses(&from, &to, &store)).transpose();
    let rest = "the list has its new name; the same command again has the directories that use it follow";
    let directories = followed.map_err(|error| unfinished(&error.into(), rest))?.unwrap_or(0);
    taskyard::failpoint::reach("rename: the directories use the new name");
    let left =
        remove_place(&yard, &from, "the list has its new name; the same command again removes its old directory")?;
    tell_of_renaming(&Renamed { from: from.clone(), to, tasks, directories, left }, output)?;
    let here = context.directory().and_then(|directory| context.in_directory(directory.to_owned()).choice());
    if let Some(here) = here.ok().filter(|here| here.list == from && !output.is_json()) {
        output.warn(&format!("here `{from}` is used all the same: {}", here.reason))?;
    }
    Ok(Exit::Done)
}

/// Removes the directory of a list whose tasks are gone, and returns what else is in it. The hint says what to do if that fails.
fn remove_place(yard: &Yard, list: &ListId, hint: &str) -> Result<Vec<String>, Problem> {
    let left = yard.store().care().map(|care| care.remove_empty_place(list)).transpose();
    Ok(left.map_err(|error| unfinished(&taskyard::Error::from(error).into(), hint))?.unwrap_or_default())
}

/// Says that what was asked for has happened, and what is left.
fn unfinished(problem: &Problem, hint: &str) -> Problem {
    Problem::new(ProblemKind::Unfinished, "unfinished", problem.report().message.clone()).hint(hint)
}

/// A list that was renamed.
struct Renamed {
    from: ListId,
    to: ListId,
    tasks: usize,
    directories: usize,
    left: Vec<String>,
}

fn tell_of_renaming(renamed: &Renamed, output: &mut Output) -> Result<Exit, Problem> {
    let Renamed { from, to, tasks, directories, left } = renamed;
    if output.is_json() {
        let (from, to) = (from.as_str(), to.as_str());
        output.document(json!({"from": from, "list": to, "tasks": tasks, "directories": directories, "left": left}))?;
        return Ok(Exit::Done);
    }
    let line = match from == to {
        true => Line::plain("List ").with(Tone::Strong, from.as_str()).with(Tone::Plain, " has that name already"),
        false => Line::plain("Renamed list ").with(Tone::Strong, from.as_str()).with(Tone::Plain, " to "),
    };
    output.say(&if from == to { line } else { line.with(Tone::Strong, to.as_str()) })?;
    tell_of_files(from, left, output)?;
    Ok(Exit::Done)
}

/// Moves the tasks, and returns how many they are.
fn moved(yard: &Yard, from: &ListId, to: &ListId) -> Result<usize, Problem> {
    match yard.rename_list(from, to) {
        Err(taskyard::Error::Store(StoreError::ListExists { .. })) if !yard.store().has(to)? => {
            let message = format!("a list `{to}` was removed or renamed, and its history is kept under that name");
            Err(Problem::new(ProblemKind::Refused, "list_exists", message)
                .detail("list", to.as_str())
                .hint(format!("choose another name; `taskyard history --list {}` shows what is kept", quoted(to))))
        }
        renamed => Ok(renamed?.done()?.len()),
    }
}

/// Tells whether the last thing that happened to the list was that its tasks moved to the other one.
fn has_moved(yard: &Yard, to: &ListId) -> Result<bool, Problem> {
    let newest = HistoryQuery { newest: Some(1), ..HistoryQuery::default() };
    let is_empty = |list: &ListId| Ok::<_, Problem>(yard.store().read(list)?.tasks()?.is_empty());
    let last = yard.store().history(yard.list_id(), &newest)?;
    let has_left = last.last().is_some_and(|entry| entry.op == Op::Rename && entry.after.is_none());
    Ok(has_left && is_empty(yard.list_id())? && !is_empty(to)?)
}

fn remove(name: &str, force: bool, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
    let list = context.list_named(name)?;
    let yard = context.yard()?.on(list.clone());
    if !yard.store().has(&list)? {
        return Err(context.no_such_list(&list)?);
    }
    if !force && let Some(why) = user_of(&list, &yard, context)? {
        return Err(in_use(&list, &why, "remove it all the same with `--force`"));
    }
    let yard = if force { yard.overruling() } else { yard };
    let cleared = yard.clear()?.done()?;
    taskyard::failpoint::reach("remove: the list is empty");
    let left =
        remove_place(&yard, &list, "its tasks are in the journal; the same command again removes its directory")?;
    if output.is_json() {
        let revision = cleared.revision.map(|revision| revision.0);
        output.document(
            json!({"list": list.as_str(), "tasks": cleared.tasks.len(), "revision": revision, "left": left}),
        )?;
        return Ok(Exit::Done);
    }
    let mut line = Line::plain("Removed list ").with(Tone::Strong, list.as_str());
    let tasks = if cleared.tasks.len() == 1 { "1 task".to_owned() } else { format!("{} tasks", cleared.tasks.len()) };
    line.push(Tone::Plain, &format!(" with {tasks}"));
    output.say(&line)?;
    tell_of_files(&list, &left, output)?;
    if !cleared.tasks.is_empty() {
        let mut line = Line::new().with(Tone::Dim, "  bring it back with ");
        line.push(Tone::Hint, &format!("taskyard restore --all --deleted --list {}", quoted(&list)));
        output.say(&line)?;
    }
    Ok(Exit::Done)
}

fn tell_of_files(list: &ListId, left: &[String], output: &mut Output) -> Result<(), Problem> {
    if !left.is_empty() {
        output.warn(&format!("the directory of {list} stays, with {}", left.join(", ")))?;
    }
    Ok(())
}

/// Says who uses a list; `None` if nobody is known to.
fn user_of(list: &ListId, yard: &Yard, context: &Context) -> Result<Option<String>, Problem> {
    if let Some(agent) = agent_on(yard)? {
        return Ok(Some(agent));
    }
    if let Some(team) = team_of(yard, list)? {
        return Ok(Some(team));
    }
    if let Some(job) = job_on(list, context)? {
        return Ok(Some(job));
    }
    if context.list_of_directory().is_ok_and(|own| own.list == *list) {
        return Ok(Some("it is the list of this directory".to_owned()));
    }
    Ok(context.directories_of(list)?.first().map(|directory| format!("`{}` uses it", directory.display())))
}

fn team_of(yard: &Yard, list: &ListId) -> Result<Option<String>, Problem> {
    let team = yard.teams().map(|teams| teams.team_of(list)).transpose()?.flatten();
    Ok(team.map(|team| format!("it is the list of team {}", team.name)))
}

/// Says which agent works on a task of a list; `None` if none does.
fn agent_on(yard: &Yard) -> Result<Option<String>, Problem> {
    Ok(yard.live_leases()?.first().map(|lease| format!("{} works on #{}", lease.agent, lease.task)))
}

/// Says which job runs on a list; `None` if none does.
fn job_on(list: &ListId, context: &Context) -> Result<Option<String>, Problem> {
    let Ok(jobs) = context.shared_jobs() else { return Ok(None) };
    let running = jobs.of_list(list)?.into_iter().find(|job| !job.state().is_over());
    Ok(running.map(|job| format!("job {} runs on it", job.id)))
}

fn in_use(list: &ListId, why: &str, hint: &str) -> Problem {
    Problem::new(ProblemKind::Refused, "list_in_use", format!("list {list} is in use: {why}"))
        .hint(hint)
        .detail("list", list.as_str())
}
