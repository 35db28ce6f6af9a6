//! `taskyard lists rename` and `taskyard lists remove`

use clap::Subcommand;
use serde_json::json;
use taskyard::Yard;
use taskyard::core::render::{Line, Tone};
use taskyard::core::{ListId, Op};
use taskyard::machine::Machine;
use taskyard::store::HistoryQuery;

use crate::context::Context;
use crate::exit::Exit;
use crate::output::{Output, quoted};
use crate::places;
use crate::problem::Problem;

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
        /// Also if it is in use: by a directory, by a team, or by agents that work on its tasks
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
    if let Some(team) = team_of(&yard, &from)? {
        return Err(in_use(&from, &team, "a team's list has the name of the team"));
    }
    let store = context.address()?.to_string();
    let is_own = context.list_of_directory().is_ok_and(|own| own.list == from);
    if is_own {
        // So that the directory, too, is among those that use it.
        context.claim_list(output)?;
    }
    let yard = if force { yard.overruling() } else { yard };
    // If an earlier call was stopped between the two steps, the tasks are there already.
    let has_moved = has_moved(&yard, &to)?;
    let moved = if has_moved { 0 } else { yard.rename_list(&from, &to)?.done()?.len() };
    taskyard::failpoint::reach("rename: the tasks have moved");
    let directories = match places::data(context.environment()) {
        Ok(data) => Machine::open(&data)?.rename_uses(&from, &to, &store)?,
        Err(_) => 0,
    };
    taskyard::failpoint::reach("rename: the directories use the new name");
    let left = yard.store().care().map(|care| care.remove_empty_place(&from)).transpose();
    let left = left.map_err(taskyard::Error::from)?.unwrap_or_default();
    if output.is_json() {
        let (from, to) = (from.as_str(), to.as_str());
        output.document(json!({"from": from, "list": to, "tasks": moved, "directories": directories, "left": left}))?;
        return Ok(Exit::Done);
    }
    let mut line = Line::plain("Renamed list ").with(Tone::Strong, from.as_str()).with(Tone::Plain, " to ");
    line.push(Tone::Strong, to.as_str());
    output.say(&line)?;
    tell_of_files(&from, &left, output)?;
    let here = context.in_directory(context.directory()?.to_owned()).choice()?;
    if here.list == from {
        output.warn(&format!("here `{from}` is used all the same: {}", here.reason))?;
    }
    Ok(Exit::Done)
}

/// Tells whether the last thing that happened to the list was that its tasks moved to the other one.
fn has_moved(yard: &Yard, to: &ListId) -> Result<bool, Problem> {
    let newest = HistoryQuery { newest: Some(1), ..HistoryQuery::default() };
    let is_empty = |list: &ListId| Ok::<_, Problem>(yard.store().read(list)?.tasks()?.is_empty());
    let last = yard.store().history(yard.list_id(), &newest)?;
    let has_left = last.last().is_some_and(|entry| entry.op == Op::Merge && entry.after.is_none());
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
    let left = yard.store().care().map(|care| care.remove_empty_place(&list)).transpose();
    let left = left.map_err(taskyard::Error::from)?.unwrap_or_default();
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
    if let Some(lease) = yard.live_leases()?.first() {
        return Ok(Some(format!("{} works on #{}", lease.agent, lease.task)));
    }
    if let Some(team) = team_of(yard, list)? {
        return Ok(Some(team));
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

fn in_use(list: &ListId, why: &str, hint: &str) -> Problem {
    Problem::new(Exit::Refused, "list_in_use", format!("list {list} is in use: {why}"))
        .hint(hint)
        .detail("list", list.as_str())
}
