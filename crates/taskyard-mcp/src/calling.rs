//! Making one call: when it is its turn, with progress told while it takes long, until it is done or no longer wanted.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::calls::failed;
use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use serde_json::Value;
use taskyard::Error;
use taskyard::config::ConfigWarning;
use taskyard::core::tools::{
    Answer, Tool, catalogue, task_claim, task_create, task_get, task_list, task_release, task_update, todo_write,
};
use taskyard::core::{AgentName, ListId};
use taskyard::hooks::{HookWarning, Hooks};
use taskyard::operations::Pruned;
use taskyard::process::Cancel;
use taskyard::store::{ExpectedReads, JournalCare};
use tokio::task::JoinError;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::admission::{Admission, admission_of};
use super::caller::{CallKey, Caller};
use super::hub::Hub;
use super::identity;
use super::served_list::{Bench, ServedList};
use super::serving::{self, Begun, Recorder, Seat, Work};
use super::tool_list;

/// How often a client is told that a call is still being made.
const PROGRESS: Duration = Duration::from_secs(1);

type CallRecorder = Recorder<AgentName, CallKey, Answer>;

/// A call of a tool.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) input: Value,
}

/// What came of a call.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) answer: Answer,
    /// Whether its agent may have to be told something besides.
    pub(crate) may_have_notices: bool,
}

impl Made {
    fn failed(why: &str) -> Self {
        Self { answer: Answer::error(format!("Error: {why}")), may_have_notices: false }
    }
}

impl Hub {
    /// Makes a call and returns its answer. One that was made before is not made again.
    pub(crate) async fn call(&self, served: Arc<ServedList>, call: Call, context: &RequestContext<RoleServer>) -> Made {
        let caller = identity::caller(self, context);
        // Looking again does no harm, and what there is to see may have changed.
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
                // An id that comes with another input is another call, and has another key.
                Begun::Reused => return self.make(served, call, caller, None, context).await,
            }
        }
    }

    /// Tells whether a call may change something.
    fn changes_something(&self, call: &Call) -> bool {
        self.tool(call).is_some_and(|tool| !tool.annotations.read_only)
    }

    fn tool(&self, call: &Call) -> Option<&'static Tool> {
        catalogue::find_in(tool_list::surface(self.options, self.rules), &call.tool)
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
        // When the process is asked to stop, it waits for the call to leave nothing behind.
        let attendance = self.cancel.attend();
        let _stopped = self.cancel.on_cancel({
            let cancel = cancel.clone();
            move || cancel.cancel()
        });
        let _left = cancel.on_drop();
        let changes_something = self.changes_something(&call);
        let admission = admission_of(&context.extensions);
        // The protocol lets a client come back for its answer. But a wait ends with its request, and no agent gets a task that it never hears
        // of.
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
                // The call goes on though no client waits for it any longer, and what it did is remembered.
                let made = serving::spawn(move || {
                    // The client may have given it up by the time it is its turn, and nothing has happened yet.
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

/// What can be done where something is not trusted.
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

/// What came of calling a tool.
struct Outcome {
    called: Result<Answer, Error>,
    hooks: Option<Arc<Hooks>>,
    gone: Vec<Pruned>,
    other_list: Option<(ListId, ListId)>,
}

/// Calls the tool, and again if what the store remembered of teams and messages was no longer so: then nothing has happened.
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
        // Hooks are asked after the list was read or changed, which confirms the call. So none of them has been asked in vain.
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

/// Tells whether a tool takes a moment and works on tasks alone.
fn is_brief(tool: &str) -> bool {
    writes_tasks(tool) || [task_get::TOOL.name, task_list::TOOL.name].contains(&tool)
}

/// Names the list that was written to, which is not the one of the directory.
fn name_list(list: &ListId, own: &ListId, answer: &mut Answer) {
    answer.text.push_str(&format!("\n\n(In list {list}; the list of this directory is {own}.)"));
    if let Some(Value::Object(structure)) = &mut answer.structured {
        structure.insert("list".to_owned(), list.as_str().into());
    }
}

/// Tells whether a tool writes to the list.
fn writes_tasks(tool: &str) -> bool {
    [task_create::TOOL.name, task_update::TOOL.name, task_claim::TOOL.name, task_release::TOOL.name].contains(&tool)
}

/// Says, once for each list, that its journal is damaged.
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
            "the journal of list {list} is damaged: {damage}; a person can mend it with `taskyard doctor --fix`"
        );
        tell(&text, answer, served);
        told.push(list);
    }
}

/// Says that a hook did not run or a setting does not count as written. The client's answers have no place for that.
fn tell(text: &str, answer: &mut Answer, served: &ServedList) {
    if !served.rules().is_client() {
        answer.text.push_str(&format!("\n\nFor the user: {text}."));
    }
}

/// Waits for the thread that makes a call, telling the client of it, and cancels it where the client no longer wants it.
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
                let text = "Error: taskyard failed at this call, which is a fault of its own. Other calls still work.";
                Made { answer: Answer::error(text), may_have_notices: true }
            }),
            () = context.ct.cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
            () = unanswerable.cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
            _ = seconds.tick() => if let Some(token) = &token {
                progress += 1.0;
                let param = ProgressNotificationParam::new(token.clone(), progress).with_message("still at it");
                // A client that does not listen misses nothing but this.
                let _ = context.peer.notify_progress(param).await;
            },
        }
    }
}

fn no_longer_wanted() -> Made {
    Made::failed("cancelled")
}

/// Returns about how much memory an answer takes.
fn size(answer: &Answer) -> usize {
    answer.text.len() + answer.structured.as_ref().map_or(0, |structure| structure.to_string().len())
}
