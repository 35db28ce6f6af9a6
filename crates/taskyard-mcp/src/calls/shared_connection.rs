//! Several agents on one connection, under a name that the user did not give: the client's agent and its subagents. Which of them calls is
//! told by the client's transcripts, so that what a subagent claims is its own.

use std::sync::{Arc, PoisonError};

use taskyard::core::AgentName;
use taskyard::core::rules::agents::naming::subagent_name;
use taskyard::core::rules::refusal::Refusal;

use super::Toolbox;
use super::shared_call::{SharedCall, SharedConnection};
use super::toolbox::NoAnswer;
use super::transcripts::CalledBy;
use taskyard::liveness::own_mark;
use taskyard::operations::{Claim, Resuming};
use taskyard::process::wait_aside;

impl Toolbox {
    /// Has calls made by whichever of the agents on a connection has made the call with this id.
    #[must_use]
    pub fn on_shared_connection(self, connection: Arc<SharedConnection>, id: String) -> Self {
        Self { shared: Some(SharedCall { connection, id }), ..self }
    }

    /// Returns the tools of the claiming agent: of the name it gives, of the subagent that calls, or the same.
    pub(super) fn of_claimant(&self, given: Option<AgentName>) -> Self {
        let subagent = self.calling_subagent();
        if let (Some(name), Some(subagent), Some(shared)) = (&given, &subagent, &self.shared) {
            let mut names = shared.connection.names.lock().unwrap_or_else(PoisonError::into_inner);
            names.insert(subagent.clone(), name.clone());
        }
        let known = || Some(self.shared.as_ref()?.connection.name_of(subagent.as_ref()?));
        let Some(agent) = given.or_else(known) else { return self.clone() };
        let claim = Claim { resuming: Resuming::All, ..self.claim.clone() };
        Self { yard: self.yard.acting_as(agent), claim, ..self.clone() }
    }

    /// Returns the tools with which a change may be made that was refused: the task was claimed over this connection, by the caller or by
    /// one of its subagents. What another subagent has claimed is that one's.
    pub(super) fn entitled_after(&self, refusal: &Refusal) -> Result<Option<Self>, NoAnswer> {
        let Refusal::Leased { task, .. } = refusal else { return Ok(None) };
        let Some(lease) = self.yard.lease(task)? else { return Ok(None) };
        let is_of_this_server = lease.holder.as_ref().is_some_and(|holder| *holder.process() == own_mark());
        let agent = match &self.shared {
            Some(shared) if is_of_this_server => match self.calling_subagent() {
                None => self.yard.actor().clone(),
                Some(subagent) => {
                    let name = shared.connection.name_of(&subagent);
                    if lease.agent != subagent && lease.agent != name {
                        return Ok(None);
                    }
                    name
                }
            },
            // The agent that claimed it under a name that it gave with the claim.
            _ if self.claimed_for.owner(self.yard.actor(), task).as_ref() == Some(&lease.agent) => lease.agent.clone(),
            _ => return Ok(None),
        };
        Ok(Some(Self { yard: self.yard.acting_as(agent).proving(lease.token), shared: None, ..self.clone() }))
    }

    /// Returns the subagent that calls; none where the session's own agent does, or it cannot be told.
    fn calling_subagent(&self) -> Option<AgentName> {
        let shared = self.shared.as_ref()?;
        let workplace = self.desk.as_ref().and_then(|desk| desk.workplace.as_ref());
        match wait_aside(workplace, || shared.connection.transcripts.who_called(&shared.id)) {
            CalledBy::Subagent(id) => subagent_name(&id, self.yard.actor()),
            CalledBy::Session | CalledBy::Unknown => None,
        }
    }
}
