//! `taskyard undo` and `restore`

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use taskyard::Yard;
use taskyard::backup::{
    BackupSource, BringBack, BroughtBack, ListBroughtBack, Manifest, Wish, bring_back, look_at_backup,
};
use taskyard::core::answers::maintenance_answers::{BackupOrigin, RestoredFrom, RestoredList};
use taskyard::core::render::{Line, Tone, is_summed_up, op_in_words, revision_line};
use taskyard::core::rules::agents::is_same_agent;
use taskyard::core::{Entry, Op, TaskId, Timestamp, answers};
use taskyard::opening::Address;
use taskyard::operations::{Absence, CopiesWanted, Restorable, RestoreWhich, UndoRange, Undone};

use super::several::tell_rehearsal;
use crate::arguments::{parse_id, parse_revisions};
use crate::commands::import_export::progress_bar;
use crate::context::Context;
use crate::displays::did;
use crate::exit::{Exit, Problem};
use crate::output::Output;

/// Undo whole revisions, by default your newest
///
/// Without a revision it undoes the newest change that you (the actor, see `taskyard whoami`) made to this list. A
/// given revision may be anyone's; on a terminal it asks first if another actor made it within the last day. It is
/// refused, with the reason, if a task has changed since. An undo is a revision too, and can be undone by its number.
/// Changes by other programs are undone only if you name their revision.
#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// A revision (41) or a range of them (41..45), as `taskyard history` shows them
    #[arg(value_name = "REV", value_parser = parse_revisions)]
    pub(crate) revisions: Option<UndoRange>,

    /// Undo the newest revision of any actor
    #[arg(long, conflicts_with = "revisions")]
    pub(crate) anyone: bool,

    /// Do not ask before undoing another actor's changes
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Override the leases of agents that work on these tasks
    #[arg(long)]
    pub(crate) force: bool,

    /// Report every task, however many there are
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

impl Undo {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = context.yard()?;
        let yard = if self.force { yard.overruling() } else { yard };
        let range = self.revisions.unwrap_or(if self.anyone { UndoRange::Newest } else { UndoRange::OwnNewest });
        let Some(range) = self.agreed(&yard, range, output)? else {
            output.say(&Line::plain("Nothing was undone"))?;
            return Ok(Exit::Refused);
        };
        let undone = yard.undo(range)?.done()?;
        if output.is_json() {
            output.document(answers::history_answers::Undone::from(&undone))?;
            return Ok(Exit::Done);
        }
        let revisions: Vec<String> = undone.revisions.iter().map(ToString::to_string).collect();
        let took_back = format!("Undid {}:", revisions.join(", "));
        if is_summed_up(undone.tasks.len()) && !self.verbose {
            output.say(&Line::plain(&format!("{took_back} {}", summed_up(&undone))))?;
            return Ok(Exit::Done);
        }
        output.say(&Line::plain(&took_back))?;
        for (id, now) in &undone.tasks {
            match now {
                Some(task) => {
                    let mut line = Line::new().with(Tone::Plain, "  ");
                    line.append(did("back to", task));
                    line.push(Tone::Dim, &format!(" [{}]", task.status));
                    output.say(&line)?;
                }
                None => output.say(&Line::plain("  removed again: ").with(Tone::Id, &format!("#{id}")))?,
            }
        }
        Ok(Exit::Done)
    }

    /// Asks on a terminal before a recent change of another actor is undone. Returns the revisions shown, or `None`
    /// if the answer is no.
    fn agreed(&self, yard: &Yard, range: UndoRange, output: &mut Output) -> Result<Option<UndoRange>, Problem> {
        if self.yes || range == UndoRange::OwnNewest || !output.can_ask() {
            return Ok(Some(range));
        }
        let entries = yard.entries_to_undo(range)?.done()?;
        let yesterday = Timestamp(yard.store().now().map_err(taskyard::Error::from)?.wall.0 - DAY);
        let is_recent = |entry: &Entry| entry.at > yesterday;
        let is_own = |entry: &Entry| is_same_agent(entry.actor.as_str(), yard.actor().as_str());
        if !entries.iter().any(|entry| is_recent(entry) && !is_own(entry)) {
            return Ok(Some(range));
        }
        let look = output.look();
        for revision in entries.chunk_by(|one, two| one.revision == two.revision) {
            if let Some(line) = revision_line(revision, &look) {
                output.line(&line)?;
            }
        }
        let others: BTreeSet<&str> = entries.iter().filter(|entry| !is_own(entry)).map(whose).collect();
        let others: Vec<&str> = others.into_iter().collect();
        let question = format!("{} made this change. Undo it?", others.join(", "));
        let revisions = (entries.first().map(|entry| entry.revision), entries.last().map(|entry| entry.revision));
        Ok(match (output.ask(&question)?, revisions) {
            (true, (Some(first), Some(last))) if first == last => Some(UndoRange::One(first)),
            (true, (Some(first), Some(last))) => Some(UndoRange::Range(first, last)),
            _ => None,
        })
    }
}

