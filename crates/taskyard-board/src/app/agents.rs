//! The agents that work on the list.

use taskyard::core::TaskId;
use taskyard::core::view::{HeldTask, LeaseShown, agent_rows};

use super::App;

/// So many tasks that have an owner and no lease are looked at.
const MOST: usize = 500;

impl App {
    /// Works out which agents work here: the members of the team, and every other owner of a task.
    pub(super) fn note_agents(&mut self) {
        let members =
            self.team.iter().flat_map(|team| &team.members).map(|shown| shown.row(|id| self.held(id))).collect();
        let Some(watched) = &self.watched else { return };
        // The holder of a lease has the task, and so has the agent whose name the client wrote on one in progress.
        let named = watched.live().held(|_| true).into_iter().take(MOST);
        let named = named.filter(|id| {
            let standing = watched.live().standing(id);
            standing.is_some_and(|(status, _)| status == taskyard::core::Status::InProgress)
        });
        let mut ids: Vec<TaskId> = self.leases.keys().cloned().chain(named).collect();
        ids.sort_by_cached_key(|id| (id.as_number(), id.as_str().to_owned()));
        ids.dedup();
        let held = ids.into_iter().filter_map(|id| self.held(&id)).collect();
        self.agents = agent_rows(members, held);
    }

    /// Returns a task that an agent has; none where it has no owner.
    fn held(&self, id: &TaskId) -> Option<HeldTask> {
        let task = self.watched.as_ref()?.live().task(id).filter(|task| task.status.is_open())?;
        let lease = self.leases.get(id);
        let owner = lease.map(|(lease, _)| lease.agent.to_string()).or_else(|| task.owner().map(str::to_owned))?;
        let shown = match lease {
            None => LeaseShown::None,
            Some((lease, state)) if state.is_alive() => LeaseShown::Lives(lease.ends.as_ref().map(|end| end.wall)),
            Some(_) => LeaseShown::Ended,
        };
        let since = lease.map(|(lease, _)| lease.taken);
        Some(HeldTask { task: id.clone(), subject: task.subject, owner, since, lease: shown })
    }
}
