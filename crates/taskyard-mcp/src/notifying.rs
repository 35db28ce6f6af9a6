//! Telling an agent with the answer to a call which of its jobs have ended, and knowing when it has heard.

use std::sync::Arc;

use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use taskyard::core::tools::{Answer, Scope};
use taskyard::notices::NoticeError;

use super::announced_jobs::text;
use super::caller::Caller;
use super::calling::{Call, Made};
use super::hub::Hub;
use super::identity;
use super::served_list::ServedList;
use super::serving::Work;

/// The answer to a call, and what the agent is told before it.
#[derive(Debug)]
pub(crate) struct Answered {
    /// The notifications, in one text.
    pub(crate) notifications: Option<String>,
    /// The answer itself.
    pub(crate) answer: Answer,
}

impl Answered {
    /// Returns an answer before which there is nothing to tell.
    pub(crate) fn without(answer: Answer) -> Self {
        Self { notifications: None, answer }
    }
}

impl Hub {
    /// Makes a call for an agent, which hears what it was told before and is told what has happened since.
    pub(crate) async fn call_and_tell(
        &self,
        served: Arc<ServedList>,
        call: Call,
        context: &RequestContext<RoleServer>,
    ) -> Answered {
        let Caller { agent, call: call_id, rights, .. } = identity::caller(self, context);
        // The client's answers have no place for notifications, and a caller that may only look acknowledges none.
        if served.rules().is_client() || rights.scope < Scope::Work {
            return Answered::without(self.call(served, call, context).await.answer);
        }
        if self.announced_jobs.has_told(&agent) {
            let (announced_jobs, served) = (Arc::clone(&self.announced_jobs), Arc::clone(&served));
            let (agent, call_id) = (agent.clone(), call_id.clone());
            // A failure here is told in the log; the notification is told again later.
            let _ =
                self.workers.run(Work::Looks, move || announced_jobs.hear(&served, &agent, call_id.as_deref())).await;
        }
        let Made { answer, may_have_notices } = self.call(Arc::clone(&served), call, context).await;
        let is_wanted = !context.ct.is_cancelled();
        let looks_at_jobs = is_wanted && served.is_time_to_look_at_jobs();
        if !is_wanted || !looks_at_jobs && !may_have_notices {
            return Answered::without(answer);
        }
        let announced_jobs = Arc::clone(&self.announced_jobs);
        let told = self.workers.run(Work::Looks, move || {
            if looks_at_jobs {
                served.look_at_jobs();
            }
            announced_jobs.tell(&served, &agent, call_id.as_deref())
        });
        let told = told.await;
        Answered { notifications: told.ok().flatten(), answer }
    }

    /// Returns what waits for the caller, without acknowledging it.
    pub(crate) async fn notifications(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<String>, ErrorData> {
        let failed = |error: &dyn std::fmt::Display| ErrorData::internal_error(error.to_string(), None);
        // A place that cannot be opened has nothing for any agent.
        let Ok(served) = self.served().await else { return Ok(None) };
        let agent = identity::caller(self, context).agent;
        let waiting = self.workers.run(Work::Looks, move || {
            served.look_at_jobs();
            let waiting = served.notice_board().waiting(&agent)?;
            Ok::<_, NoticeError>((!waiting.is_empty()).then(|| text(&waiting, &served)))
        });
        waiting.await.map_err(|error| failed(&error))?.map_err(|error| failed(&error))
    }
}
