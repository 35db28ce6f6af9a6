//! Examines a list, its journal and the owners of its tasks.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use taskyard_core::dialect::native::{Unreadable, repair};
use taskyard_core::rules::agents::is_same_agent;
use taskyard_core::rules::changes::numbering::is_beyond_counting;
use taskyard_core::rules::health;
use taskyard_core::rules::health::defects::Mend;
use taskyard_core::rules::health::{
    FindingCode, is_of_another_program, is_sign_of_owner, judge_owner, may_be_abandoned, may_be_of_ended_session,
    of_ended_session,
};
use taskyard_core::rules::history::replacing::Replacements;
use taskyard_core::rules::history::taking_back::OpenLosses;
use taskyard_core::rules::history::vanishing::{Absence, Removed};
use taskyard_core::rules::leases::leasing::holds;
use taskyard_core::rules::leases::liveness::Standing;
use taskyard_core::{Entry, Image, Lease, Op, Task, TaskId, Timestamp};

use crate::operations::doctor::findings::{Finding, Fix, file_of};
use crate::operations::lease_upkeep::lease_on;
use crate::operations::restore::names_of;
use crate::operations::sessions::AbandonedTask;
use crate::store::{
    FileCare, FileLayout, HistoryPages, HistoryQuery, JournalDamage, LastEntry, Litter, Lookup, Snapshot, Store,
    StoreError, Txn, UnreadableTask,
};
use crate::teams::{MemberShown, Teams};
use crate::{Error, Yard};

/// The result of examining a list, with what further checks need.
#[derive(Default)]
pub(super) struct LookedOver {
    pub(super) findings: Vec<Finding>,
    pub(super) tasks: Vec<Task>,
    /// The activity of task owners in the journal; `None` if the journal is damaged.
    pub(super) signs: Option<OwnerSigns>,
}

/// The results of one pass over the journal.
struct Gathered {
    last: Vec<LastEntry>,
    replaced: Replacements,
    losses: OpenLosses,
    signs: OwnerSigns,
}

impl Yard {
    /// Examines the list without changing anything.
    pub fn examine(&self) -> Result<Vec<Finding>, Error> {
        Ok(self.look_over()?.findings)
    }

