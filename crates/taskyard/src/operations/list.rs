//! Lists and searches tasks; also the lists of a store, and the data for a board.

use std::collections::{BTreeSet, HashMap, HashSet};

use taskyard_core::rules::graph::parts::Progress;
use taskyard_core::rules::history::vanishing::Gone;
use taskyard_core::rules::leases::leasing::LeaseState;
use taskyard_core::rules::looking::listing::{Filter, Selection, select};
use taskyard_core::rules::looking::ordering::NumberOrder;
use taskyard_core::rules::looking::query::{ListSurroundings, Query, SortOrder, Times};
use taskyard_core::rules::looking::searching::{Hit, Search};
use taskyard_core::view::{AgentRow, Glance, HeldTask, ListRow, Need, NeedKind, agent_rows, chosen_by, held_tasks};
use taskyard_core::{Lease, ListId, Revision, Status, Task, TaskId, Timestamp};

use super::reading::Reading;
use crate::operations::restore::GoneList;
use crate::store::{ListInfo, UnreadableTask};
use crate::teams::MemberState;
use crate::{Error, Yard};

/// A list prepared for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The selected tasks in display order: in progress, pending, completed, each by number.
    pub tasks: Vec<Task>,
    /// The number of tasks in the whole list: pending, in progress, completed. Internal ones are not counted.
    pub counts: [usize; 3],
    /// The open blockers of each shown task. Tasks without any are left out.
    pub blockers: HashMap<TaskId, Vec<TaskId>>,
    /// The progress of each task of the whole list that has parts.
    pub progress: HashMap<TaskId, Progress>,
    /// When the tasks were created and last changed, as far as it was requested and is known.
    pub times: HashMap<TaskId, Times>,
    /// Files that contain no readable task. If a task's last state is known, it is among the tasks.
    pub problems: Vec<UnreadableTask>,
    /// The leases of the list with their current states, including those that have ended but were not recorded yet.
    pub leases: Vec<(Lease, LeaseState)>,
    /// The newest commit shown.
    pub revision: Revision,
    /// Whether the list exists.
    pub exists: bool,
    /// When the list was read.
    pub now: Timestamp,
    /// What is gone, if no task file is left although no agent deleted the tasks.
    pub gone: Option<Gone>,
}

impl Yard {
    /// Returns the tasks that pass a filter, and facts about the whole list.
    pub fn list(&self, filter: &Filter) -> Result<Listing, Error> {
        let Reading { tasks, problems, leases, revision, exists, gone, missing, .. } = self.look()?;
        let now = self.now()?.wall;
        let around = ListSurroundings::of(&tasks, now, self.rules()).with_missing(missing);
        let around = if filter.asks_for_times() { around.with_times(self.known_times()?) } else { around };
        let Selection { tasks, counts, blockers, progress, times } = select(tasks, filter, &around, self.rules());
        Ok(Listing { tasks, counts, blockers, progress, times, problems, leases, revision, exists, now, gone })
    }
}

impl Yard {
    /// Returns the tasks that match a query, best first; internal ones only if `internal` is set. A word that occurs in
    /// no task is treated as mistyped.
    pub fn search(&self, query: &Query, internal: bool) -> Result<Vec<Hit>, Error> {
        let Reading { mut tasks, missing, .. } = self.look()?;
        let around = self.surroundings(&tasks, query)?.with_missing(missing);
        tasks.retain(|task| internal || !task.is_internal());
        let mut search = Search::new(query);
        search.look_at(&tasks);
        Ok(search.hits(tasks, &around))
    }

    /// Returns the tasks of all lists that match a query, best first, each with its list. A word that occurs in no list
    /// is treated as mistyped.
    ///
    /// Lists are only read: other programs' changes are not recorded, and no lease is ended.
    pub fn search_everywhere(&self, query: &Query, internal: bool) -> Result<Vec<(ListId, Hit)>, Error> {
        let mut search = Search::new(query);
        let mut all: Vec<(ListId, Vec<Task>, ListSurroundings)> = Vec::new();
        for info in self.store().lists()? {
            let yard = self.on(info.list.clone());
            let mut tasks = yard.store().read(&info.list)?.tasks()?;
            let around = yard.surroundings(&tasks, query)?;
            tasks.retain(|task| internal || !task.is_internal());
            search.look_at(&tasks);
            all.push((info.list, tasks, around));
        }
        let mut hits: Vec<(ListId, Hit)> = Vec::new();
        for (list, tasks, around) in all {
            hits.extend(search.hits(tasks, &around).into_iter().map(|hit| (list.clone(), hit)));
        }
        // The sort is stable, so equally good hits keep the order of their lists.
        hits.sort_by_key(|(_, hit)| std::cmp::Reverse(hit.score));
        Ok(hits)
    }