/// A day in milliseconds. Older changes of other actors are undone without confirmation.
const DAY: i64 = 24 * 60 * 60 * 1000;

fn whose(entry: &Entry) -> &str {
    if entry.op.is_elsewhere() { "another program" } else { entry.actor.as_str() }
}

/// Describes how many tasks were restored to their former state and how many were removed again.
fn summed_up(undone: &Undone) -> String {
    let counted = |count: usize| if count == 1 { "1 task".to_owned() } else { format!("{count} tasks") };
    let gone = undone.tasks.iter().filter(|(_, task)| task.is_none()).count();
    let back = undone.tasks.len() - gone;
    match (back, gone) {
        (back, 0) => format!("{} as before", counted(back)),
        (0, gone) => format!("{} gone again", counted(gone)),
        (back, gone) => format!("{} as before, {gone} gone again", counted(back)),
    }
}

/// Restore tasks that another program deleted
///
/// Without arguments it shows what is missing. Tasks return with their numbers and edges. If another program put a
/// different task under a number, the old one returns under a new number. Tasks that you deleted or cleared with
/// Taskyard are restored only with --deleted.
#[derive(Debug, Default, Args)]
pub(crate) struct Restore {
    /// The tasks to restore
    #[arg(value_name = "ID", value_parser = parse_id, value_delimiter = ',')]
    pub(crate) ids: Vec<TaskId>,

    /// Restore everything that is missing
    #[arg(long, conflicts_with = "ids")]
    pub(crate) all: bool,

    /// Restore from a backup instead of from the history: everything, one list (--list), or the given tasks. Nothing
    /// that exists is overwritten
    #[arg(long, value_name = "PATH")]
    pub(crate) from: Option<PathBuf>,

    /// Show what would be restored, without restoring it
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Also restore what was deleted or cleared on purpose; if tasks are given, also those that moved to another list
    /// or whose creation was undone
    #[arg(long)]
    pub(crate) deleted: bool,
}

impl Restore {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        if let Some(path) = &self.from {
            let wanted = if self.deleted { CopiesWanted::WithDeleted } else { CopiesWanted::Missing };
            let from = RestoreFrom { path, ids: self.ids, wanted };
            return if self.dry_run { from.look(context, output) } else { from.run(context, output) };
        }
        let yard = context.yard()?;
        let yard = if self.dry_run { yard.rehearsing() } else { yard };
        let which = match (self.all, self.ids) {
            (true, _) => RestoreWhich::All,
            (false, ids) if !ids.is_empty() => RestoreWhich::Some(ids),
            (false, _) if self.deleted => return choices(&yard.restorable_with_deleted()?, self.deleted, output),
            (false, _) => return choices(&yard.restorable()?, self.deleted, output),
        };
        let restored = if self.deleted { yard.restore_with_deleted(which) } else { yard.restore(which) }?.done()?;
        if self.dry_run {
            return tell_rehearsal("Would restore", &restored.tasks.iter().collect::<Vec<_>>(), &[], output);
        }
        if output.is_json() {
            output.document(answers::history_answers::Restored::from(&restored))?;
            return Ok(Exit::Done);
        }
        if restored.tasks.is_empty() {
            output.say(&Line::plain("Nothing is missing"))?;
        }
        for task in &restored.tasks {
            output.say(&did("Restored", task))?;
        }
        if restored.nothing_is_open && *context.address()? == Address::Claude {
            output.warn(
                "every task of this list is completed: a running session of Claude Code 2.1.34 clears the list again after 5 \
                 seconds; close the session first, or reopen a task",
            )?;
        }
        for (waiting, on) in &restored.dropped_edges {
            output.warn(&format!("#{waiting} no longer waits for #{on}: that dependency could not be restored"))?;
        }
        Ok(Exit::Done)
    }
}

