//! Makes one call: its agent, its turn and its progress.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{Extensions, ProgressNotificationParam};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::transport::common::http_header::HEADER_SESSION_ID;
use serde_json::Value;
use taskyard::Error;
use taskyard::config::ConfigWarning;
use taskyard::core::tools::{
    Answer, Tool, catalogue, task_claim, task_create, task_get, task_list, task_release, task_update, todo_write,
};
use taskyard::core::{AgentName, ListId};
use taskyard::hooks::{HookWarning, Hooks};
use taskyard::operations::{Pruned, Resuming};
use taskyard::process::Cancel;
use taskyard::store::{ExpectedReads, JournalCare};
use tokio::task::JoinError;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::hub::Hub;
use super::served_list::{Bench, ServedList};
use super::serving;
use super::serving::{Begun, Recorder, Seat, Work};
use crate::calls::{Rights, failed};
use crate::host::Leases;
use crate::http_admission::{Admission, admission_of};
use crate::resources_and_prompts;
use crate::served_list::{Access, CallKey, Caller};

/// How often a client is notified that a call is still in progress.
const PROGRESS: Duration = Duration::from_secs(1);

type CallRecorder = Recorder<AgentName, CallKey, Answer>;

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) input: Value,
}

/// The result of a call.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) answer: Answer,
    /// Whether its agent may have pending notices.
    pub(crate) may_have_notices: bool,
}

impl Made {
    fn failed(why: &str) -> Self {
        Self { answer: Answer::error(format!("Error: {why}")), may_have_notices: false }
    }
}

impl Hub {
    /// Makes a call and returns its answer. A repeated call returns the remembered answer.
    pub(crate) async fn call(&self, served: Arc<ServedList>, call: Call, context: &RequestContext<RoleServer>) -> Made {
        let caller = caller(self, context);
        // Repeating a read is harmless, and its result may have changed.
        let tool = self.tool(&call).filter(|tool| !tool.annotations.read_only);
        let id = caller.call.clone().zip(tool);
        let Some(key) = id.and_then(|(id, tool)| CallKey::new(id, tool.name, &call.input, caller.rights.scope)) else {
            return self.make(served, call, caller, None, context).await;
        };
        loop {
            match self.repeats.begin(&caller.agent, &key, 0) {
                Begun::First(recorder) => return self.make(served, call, caller, Some(recorder), context).await,
                Begun::Again(repetition) => tokio::select! {
                    answer = repetition.answer() => if let Some(answer) = answer {
                        return Made { answer, may_have_notices: true };
                    },
                    () = context.ct.cancelled() => return no_longer_wanted(),
                },
                // The key covers the input, so this does not occur: an id with another input has another key.
                Begun::Reused => return self.make(served, call, caller, None, context).await,
            }
        }
    }

    /// Returns whether a call may change something.
    fn changes_something(&self, call: &Call) -> bool {
        self.tool(call).is_some_and(|tool| !tool.annotations.read_only)
    }

