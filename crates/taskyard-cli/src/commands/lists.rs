//! `taskyard lists`, with `rename` and `remove`

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use taskyard::Yard;
use taskyard::answers::list_summary;
use taskyard::core::answers::list_answers::{BranchRenamed, ListRemoved, ListRenamed};
use taskyard::core::render::{Line, Tone, counts_in_words};
use taskyard::core::{ListId, Op, answers};
use taskyard::machine::Machine;
use taskyard::operations::{Gone, KeptIn, KnownList};
use taskyard::store::{HistoryQuery, StoreError};

use crate::context::Context;
use crate::exit::{Exit, Problem, ProblemKind};
use crate::output::{Output, quoted};
use crate::places;

/// Show, rename and remove the lists of the store
///
/// A list that lost its open tasks is shown as gone, even if its directory is gone too.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Lists {
    #[command(subcommand)]
    pub(crate) action: Option<ListsAction>,

    /// The maximum number of lists, sorted by name
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
}

impl Lists {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        if let Some(action) = self.action {
            return action.run(context, output);
        }
        let yard = context.yard()?;
        let limit = self.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let (lists, has_more) = yard.some_lists(None, limit)?;
        let names = context.list_names()?;
        if output.is_json() {
            let name = |known: &KnownList| names.get(known.info.list.directory()).map(String::as_str);
            output.document(answers::list_answers::Lists {
                lists: lists.iter().map(|known| list_summary(known, yard.list_id(), name(known))).collect(),
                more: self.limit.is_some().then_some(has_more),
            })?;
            return Ok(Exit::Done);
        }
        if lists.is_empty() {
            output.say(&Line::plain("No lists found"))?;
            output.advise("`taskyard create` makes the first one")?;
        }
        let look = output.look();
        let widest = lists.iter().map(|known| Line::plain(known.info.list.as_str()).width()).max().unwrap_or(0).min(48);
        for KnownList { info, gone } in &lists {
            let ours = &info.list == yard.list_id();
            let name = if ours { Tone::Strong } else { Tone::Plain };
            let mut line = Line::new().with(Tone::Done, if ours { look.either("▸ ", "> ") } else { "  " });
            line.append(Line::new().with(name, info.list.as_str()).padded(widest));
            line.push(Tone::Plain, "  ");
            match gone {
                Some(gone) => line.append(loss(gone)),
                None => line.append(counts_in_words(info.counts, &look)),
            }
            if let Some(changed) = info.changed {
                line.push(Tone::Dim, &format!("{}{}", look.dot(), look.time(changed)));
            }
            if let Some(name) = names.get(info.list.directory()).filter(|name| *name != info.list.as_str()) {
                line.push(Tone::Dim, &format!("{}{name}", look.dot()));
            }
            output.line(&look.fitted(line))?;
        }
        if has_more {
            output.advise("there are more; leave out `--limit` to see them all")?;
        }
        if lists.iter().any(|known| known.gone.is_some()) {
            output.advise("bring them back with `taskyard restore --all --list LIST`")?;
        }
        Ok(Exit::Done)
    }
}

fn loss(gone: &Gone) -> Line {
    let with = match gone.with {
        Some(KeptIn::Directory) => ", with its directory",
        Some(KeptIn::File) => ", with its file",
        None => "",
    };
    let tasks = if gone.open == 1 { "1 open task".to_owned() } else { format!("{} open tasks", gone.open) };
    Line::new().with(Tone::Warning, &format!("gone: {tasks}{with}"))
}

