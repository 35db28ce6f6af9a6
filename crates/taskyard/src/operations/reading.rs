//! Reads a list for the operations that only read.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use serde_json::Value;
use taskyard_core::dialect::document;
use taskyard_core::dialect::hook_input::Times;
use taskyard_core::rules::agents::given_back;
use taskyard_core::rules::graph::parts::{Named, blockers_above, with_those_above};
use taskyard_core::rules::history::vanishing::{Gone, KeptIn};
use taskyard_core::rules::leases::leasing::{LeaseState, holds};
use taskyard_core::rules::looking::query::Query;
use taskyard_core::rules::moving::importing::came_from;
use taskyard_core::{Lease, Revision, Rules, Task, TaskId, Timestamp};

use crate::operations::lease_upkeep::own_renewals;
use crate::store::{FileLayout, HistoryQuery, LastEntry, StoreError, Unpacked, UnreadableTask};
use crate::{Error, Yard};

/// A list that was read.
pub(super) struct Reading {
    /// The tasks by number. For a file that is unreadable now, the task's last known state.
    pub(super) tasks: Vec<Task>,
    pub(super) problems: Vec<UnreadableTask>,
    /// The leases with their current states, including ended ones whose release could not be recorded.
    pub(super) leases: Vec<(Lease, LeaseState)>,
    pub(super) revision: Revision,
    /// The revision up to which the journal includes everything that was read, so that it can be read without another
    /// look at the list.
    pub(super) recorded: Option<Revision>,
    pub(super) exists: bool,
    /// What is gone, if no task file is left.
    pub(super) gone: Option<Gone>,
    /// The missing tasks that block open ones, if the store counts missing blockers.
    pub(super) missing: HashMap<TaskId, Vec<TaskId>>,
}

impl Yard {
    pub(super) fn look(&self) -> Result<Reading, Error> {
        let list = self.store().read(self.list_id())?;
        let counts_missing = list.counts_missing();
        let mut unpacked = list.unpack()?;
        let came_back = self.let_leases_end_or_live(&unpacked.leases)?;
        let has_put_back = self.try_to_put_back_stale_writes();
        if self.try_to_make_followers(&unpacked.tasks) || has_put_back || came_back {
            unpacked = self.store().read(self.list_id())?.unpack()?;
        }
        let Unpacked { mut tasks, problems, leases, revision, exists, recorded } = unpacked;
        let is_bare = tasks.is_empty() && problems.is_empty();
        let gone = if is_bare { self.gone_with((!exists).then(|| self.kept_in())) } else { None };
        // To the client an unreadable file does not exist.
        if !self.rules().is_client() && problems.iter().any(|problem| problem.last_known.is_some()) {
            let there: HashSet<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
            let last_known = problems.iter().filter_map(|problem| problem.last_known.as_deref());
            tasks.extend(last_known.filter(|task| !there.contains(&task.id)).cloned());
            tasks.sort_by(|one, two| one.id.cmp(&two.id));
        }
        let leases = self.with_states(leases)?;
        give_back(&mut tasks, &leases);
        let missing = if counts_missing { missing_blockers(&tasks, self.rules()) } else { HashMap::new() };
        Ok(Reading { tasks, problems, leases, revision, recorded, exists, gone, missing })
    }

    /// Reads one task and those it is connected with; `None` if the whole list has to be read.
    pub(super) fn look_around(&self, id: &TaskId) -> Result<Option<Reading>, Error> {
        let Some(unpacked) = self.store().read_around(self.list_id(), id)? else { return Ok(None) };
        let Unpacked { mut tasks, problems, leases, revision, exists, recorded } = unpacked;
        if self.let_leases_end_or_live(&leases)? {
            // Released tasks are read with the whole list.
            return Ok(None);
        }
        let leases = self.with_states(leases)?;
        give_back(&mut tasks, &leases);
        Ok(Some(Reading { tasks, problems, leases, revision, recorded, exists, gone: None, missing: HashMap::new() }))
    }

    /// Returns leases with their current states.
    fn with_states(&self, leases: Vec<Lease>) -> Result<Vec<(Lease, LeaseState)>, StoreError> {
        let now = self.now()?;
        let judge = |lease: Lease| {
            let state = self.world().judge_at(&lease, &now);
            (lease, state)
        };
        Ok(leases.into_iter().map(judge).collect())
    }

    /// Ends expired leases and renews our own, as far as that needs no waiting; returns whether tasks were released.
    ///
    /// A journal that cannot be written does not fail the reader.
    fn let_leases_end_or_live(&self, leases: &[Lease]) -> Result<bool, StoreError> {
        if leases.is_empty() {
            return Ok(false);
        }
        let own = own_renewals(leases.to_vec(), self)?;
        if !own.is_empty()
            && let Err(error) = self.store().renew(self.list_id(), &own)
        {
            tracing::debug!(%error, "leases are not renewed by looking");
        }
        let now = self.now()?;
        let is_dead = |lease: &Lease| !self.world().judge_at(lease, &now).is_alive();
        Ok(leases.iter().any(is_dead)
            && self.try_return_ended_leases().unwrap_or_else(|error| {
                tracing::debug!(%error, "what dead leases hold is left for the next writer");
                false
            }))
    }