    fn tool(&self, call: &Call) -> Option<&'static Tool> {
        catalogue::find_in(resources_and_prompts::surface(self.options, self.rules), &call.tool)
    }

    async fn make(
        &self,
        served: Arc<ServedList>,
        call: Call,
        caller: Caller,
        recorder: Option<CallRecorder>,
        context: &RequestContext<RoleServer>,
    ) -> Made {
        let todo_turn = match call.tool == todo_write::TOOL.name {
            true => Some(served.todo_turn(&caller.todos_of).lock_owned().await),
            false => None,
        };
        let cancel = Cancel::new();
        // When the process is asked to stop, it waits for the call to clean up.
        let attendance = self.cancel.attend();
        let _stopped = self.cancel.on_cancel({
            let cancel = cancel.clone();
            move || cancel.cancel()
        });
        let _left = cancel.on_drop();
        let changes_something = self.changes_something(&call);
        let admission = admission_of(&context.extensions);
        // The protocol lets a client fetch its answer later. However, a wait ends with its request, and a claim does as
        // well, so that no agent gets a task without learning of it.
        let ends_with_request = !changes_something || call.tool == task_claim::TOOL.name;
        let unanswerable = admission.as_ref().filter(|_| ends_with_request).map(Admission::unanswerable).cloned();
        let unanswerable = unanswerable.unwrap_or_default();
        let work = {
            let (cancel, workers, unwanted) = (cancel.clone(), &self.workers, context.ct.clone());
            async move {
                let seat = tokio::select! {
                    seat = workers.seat(if changes_something { Work::Changes } else { Work::Looks }) => seat,
                    () = unwanted.cancelled() => return Ok(no_longer_wanted()),
                };
                let seat = match (seat, admission) {
                    (Ok(seat), Some(admission)) => Arc::new(seat.making_room(move || admission.make_room())),
                    (Ok(seat), None) => Arc::new(seat),
                    (Err(error), _) => return Ok(Made::failed(&format!("{error}; try again later"))),
                };
                // The call continues even if no client waits for it any longer, and its answer is remembered.
                let made = serving::spawn(move || {
                    // The client may have cancelled before the call's turn; nothing has happened yet.
                    if cancel.is_cancelled() {
                        return no_longer_wanted();
                    }
                    let at_once = served.answer_at_once(&call.tool, &call.input);
                    let answer = at_once.unwrap_or_else(|| make_now(&served, &call, &caller, &cancel, &seat, recorder));
                    if changes_something {
                        served.look_after_leases();
                    }
                    let may_have_notices = served.may_have_notices_for(&caller.agent);
                    drop((todo_turn, attendance, seat));
                    Made { answer, may_have_notices }
                });
                made.await
            }
        };
        wait_for(work, &cancel, &unanswerable, context).await
    }
}

/// Advice for something that is not trusted.
const ALLOW: &str = "; a person can allow it with `taskyard trust` there";

/// Makes a call on this thread.
fn make_now(
    served: &ServedList,
    call: &Call,
    caller: &Caller,
    cancel: &Cancel,
    seat: &Arc<Seat>,
    recorder: Option<CallRecorder>,
) -> Answer {
    let Outcome { called, hooks, gone, other_list } = outcome(served, call, caller, cancel, seat);
    match called {
        Ok(mut answer) => {
            if let Some((list, own)) = other_list.filter(|_| !answer.is_error && writes_tasks(&call.tool)) {
                name_list(&list, &own, &mut answer);
            }
            for gone in &gone {
                // The acting agent is told here, the other members by a message.
                answer.text.push_str(&format!("\n\n{}", gone.departed.notice));
            }
            for warning in served.take_config_warnings() {
                let advice = if matches!(warning, ConfigWarning::Untrusted { .. }) { ALLOW } else { "" };
                tell(&format!("{warning}{advice}"), &mut answer, served);
            }
            for warning in hooks.iter().flat_map(|hooks| hooks.take_warnings()) {
                tracing::warn!("{warning}");
                let advice = if matches!(warning, HookWarning::Untrusted { .. }) { ALLOW } else { "" };
                tell(&format!("{warning}{advice}"), &mut answer, served);
            }
            tell_of_journals(&mut answer, served);
            if let Some(recorder) = recorder {
                recorder.record(answer.clone(), size(&answer));
            }
            answer
        }
        Err(error) => {
            tracing::warn!(tool = call.tool, agent = %caller.agent, %error, "no answer");
            failed(&error, served.rules())
        }
    }
}

/// The result of calling a tool.
struct Outcome {
    called: Result<Answer, Error>,
    hooks: Option<Arc<Hooks>>,
    gone: Vec<Pruned>,
    other_list: Option<(ListId, ListId)>,
}

/// Calls the tool, and retries if the store's cached reads of teams and messages were out of date; nothing has happened
/// in that case.
fn outcome(served: &ServedList, call: &Call, caller: &Caller, cancel: &Cancel, seat: &Arc<Seat>) -> Outcome {
    loop {
        let in_store =
            is_brief(&call.tool).then(|| served.yard().store().begin_call(ExpectedReads::default())).flatten();
        let mut outcome = match served.bench(caller, cancel, seat) {
            Ok(Bench { toolbox, hooks, gone, other_list }) => {
                Outcome { called: toolbox.call(&call.tool, &call.input), hooks, gone, other_list }
            }
            Err(error) => Outcome { called: Err(error), hooks: None, gone: Vec::new(), other_list: None },
        };
        // Hooks run after the list was read or changed, which confirms the call, so no hook has run in vain.
        match in_store.map_or(Ok(true), |in_store| in_store.confirm()) {
            Ok(true) => return outcome,
            Ok(false) => {}
            Err(error) => {
                outcome.called = outcome.called.and(Err(error.into()));
                return outcome;
            }
        }
    }
}

