//! `taskyard adopt`

use std::path::Path;

use clap::Args;
use taskyard::Yard;
use taskyard::answers::merged as merged_answer;
use taskyard::core::ListId;
use taskyard::core::answers::lists::{Adopted, LeftList, LeftSession, LeftSessions};
use taskyard::core::answers::values::Shape;
use taskyard::core::render::{Line, Tone, task_line};
use taskyard::core::rules::lists::list_choice::is_session_list;
use taskyard::machine::{Binding, Machine};
use taskyard::operations::{MergeWhich, Merged, SessionList, SharedBy};

use super::merge::tell;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::places;
use crate::problem::{Problem, ProblemKind};

/// Bring the open tasks of an earlier session's list here
///
/// The client starts every session with a list of its own, and what was still open stays behind in the old one. Without
/// arguments this finds the lists that earlier sessions in this directory left, and offers to bring their open tasks here.
///
/// A list that others count on keeps its tasks, unless --yes is given with its name: the list of this directory, one
/// that a directory is bound to (`taskyard use`), one of a team. A task that somebody works on this moment is not moved
/// at all.
#[derive(Debug, Args)]
pub(crate) struct Adopt {
    /// The list to take the open tasks of
    #[arg(value_name = "LIST")]
    source: Option<String>,

    /// Do not ask: take everything that was found, or take LIST though others count on it
    #[arg(long)]
    yes: bool,
}

impl Adopt {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let sharing = Sharing { yard: context.yard()?, context };
        // Where tasks come from and where they go is in every answer.
        output.consider_list_named();
        match &self.source {
            Some(source) => take_one(&sharing, &context.list_named(source)?, self.yes, output),
            None => take_found(&sharing, self.yes, output),
        }
    }
}

/// Knows who counts on which list.
struct Sharing<'a> {
    yard: Yard,
    context: &'a Context,
}

impl Sharing<'_> {
    /// Says who counts on finding tasks in a list; none where no agent is known to.
    fn of(&self, list: &ListId) -> Result<Option<String>, Problem> {
        if self.context.list_of_directory().is_ok_and(|own| own.list == *list) {
            return Ok(Some("it is the list of this directory".to_owned()));
        }
        let shared = self.yard.shared_by(list, self.bindings()?)?.map(|shared| match shared {
            SharedBy::Binding { directory } => format!("`{}` is bound to it", directory.display()),
            SharedBy::Team { name } => format!("it is the list of team {name}"),
        });
        if shared.is_some() {
            return Ok(shared);
        }
        Ok(self.context.directories_of(list)?.first().map(|directory| format!("`{}` uses it", directory.display())))
    }

    fn bindings(&self) -> Result<Vec<Binding>, Problem> {
        let machine = match places::data(self.context.environment()) {
            Ok(data) => Machine::look(&data)?,
            Err(_) => None,
        };
        Ok(machine.map(|machine| machine.bindings()).transpose()?.unwrap_or_default())
    }
}

/// Takes the open tasks of one list.
fn take_one(sharing: &Sharing<'_>, from: &ListId, is_sure: bool, output: &mut Output) -> Result<Exit, Problem> {
    let yard = &sharing.yard;
    if from == yard.list_id() {
        if output.is_json() {
            output.document(merged_answer(&Merged::default(), from, yard.list_id()))?;
        } else {
            let mut line = Line::new().with(Tone::Strong, from.as_str());
            line.push(Tone::Plain, " is the list in use here: there is nothing to bring");
            output.say(&line)?;
        }
        return Ok(Exit::Done);
    }
    let is_any = !yard.open_tasks_of(from)?.is_empty();
    let shared = if is_any { sharing.of(from)? } else { None };
    if let Some(why) = shared.as_ref().filter(|_| !is_sure) {
        let question = format!("Others count on {from}: {why}. Bring its open tasks here, into {}?", yard.list_id());
        if !output.ask(&question)? {
            return Err(counted_on(from, why));
        }
    }
    let merged = take(yard, from, output)?;
    if output.is_json() {
        output.document(merged_answer(&merged, from, yard.list_id()))?;
    } else if let Some(why) = shared {
        output.warn(&format!("others counted on {from}: {why}; they no longer find these tasks there"))?;
    } else if is_any && !is_session_list(from.as_str()) {
        let note = format!("  {from} is no session's list: agents that work on it no longer find these tasks there");
        output.say(&Line::new().with(Tone::Dim, &note))?;
    }
    Ok(Exit::Done)
}

/// Returns the problem that other agents count on a list.
fn counted_on(list: &ListId, why: &str) -> Problem {
    Problem::new(ProblemKind::Refused, "shared_list", format!("others count on {list}: {why}; its tasks stay there"))
        .hint(format!(
            "work on it with `--list {list}`, or bring them here all the same with `taskyard adopt {list} --yes`"
        ))
        .detail("list", list.as_str())
}

