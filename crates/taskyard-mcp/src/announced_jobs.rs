//! Which ends of its jobs each agent was told of.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use taskyard::core::AgentName;
use taskyard::core::dialect::task_notification::{HEADING, block};
use taskyard::core::rules::teams::notifying::UnheardJobs;
use taskyard::notices::Notice;

use super::served_list::ServedList;

/// What this server has told each agent.
#[derive(Debug, Default)]
pub(crate) struct AnnouncedJobs(Mutex<HashMap<AgentName, UnheardJobs>>);

impl AnnouncedJobs {
    /// Tells whether something was told that is not acknowledged.
    pub(crate) fn has_told(&self, agent: &AgentName) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains_key(agent)
    }

    /// Takes note that a call of an agent begins: what it was told before counts as acknowledged.
    pub(crate) fn hear(&self, served: &ServedList, agent: &AgentName, call: Option<&str>) {
        let heard = self.change(agent, |told| told.call_begins(call).to_vec());
        // Not while the agents are held: other connections ask for theirs on the thread that all messages go through.
        match served.notices().acknowledge(&heard) {
            Ok(_) => self.change(agent, |told| told.acknowledged(&heard)),
            Err(error) => tracing::warn!(%error, "what was heard is not recorded, and tried again"),
        }
    }

    /// Returns what an agent is to be told with the answer to a call.
    pub(crate) fn tell(&self, served: &ServedList, agent: &AgentName, call: Option<&str>) -> Option<String> {
        let waiting = match served.notice_board().waiting(agent) {
            Ok(waiting) => waiting,
            Err(error) => {
                tracing::warn!(%error, "cannot look for notifications");
                return None;
            }
        };
        let mut new: Vec<Notice> = self.change(agent, |told| {
            let new: Vec<Notice> = waiting.into_iter().filter(|notice| told.is_new(&notice.job.id)).collect();
            for notice in &new {
                told.goes_out(notice.job.id.clone(), call);
            }
            new
        });
        // What another server of this agent has heard of meanwhile stays here until the next call, and is acknowledged again.
        if let Err(error) = served.notices().deliver(&mut new) {
            tracing::warn!(%error, "that notifications were told is not recorded");
        }
        (!new.is_empty()).then(|| text(&new, served))
    }

    /// Changes what is remembered of an agent, and forgets it where nothing is left to remember.
    fn change<T>(&self, agent: &AgentName, change: impl FnOnce(&mut UnheardJobs) -> T) -> T {
        let mut agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut told = agents.remove(agent).unwrap_or_default();
        let answer = change(&mut told);
        if !told.is_empty() {
            agents.insert(agent.clone(), told);
        }
        answer
    }
}

/// Returns notifications as a model reads them.
pub(crate) fn text(notices: &[Notice], served: &ServedList) -> String {
    let version = served.rules().client_version();
    let blocks: Vec<String> = notices.iter().map(|notice| block(&notice.job, version)).collect();
    format!("{HEADING}\n\n{}", blocks.join("\n\n"))
}
