//! What the journal knows of tasks that are not there.

use std::collections::HashSet;

use taskyard_core::rules::history::removed::{Absence, Removed};
use taskyard_core::rules::history::replacing::Replacements;
use taskyard_core::rules::history::restoring::{ToldByNewest, by_number, told_by_newest};
use taskyard_core::{Entry, Image, Op, Revision, Task, TaskId};

use crate::store::{HistoryQuery, LastEntry, Lookup, StoreError, UnreadableTask};
use crate::{Error, Yard};

impl Yard {
    /// Tells whether a task is not there though no agent meant that.
    pub fn is_missing(&self, id: &TaskId) -> Result<bool, Error> {
        let is_there = !matches!(self.store().read(self.list_id())?.find(id)?, Lookup::Missing);
        Ok(!is_there && self.missing_task(id)?.is_some())
    }

    /// Tells whether a task is not there because a client deleted it.
    pub fn is_deleted_elsewhere(&self, id: &TaskId) -> Result<bool, Error> {
        let absent = self.absent_task(&TaskId::stored(id.file_stem()))?;
        Ok(self.is_missing(id)? && absent.is_some_and(|absent| absent.is_deleted_elsewhere()))
    }

    /// Tells whether a task is on the list, or ever was as far as the journal knows.
    pub fn is_known(&self, id: &TaskId) -> Result<bool, Error> {
        if !matches!(self.store().read(self.list_id())?.find(id)?, Lookup::Missing) {
            return Ok(true);
        }
        let name = TaskId::stored(id.file_stem());
        let query = HistoryQuery { task: Some(name), newest: Some(1), ..HistoryQuery::default() };
        Ok(!self.history(&query)?.is_empty())
    }

    /// Returns what the journal knows and the list, as it was just read, no longer holds for one of these reasons, by number.
    pub(super) fn removed_for(
        &self,
        reasons: &[Absence],
        tasks: &[Task],
        problems: &[UnreadableTask],
    ) -> Result<Vec<Removed>, StoreError> {
        let mut replaced = Replacements::default();
        if reasons.contains(&Absence::Replaced) {
            self.find_replacements(&mut replaced, HistoryQuery::default())?;
        }
        let last = self.store().last_entries(self.list_id())?;
        self.removed_among(&last, replaced, reasons, &names_of(tasks, problems))
    }

    /// Returns what is not there for one of these reasons, by number, given the last entry about each task, the tasks that were replaced as
    /// far as the journal tells, and the names that are taken.
    pub(super) fn removed_among(
        &self,
        last: &[LastEntry],
        mut replaced: Replacements,
        reasons: &[Absence],
        taken: &HashSet<TaskId>,
    ) -> Result<Vec<Removed>, StoreError> {
        let mut absent = Vec::new();
        for entry in last.iter().filter(|entry| !taken.contains(&entry.task)) {
            // Of most tasks that are gone the last entry says why: what they were is not read where the caller does not ask for it.
            if told_by_last(entry).is_none_or(|absence| reasons.contains(&absence)) {
                absent.extend(self.absent_task(&entry.task)?);
            }
        }
        self.forget_returned(&mut replaced)?;
        let mut removed = by_number(absent, replaced.into_removed());
        removed.retain(|removed| reasons.contains(&removed.absence));
        Ok(removed)
    }

    /// Returns what the journal knows of these tasks, whose names are taken or not, and the list no longer holds, by number.
    pub(super) fn removed_of(
        &self,
        names: &HashSet<TaskId>,
        taken: &HashSet<TaskId>,
    ) -> Result<Vec<Removed>, StoreError> {
        let mut absent = Vec::new();
        let mut replaced = Replacements::default();
        for task in names {
            if !taken.contains(task) {
                absent.extend(self.absent_task(task)?);
            }
            let of_task = HistoryQuery { task: Some(task.clone()), ..HistoryQuery::default() };
            self.find_replacements(&mut replaced, of_task)?;
        }
        self.forget_returned(&mut replaced)?;
        absent.sort_by(|one, other| one.task.id.cmp(&other.task.id));
        Ok(by_number(absent, replaced.into_removed()))
    }

    /// Returns the tasks that are not there though no agent meant that, by number.
    pub(super) fn missing(&self, tasks: &[Task], problems: &[UnreadableTask]) -> Result<Vec<Removed>, StoreError> {
        self.removed_for(&[Absence::Missing], tasks, problems)
    }

    /// Returns a task that was just found not to be there, where no agent meant that.
    pub(super) fn missing_task(&self, id: &TaskId) -> Result<Option<Task>, StoreError> {
        let missing = self.absent_task(&TaskId::stored(id.file_stem()))?.filter(Removed::is_missing);
        Ok(missing.map(|missing| missing.task))
    }

    /// Returns what the journal tells of a task that is not there: mostly its newest entries tell everything.
    fn absent_task(&self, task: &TaskId) -> Result<Option<Removed>, StoreError> {
        let mut pages = self.backwards(HistoryQuery { task: Some(task.clone()), ..HistoryQuery::default() });
        let mut newest: Vec<Entry> = Vec::new();
        while let Some(page) = pages.next() {
            newest.splice(..0, page?);
            if let ToldByNewest::Everything(told) = told_by_newest(task, &newest, pages.is_at_beginning()) {
                return Ok(told.map(|told| *told));
            }
        }
        match told_by_newest(task, &newest, true) {
            ToldByNewest::Everything(told) => Ok(told.map(|told| *told)),
            ToldByNewest::TooLittle => Ok(None),
        }
    }

    /// Finds what other programs put in the place of tasks, in a part of the journal.
    fn find_replacements(&self, replaced: &mut Replacements, query: HistoryQuery) -> Result<(), StoreError> {
        for page in self.pages(HistoryQuery { ops: vec![Replacements::OP], ..query })? {
            page?.iter().for_each(|entry| replaced.add(entry));
        }
        Ok(())
    }

    /// Forgets tasks that were replaced and have come back since.
    fn forget_returned(&self, replaced: &mut Replacements) -> Result<(), StoreError> {
        let Some(first) = replaced.first() else { return Ok(()) };
        let since = Revision(first.0.saturating_sub(1));
        for page in self.pages(HistoryQuery { since, only_arrivals: true, ..HistoryQuery::default() })? {
            page?.iter().for_each(|entry| replaced.add_arrival(entry));
        }
        let mut now: Vec<(TaskId, Option<Image>)> = Vec::new();
        for task in replaced.tasks() {
            let last = HistoryQuery { task: Some(task.clone()), newest: Some(1), ..HistoryQuery::default() };
            let last = self.store().history(self.list_id(), &last)?.pop();
            now.push((task.clone(), last.and_then(|last| last.after)));
        }
        let mut now = now.into_iter();
        replaced.add_last(|_| now.next().and_then(|(_, image)| image));
        Ok(())
    }
}

/// Returns the names that are taken in a list.
pub(super) fn names_of(tasks: &[Task], problems: &[UnreadableTask]) -> HashSet<TaskId> {
    tasks.iter().map(|task| &task.id).chain(problems.iter().map(|problem| &problem.task)).cloned().collect()
}

/// Tells why a task is not there, where its last entry alone says so.
fn told_by_last(entry: &LastEntry) -> Option<Absence> {
    match entry.op {
        _ if entry.leaves_task => Some(Absence::Missing),
        Op::Delete | Op::Clear => Some(Absence::Deleted),
        Op::Merge | Op::Rename => Some(Absence::Moved),
        _ => None,
    }
}