/// Returns whether a tool is fast and works only on tasks.
fn is_brief(tool: &str) -> bool {
    writes_tasks(tool) || [task_get::TOOL.name, task_list::TOOL.name].contains(&tool)
}

/// Names the list that was written to, because it is not the directory's list.
fn name_list(list: &ListId, own: &ListId, answer: &mut Answer) {
    answer.text.push_str(&format!("\n\n(In list {list}; the list of this directory is {own}.)"));
    if let Some(Value::Object(structure)) = &mut answer.structured {
        structure.insert("list".to_owned(), list.as_str().into());
    }
}

/// Returns whether a tool writes to the list.
fn writes_tasks(tool: &str) -> bool {
    [task_create::TOOL.name, task_update::TOOL.name, task_claim::TOOL.name, task_release::TOOL.name].contains(&tool)
}

/// Reports, once for each list, that its journal is damaged.
fn tell_of_journals(answer: &mut Answer, served: &ServedList) {
    static TOLD: Mutex<Vec<ListId>> = Mutex::new(Vec::new());
    let care = served.yard().store().care();
    for (list, damage) in care.map(JournalCare::damaged_journals).unwrap_or_default() {
        let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
        if told.contains(&list) {
            continue;
        }
        tracing::warn!(%list, %damage, "the journal is damaged");
        let text = format!(
            "the journal of list {list} is damaged: {damage}; a person can repair it with `taskyard doctor --fix`"
        );
        tell(&text, answer, served);
        told.push(list);
    }
}

/// Adds a warning for the user. Answers in the client's format have no place for it.
fn tell(text: &str, answer: &mut Answer, served: &ServedList) {
    if !served.rules().is_client() {
        answer.text.push_str(&format!("\n\nFor the user: {text}."));
    }
}

/// Waits for the thread that makes a call, notifying the client of progress, and cancels the call when the client no
/// longer wants it.
async fn wait_for(
    work: impl Future<Output = Result<Made, JoinError>>,
    cancel: &Cancel,
    unanswerable: &CancellationToken,
    context: &RequestContext<RoleServer>,
) -> Made {
    let mut work = pin!(work);
    let mut seconds = tokio::time::interval_at(tokio::time::Instant::now() + PROGRESS, PROGRESS);
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let token = context.meta.get_progress_token();
    let mut progress = 0.0;
    loop {
        tokio::select! {
            made = &mut work => return made.unwrap_or_else(|error| {
                tracing::error!(%error, "a call panicked");
                let text = "Error: taskyard failed at this call because of a bug. Other calls still work.";
                Made { answer: Answer::error(text), may_have_notices: true }
            }),
            () = context.ct.cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
            () = unanswerable.cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
            _ = seconds.tick() => if let Some(token) = &token {
                progress += 1.0;
                let param = ProgressNotificationParam::new(token.clone(), progress).with_message("still at it");
                // A client that does not listen only misses this notification.
                let _ = context.peer.notify_progress(param).await;
            },
        }
    }
}

fn no_longer_wanted() -> Made {
    Made::failed("cancelled")
}

/// Returns the approximate size of an answer in memory.
fn size(answer: &Answer) -> usize {
    answer.text.len() + answer.structured.as_ref().map_or(0, |structure| structure.to_string().len())
}

/// The metadata key under which a call names its agent, if several share a connection.
const AGENT: &str = "taskyard/agent";
/// The metadata keys for the id of a call: the client's own, and the one for other clients.
const CALL_IDS: [&str; 2] = ["claudecode/toolUseId", "taskyard/callId"];
/// The maximum number of characters of a client's name that are used.
const LONGEST_NAME: usize = 40;

