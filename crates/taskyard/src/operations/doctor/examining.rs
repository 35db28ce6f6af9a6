//! Looking a list over.

use std::collections::{BTreeMap, HashSet};

use taskyard_core::dialect::native::{Unreadable, repair};
use taskyard_core::rules::changes::numbering::is_beyond_counting;
use taskyard_core::rules::health::{self, FindingCode};
use taskyard_core::rules::history::removed::{Absence, Removed};
use taskyard_core::rules::history::replacing::Replacements;
use taskyard_core::rules::history::taking_back::OpenLosses;
use taskyard_core::{Image, Op, Task, TaskId};

use super::finding::{Finding, Fix, file_of};
use super::owner_signs::OwnerSigns;
use crate::operations::absent::names_of;
use crate::store::{
    FileCare, FileLayout, HistoryPages, HistoryQuery, JournalDamage, LastEntry, Litter, Lookup, Snapshot, Store,
    StoreError, UnreadableTask,
};
use crate::{Error, Yard};

/// A list that was looked over: what was found, and what of it other looks need to know.
#[derive(Default)]
pub(super) struct LookedOver {
    pub(super) findings: Vec<Finding>,
    pub(super) tasks: Vec<Task>,
    /// What the journal has of the owners of tasks; none where it is damaged.
    pub(super) signs: Option<OwnerSigns>,
}

/// What one pass over the journal finds.
struct Gathered {
    last: Vec<LastEntry>,
    replaced: Replacements,
    losses: OpenLosses,
    signs: OwnerSigns,
}

impl Yard {
    /// Looks the list over, changing nothing.
    pub fn examine(&self) -> Result<Vec<Finding>, Error> {
        Ok(self.look_over()?.findings)
    }

    /// Looks the list over, changing nothing, and returns what was read as well.
    pub(super) fn look_over(&self) -> Result<LookedOver, Error> {
        let (damage, mut findings) = match self.journal_damage() {
            Ok(damage) => {
                let findings = damage.iter().map(Finding::of_journal).collect();
                (damage.is_some(), findings)
            }
            Err(StoreError::NewerJournal { path, format }) => (true, vec![Finding::of_newer(&path, format)]),
            Err(error) => return Err(error.into()),
        };
        if let Some(care) = self.store().care().filter(|_| !damage) {
            findings.extend(care.unfinished_move(self.list_id())?.map(|why| Finding::of_unfinished_move(&why)));
        }
        if let Some(care) = self.store().shared_care() {
            findings.extend(care.examine(self.list_id())?.into_iter().map(Finding::of_shared));
        }
        let list = match self.store().read(self.list_id()) {
            Ok(list) => list,
            Err(StoreError::NoTask { path, why }) => {
                findings.push(Finding::of_torn_file(path, &why));
                return Ok(LookedOver { findings, ..LookedOver::default() });
            }
            Err(StoreError::NewerFile { path, source }) => {
                findings.push(Finding::of_newer_file(&path, &source));
                // To mend its journal would mean to compare it with the tasks, which cannot be read.
                findings.iter_mut().for_each(|finding| finding.fix = None);
                return Ok(LookedOver { findings, ..LookedOver::default() });
            }
            Err(error) => return Err(error.into()),
        };
        findings.extend(self.defects(&*list)?);
        let (tasks, mut signs) = (list.tasks()?, None);
        // What is missing is told by a journal that is whole.
        if !damage {
            let problems = list.problems()?;
            let wanted = self.signs_wanted(&tasks, &list.leases()?);
            let all = HistoryQuery::default();
            let pages = match list.is_recorded() {
                true => HistoryPages::of_what_is_recorded(self.store(), self.list_id(), all)?,
                false => self.pages(all)?,
            };
            let gathered = gather(pages, wanted)?;
            let reasons = [Absence::Missing, Absence::Replaced];
            let taken = names_of(&tasks, &problems);
            let removed = self.removed_among(&gathered.last, gathered.replaced, &reasons, &taken)?;
            findings.extend(lost(&tasks, &problems, &removed));
            findings.extend(self.taken_back(&gathered.losses, &tasks));
            signs = Some(gathered.signs);
        }
        let litter = self.store().care().map_or(Ok(Vec::new()), |care| care.litter(self.list_id()))?;
        findings.extend(litter.into_iter().map(Finding::of_litter));
        if findings.iter().any(|finding| finding.code == FindingCode::NewerFormat) {
            // Whatever is mended is written into the journal.
            findings.iter_mut().for_each(|finding| finding.fix = None);
        }
        Ok(LookedOver { findings, tasks, signs })
    }

