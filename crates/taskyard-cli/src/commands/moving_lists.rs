//! `taskyard merge`, `move` and `adopt`

use std::path::Path;

use clap::Args;
use taskyard::answers::merged as merged_answer;
use taskyard::backup::{MoveEnd, MoveList, MovedList, look_at_move, move_list};
use taskyard::core::ListId;
use taskyard::core::answers::answer_values::Shape;
use taskyard::core::answers::list_answers::{Adopted, LeftList, LeftSession, LeftSessions, ListMoved};
use taskyard::core::render::{Line, Look, Tone, task_line};
use taskyard::core::rules::lists::is_session_list;
use taskyard::machine::{Binding, Machine};
use taskyard::opening::{Address, WrittenAddress};
use taskyard::operations::{MergeWhich, Merged, SessionList, SharedBy};
use taskyard::{Yard, answers};

use crate::commands::import_export::progress_bar;
use crate::context::Context;
use crate::exit::{Exit, Problem, ProblemKind};
use crate::output::{Output, quoted};
use crate::places;

/// Move every task of one list into another
///
/// The tasks get new numbers, and their edges follow. Both lists change, or neither.
#[derive(Debug, Args)]
pub(crate) struct Merge {
    /// The source list
    pub(crate) from: String,

    /// The destination list
    pub(crate) into: String,

    /// Move only open tasks
    #[arg(long)]
    pub(crate) open: bool,

    /// Override the leases of agents that work on tasks that move
    #[arg(long)]
    pub(crate) force: bool,
}

impl Merge {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let (from, into) = (context.list_named(&self.from)?, context.list_named(&self.into)?);
        let which = if self.open { MergeWhich::Open } else { MergeWhich::All };
        let yard = context.yard()?.on(into.clone());
        let yard = if self.force { yard.overruling() } else { yard };
        let merged = yard.merge(&from, &into, which)?.done()?;
        output.consider_list_named();
        if output.is_json() {
            output.document(answers::merged(&merged, &from, &into))?;
            return Ok(Exit::Done);
        }
        tell(&merged, &from, &into, output)?;
        Ok(Exit::Done)
    }
}

/// Reports what was moved, and how to undo it.
pub(super) fn tell(merged: &Merged, from: &ListId, into: &ListId, output: &mut Output) -> Result<(), Problem> {
    let look: Look = output.look();
    let tasks = if merged.tasks.len() == 1 { "task" } else { "tasks" };
    let mut line = Line::plain(&format!("Moved {} {tasks} from ", merged.tasks.len()));
    line.push(Tone::Strong, from.as_str());
    line.push(Tone::Plain, " to ");
    line.push(Tone::Strong, into.as_str());
    output.say(&line)?;
    for ((old, new), task) in merged.mapping.iter().zip(&merged.tasks) {
        let mut line = Line::new().with(Tone::Dim, &format!("  #{old} {} ", look.arrow()));
        line.push(Tone::Id, &format!("#{new}"));
        line.push(Tone::Plain, &format!(" {}", task.shown_subject()));
        output.say(&look.fitted(line))?;
    }
    for (waiting, on) in &merged.dropped_edges {
        output.warn(&format!("#{waiting} waited for #{on}, which stayed behind: that dependency is gone"))?;
    }
    if !merged.tasks.is_empty() {
        let mut line = Line::new().with(Tone::Dim, "  undo it with ");
        line.push(Tone::Hint, &format!("taskyard undo --list {}", quoted(into)));
        line.push(Tone::Dim, " and ");
        line.push(Tone::Hint, &format!("taskyard undo --list {}", quoted(from)));
        output.say(&line)?;
    }
    Ok(())
}