    /// Returns the visible tasks that match a query, by number.
    pub fn chosen(&self, query: &Query) -> Result<Vec<Task>, Error> {
        let Reading { mut tasks, missing, .. } = self.look()?;
        let around = self.surroundings(&tasks, query)?.with_missing(missing);
        tasks.retain(|task| !task.is_internal() && query.is_true_of(task, &around));
        tasks.sort_by_cached_key(|task| NumberOrder::of(&task.id));
        Ok(tasks)
    }

    /// Returns the context in which a query is evaluated. The journal is read only if the query asks for times.
    pub(super) fn surroundings(&self, tasks: &[Task], query: &Query) -> Result<ListSurroundings, Error> {
        let times = if query.asks_for_times() { self.known_times()? } else { HashMap::new() };
        Ok(ListSurroundings::asked(tasks, query, self.now()?.wall, self.rules()).with_times(times))
    }
}

/// A whole list with the data for a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// Every visible task, in the requested order or in display order.
    pub tasks: Vec<Task>,
    /// The tasks that match the query; `None` if all do.
    pub chosen: Option<HashSet<TaskId>>,
    /// The list's counts, and what needs a person's attention.
    pub glance: Glance,
    /// The open blockers of each task. Tasks without any are left out.
    pub blockers: HashMap<TaskId, Vec<TaskId>>,
    /// The progress of each task that has parts.
    pub progress: HashMap<TaskId, Progress>,
    pub(crate) times: HashMap<TaskId, Times>,
    /// The leases of the list with their current states.
    pub leases: Vec<(Lease, LeaseState)>,
    pub(crate) revision: Revision,
    pub(crate) exists: bool,
    /// When the list was read.
    pub now: Timestamp,
    /// What is gone, if no task file is left although no agent deleted the tasks.
    pub gone: Option<Gone>,
    /// Files that contain no readable task. If a task's last state is known, it is among the tasks.
    pub problems: Vec<UnreadableTask>,
}

impl Yard {
    /// Reads the whole list once, and selects the tasks that match a query.
    pub fn survey(&self, query: &Query, sort: &[SortOrder]) -> Result<Survey, Error> {
        let Reading { tasks, problems, leases, revision, exists, gone, missing, .. } = self.look()?;
        let now = self.now()?.wall;
        let filter = Filter { sort: sort.to_vec(), ..Filter::default() };
        let around = ListSurroundings::of(&tasks, now, self.rules()).with_missing(missing);
        let asks_for_times = filter.asks_for_times() || query.asks_for_times();
        let around = if asks_for_times { around.with_times(self.known_times()?) } else { around };
        let mut glance = Glance::at(&tasks, &around);
        let held: Vec<Lease> = leases.iter().map(|(lease, _)| lease.clone()).collect();
        let stale = self.of_ended_sessions(&tasks, &held)?;
        glance.needs.extend(stale.into_iter().map(|stale| Need { task: stale.task.id, kind: NeedKind::StaleOwner }));
        let chosen = chosen_by(query, &tasks, &around);
        let Selection { tasks, blockers, progress, times, .. } = select(tasks, &filter, &around, self.rules());
        Ok(Survey { tasks, chosen, glance, blockers, progress, times, leases, revision, exists, now, gone, problems })
    }
}

/// A list, and what it has lost.
#[derive(Clone, Debug)]
pub struct KnownList {
    /// The list; it has no tasks if only our records of it are left.
    pub info: ListInfo,
    /// What it has lost; `None` if no open task is gone.
    pub gone: Option<Gone>,
}

impl Yard {
    /// Returns every list of the store, by name.
    pub fn lists(&self) -> Result<Vec<ListInfo>, Error> {
        Ok(self.store().lists()?)
    }