#[derive(Debug, Subcommand)]
pub(crate) enum ListsAction {
    /// Rename a list; the directories that use it follow
    Rename {
        /// The list
        #[arg(value_name = "OLD")]
        from: String,
        /// Its new name, which must be unused
        #[arg(value_name = "NEW")]
        to: String,
        /// Rename it even if agents are working on its tasks
        #[arg(long)]
        force: bool,
    },
    /// Remove a list; its tasks stay in the journal, from which they can be restored
    Remove {
        /// The list
        #[arg(value_name = "NAME")]
        removed: String,
        /// Remove it even if it is in use by a directory, a team, a job, or agents that are working on its tasks
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
        let renamed = Renamed { from, to, tasks, directories: 0, branches: Vec::new(), left: Vec::new() };
        return tell_of_renaming(&renamed, output);
    }
    let mut pairs = vec![(from.clone(), to.clone())];
    pairs.extend(lists_of_branches(&yard, &to, context)?);
    for (list, _) in &pairs {
        let yard = yard.on(list.clone());
        if let Some(team) = team_of(&yard, list)? {
            return Err(in_use(list, &team, "a team's list has the team's name"));
        }
        if let Some(job) = job_on(list, context)? {
            return Err(in_use(list, &job, "wait for its end, or stop it with `taskyard job stop`"));
        }
        if !force && let Some(agent) = agent_on(&yard)? {
            return Err(in_use(list, &agent, "rename it anyway with `--force`"));
        }
    }
    let store = context.address()?.to_string();
    let yard = if force { yard.overruling() } else { yard };
    // If an earlier call was interrupted, some lists have already been renamed.
    let mut moving = Vec::new();
    for (list, named) in &pairs {
        let is_without_tasks = *list == from && pairs.len() > 1 && !yard.store().has(list)?;
        if !is_without_tasks && !has_moved(&yard.on(list.clone()), named)? {
            refuse_taken_name(&yard, list, named)?;
            moving.push((list, named));
        }
    }
    if context.list_of_directory().is_ok_and(|own| pairs.iter().any(|(list, _)| *list == own.list)) {
        // Records that this directory uses the list, so that it follows the new name.
        context.claim_list(output)?;
    }
    let mut tasks = BTreeMap::new();
    for (list, named) in moving {
        tasks.insert(list.clone(), yard.rename_list(list, named)?.done()?.len());
        taskyard::failpoint::reach("rename: the tasks have moved");
    }
    let rest = "the list has its new name; run the same command again to update the directories that use it";
    let mut directories = 0;
    if let Ok(data) = places::data(context.environment()) {
        let followed = Machine::open(&data).and_then(|machine| {
            let followed = pairs.iter().map(|(list, named)| machine.rename_uses(list, named, &store));
            followed.sum::<Result<usize, _>>()
        });
        directories = followed.map_err(|error| unfinished(&error.into(), rest))?;
    }
    taskyard::failpoint::reach("rename: the directories use the new name");
    let mut left = Vec::new();
    for (list, _) in &pairs {
        let hint = "the list has its new name; run the same command again to remove its old directory";
        left.push((list.clone(), remove_place(&yard, list, hint)?));
    }
    let tasks = |list: &ListId| tasks.get(list).copied().unwrap_or(0);
    let branches = pairs[1..].iter().map(|(list, named)| (list.clone(), named.clone(), tasks(list))).collect();
    tell_of_renaming(&Renamed { tasks: tasks(&from), from: from.clone(), to, directories, branches, left }, output)?;
    let here = context.directory().and_then(|directory| context.in_directory(directory.to_owned()).choice());
    let is_old = |list: &ListId| pairs.iter().any(|(old, _)| old == list);
    if let Some(here) = here.ok().filter(|here| is_old(&here.list) && !output.is_json()) {
        output.warn(&format!("here `{}` is still used: {}", here.list, here.reason))?;
    }
    Ok(Exit::Done)
}

/// Returns the lists of branches that are renamed with this yard's list, each with its new name. A branch's list has
/// none itself.
fn lists_of_branches(yard: &Yard, to: &ListId, context: &Context) -> Result<Vec<(ListId, ListId)>, Problem> {
    let recorded = context.list_names()?;
    let from = recorded.get(yard.list_id().directory()).map_or(yard.list_id().as_str(), String::as_str);
    for (end, _) in from.match_indices('@').filter(|(end, _)| *end > 0) {
        let plain = context.list_named(&from[..end])?;
        if yard.store().has(&plain)? || !context.repositories_of(&plain)?.is_empty() {
            return Ok(Vec::new());
        }
    }
    let branch_of = |name: &str| {
        let branch = name.strip_prefix(from)?.strip_prefix('@')?;
        (!branch.is_empty()).then(|| branch.to_owned())
    };
    // A database also contains lists named by other machines.
    let stored = yard.store().list_names()?;
    let mut branches: BTreeMap<String, ListId> =
        stored.into_iter().filter_map(|list| Some((branch_of(list.as_str())?, list))).collect();
    for name in recorded.values() {
        if let Some(branch) = branch_of(name) {
            branches.insert(branch, context.list_named(name)?);
        }
    }
    let mut lists = Vec::new();
    for (branch, list) in branches {
        if yard.store().has(&list)? {
            lists.push((list, context.list_of_branch(&format!("{to}@{branch}"))?));
        }
    }
    Ok(lists)
}

