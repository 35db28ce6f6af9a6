//! Telling an agent with the answer to a call which of its jobs have ended, and knowing when it has heard.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use taskyard::core::AgentName;
use taskyard::core::dialect::task_notification::{HEADING, block};
use taskyard::core::rules::notifying::Told;
use taskyard::core::tools::Answer;
use taskyard::notices::{Notice, NoticeError};

use super::calling::{Call, Made};
use super::hub::Hub;
use super::identity::{self, Caller};
use super::place::Place;

/// What this server has told each agent.
#[derive(Debug, Default)]
pub(super) struct Notifying(Mutex<HashMap<AgentName, Told>>);

/// The answer to a call, and what the agent is told before it.
#[derive(Debug)]
pub(super) struct Answered {
    /// The notifications, in one text.
    pub(super) notifications: Option<String>,
    /// The answer itself.
    pub(super) answer: Answer,
}

impl Answered {
    /// Returns an answer before which there is nothing to tell.
    pub(super) fn without(answer: Answer) -> Self {
        Self { notifications: None, answer }
    }
}

impl Hub {
    /// Makes a call for an agent, which hears what it was told before and is told what has happened since.
    pub(super) async fn call_and_tell(
        &self,
        place: Arc<Place>,
        call: Call,
        context: &RequestContext<RoleServer>,
    ) -> Answered {
        // The client's answers have no place for notifications.
        if place.rules().is_client() {
            return Answered::without(self.call(place, call, context).await.answer);
        }
        let Caller { agent, call: call_id, .. } = identity::caller(self, context);
        if self.notifying.has_told(&agent) {
            let (notifying, place) = (Arc::clone(&self.notifying), Arc::clone(&place));
            let (agent, call_id) = (agent.clone(), call_id.clone());
            // A failure here is told in the log; the notification is told again later.
            let _ = self.workers.look(move || notifying.hear(&place, &agent, call_id.as_deref())).await;
        }
        let Made { answer, may_have_notices } = self.call(Arc::clone(&place), call, context).await;
        let is_wanted = !context.ct.is_cancelled();
        let looks_at_jobs = is_wanted && place.is_time_to_look_at_jobs();
        if !is_wanted || !looks_at_jobs && !may_have_notices {
            return Answered::without(answer);
        }
        let notifying = Arc::clone(&self.notifying);
        let told = self.workers.look(move || {
            if looks_at_jobs {
                place.look_at_jobs();
            }
            notifying.tell(&place, &agent, call_id.as_deref())
        });
        let told = told.await;
        Answered { notifications: told.ok().flatten(), answer }
    }

    /// Returns what waits for whoever asks, without taking that for heard.
    pub(super) async fn notifications(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<String>, ErrorData> {
        let failed = |error: &dyn std::fmt::Display| ErrorData::internal_error(error.to_string(), None);
        // A place that cannot be opened has nothing for anybody.
        let Ok(place) = self.place().await else { return Ok(None) };
        let agent = identity::caller(self, context).agent;
        let waiting = self.workers.look(move || {
            place.look_at_jobs();
            let waiting = place.notice_board().waiting(&agent)?;
            Ok::<_, NoticeError>((!waiting.is_empty()).then(|| text(&waiting, &place)))
        });
        waiting.await.map_err(|error| failed(&error))?.map_err(|error| failed(&error))
    }
}

impl Notifying {
    fn has_told(&self, agent: &AgentName) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains_key(agent)
    }

    /// Takes note that a call of an agent begins: what it was told before counts as acknowledged.
    fn hear(&self, place: &Place, agent: &AgentName, call: Option<&str>) {
        let heard = self.change(agent, |told| told.call_begins(call).to_vec());
        // Not while the agents are held: others ask for theirs on the thread that all messages go through.
        match place.notices().acknowledge(&heard) {
            Ok(_) => self.change(agent, |told| told.acknowledged(&heard)),
            Err(error) => tracing::warn!(%error, "what was heard is not recorded, and tried again"),
        }
    }

    /// Returns what an agent is to be told with the answer to a call.
    fn tell(&self, place: &Place, agent: &AgentName, call: Option<&str>) -> Option<String> {
        let waiting = match place.notice_board().waiting(agent) {
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
        if let Err(error) = place.notices().deliver(&mut new) {
            tracing::warn!(%error, "that notifications were told is not recorded");
        }
        (!new.is_empty()).then(|| text(&new, place))
    }

    /// Changes what is remembered of an agent, and forgets it where nothing is left to remember.
    fn change<T>(&self, agent: &AgentName, change: impl FnOnce(&mut Told) -> T) -> T {
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
fn text(notices: &[Notice], place: &Place) -> String {
    let version = place.rules().client_version();
    let blocks: Vec<String> = notices.iter().map(|notice| block(&notice.job, version)).collect();
    format!("{HEADING}\n\n{}", blocks.join("\n\n"))
}