/// Move a list with its history to another store
///
/// The tasks keep their numbers and exact contents, and history, notes and undo move with them. It works both ways
/// between task files (`claude:`, `file:DIRECTORY`) and PostgreSQL. The move is atomic: if it is interrupted, run the
/// same command again to finish or revert it. Afterwards every command on the old place names the new one.
///
/// A list is not moved while an agent holds one of its tasks or one of its files is unreadable, or if it is a team's
/// list.
#[derive(Debug, Args)]
pub(crate) struct Move {
    /// The list to move; it keeps its name
    #[arg(value_name = "LIST")]
    source: String,

    /// The address of the destination store
    #[arg(long, value_name = "ADDRESS")]
    to: WrittenAddress,

    /// Show what would be moved, without moving it
    #[arg(long)]
    dry_run: bool,
}

impl Move {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let list = context.list_named(&self.source)?;
        let from = context.yard()?.on(list.clone());
        let (to_address, to) = context.elsewhere(&self.to, &list)?;
        if let Some(SharedBy::Team { name }) = from.shared_by(&list, Vec::new())? {
            return Err(Problem::new(
                ProblemKind::Refused,
                "list_of_team",
                format!("`{list}` is the list of team {name}"),
            )
            .hint("its members and messages would not move; end the team first")
            .detail("team", name.as_str()));
        }
        let what = MoveList {
            list: &list,
            from: MoveEnd { yard: &from, address: context.address()? },
            to: MoveEnd { yard: &to, address: &to_address },
            places: context.places()?,
            cancel: context.cancel(),
        };
        output.consider_list_named();
        if self.dry_run {
            return self.tell(&look_at_move(&what)?.done()?, &list, &what, output);
        }
        let bar = progress_bar(output, "revisions");
        // When asked to stop, the list is reopened unless it has already arrived.
        let _attended = context.cancel().attend();
        let moved = move_list(&what, &|arrived, of| {
            bar.set_length(of.0);
            bar.set_position(arrived.0);
        });
        bar.finish_and_clear();
        self.tell(&moved?.done()?, &list, &what, output)
    }

    fn tell(
        &self,
        moved: &MovedList,
        list: &ListId,
        what: &MoveList<'_>,
        output: &mut Output,
    ) -> Result<Exit, Problem> {
        let to: &Address = what.to.address;
        if output.is_json() {
            output.document(ListMoved {
                list: list.as_str(),
                from: what.from.address.to_string(),
                to: to.to_string(),
                dry_run: self.dry_run,
                tasks: moved.tasks,
                revision: moved.revision.0,
                left_behind: &moved.left_behind,
                was_unfinished: moved.was_unfinished,
            })?;
            return Ok(Exit::Done);
        }
        let mut line = Line::plain(match (self.dry_run, moved.was_unfinished) {
            (true, _) => "Would move ",
            (false, true) => "Finished moving ",
            (false, false) => "Moved ",
        });
        line.push(Tone::Strong, list.as_str());
        line.push(Tone::Plain, &format!(" to {to}"));
        let tasks = if moved.tasks == 1 { "1 task".to_owned() } else { format!("{} tasks", moved.tasks) };
        line.push(Tone::Dim, &format!("  {tasks}, up to revision {}", moved.revision));
        output.say(&line)?;
        for name in &moved.left_behind {
            output.warn(&format!(
                "`{name}` stayed in the old place of `{list}`: it is not a task, or was changed in the meantime"
            ))?;
        }
        Ok(Exit::Done)
    }
}

/// Move the open tasks of an earlier session's list here
///
/// The client starts every session with a new list, and open tasks stay behind in the old one. Without arguments this
/// finds the lists of earlier sessions in this directory, and offers to move their open tasks here.
///
/// A list that is in use elsewhere keeps its tasks, unless --yes is given with its name: the list of this directory, a
/// list that a directory is bound to (`taskyard use`), or a team's list. A task that someone is working on is never
/// moved.
#[derive(Debug, Args)]
pub(crate) struct Adopt {
    /// The list to move the open tasks from
    #[arg(value_name = "LIST")]
    source: Option<String>,