/// Removes the directory of a list without tasks and returns what other files are in it. `hint` says what to do on
/// failure.
fn remove_place(yard: &Yard, list: &ListId, hint: &str) -> Result<Vec<String>, Problem> {
    let left = yard.store().care().map(|care| care.remove_empty_place(list)).transpose();
    Ok(left.map_err(|error| unfinished(&taskyard::Error::from(error).into(), hint))?.unwrap_or_default())
}

/// Returns the problem that the change was made but not completed.
fn unfinished(problem: &Problem, hint: &str) -> Problem {
    Problem::new(ProblemKind::Unfinished, "unfinished", problem.report().message.clone()).hint(hint)
}

struct Renamed {
    from: ListId,
    to: ListId,
    tasks: usize,
    directories: usize,
    /// The lists of its branches: old name, new name, and number of tasks moved.
    branches: Vec<(ListId, ListId, usize)>,
    /// Other files in the old directory of each list.
    left: Vec<(ListId, Vec<String>)>,
}

fn tell_of_renaming(renamed: &Renamed, output: &mut Output) -> Result<Exit, Problem> {
    let Renamed { from, to, tasks, directories, branches, left } = renamed;
    if output.is_json() {
        let left: Vec<&str> = left.iter().flat_map(|(_, names)| names).map(String::as_str).collect();
        let branches = branches.iter().map(|(from, list, tasks)| BranchRenamed {
            from: from.as_str(),
            list: list.as_str(),
            tasks: *tasks,
        });
        let branches = branches.collect();
        let (from, list) = (from.as_str(), to.as_str());
        output.document(ListRenamed { from, list, tasks: *tasks, directories: *directories, branches, left })?;
        return Ok(Exit::Done);
    }
    let mut line = Line::plain(if from == to { "List " } else { "Renamed list " }).with(Tone::Strong, from.as_str());
    match from == to {
        true => line.push(Tone::Plain, " already has that name"),
        false => line = line.with(Tone::Plain, " to ").with(Tone::Strong, to.as_str()),
    }
    match branches.len() {
        0 => {}
        1 => line.push(Tone::Plain, ", and the list of one branch"),
        count => line.push(Tone::Plain, &format!(", and the lists of its {count} branches")),
    }
    output.say(&line)?;
    for (list, names) in left {
        tell_of_files(list, names, output)?;
    }
    Ok(Exit::Done)
}

/// Rejects a name that another list, or the history of one, already has.
fn refuse_taken_name(yard: &Yard, from: &ListId, to: &ListId) -> Result<(), Problem> {
    match yard.may_rename_list(from, to) {
        Err(taskyard::Error::Store(StoreError::ListExists { .. })) if !yard.store().has(to)? => {
            let message = format!("a list `{to}` was removed or renamed, and its history is kept under that name");
            Err(Problem::new(ProblemKind::Refused, "list_exists", message)
                .detail("list", to.as_str())
                .hint(format!("choose another name; `taskyard history --list {}` shows what is kept", quoted(to))))
        }
        may => Ok(may?.done()?),
    }
}

/// Returns whether the list's newest change moved its tasks to the other list.
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
        return Err(in_use(&list, &why, "remove it anyway with `--force`"));
    }
    let yard = if force { yard.overruling() } else { yard };
    let cleared = yard.clear()?.done()?;
    taskyard::failpoint::reach("remove: the list is empty");
    let left =
        remove_place(&yard, &list, "its tasks are in the journal; run the same command again to remove its directory")?;
    if output.is_json() {
        let revision = cleared.revision.map(|revision| revision.0);
        output.document(ListRemoved { list: list.as_str(), tasks: cleared.tasks.len(), revision, left: &left })?;
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

/// Returns who uses a list, or `None` if nobody is known to.
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

/// Returns which agent works on a task of a list, if any.
fn agent_on(yard: &Yard) -> Result<Option<String>, Problem> {
    Ok(yard.live_leases()?.first().map(|lease| format!("{} works on #{}", lease.agent, lease.task)))
}

/// Returns which job runs on a list, if any.
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
