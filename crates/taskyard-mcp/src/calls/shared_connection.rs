//! Several agents on one connection under a derived name: the client's agent and its subagents. The client's
//! transcripts tell which of them makes a call, so that a subagent's claims are its own.

use std::sync::{Arc, PoisonError};

use taskyard::core::AgentName;
use taskyard::core::rules::agents::subagent_name;
use taskyard::core::rules::refusal::Refusal;
use taskyard::liveness::own_mark;
use taskyard::operations::{Claim, Resuming};
use taskyard::process::wait_aside;

use super::Toolbox;
use super::toolbox::NoAnswer;
use super::transcripts::CalledBy;
use crate::calls::transcripts::{SharedCall, SharedConnection};

impl Toolbox {
    /// Attributes calls to the agent on the connection that made the call with this id.
    #[must_use]
    pub(crate) fn on_shared_connection(self, connection: Arc<SharedConnection>, id: String) -> Self {
        Self { shared: Some(SharedCall { connection, id }), ..self }
    }

    /// Returns the tools of the claiming agent: the one with the given name, or else the calling subagent, or else the
    /// same.
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

    /// Returns the tools that are entitled to a change that was refused, because the task was claimed over this
    /// connection by the caller or one of its subagents; `None` if it was not. The claim of another subagent does not
    /// count.
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
            // The agent that claimed it under a name given with the claim.
            _ if self.claimed_for.owner(self.yard.actor(), task).as_ref() == Some(&lease.agent) => lease.agent.clone(),
            _ => return Ok(None),
        };
        Ok(Some(Self { yard: self.yard.acting_as(agent).proving(lease.token), shared: None, ..self.clone() }))
    }

    /// Returns the calling subagent; `None` if the session's main agent calls, or that is not known.
    fn calling_subagent(&self) -> Option<AgentName> {
        let shared = self.shared.as_ref()?;
        let workplace = self.desk.as_ref().and_then(|desk| desk.workplace.as_ref());
        match wait_aside(workplace, || shared.connection.transcripts.who_called(&shared.id)) {
            CalledBy::Subagent(id) => subagent_name(&id, self.yard.actor()),
            CalledBy::Session | CalledBy::Unknown => None,
        }
    }
}