/// Returns the caller: the agent that the call names, else the agent that the server was started for, else an agent
/// named after the client and its session.
pub(crate) fn caller(hub: &Hub, context: &RequestContext<RoleServer>) -> Caller {
    let call = call_id(context);
    let access = Access::of(&context.extensions);
    let rights = |agent: &AgentName, is_of_session| match &access {
        Some(access) => {
            Rights { scope: access.scope, is_proved: is_of_session || access.name.as_deref() == Some(agent.as_str()) }
        }
        None => Rights::ALL,
    };
    let said = context.meta.get(AGENT).and_then(Value::as_str).and_then(|name| AgentName::new(name).ok());
    if let Some(agent) = said.or_else(|| hub.named_agent.clone()) {
        return Caller {
            todos_of: agent.as_str().to_owned(),
            rights: rights(&agent, false),
            agent,
            call,
            clients_call: None,
            is_of_session: false,
            resuming: Resuming::All,
        };
    }
    let agent = unnamed(hub, context.client_info().map(|client| client.name), &context.extensions);
    let session = hub.session.clone().filter(|_| hub.options.leases == Leases::Connection);
    let is_of_session = is_of_session(hub, &context.extensions);
    Caller {
        todos_of: session.unwrap_or_else(|| agent.as_str().to_owned()),
        rights: rights(&agent, is_of_session),
        agent,
        clients_call: context.meta.get(CALL_IDS[0]).and(call.clone()),
        call,
        is_of_session,
        resuming: Resuming::FromEndedServer,
    }
}

/// Returns the agent of a connection that has just begun.
pub(crate) fn agent_of(hub: &Hub, context: &NotificationContext<RoleServer>) -> AgentName {
    let client = context.peer.peer_info().map(|client| client.client_info.name.clone());
    hub.named_agent.clone().unwrap_or_else(|| unnamed(hub, client, &context.extensions))
}

fn is_of_session(hub: &Hub, extensions: &Extensions) -> bool {
    hub.options.leases == Leases::Time && session(hub, extensions).is_some()
}

/// Derives an agent name from the client and its session.
fn unnamed(hub: &Hub, client: Option<String>, extensions: &Extensions) -> AgentName {
    // The user who started an HTTP server is not its caller.
    if let Some(agent) = hub.client_name().filter(|_| hub.options.leases == Leases::Connection) {
        return agent;
    }
    let client = client.map(|client| plain(&client)).filter(|name| !name.is_empty());
    let client = client.unwrap_or_else(|| "agent".to_owned());
    let name = match session(hub, extensions) {
        Some(session) => format!("{client}-{session}"),
        None => client,
    };
    AgentName::new(name).unwrap_or_else(|_| AgentName::elsewhere())
}

/// Returns the id of a call, by which repetitions are recognised.
fn call_id(context: &RequestContext<RoleServer>) -> Option<String> {
    let id = CALL_IDS.into_iter().find_map(|key| context.meta.get(key)?.as_str());
    id.filter(|id| !id.is_empty()).map(str::to_owned)
}

/// Returns an identifier of the client's session that stays the same if the server is restarted.
fn session(hub: &Hub, extensions: &Extensions) -> Option<String> {
    match hub.options.leases {
        Leases::Connection => {
            let session = hub.session.as_deref().and_then(|session| session.get(..8)).map(str::to_owned);
            session.or_else(client_process)
        }
        // The user who started an HTTP server is not its caller, so the server's own session says nothing about
        // callers.
        Leases::Time => {
            let parts = extensions.get::<axum::http::request::Parts>()?;
            let session = parts.headers.get(HEADER_SESSION_ID)?.to_str().ok()?;
            session.get(..8).map(str::to_owned)
        }
    }
}

/// Returns the id of our parent, which is the client and outlives a restarted server.
#[cfg(unix)]
fn client_process() -> Option<String> {
    Some(std::os::unix::process::parent_id().to_string())
}

#[cfg(not(unix))]
fn client_process() -> Option<String> {
    None
}

/// Makes a client's name suitable as part of an owner's name.
fn plain(name: &str) -> String {
    let kept = |character: char| if character.is_alphanumeric() || "-_.".contains(character) { character } else { '-' };
    name.trim().chars().take(LONGEST_NAME).map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_clients_name_becomes_a_short_word() {
        assert_eq!(plain("claude-code"), "claude-code");
        assert_eq!(plain(" Visual Studio Code\n"), "Visual-Studio-Code");
        assert_eq!(plain(&"x".repeat(1000)).len(), 40);
    }
}