    /// Returns the open tasks that say nothing of what is being done while they are in progress.
    pub(super) fn without_active_form(&self, tasks: &[Task]) -> Vec<Finding> {
        let says_nothing = |task: &&Task| task.active_form.as_deref().is_none_or(|text| text.trim().is_empty());
        let open = tasks.iter().filter(|task| task.status.is_open() && !task.is_internal());
        open.filter(says_nothing).map(|task| Finding::of_no_active_form(task, self.file_name(&task.id))).collect()
    }

    /// Looks the list's journal over, where it is on disk, and returns what is wrong with it.
    pub(super) fn journal_damage(&self) -> Result<Option<JournalDamage>, StoreError> {
        self.store().care().map_or(Ok(None), |care| care.examine_journal(self.list_id()))
    }

    /// Returns the name of the file that a task is in, or would be.
    pub(super) fn file_name(&self, task: &TaskId) -> String {
        self.store().care().map_or_else(|| file_of(task), |care| care.file_name(self.list_id(), task))
    }

    /// Returns what is wrong with the tasks of a list and with what lies among them.
    ///
    /// What can be made a task is looked at as if it were one, and what can only go as if it were gone: so one mending is enough.
    pub(super) fn defects(&self, list: &dyn Snapshot) -> Result<Vec<Finding>, StoreError> {
        let mut tasks = list.tasks()?;
        let mut hopeless = HashSet::new();
        let mut broken = Vec::new();
        // A second, hidden file of a task is no task that could be mended: it is told of with what lies about.
        let problems = list.problems()?.into_iter();
        for problem in problems.filter(|problem| !matches!(problem.why, Unreadable::Shadowed { .. })) {
            let (code, fix) = self.remedy(list, &problem)?;
            match &fix {
                Some(Fix::Replace { task, by, .. }) => {
                    tasks.extend(by.as_ref().and_then(|image| image.task(task).ok()));
                }
                // It will be out of the way; what the journal knew of the task comes back.
                Some(Fix::Sweep(_)) => {
                    let last = match self.last_readable(&problem.task) {
                        Err(error) if error.is_of_memory() => None,
                        last => last?,
                    };
                    tasks.extend(last.and_then(|image| image.task(&problem.task).ok()))
                }
                _ => drop(hopeless.insert(problem.task.clone())),
            }
            broken.push(Finding::of_problem(problem, code, fix));
        }
        if !broken.is_empty() {
            tasks.sort_by(|one, two| one.id.cmp(&two.id));
        }
        let defects = health::examine(&tasks, &hopeless).into_iter();
        let mut findings: Vec<Finding> = defects
            .map(|defect| {
                let file = self.file_name(&defect.task);
                Finding::of_task(defect, file)
            })
            .collect();
        let layout = self.store().care().map_or(FileLayout::Numbered, FileCare::layout);
        if layout == FileLayout::Numbered {
            let too_large = tasks.iter().map(|task| &task.id).filter(|id| is_beyond_counting(id.as_str()));
            findings.extend(too_large.map(|id| Finding::of_large_number(id.clone(), self.file_name(id))));
        }
        findings.extend(broken);
        Ok(findings)
    }

