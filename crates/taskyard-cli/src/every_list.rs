//! Every list of a store, with who is alive on each.

use std::collections::{BTreeSet, HashMap};

use taskyard::core::view::ListRow;
use taskyard::core::{ListId, Status};
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
            alive.extend(holders(yard, &info.list).unwrap_or_default());
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

/// Returns the agents that have a task of a list with a live lease.
fn holders(yard: &Yard, list: &ListId) -> Result<Vec<String>, Error> {
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