    /// Returns what the list is stored in, for the message that it is gone.
    fn kept_in(&self) -> KeptIn {
        let is_one_file = self.store().care().is_some_and(|care| care.layout() == FileLayout::OneFile);
        if is_one_file { KeptIn::File } else { KeptIn::Directory }
    }
}

/// Shows the tasks of expired leases as released. A lease expires even if no process records it.
fn give_back(tasks: &mut [Task], leases: &[(Lease, LeaseState)]) {
    let ended: HashMap<&TaskId, &Lease> =
        leases.iter().filter(|(_, state)| !state.is_alive()).map(|(lease, _)| (&lease.task, lease)).collect();
    if ended.is_empty() {
        return;
    }
    for task in tasks {
        if ended.get(&task.id).is_some_and(|lease| holds(lease, task)) {
            *task = given_back(task);
        }
    }
}

fn missing_blockers(tasks: &[Task], rules: Rules) -> HashMap<TaskId, Vec<TaskId>> {
    let there: HashMap<&TaskId, &Task> = tasks.iter().map(|task| (&task.id, task)).collect();
    let find = |id: &TaskId| -> Result<Named, Infallible> {
        let found = there.get(id).map(|task| Named::Task(Box::new((*task).clone())));
        Ok(found.unwrap_or(Named::Absent { holds_up: true }))
    };
    let missing = |task: &Task| {
        let above = if rules.is_client() {
            Vec::new()
        } else {
            blockers_above(task, find).unwrap_or_else(|never| match never {})
        };
        let all = with_those_above(task.blocked_by.clone(), above);
        all.into_iter().filter(|id| !there.contains_key(id)).collect::<Vec<_>>()
    };
    let open = tasks.iter().filter(|task| task.status.is_open());
    open.map(|task| (task.id.clone(), missing(task))).filter(|(_, missing)| !missing.is_empty()).collect()
}

impl Yard {
    /// Returns when each task was created and last changed, as far as the journal has it.
    pub fn known_times(&self) -> Result<HashMap<TaskId, Times>, Error> {
        match self.times_in_journal() {
            // The tasks can be used without it.
            Err(error) if error.is_of_memory() => Ok(HashMap::new()),
            times => Ok(times?),
        }
    }

    /// Returns when each task was created and last changed, if a query asks for it; empty on failure.
    pub(super) fn times_for(&self, query: &Query) -> HashMap<TaskId, Times> {
        if !query.asks_for_times() {
            return HashMap::new();
        }
        self.known_times().unwrap_or_else(|error| {
            tracing::warn!(%error, "nobody knows when tasks were made or changed");
            HashMap::new()
        })
    }

    fn times_in_journal(&self) -> Result<HashMap<TaskId, Times>, StoreError> {
        let mut made: HashMap<TaskId, Timestamp> = HashMap::new();
        for page in self.pages(HistoryQuery { only_arrivals: true, ..HistoryQuery::default() })? {
            made.extend(page?.into_iter().map(|entry| (entry.task, entry.at)));
        }
        let mut times = HashMap::new();
        for LastEntry { task, at, leaves_task, .. } in self.store().last_entries(self.list_id())? {
            let created = match made.remove(&task) {
                Some(created) => created,
                None if leaves_task => self.first_told_of(&task)?.unwrap_or(at),
                None => at,
            };
            times.insert(task, Times { created, updated: at });
        }
        Ok(times)
    }

    /// Returns the time of the first entry about a task whose creation is not in the journal.
    pub(super) fn first_told_of(&self, task: &TaskId) -> Result<Option<Timestamp>, StoreError> {
        let first = HistoryQuery { task: Some(task.clone()), oldest: Some(1), ..HistoryQuery::default() };
        Ok(self.store().history(self.list_id(), &first)?.first().map(|first| first.at))
    }

    /// Adds the creation and change times to tasks, for a format that has fields for them. Times stated by a task take
    /// precedence, and a task imported from that format is left unchanged.
    pub(super) fn with_known_times(&self, tasks: Vec<Task>, format: &str) -> Result<Vec<Task>, Error> {
        let known = self.known_times()?;
        let elements = self.store().care().map_or(Ok(Vec::new()), |care| care.elements(self.list_id()))?;
        let stated: HashMap<&str, (Option<&str>, Option<&str>)> = elements
            .iter()
            .filter_map(|element| Some((element.get("id")?.as_str()?, document::times(element.as_object()?))))
            .collect();
        let timed = |mut task: Task| {
            if came_from(&task, format) {
                return task;
            }
            let (created, updated) = stated.get(task.id.as_str()).copied().unwrap_or_default();
            let known = known.get(&task.id);
            let seconds = |time: Timestamp| whole_seconds(&time.to_string());
            let created = created.map(str::to_owned).or_else(|| known.map(|times| seconds(times.created)));
            let updated = updated.map(str::to_owned).or_else(|| known.map(|times| seconds(times.updated)));
            for (key, time) in [("created_at", created), ("updated_at", updated)] {
                if let Some(time) = time.filter(|_| task.meta(key).is_none()) {
                    task.metadata.get_or_insert_default().insert(key.to_owned(), Value::String(time));
                }
            }
            task
        };
        Ok(tasks.into_iter().map(timed).collect())
    }
}

/// Returns a time without its fraction: the formats of other programs use whole seconds.
pub(super) fn whole_seconds(time: &str) -> String {
    time.split_once('.').map_or_else(|| time.to_owned(), |(seconds, _)| format!("{seconds}Z"))
}