    /// Do not ask: move everything that was found, or move from LIST even if it is in use elsewhere
    #[arg(long)]
    yes: bool,
}

impl Adopt {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let sharing = Sharing { yard: context.yard()?, context };
        // Every answer names the source and the target.
        output.consider_list_named();
        match &self.source {
            Some(source) => take_one(&sharing, &context.list_named(source)?, self.yes, output),
            None => take_found(&sharing, self.yes, output),
        }
    }
}

/// Determines who relies on which list.
struct Sharing<'a> {
    yard: Yard,
    context: &'a Context,
}

impl Sharing<'_> {
    /// Returns who relies on finding tasks in a list, or `None` if nobody is known to.
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

/// Moves the open tasks of one list here.
fn take_one(sharing: &Sharing<'_>, from: &ListId, is_sure: bool, output: &mut Output) -> Result<Exit, Problem> {
    let yard = &sharing.yard;
    if from == yard.list_id() {
        if output.is_json() {
            output.document(merged_answer(&Merged::default(), from, yard.list_id()))?;
        } else {
            let mut line = Line::new().with(Tone::Strong, from.as_str());
            line.push(Tone::Plain, " is the list in use here: there is nothing to move");
            output.say(&line)?;
        }
        return Ok(Exit::Done);
    }
    let is_any = !yard.open_tasks_of(from)?.is_empty();
    let shared = if is_any { sharing.of(from)? } else { None };
    if let Some(why) = shared.as_ref().filter(|_| !is_sure) {
        let question = format!("{from} is in use elsewhere: {why}. Move its open tasks here, into {}?", yard.list_id());
        if !output.ask(&question)? {
            return Err(counted_on(from, why));
        }
    }
    let merged = take(yard, from, output)?;
    if output.is_json() {
        output.document(merged_answer(&merged, from, yard.list_id()))?;
    } else if let Some(why) = shared {
        output.warn(&format!("{from} is in use elsewhere: {why}; these tasks are no longer there"))?;
    } else if is_any && !is_session_list(from.as_str()) {
        let note = format!("  {from} is not a session's list: agents that work on it no longer find these tasks there");
        output.say(&Line::new().with(Tone::Dim, &note))?;
    }
    Ok(Exit::Done)
}

/// Returns the problem that other agents rely on a list.
fn counted_on(list: &ListId, why: &str) -> Problem {
    Problem::new(
        ProblemKind::Refused,
        "shared_list",
        format!("{list} is in use elsewhere: {why}; its tasks stay there"),
    )
    .hint(format!("work on it with `--list {list}`, or move them here anyway with `taskyard adopt {list} --yes`"))
    .detail("list", list.as_str())
}

/// Finds the lists left by earlier sessions, and moves their open tasks here if confirmed.
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
    if !free.is_empty() && output.ask(&format!("Move {them} here, into {}?", yard.list_id()))? {
        return take_all(yard, free, Vec::new(), output);
    }
    let mut line = Line::new().with(Tone::Dim, "move one here with ").with(Tone::Hint, "taskyard adopt LIST");
    if !free.is_empty() {
        line.push(Tone::Dim, ", all of them with ");
        line.push(Tone::Hint, "taskyard adopt --yes");
    }
    output.say(&line)?;
    Ok(Exit::Done)
}

/// Returns the lists left by earlier sessions in this directory.
fn left_by_sessions(yard: &Yard, context: &Context) -> Result<Vec<SessionList>, Problem> {
    let config = places::client_config(context.environment())?;
    let directory: &Path = context.directory()?;
    Ok(yard.left_by_sessions(&config, directory)?)
}

/// Moves the open tasks of every list that no other agent relies on or works on.
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
            // Tasks moved before stay here and are reported.
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

/// Moves the open tasks of a list here, and reports them on text output.
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
        line.push(Tone::Dim, &format!("; in use elsewhere: {why}"));
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