fn choices(restorable: &[Restorable], with_deleted: bool, output: &mut Output) -> Result<Exit, Problem> {
    if output.is_json() {
        output.document(taskyard::answers::restorable(restorable))?;
        return Ok(Exit::Done);
    }
    if restorable.is_empty() {
        output.say(&Line::plain("Nothing is missing"))?;
        return Ok(Exit::Done);
    }
    let look = output.look();
    for Restorable { task, absence, removed } in restorable {
        let mut line = Line::new()
            .with(Tone::Id, &format!("#{}", task.id))
            .with(Tone::Plain, &format!(" {}", task.shown_subject()));
        line.push(
            Tone::Dim,
            &format!("  {}, {} (revision {})", went(*absence, removed), look.time(removed.at), removed.revision),
        );
        output.line(&look.fitted(line))?;
    }
    let flag = if with_deleted { " --deleted" } else { "" };
    let mut line = Line::new().with(Tone::Dim, "bring them back with ");
    line.push(Tone::Hint, &format!("taskyard restore ID{flag}"));
    line.push(Tone::Dim, " or ");
    line.push(Tone::Hint, &format!("taskyard restore --all{flag}"));
    output.say(&line)?;
    Ok(Exit::Done)
}

/// Describes how a task disappeared, and by whom.
fn went(absence: Absence, removed: &Entry) -> String {
    match removed.op {
        _ if absence == Absence::Replaced => {
            "another program put a different task there; it will be restored under a new number".to_owned()
        }
        Op::RemovedElsewhere | Op::DeletedElsewhere => op_in_words(removed.op).to_owned(),
        // Nobody has noticed its disappearance yet; this is the last recorded change.
        _ if removed.after.is_some() => "gone since it was last changed".to_owned(),
        Op::Undo => format!("removed by an undo by {}", removed.actor),
        Op::Mend => "found missing when the damaged journal was repaired".to_owned(),
        op => format!("{} by {}", op_in_words(op), removed.actor),
    }
}

/// Maximum number of ids in a line.
const MOST_IDS: usize = 20;

/// What to restore from a backup.
pub(super) struct RestoreFrom<'a> {
    pub(super) path: &'a Path,
    pub(super) ids: Vec<TaskId>,
    pub(super) wanted: CopiesWanted,
}

impl RestoreFrom<'_> {
    pub(super) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let bar = progress_bar(output, "lists brought back");
        let mut progress = |done: usize, of: usize| {
            bar.set_length(of as u64);
            bar.set_position(done as u64);
        };
        let back = self.with(context, |what, wish| bring_back(what, wish, &mut progress));
        bar.finish_and_clear();
        let (back, source) = back?;
        self.tell(&back.done()?, &source, output, "Restored")
    }

    /// Shows what would be restored.
    pub(super) fn look(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let (back, source) = self.with(context, look_at_backup)?;
        self.tell(&back, &source, output, "Would restore")
    }

    fn with<T>(
        &self,
        context: &Context,
        work: impl FnOnce(&BringBack<'_>, &Wish) -> Result<T, taskyard::backup::BackupError>,
    ) -> Result<(T, BackupSource), Problem> {
        let source = BackupSource::open(&context.directory()?.join(self.path))?;
        let wish = match (context.named_list()?, self.ids.is_empty()) {
            (None, true) => Wish::Everything,
            (Some(list), true) => Wish::List(list),
            (Some(list), false) => Wish::Tasks(list, self.ids.clone()),
            (None, false) => Wish::Tasks(context.choice()?.list, self.ids.clone()),
        };
        let yard = context.yard()?;
        let (address, places) = (context.address()?, context.places()?);
        let what = BringBack { yard: &yard, address, places, source: &source, wanted: self.wanted };
        let done = work(&what, &wish)?;
        Ok((done, source))
    }

    fn tell(
        &self,
        back: &BroughtBack,
        source: &BackupSource,
        output: &mut Output,
        verb: &str,
    ) -> Result<Exit, Problem> {
        // Every list is named below.
        output.consider_list_named();
        if output.is_json() {
            output.document(restored_answer(back, source.manifest(), verb != "Restored"))?;
            return Ok(Exit::Done);
        }
        for list in &back.lists {
            tell_of_list(list, output, verb)?;
        }
        for team in &back.teams {
            output.say(&Line::plain(&format!("{verb} the team {team}")))?;
        }
        for directory in &back.bindings {
            output.say(&Line::plain(&format!("{verb} the binding of {}", directory.display())))?;
        }
        let has_come = |list: &ListBroughtBack| list.history || !list.tasks.tasks.is_empty() || !list.files.is_empty();
        if back.teams.is_empty() && back.bindings.is_empty() && !back.lists.iter().any(has_come) {
            output.say(&Line::plain("Nothing is missing"))?;
        }
        Ok(Exit::Done)
    }
}