    /// Like [`Self::examine`], but also returns what was read.
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
                // Repairing its journal would require a comparison with the tasks, which cannot be read.
                findings.iter_mut().for_each(|finding| finding.fix = None);
                return Ok(LookedOver { findings, ..LookedOver::default() });
            }
            Err(error) => return Err(error.into()),
        };
        findings.extend(self.defects(&*list)?);
        let (tasks, mut signs) = (list.tasks()?, None);
        // Only an intact journal shows what is missing.
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
            // Every repair is recorded in the journal.
            findings.iter_mut().for_each(|finding| finding.fix = None);
        }
        Ok(LookedOver { findings, tasks, signs })
    }

    /// Returns findings for open tasks without `activeForm`, the text shown while they are in progress.
    pub(super) fn without_active_form(&self, tasks: &[Task]) -> Vec<Finding> {
        let says_nothing = |task: &&Task| task.active_form.as_deref().is_none_or(|text| text.trim().is_empty());
        let open = tasks.iter().filter(|task| task.status.is_open() && !task.is_internal());
        open.filter(says_nothing).map(|task| Finding::of_no_active_form(task, self.file_name(&task.id))).collect()
    }

    /// Examines the list's journal if it is on disk; `None` if it is intact.
    pub(super) fn journal_damage(&self) -> Result<Option<JournalDamage>, StoreError> {
        self.store().care().map_or(Ok(None), |care| care.examine_journal(self.list_id()))
    }

    /// Returns the name of the file that a task is in, or would be in.
    pub(super) fn file_name(&self, task: &TaskId) -> String {
        self.store().care().map_or_else(|| file_of(task), |care| care.file_name(self.list_id(), task))
    }

    /// Returns the defects of a list's tasks and of the other files among them.
    ///
    /// A file that can be repaired is treated as the repaired task, and one that can only be removed as removed, so
    /// that one repair run is enough.
    pub(super) fn defects(&self, list: &dyn Snapshot) -> Result<Vec<Finding>, StoreError> {
        let mut tasks = list.tasks()?;
        let mut hopeless = HashSet::new();
        let mut broken = Vec::new();
        // A second, hidden file of a task is reported with the litter.
        let problems = list.problems()?.into_iter();
        for problem in problems.filter(|problem| !matches!(problem.why, Unreadable::Shadowed { .. })) {
            let (code, fix) = self.remedy(list, &problem)?;
            match &fix {
                Some(Fix::Replace { task, by, .. }) => {
                    tasks.extend(by.as_ref().and_then(|image| image.task(task).ok()));
                }
                // It will be moved away, and the task's last state in the journal restored.
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

    /// Returns the kind of a problem and its fix.
    fn remedy(&self, list: &dyn Snapshot, problem: &UnreadableTask) -> Result<(FindingCode, Option<Fix>), StoreError> {
        if let Unreadable::NotAFile { found } = problem.why {
            // Its contents are never read, let alone recorded in the journal: a link may lead to a private file.
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
            // Its last contents are unknown until the journal has been repaired.
            Err(error) if error.is_of_memory() => return Ok((FindingCode::Unreadable, None)),
            by => by?,
        };
        let doing = match &by {
            Some(_) => format!("restore {} as it was last seen; the journal keeps its current content", file_of(&task)),
            None => format!("remove {} from the list; the journal keeps its content", file_of(&task)),
        };
        Ok((FindingCode::Unreadable, Some(Fix::Replace { task, broken, by, doing })))
    }

    /// Returns the newest readable contents of a task's file in the journal.
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

/// Reads the whole journal once, and keeps what the examination needs.
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

/// Returns findings for missing open tasks: a single one if no other task is left, otherwise one for each. Completed
/// tasks are ignored, because the client removes them.
fn lost(tasks: &[Task], problems: &[UnreadableTask], removed: &[Removed]) -> Vec<Finding> {
    let is_work = |removed: &&Removed| removed.task.status.is_open() && !removed.task.is_internal();
    // A task that a client deleted is no damage unless other tasks still name it: the client removes a deleted task
    // from all others.
    let names = |id: &TaskId| tasks.iter().any(|task| task.blocks.contains(id) || task.blocked_by.contains(id));
    let is_deleted = |removed: &Removed| removed.is_deleted_elsewhere() && !names(&removed.task.id);
    let missing = || removed.iter().filter(|removed| removed.is_missing() && !is_deleted(removed));
    if tasks.is_empty() && problems.is_empty() && missing().any(|missing| is_work(&missing)) {
        return vec![Finding::of_lost(&missing().map(|missing| missing.task.clone()).collect::<Vec<Task>>())];
    }
    // Tasks found missing when a damaged journal was repaired may have been deleted on purpose: `restore` lists them.
    let went_elsewhere = |missing: &&Removed| missing.entry.op != Op::Mend;
    let missing = missing().filter(is_work).filter(went_elsewhere).map(Finding::of_missing);
    let replaced = removed.iter().filter(|removed| removed.is_replaced()).filter(is_work);
    missing.chain(replaced.map(Finding::of_replaced)).collect()
}

impl Yard {
    /// Returns a finding for every open task whose owner has no lease on it and has been inactive for `silence`, both
    /// in the list's journal and as a team member.
    pub(super) fn stale_owners(
        &self,
        list: &LookedOver,
        teams: Option<&Teams>,
        silence: Duration,
    ) -> Result<Vec<Finding>, Error> {
        let mut findings = Vec::new();
        // Only an intact journal shows which owners have been inactive.
        if let Some(signs) = list.signs.as_ref().filter(|signs| !signs.of_tasks.is_empty()) {
            let members = teams.map_or(Ok(Vec::new()), members_of)?;
            let now = self.now()?.wall;
            for task in list.tasks.iter().filter(|task| signs.of_tasks.contains_key(&task.id)) {
                let Some(sign) = newest_sign(task, signs, &members, now) else { continue };
                let defect = judge_owner(task, sign, now, silence);
                findings.extend(defect.map(|defect| Finding::of_task(defect, self.file_name(&task.id))));
            }
        }
        // An unreadable list has no tasks here, and is reported elsewhere.
        if list.tasks.iter().any(may_be_of_ended_session) {
            let leases = self.store().read(self.list_id())?.leases()?;
            for AbandonedTask { task, written, is_free } in self.of_ended_sessions(&list.tasks, &leases)? {
                findings.push(Finding::of_task(of_ended_session(&task, written, is_free), self.file_name(&task.id)));
            }
        }
        Ok(findings)
    }

    /// Returns what to look for in the journal: activity of owners of open tasks that have no lease on them.
    pub(super) fn signs_wanted(&self, tasks: &[Task], leases: &[Lease]) -> OwnerSigns {
        let leases: HashMap<&TaskId, &Lease> = leases.iter().map(|lease| (&lease.task, lease)).collect();
        let is_leased = |task: &Task| leases.get(&task.id).is_some_and(|lease| holds(lease, task));
        let of_task = |task: &Task| SignsOfTask {
            written: self.store().care().and_then(|care| care.written_at(self.list_id(), &task.id)),
            task: task.clone(),
            last: None,
        };
        let abandoned = tasks.iter().filter(|task| may_be_abandoned(task) && !is_leased(task));
        let of_tasks = abandoned.map(|task| (task.id.clone(), of_task(task))).collect();
        OwnerSigns { of_agents: HashMap::new(), of_tasks }
    }
}

/// Returns when the owner of a task was last active; `None` if nothing is known about it.
fn newest_sign(task: &Task, signs: &OwnerSigns, members: &[MemberShown], now: Timestamp) -> Option<Timestamp> {
    let owner = task.owner()?;
    let of_task = signs.of_tasks.get(&task.id)?;
    let in_list = of_task.last.max(signs.of_agent(owner)).or(of_task.written);
    let own = members.iter().filter(|shown| is_same_agent(&shown.member.name, owner));
    let in_teams = own.filter_map(|shown| match shown.standing {
        Some(Standing::Lives | Standing::LivesUnseen(_)) => Some(now),
        Some(Standing::Lapses(_) | Standing::Ended | Standing::Silent) | None => shown.seen,
    });
    in_teams.chain(in_list).max()
}

fn members_of(teams: &Teams) -> Result<Vec<MemberShown>, Error> {
    let mut members = Vec::new();
    for team in teams.list()? {
        members.extend(teams.show(&team, &[])?.members);
    }
    Ok(members)
}

/// Returns whether a task to be released still belongs to the same owner, without a lease.
pub(super) fn is_still_abandoned(txn: &dyn Txn, mend: &Mend) -> Result<bool, StoreError> {
    let Mend::Release { task, owner } = mend else { return Ok(false) };
    let Some(task) = txn.find(task)?.task() else { return Ok(false) };
    let may_be = may_be_abandoned(&task) || may_be_of_ended_session(&task);
    Ok(may_be && task.owner() == owner.as_deref() && lease_on(txn, &task)?.is_none())
}

/// The activity of task owners in a journal, gathered in one pass because both the list and its journal may be long.
#[derive(Debug)]
pub(super) struct OwnerSigns {
    /// When each agent was last active.
    pub(super) of_agents: HashMap<String, Timestamp>,
    /// The tasks in question.
    pub(super) of_tasks: HashMap<TaskId, SignsOfTask>,
}

/// The activity of a task's owner in the task's entries.
#[derive(Debug)]
pub(super) struct SignsOfTask {
    pub(super) task: Task,
    /// When its file was written, if known.
    pub(super) written: Option<Timestamp>,
    /// When its owner was last active in it.
    pub(super) last: Option<Timestamp>,
}

impl OwnerSigns {
    /// Adds the next entry of the journal.
    pub(super) fn add(&mut self, entry: &Entry) {
        if self.of_tasks.is_empty() {
            return;
        }
        if entry.op != Op::Expire {
            match self.of_agents.get_mut(entry.actor.as_str()) {
                Some(last) => *last = entry.at.max(*last),
                None => drop(self.of_agents.insert(entry.actor.as_str().to_owned(), entry.at)),
            }
        }
        if let Some(of_task) = self.of_tasks.get_mut(&entry.task)
            && is_sign_of_owner(entry, &of_task.task)
        {
            // Another program's write happened when the file was written, not when we noticed it.
            let happened = match of_task.written.filter(|_| is_of_another_program(entry)) {
                Some(written) => written.min(entry.at),
                None => entry.at,
            };
            of_task.last = of_task.last.max(Some(happened));
        }
    }

    /// Returns when an agent was last active.
    pub(super) fn of_agent(&self, owner: &str) -> Option<Timestamp> {
        let own = self.of_agents.iter().filter(|(agent, _)| is_same_agent(agent, owner));
        own.map(|(_, last)| *last).max()
    }
}
