//! Finding owners who have no lease on their tasks and show no life.

use std::collections::HashMap;
use std::time::Duration;

use taskyard_core::rules::agents::is_same_agent;
use taskyard_core::rules::health::{is_of_another_program, is_sign_of_owner, judge_owner, may_be_abandoned};
use taskyard_core::rules::leasing::holds;
use taskyard_core::rules::liveness::Standing;
use taskyard_core::rules::mending::Mend;
use taskyard_core::{Entry, Lease, Op, Task, TaskId, Timestamp};

use super::examining::LookedOver;
use super::finding::Finding;
use crate::operations::leases::lease_on;
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
        // Who has been silent is told by a journal that is whole.
        let Some(signs) = list.signs.as_ref().filter(|signs| !signs.of_tasks.is_empty()) else { return Ok(Vec::new()) };
        let members = teams.map_or(Ok(Vec::new()), members_of)?;
        let now = self.now()?.wall;
        let mut findings = Vec::new();
        for task in list.tasks.iter().filter(|task| signs.of_tasks.contains_key(&task.id)) {
            let Some(sign) = newest_sign(task, signs, &members, now) else { continue };
            let defect = judge_owner(task, sign, now, silence);
            findings.extend(defect.map(|defect| Finding::of_task(defect, self.file_name(&task.id))));
        }
        Ok(findings)
    }

    /// Returns what to look for in the journal: signs of those who own open tasks and have no lease on them.
    pub(super) fn signs_wanted(&self, tasks: &[Task], leases: &[Lease]) -> Signs {
        let leases: HashMap<&TaskId, &Lease> = leases.iter().map(|lease| (&lease.task, lease)).collect();
        let is_leased = |task: &Task| leases.get(&task.id).is_some_and(|lease| holds(lease, task));
        let of_task = |task: &Task| SignsOfTask {
            written: self.store().care().and_then(|care| care.written_at(self.list_id(), &task.id)),
            task: task.clone(),
            last: None,
        };
        let abandoned = tasks.iter().filter(|task| may_be_abandoned(task) && !is_leased(task));
        let of_tasks = abandoned.map(|task| (task.id.clone(), of_task(task))).collect();
        Signs { of_agents: HashMap::new(), of_tasks }
    }
}

/// Returns when the owner of a task last showed life; none where nothing is known of that.
fn newest_sign(task: &Task, signs: &Signs, members: &[MemberShown], now: Timestamp) -> Option<Timestamp> {
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

/// What a journal has of those who own tasks, gathered in one pass: a list may be long, and so may its journal.
#[derive(Debug)]
pub(super) struct Signs {
    /// When each agent last did something.
    of_agents: HashMap<String, Timestamp>,
    /// The tasks in question.
    of_tasks: HashMap<TaskId, SignsOfTask>,
}

/// What the entries of one task say of its owner.
#[derive(Debug)]
struct SignsOfTask {
    task: Task,
    /// When its file was written, where that is known.
    written: Option<Timestamp>,
    /// When its owner last showed life in it.
    last: Option<Timestamp>,
}

impl Signs {
    /// Takes the next entry of the journal.
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
            // What another program wrote happened when it wrote it, and not when we saw it.
            let happened = match of_task.written.filter(|_| is_of_another_program(entry)) {
                Some(written) => written.min(entry.at),
                None => entry.at,
            };
            of_task.last = of_task.last.max(Some(happened));
        }
    }

    fn of_agent(&self, owner: &str) -> Option<Timestamp> {
        let own = self.of_agents.iter().filter(|(agent, _)| is_same_agent(agent, owner));
        own.map(|(_, last)| *last).max()
    }
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
    Ok(may_be_abandoned(&task) && task.owner() == Some(owner.as_str()) && lease_on(txn, &task)?.is_none())
}