    /// Returns at most `limit` lists, sorted by name, starting after `after`, and whether more follow. Lists of which
    /// only our records are left are included.
    pub fn some_lists(&self, after: Option<&ListId>, limit: usize) -> Result<(Vec<KnownList>, bool), Error> {
        let lists = self.store().some_lists(after, limit.saturating_add(1))?;
        let gone = self.gone_among(&lists)?;
        let mut lists: Vec<KnownList> = lists.into_iter().map(|info| KnownList { info, gone: None }).collect();
        for GoneList { list, path, gone } in gone {
            match lists.iter_mut().find(|known| known.info.list == list) {
                Some(known) => known.gone = Some(gone),
                None => {
                    let info = ListInfo { list, path, counts: [0; 3], changed: None };
                    lists.push(KnownList { info, gone: Some(gone) });
                }
            }
        }
        lists.sort_by(|one, two| one.info.list.cmp(&two.info.list));
        lists.retain(|known| after.is_none_or(|after| known.info.list > *after));
        let has_more = lists.len() > limit;
        lists.truncate(limit);
        Ok((lists, has_more))
    }
}

impl Yard {
    /// Returns every list with what it has lost, sorted by name, including lists of which only our records are left.
    pub fn every_list(&self) -> Result<Vec<ListRow>, Error> {
        let lists = self.lists()?;
        let gone = self.gone_among(&lists)?;
        let mut members = living_members(self);
        let mut rows = Vec::with_capacity(lists.len());
        for info in lists {
            let mut alive = members.remove(&info.list).unwrap_or_default();
            if info.counts[Status::InProgress as usize] > 0 {
                // For an unreadable list we know of no agent.
                alive.extend(self.living_holders(&info.list).unwrap_or_default());
            }
            let alive = alive.into_iter().collect();
            rows.push(ListRow { list: info.list, counts: info.counts, changed: info.changed, gone: None, alive });
        }
        for GoneList { list, gone, .. } in gone {
            match rows.iter_mut().find(|row| row.list == list) {
                Some(row) => row.gone = Some(gone),
                None => rows.push(ListRow { list, counts: [0; 3], changed: None, gone: Some(gone), alive: Vec::new() }),
            }
        }
        rows.sort_by(|one, two| one.list.cmp(&two.list));
        Ok(rows)
    }

    /// Returns the agents on a list: the members of its team, then every other owner of an open task. At most `limit`
    /// held tasks are included.
    pub fn agents_on(&self, tasks: &[Task], leases: &[(Lease, LeaseState)], limit: usize) -> Vec<AgentRow> {
        let mut held = held_tasks(tasks.iter(), leases);
        held.truncate(limit);
        let members = team_members(self, tasks, &held).unwrap_or_else(|error| {
            tracing::debug!(%error, "a team cannot be shown");
            Vec::new()
        });
        agent_rows(members, held)
    }

    /// Returns the agents that hold a task of a list under a live lease, one entry per lease.
    pub fn living_holders(&self, list: &ListId) -> Result<Vec<String>, Error> {
        let leases = self.store().read(list)?.leases()?;
        let mut alive = Vec::new();
        for lease in leases {
            if self.judge(&lease)?.is_alive() {
                alive.push(lease.agent.to_string());
            }
        }
        Ok(alive)
    }
}

/// Returns the members of the list's team; empty if it has no team.
fn team_members(yard: &Yard, tasks: &[Task], held: &[HeldTask]) -> Result<Vec<AgentRow>, Error> {
    let Some(teams) = yard.teams() else { return Ok(Vec::new()) };
    let Some(team) = teams.team_of(yard.list_id())? else { return Ok(Vec::new()) };
    let at_work: Vec<Task> = tasks.iter().filter(|task| task.status == Status::InProgress).cloned().collect();
    let shown = teams.show(&team, &at_work)?;
    let found = |id: &TaskId| held.iter().find(|held| held.task == *id).cloned();
    Ok(shown.members.iter().map(|member| member.row(found)).collect())
}

/// Returns the team members whose process is known and has not ended, by the list of their team.
fn living_members(yard: &Yard) -> HashMap<ListId, BTreeSet<String>> {
    let Some(teams) = yard.teams() else { return HashMap::new() };
    let mut found: HashMap<ListId, BTreeSet<String>> = HashMap::new();
    for team in teams.list().unwrap_or_default() {
        let (Ok(list), Ok(shown)) = (teams.list_of(&team.name), teams.show(&team, &[])) else { continue };
        let lives =
            shown.members.into_iter().filter(|shown| shown.standing.is_some() && shown.state != MemberState::Ghost);
        found.entry(list).or_default().extend(lives.map(|shown| shown.member.name));
    }
    found
}
