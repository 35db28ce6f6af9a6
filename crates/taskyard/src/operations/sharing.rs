//! Who else counts on a list, before its tasks are moved away.

use std::path::PathBuf;

use taskyard_core::rules::moving::merging::MergeWhich;
use taskyard_core::{AgentName, ListId, Task};

#[cfg(feature = "sqlite")]
use crate::machine::Binding;
use crate::{Error, Yard};

/// Who else counts on a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SharedBy {
    /// The agents that work in a directory that is bound to it.
    Binding {
        /// The directory.
        directory: PathBuf,
    },
    /// The members of a team.
    Team {
        /// The name of the team.
        name: String,
    },
}

impl Yard {
    /// Returns who counts on finding tasks in a list; none where no agent is known to. The bindings are those of this machine.
    #[cfg(feature = "sqlite")]
    pub fn shared_by(&self, list: &ListId, bindings: Vec<Binding>) -> Result<Option<SharedBy>, Error> {
        let is_bound = |binding: &Binding| ListId::new(binding.list.as_str()).is_ok_and(|bound| bound == *list);
        if let Some(binding) = bindings.into_iter().find(is_bound) {
            return Ok(Some(SharedBy::Binding { directory: binding.directory }));
        }
        let team = self.teams().map(|teams| teams.team_of(list)).transpose()?.flatten();
        Ok(team.map(|team| SharedBy::Team { name: team.name.to_string() }))
    }

    /// Returns another agent that works on a task of a list this moment.
    pub fn somebody_at_work_on(&self, list: &ListId) -> Result<Option<AgentName>, Error> {
        let leases = self.on(list.clone()).live_leases()?;
        Ok(leases.into_iter().map(|lease| lease.agent).find(|agent| agent != self.actor()))
    }

    /// Returns the open tasks of another list, without keeping anything of it.
    pub fn open_tasks_of(&self, list: &ListId) -> Result<Vec<Task>, Error> {
        let mut open = self.glance(list)?;
        open.retain(|task| MergeWhich::Open.moves(task));
        Ok(open)
    }
}