fn tell_of_list(list: &ListBroughtBack, output: &mut Output, verb: &str) -> Result<(), Problem> {
    let restored = &list.tasks;
    if list.history || !restored.tasks.is_empty() || !list.files.is_empty() {
        let what = match (restored.tasks.len(), list.files.len()) {
            (0, 0) => "the history".to_owned(),
            (0, files) => count(files, "file"),
            (tasks, _) => count(tasks, "task"),
        };
        let mut line = Line::plain(&format!("{verb} {what} of "));
        line.push(Tone::Strong, list.list.as_str());
        if list.history && !restored.tasks.is_empty() {
            line.push(Tone::Dim, "  with its history");
        }
        output.say(&line)?;
    }
    let name = list.list.as_str();
    if !restored.different.is_empty() {
        let ids = shown_ids(&restored.different);
        output.warn(&format!("different from the backup, and not changed: {ids} of `{name}`"))?;
    }
    if !restored.deleted.is_empty() {
        let ids = shown_ids(&restored.deleted);
        output.warn(&format!(
            "deleted on purpose since the backup, and restored only with --deleted: {ids} of `{name}`"
        ))?;
    }
    for (waiting, on) in &restored.dropped_edges {
        output.warn(&format!(
            "#{waiting} of `{name}` no longer waits for #{on}: that dependency could not be restored"
        ))?;
    }
    Ok(())
}

fn restored_answer<'a>(back: &'a BroughtBack, manifest: &'a Manifest, dry_run: bool) -> RestoredFrom<'a> {
    RestoredFrom {
        backup: BackupOrigin { at: &manifest.at, store: &manifest.store, taskyard: &manifest.taskyard },
        dry_run,
        lists: back.lists.iter().map(restored_list).collect(),
        teams: &back.teams,
        teams_kept: &back.teams_there,
        bindings: back.bindings.iter().map(|path| path.display().to_string()).collect(),
    }
}

fn restored_list(list: &ListBroughtBack) -> RestoredList<'_> {
    let restored = &list.tasks;
    RestoredList {
        list: list.list.as_str(),
        whole: list.whole,
        history: list.history,
        restored: ids(restored.tasks.iter().map(|task| &task.id)),
        same: restored.same,
        different: ids(restored.different.iter()),
        deleted: ids(restored.deleted.iter()),
        files: &list.files,
        dropped_edges: restored.dropped_edges.iter().map(|(one, two)| [one.as_str(), two.as_str()]).collect(),
        revision: restored.revision.map(|revision| revision.0),
    }
}

fn ids<'a>(ids: impl Iterator<Item = &'a TaskId>) -> Vec<&'a str> {
    ids.map(TaskId::as_str).collect()
}

fn shown_ids(ids: &[TaskId]) -> String {
    let shown: Vec<String> = ids.iter().take(MOST_IDS).map(|id| format!("#{id}")).collect();
    match ids.len().saturating_sub(MOST_IDS) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
