//! Every list of a store, and the agents on each.

use std::collections::{BTreeSet, HashMap};

use taskyard::core::rules::leases::leasing::LeaseState;
use taskyard::core::view::{AgentRow, HeldTask, ListRow, agent_rows, held_tasks};
use taskyard::core::{Lease, ListId, Status, Task, TaskId};
use taskyard::operations::GoneList;
use taskyard::teams::MemberState;
use taskyard::{Error, Yard};

use crate::problem::Problem;

/// Returns every list, by name, those included of which nothing is left but our memory, and what each has lost.
pub(crate) fn every_list(yard: &Yard) -> Result<Vec<ListRow>, Problem> {
    let lists = yard.lists()?;
    let gone = yard.gone_among(&lists)?;
    let mut members = living_members(yard);
    let mut rows = Vec::with_capacity(lists.len());
    for info in lists {
        let mut alive = members.remove(&info.list).unwrap_or_default();
        if info.counts[Status::InProgress as usize] > 0 {
            // A list that cannot be read has no agent on it, as far as we can tell.
            alive.extend(living_holders(yard, &info.list).unwrap_or_default());
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
pub(crate) fn agents_on(yard: &Yard, tasks: &[Task], leases: &[(Lease, LeaseState)], limit: usize) -> Vec<AgentRow> {
    let mut held = held_tasks(tasks.iter(), leases);
    held.truncate(limit);
    let members = team_members(yard, tasks, &held).unwrap_or_else(|problem| {
        tracing::debug!(problem = problem.report().message, "a team cannot be shown");
        Vec::new()
    });
    agent_rows(members, held)
}

/// Returns the members of the team of a list; none if it has no team.
fn team_members(yard: &Yard, tasks: &[Task], held: &[HeldTask]) -> Result<Vec<AgentRow>, Problem> {
    let Some(teams) = yard.teams() else { return Ok(Vec::new()) };
    let Some(team) = teams.team_of(yard.list_id())? else { return Ok(Vec::new()) };
    let at_work: Vec<Task> = tasks.iter().filter(|task| task.status == Status::InProgress).cloned().collect();
    let shown = teams.show(&team, &at_work)?;
    let found = |id: &TaskId| held.iter().find(|held| held.task == *id).cloned();
    Ok(shown.members.iter().map(|member| member.row(found)).collect())
}

/// Returns the agents that have a task of a list with a live lease, once for each.
pub(crate) fn living_holders(yard: &Yard, list: &ListId) -> Result<Vec<String>, Error> {
    let leases = yard.store().read(list)?.leases()?;
    let mut alive = Vec::new();
    for lease in leases {
        if yard.judge(&lease)?.is_alive() {
            alive.push(lease.agent.to_string());
        }
    }
    Ok(alive)
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
