//! `taskyard restore --from`

use std::path::Path;

use taskyard::backup::{
    BackupSource, BringBack, BroughtBack, ListBroughtBack, Manifest, Wish, bring_back, look_at_backup,
};
use taskyard::core::TaskId;
use taskyard::core::answers::maintenance::{BackupOrigin, RestoredFrom, RestoredList};
use taskyard::core::render::{Line, Tone};
use taskyard::operations::CopiesWanted;

use super::import::progress_bar;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// So many ids are named in a line.
const MOST_IDS: usize = 20;

/// What is to come back from which backup.
pub(super) struct RestoreFrom<'a> {
    pub(super) path: &'a Path,
    pub(super) ids: Vec<TaskId>,
    pub(super) wanted: CopiesWanted,
}

impl RestoreFrom<'_> {
    /// Brings it back.
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

    /// Shows what would come back.
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
            output.document(answer(back, source.manifest(), verb != "Restored"))?;
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
        let ids = numbered(&restored.different);
        output.warn(&format!("not as in the backup, and left as it is: {ids} of `{name}`"))?;
    }
    if !restored.deleted.is_empty() {
        let ids = numbered(&restored.deleted);
        output.warn(&format!("gone on purpose since, and not brought back without --deleted: {ids} of `{name}`"))?;
    }
    for (waiting, on) in &restored.dropped_edges {
        output.warn(&format!("#{waiting} of `{name}` no longer waits for #{on}: that edge could not come back"))?;
    }
    Ok(())
}

fn answer<'a>(back: &'a BroughtBack, manifest: &'a Manifest, dry_run: bool) -> RestoredFrom<'a> {
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

fn numbered(ids: &[TaskId]) -> String {
    let shown: Vec<String> = ids.iter().take(MOST_IDS).map(|id| format!("#{id}")).collect();
    match ids.len().saturating_sub(MOST_IDS) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