/// Finds the lists that earlier sessions left, and takes their open tasks where that is wanted.
fn take_found(sharing: &Sharing<'_>, is_sure: bool, output: &mut Output) -> Result<Exit, Problem> {
    let (yard, context) = (&sharing.yard, sharing.context);
    let found = left_by_sessions(yard, context)?;
    let mut free = Vec::new();
    let mut shared = Vec::new();
    for session in found {
        match sharing.of(&session.list)? {
            None => free.push(session),
            Some(why) => shared.push((session, why)),
        }
    }
    if is_sure {
        return take_all(yard, free, shared, output);
    }
    if output.is_json() {
        let free = free.iter().map(|session| left_session(session, None));
        let shared = shared.iter().map(|(session, why)| left_session(session, Some(why)));
        output.document(LeftSessions { sessions: free.chain(shared).collect() })?;
        return Ok(Exit::Done);
    }
    if free.is_empty() && shared.is_empty() {
        output.say(&Line::plain("No earlier session left open tasks here"))?;
        return Ok(Exit::Done);
    }
    for session in &free {
        show(session, None, output)?;
    }
    for (session, why) in &shared {
        show(session, Some(why), output)?;
    }
    let them = if free.len() == 1 { "them" } else { "all of them" };
    if !free.is_empty() && output.ask(&format!("Bring {them} here, into {}?", yard.list_id()))? {
        return take_all(yard, free, Vec::new(), output);
    }
    let mut line = Line::new().with(Tone::Dim, "bring one here with ").with(Tone::Hint, "taskyard adopt LIST");
    if !free.is_empty() {
        line.push(Tone::Dim, ", all of them with ");
        line.push(Tone::Hint, "taskyard adopt --yes");
    }
    output.say(&line)?;
    Ok(Exit::Done)
}

/// Returns what sessions in this directory left in lists of their own.
fn left_by_sessions(yard: &Yard, context: &Context) -> Result<Vec<SessionList>, Problem> {
    let config = places::client_config(context.environment())?;
    let directory: &Path = context.directory()?;
    Ok(yard.left_by_sessions(&config, directory)?)
}

/// Takes the open tasks of every list on which no other agent counts or works.
fn take_all(
    yard: &Yard,
    free: Vec<SessionList>,
    shared: Vec<(SessionList, String)>,
    output: &mut Output,
) -> Result<Exit, Problem> {
    let mut adopted = Vec::new();
    let mut left: Vec<(ListId, String)> = shared.into_iter().map(|(session, why)| (session.list, why)).collect();
    let is_nothing = free.is_empty() && left.is_empty();
    let (mut has_taken, mut exit) = (false, Exit::Done);
    for session in free {
        let taken = match yard.somebody_at_work_on(&session.list) {
            Ok(Some(agent)) => {
                left.push((session.list, format!("{agent} works on it")));
                continue;
            }
            Ok(None) => take(yard, &session.list, output),
            Err(error) => Err(error.into()),
        };
        match taken {
            Ok(merged) => adopted.push((session.list, merged)),
            // What came before stays here, and is told.
            Err(problem) if has_taken && problem.report().kind != ProblemKind::Unfinished => {
                left.push((session.list, problem.report().message.clone()));
                exit = Exit::Unfinished;
                continue;
            }
            Err(problem) => return Err(problem),
        }
        has_taken = true;
    }
    if output.is_json() {
        output.document(Adopted {
            adopted: adopted.iter().map(|(from, merged)| merged_answer(merged, from, yard.list_id())).collect(),
            left: left.iter().map(|(list, reason)| LeftList { list: list.as_str(), reason }).collect(),
        })?;
    } else if is_nothing {
        output.say(&Line::plain("No earlier session left open tasks here"))?;
    } else {
        for (list, why) in left {
            output.warn(&format!("the tasks of {list} stay there: {why}"))?;
        }
    }
    Ok(exit)
}

/// Moves the open tasks of a list here, and tells people what moved.
fn take(yard: &Yard, from: &ListId, output: &mut Output) -> Result<Merged, Problem> {
    let merged = yard.merge(from, yard.list_id(), MergeWhich::Open)?.done()?;
    if !output.is_json() {
        tell(&merged, from, yard.list_id(), output)?;
    }
    Ok(merged)
}

fn show(session: &SessionList, shared: Option<&str>, output: &mut Output) -> Result<(), Problem> {
    let look = output.look();
    let mut line = Line::new().with(Tone::Strong, session.list.as_str());
    if let Some(moment) = session.last_used {
        line.push(Tone::Dim, &format!("  last used {}", look.time(moment)));
    }
    if let Some(why) = shared {
        line.push(Tone::Dim, &format!("; others count on it: {why}"));
    }
    output.line(&line)?;
    let width = session.open.iter().map(|task| task.id.as_str().len() + 1).max().unwrap_or(0);
    for task in &session.open {
        output.line(&task_line("  ", width, task, &[], &look))?;
    }
    Ok(())
}

fn left_session<'a>(session: &'a SessionList, shared_by: Option<&'a str>) -> LeftSession<'a> {
    LeftSession {
        session: &session.session,
        list: session.list.as_str(),
        last_used: session.last_used.map(|moment| moment.to_string()),
        tasks: session.open.iter().map(Shape).collect(),
        shared_by,
    }
}
