//! Finding owners who have no lease on their tasks and show no life.

use std::collections::HashMap;
use std::time::Duration;

use taskyard_core::rules::agents::naming::is_same_agent;
use taskyard_core::rules::health::mending::Mend;
use taskyard_core::rules::health::{judge_owner, may_be_abandoned, may_be_of_ended_session, of_ended_session};
use taskyard_core::rules::leases::leasing::holds;
use taskyard_core::rules::leases::liveness::Standing;
use taskyard_core::{Lease, Task, TaskId, Timestamp};

use super::examining::LookedOver;
use super::finding::Finding;
use super::owner_signs::{OwnerSigns, SignsOfTask};
use crate::operations::leases::lease_on;
use crate::operations::sessions::AbandonedTask;
use crate::store::{StoreError, Txn};
use crate::teams::{MemberShown, Teams};
use crate::{Error, Yard};

impl Yard {
    /// Returns a finding for every open task whose owner has no lease on it and has shown no life for so long: neither in the journal of
    /// the list nor as a member of a team.
    pub(super) fn stale_owners(
        &self,
        list: &LookedOver,
        teams: Option<&Teams>,
        silence: Duration,
    ) -> Result<Vec<Finding>, Error> {
        let mut findings = Vec::new();
        // Only a journal that is whole tells which owners have been silent.
        if let Some(signs) = list.signs.as_ref().filter(|signs| !signs.of_tasks.is_empty()) {
            let members = teams.map_or(Ok(Vec::new()), members_of)?;
            let now = self.now()?.wall;
            for task in list.tasks.iter().filter(|task| signs.of_tasks.contains_key(&task.id)) {
                let Some(sign) = newest_sign(task, signs, &members, now) else { continue };
                let defect = judge_owner(task, sign, now, silence);
                findings.extend(defect.map(|defect| Finding::of_task(defect, self.file_name(&task.id))));
            }
        }
        // A list that cannot be read has no tasks here, and is reported elsewhere.
        if list.tasks.iter().any(may_be_of_ended_session) {
            let leases = self.store().read(self.list_id())?.leases()?;
            for AbandonedTask { task, written, is_free } in self.of_ended_sessions(&list.tasks, &leases)? {
                findings.push(Finding::of_task(of_ended_session(&task, written, is_free), self.file_name(&task.id)));
            }
        }
        Ok(findings)
    }

    /// Returns what to look for in the journal: signs of agents that own open tasks and have no lease on them.
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

/// Returns when the owner of a task last showed life; none where nothing is known of that.
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

/// Tells whether a task that was to be released is still its owner's, who has no lease on it.
pub(super) fn is_still_abandoned(txn: &dyn Txn, mend: &Mend) -> Result<bool, StoreError> {
    let Mend::Release { task, owner } = mend else { return Ok(false) };
    let Some(task) = txn.find(task)?.task() else { return Ok(false) };
    let may_be = may_be_abandoned(&task) || may_be_of_ended_session(&task);
    Ok(may_be && task.owner() == owner.as_deref() && lease_on(txn, &task)?.is_none())
}
