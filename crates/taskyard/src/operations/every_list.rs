//! Every list of a store, and the agents on each.

use std::collections::{BTreeSet, HashMap};

use taskyard_core::rules::leases::leasing::LeaseState;
use taskyard_core::view::{AgentRow, HeldTask, ListRow, agent_rows, held_tasks};
use taskyard_core::{Lease, ListId, Status, Task, TaskId};

use super::gone::GoneList;
use crate::teams::MemberState;
use crate::{Error, Yard};

impl Yard {
    /// Returns every list, by name, those included of which nothing is left but our memory, and what each has lost.
    pub fn every_list(&self) -> Result<Vec<ListRow>, Error> {
        let lists = self.lists()?;
        let gone = self.gone_among(&lists)?;
        let mut members = living_members(self);
        let mut rows = Vec::with_capacity(lists.len());
        for info in lists {
            let mut alive = members.remove(&info.list).unwrap_or_default();
            if info.counts[Status::InProgress as usize] > 0 {
                // A list that cannot be read has no agent on it, as far as we can tell.
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

    /// Returns the agents on a list: the members of its team, then every other owner of an open task. At most `limit` held tasks are told of.
    pub fn agents_on(&self, tasks: &[Task], leases: &[(Lease, LeaseState)], limit: usize) -> Vec<AgentRow> {
        let mut held = held_tasks(tasks.iter(), leases);
        held.truncate(limit);
        let members = team_members(self, tasks, &held).unwrap_or_else(|error| {
            tracing::debug!(%error, "a team cannot be shown");
            Vec::new()
        });
        agent_rows(members, held)
    }

    /// Returns the agents that have a task of a list with a live lease, once for each.
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

/// Returns the members of the team of a list; none if it has no team.
fn team_members(yard: &Yard, tasks: &[Task], held: &[HeldTask]) -> Result<Vec<AgentRow>, Error> {
    let Some(teams) = yard.teams() else { return Ok(Vec::new()) };
    let Some(team) = teams.team_of(yard.list_id())? else { return Ok(Vec::new()) };
    let at_work: Vec<Task> = tasks.iter().filter(|task| task.status == Status::InProgress).cloned().collect();
    let shown = teams.show(&team, &at_work)?;
    let found = |id: &TaskId| held.iter().find(|held| held.task == *id).cloned();
    Ok(shown.members.iter().map(|member| member.row(found)).collect())
}

/// Returns the members of teams whose process is known and has not ended, by the list of their team.
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
