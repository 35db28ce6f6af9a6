//! What a claimant could take next, asked of a list in memory.

use super::list::LiveList;
use crate::rules::claims::assignment::may_take;
use crate::rules::claims::claiming::{Candidate, ClaimRefusal, Claimant, is_own_name, resumed_first};
use crate::rules::claims::readiness::why;
use crate::{AgentName, Rules, Status, Task};

impl LiveList {
    /// Returns the tasks in progress that name no owner.
    pub fn unowned_in_progress(&self) -> Vec<Task> {
        let begun = self.outlines().filter(|(_, outline)| outline.status == Status::InProgress && !outline.is_internal);
        begun.filter_map(|(slot, _)| self.task_at(slot)).filter(|task| task.owner().is_none()).collect()
    }

    /// Returns the open tasks that are an agent's, internal ones left out, by rising number.
    pub fn tasks_of(&self, agent: &AgentName, rules: Rules) -> Vec<Task> {
        let held = self.held(|owner| is_own_name(owner, agent, rules));
        held.iter().filter_map(|id| self.task(id)).collect()
    }

    /// Returns what a claimant could take next, best first and no more than so many: what it has begun, what it has reserved, then what is
    /// ready. It is as [`crate::rules::claims::claiming::candidates`] has it, without a look at the rest of the list.
    pub fn candidates(
        &self,
        claimant: &Claimant,
        is_passed_over: impl Fn(&Task) -> bool,
        most: usize,
        rules: Rules,
    ) -> Result<Vec<Candidate>, ClaimRefusal> {
        let is_resumed = |task: &Task| {
            claimant.resumes.covers(&task.id)
                && !is_passed_over(task)
                && self.open_blockers(&task.id).is_empty()
                // An agent that has a task with open parts goes on with those parts.
                && self.open_parts(&task.id).is_empty()
        };
        let own: Vec<Task> = self.tasks_of(&claimant.agent, rules).into_iter().filter(is_resumed).collect();
        let mut candidates = resumed_first(own.iter().collect());
        let mut for_others = 0;
        for ready in self.ready() {
            if candidates.len() >= most {
                break;
            }
            let Some(task) = self.task(&ready.id) else { continue };
            if ready.is_for_some && !may_take(&task, &claimant.agent, &claimant.roles) {
                for_others += 1;
            } else if !is_passed_over(&task) {
                let why = why(&task, ready.chain, ready.unblocks, self.now);
                candidates.push(Candidate { task: ready.id, why, is_resumed: false });
            }
        }
        if candidates.is_empty() {
            let may_take = |task: &Task| may_take(task, &claimant.agent, &claimant.roles);
            let next_at = self.next_start(|task| may_take(task) && !is_passed_over(task));
            return Err(ClaimRefusal::NothingReady { for_others, next_at });
        }
        Ok(candidates)
    }
}