    /// Returns what kind of problem something is, and what can be done about it.
    fn remedy(&self, list: &dyn Snapshot, problem: &UnreadableTask) -> Result<(FindingCode, Option<Fix>), StoreError> {
        if let Unreadable::NotAFile { found } = problem.why {
            // Nothing of it is read, least of all into the journal: a link may lead to a private file.
            let fix = Fix::Sweep(Litter::SpecialFile { path: problem.path.clone(), found });
            return Ok((FindingCode::Unreadable, Some(fix)));
        }
        let Lookup::Unreadable(UnreadableTask { contents: Some(broken), .. }) = list.find(&problem.task)? else {
            return Ok((FindingCode::Unreadable, None));
        };
        let task = problem.task.clone();
        if let Some(repair) = repair(&task, broken.bytes()) {
            let doing = repair.changes.join("; ");
            let fix = Fix::Replace { task, broken, by: Some(repair.image), doing };
            return Ok((FindingCode::Invisible, Some(fix)));
        }
        let by = match self.last_readable(&task) {
            // What it last held is not known before the journal is mended.
            Err(error) if error.is_of_memory() => return Ok((FindingCode::Unreadable, None)),
            by => by?,
        };
        let doing = match &by {
            Some(_) => format!("put {} back as it was last seen; the journal keeps what it holds now", file_of(&task)),
            None => format!("take {} out of the list; the journal keeps what it holds", file_of(&task)),
        };
        Ok((FindingCode::Unreadable, Some(Fix::Replace { task, broken, by, doing })))
    }

    /// Returns the newest contents of a task's file, as the journal has them, from which the task can be read.
    pub(super) fn last_readable(&self, task: &TaskId) -> Result<Option<Image>, StoreError> {
        for page in self.backwards(HistoryQuery { task: Some(task.clone()), ..HistoryQuery::default() }) {
            let mut images = page?.into_iter().rev().flat_map(|entry| [entry.after, entry.before]).flatten();
            if let Some(readable) = images.find(|image| image.task(task).is_ok()) {
                return Ok(Some(readable));
            }
        }
        Ok(None)
    }
}

/// Reads the whole journal once, and keeps of it what the examination needs.
fn gather(pages: HistoryPages<'_, dyn Store + '_>, mut signs: OwnerSigns) -> Result<Gathered, StoreError> {
    let mut last: BTreeMap<TaskId, LastEntry> = BTreeMap::new();
    let (mut replaced, mut losses) = (Replacements::default(), OpenLosses::default());
    for page in pages {
        for entry in page? {
            replaced.add(&entry);
            losses.add(&entry);
            signs.add(&entry);
            last.insert(entry.task.clone(), LastEntry::of(&entry));
        }
    }
    Ok(Gathered { last: last.into_values().collect(), replaced, losses, signs })
}

/// Tells of the open tasks that are missing: at once where no other task is left, else of each. What was done with may go: the client
/// clears it away.
fn lost(tasks: &[Task], problems: &[UnreadableTask], removed: &[Removed]) -> Vec<Finding> {
    let is_work = |removed: &&Removed| removed.task.status.is_open() && !removed.task.is_internal();
    // What a client deleted is no damage, unless other tasks still name it: the client takes a deleted task out of all others.
    let names = |id: &TaskId| tasks.iter().any(|task| task.blocks.contains(id) || task.blocked_by.contains(id));
    let is_deleted = |removed: &Removed| removed.is_deleted_elsewhere() && !names(&removed.task.id);
    let missing = || removed.iter().filter(|removed| removed.is_missing() && !is_deleted(removed));
    if tasks.is_empty() && problems.is_empty() && missing().any(|missing| is_work(&missing)) {
        return vec![Finding::of_lost(&missing().map(|missing| missing.task.clone()).collect::<Vec<Task>>())];
    }
    // What was found absent when a damaged journal was mended may have been deleted on purpose: `restore` names it.
    let went_elsewhere = |missing: &&Removed| missing.entry.op != Op::Mend;
    let missing = missing().filter(is_work).filter(went_elsewhere).map(Finding::of_missing);
    let replaced = removed.iter().filter(|removed| removed.is_replaced()).filter(is_work);
    missing.chain(replaced.map(Finding::of_replaced)).collect()
}
