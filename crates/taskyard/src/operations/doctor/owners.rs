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
        let leases: HashMap<&TaskId, &Lease> = list.leases.iter().map(|lease| (&lease.task, lease)).collect();
        let is_leased = |task: &Task| leases.get(&task.id).is_some_and(|lease| holds(lease, task));
        let tasks: Vec<&Task> = list.tasks.iter().filter(|task| may_be_abandoned(task) && !is_leased(task)).collect();
        // Who has been silent is told by a journal that is whole.
        let Some(entries) = list.entries.as_ref().filter(|_| !tasks.is_empty()) else { return Ok(Vec::new()) };
        let signs = Signs::in_journal(&tasks, entries);
        let members = teams.map_or(Ok(Vec::new()), members_of)?;
        let now = self.now()?.wall;
        let mut findings = Vec::new();
        for task in tasks {
            let Some(sign) = self.newest_sign(task, &signs, &members, now) else { continue };
            let defect = judge_owner(task, sign, now, silence);
            findings.extend(defect.map(|defect| Finding::of_task(defect, self.file_name(&task.id))));
        }
        Ok(findings)
    }

    /// Returns when the owner of a task last showed life; none where nothing is known of that.
    fn newest_sign(
        &self,
        task: &Task,
        signs: &Signs<'_>,
        members: &[MemberShown],
        now: Timestamp,
    ) -> Option<Timestamp> {
        // What another program wrote happened when it wrote it, and not when we saw it.
        let written = self.store().care().and_then(|care| care.written_at(self.list_id(), &task.id));
        let happened = |entry: &Entry| match written.filter(|_| is_of_another_program(entry)) {
            Some(written) => written.min(entry.at),
            None => entry.at,
        };
        let owner = task.owner()?;
        let of_task = signs.of_tasks.get(&task.id).into_iter().flatten();
        let of_task = of_task.filter(|entry| is_sign_of_owner(entry, task)).map(|entry| happened(entry)).max();
        let in_list = of_task.max(signs.of_agent(owner)).or(written);
        let own = members.iter().filter(|shown| is_same_agent(&shown.member.name, owner));
        let in_teams = own.filter_map(|shown| match shown.standing {
            Some(Standing::Lives | Standing::LivesUnseen(_)) => Some(now),
            Some(Standing::Lapses(_) | Standing::Ended | Standing::Silent) | None => shown.seen,
        });
        in_teams.chain(in_list).max()
    }
}

/// What a journal has of those who own tasks, gathered in one pass: a list may be long, and so may its journal.
struct Signs<'a> {
    /// When each agent last did something.
    of_agents: HashMap<&'a str, Timestamp>,
    /// The entries of the tasks in question.
    of_tasks: HashMap<&'a TaskId, Vec<&'a Entry>>,
}

impl<'a> Signs<'a> {
    fn in_journal(tasks: &[&'a Task], entries: &'a [Entry]) -> Self {
        let mut of_agents: HashMap<&str, Timestamp> = HashMap::new();
        let mut of_tasks: HashMap<&TaskId, Vec<&Entry>> = tasks.iter().map(|task| (&task.id, Vec::new())).collect();
        for entry in entries {
            if entry.op != Op::Expire {
                let last = of_agents.entry(entry.actor.as_str()).or_insert(entry.at);
                *last = entry.at.max(*last);
            }
            if let Some(of_task) = of_tasks.get_mut(&entry.task) {
                of_task.push(entry);
            }
        }
        Self { of_agents, of_tasks }
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
