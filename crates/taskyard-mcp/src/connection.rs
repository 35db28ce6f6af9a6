//! One connection: the client's requests, and the notifications sent to it.

#![expect(deprecated, reason = "clients of older versions know no other way to hear of something unasked")]

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, GetPromptRequestParams, GetPromptResponse, Implementation,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel,
    LoggingMessageNotificationParam, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ResourceUpdatedNotificationParam, ServerCapabilities, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, ServiceError, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use taskyard::core::AgentName;
use taskyard::core::tools::{Answer, Scope, ToolSet};
use taskyard::notices::NoticeError;
use taskyard::opening::percent_decoded;
use taskyard::{Error, Yard};
use tokio_util::sync::CancellationToken;

use super::calling::{Call, Made};
use super::hub::Hub;
use super::news::{Changes, Hearing};
use super::served_list::ServedList;
use super::serving::Work;
use crate::host::Leases;
use crate::http_admission::{Admission, admission_of};
use crate::hub::text;
use crate::news::Agents;
use crate::resources_and_prompts::NoPrompt;
use crate::served_list::{Access, Caller};
use crate::{calling, resources_and_prompts};

/// The maximum number of resource subscriptions per connection.
const SUBSCRIPTIONS: usize = 10_000;

const ABOUT_TASKS: &str = "A task list shared by every agent and person working on this project; it outlives sessions. For \
    work of several steps, see what exists (TaskList), add what is missing (TaskCreate), take a task (TaskClaim), and mark \
    it completed \
as soon as it is done (TaskUpdate).";
const ABOUT_CLIENTS_TASKS: &str = "A task list shared by every agent and person working on this project; it outlives \
    sessions. For work of several steps, see what exists (TaskList), add what is missing (TaskCreate), and keep the state of \
    what you do up to date \
(TaskUpdate).";
const ABOUT_CLAIMS: &str = "Your own task tools work on a list that every agent and person working on this project shares; \
    it outlives \
sessions. Take a task of it before you work on it (TaskClaim): exactly one agent gets it. Give back what you cannot finish (TaskRelease).";
const ABOUT_TODOS: &str = "Your own todo list for this session: TodoWrite replaces it as a whole.";

/// A client's connection.
#[derive(Debug)]
pub(crate) struct Connection {
    hub: Arc<Hub>,
    subscribed: Arc<Mutex<HashSet<String>>>,
    /// The agents that call over it. They are notified of messages if the connection listens.
    agents: Agents,
    /// The agents whose messages are followed for this connection; `None` until it can be notified of any.
    followed: Mutex<Option<HashSet<AgentName>>>,
    /// The agent that is named after the session, and ends with it.
    of_session: OnceLock<AgentName>,
    log_level: Arc<LogLevel>,
    /// Cancelled when the client has left, as far as the transport can tell.
    left: CancellationToken,
}

impl Connection {
    pub(crate) fn new(hub: Arc<Hub>) -> Self {
        Self {
            hub,
            subscribed: Arc::default(),
            agents: Agents::default(),
            followed: Mutex::default(),
            of_session: OnceLock::new(),
            log_level: Arc::default(),
            left: CancellationToken::new(),
        }
    }

    /// Returns a token that is cancelled when the client has left. Work without an end stops then.
    pub(crate) fn left(&self) -> &CancellationToken {
        &self.left
    }

    /// Reads the list on a separate thread.
    async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Yard) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let served =
            self.hub.served().await.map_err(|unserved| ErrorData::internal_error(unserved.to_string(), None))?;
        let looked = self.hub.workers.run(Work::Looks, move || {
            served.reopen_tasks();
            look(served.yard())
        });
        let looked = looked.await;
        let looked = looked.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        looked.map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    /// Returns the agent that makes a request, and reports messages to it from then on.
    fn know(&self, context: &RequestContext<RoleServer>) -> AgentName {
        let caller = calling::caller(&self.hub, context);
        if caller.is_of_session {
            let _ = self.of_session.set(caller.agent.clone());
        }
        if self.has_tasks() && self.agents.add(&caller.agent) {
            self.follow_inboxes();
        }
        caller.agent
    }

    /// Starts following the inboxes of all agents of this connection, which can now be notified of messages. A
    /// stateless request cannot, and is over before any could arrive.
    fn tell_of_messages(&self) {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
        self.follow_inboxes();
    }

    fn follow_inboxes(&self) {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(followed) = followed.as_mut() else { return };
        for agent in self.agents.all() {
            if followed.insert(agent.clone()) {
                self.hub.follow_inbox(&agent);
            }
        }
    }

    fn has_tasks(&self) -> bool {
        self.hub.options.system.has_tasks()
    }

    /// Asks the client for its directories, and switches to the list there.
    async fn follow_roots(&self, peer: &Peer<RoleServer>) {
        // Directories of a client on another machine mean nothing here.
        let is_local = self.hub.options.leases == Leases::Connection;
        if is_local && peer.peer_info().is_some_and(|client| client.capabilities.roots.is_some()) {
            self.hub.move_to(roots_of(peer)).await;
        }
    }

    fn subscriptions(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.subscribed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServerHandler for Connection {
    fn get_info(&self) -> ServerConfig {
        let version = env!("CARGO_PKG_VERSION");
        let server = Implementation::new("taskyard", version).with_title("Taskyard");
        let capabilities = if self.has_tasks() {
            let builder = ServerCapabilities::builder().enable_tools().enable_prompts().enable_resources();
            with_logging(builder.enable_resources_subscribe().enable_resources_list_changed().build())
        } else {
            ServerCapabilities::builder().enable_tools().build()
        };
        let about = match self.has_tasks() {
            true if self.hub.options.tools.is_the_clients() => ABOUT_CLIENTS_TASKS,
            true if matches!(self.hub.options.tools, ToolSet::Claims | ToolSet::ClaimsTeam) => ABOUT_CLAIMS,
            true => ABOUT_TASKS,
            false => ABOUT_TODOS,
        };
        // Other agents are named later, after what their client reports of itself.
        let of_client = self.hub.client_name().filter(|_| self.hub.options.leases == Leases::Connection);
        let about = match self.hub.named_agent.clone().or(of_client).filter(|_| self.has_tasks()) {
            Some(agent) => format!("{about} You act as {agent}."),
            None => about.to_owned(),
        };
        ServerConfig::new(capabilities).with_server_info(server).with_instructions(about)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let scope = Access::of(&context.extensions).map_or(Scope::All, |access| access.scope);
        let callable = self.hub.tools.iter().filter(|(needed, _)| *needed <= scope);
        Ok(ListToolsResult::with_all_items(callable.map(|(_, tool)| tool.clone()).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.hub.tools.iter().map(|(_, tool)| tool).find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call =
            Call { tool: request.name.into_owned(), input: Value::Object(request.arguments.unwrap_or_default()) };
        self.hub.settle_client_name().await;
        self.know(&context);
        let answered = match self.hub.served().await {
            Ok(served) => self.hub.call_and_tell(served, call, &context).await,
            Err(unserved) => Answered::without(Answer::error(format!("Error: {unserved}"))),
        };
        let shown: fn(Answer) -> CallToolResult = if self.hub.options.structured {
            resources_and_prompts::with_structure
        } else {
            resources_and_prompts::text_alone
        };
        let mut result = shown(answered.answer);
        if let Some(notifications) = answered.notifications {
            resources_and_prompts::put_before(&mut result, notifications);
        }
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        if !self.has_tasks() {
            return Ok(ListResourcesResult::default());
        }
        let from = match request.and_then(|request| request.cursor) {
            None => 0,
            Some(cursor) => cursor.parse().map_err(|_| ErrorData::invalid_params("no such page", None))?,
        };
        // Following a list costs something with every change, so it begins when a client first reads it.
        self.hub.follow().await?;
        let agent = self.know(&context);
        self.look(move |yard| resources_and_prompts::page(&yard.acting_as(agent), from)).await
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = if self.has_tasks() { vec![resources_and_prompts::template()] } else { Vec::new() };
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let missing = ErrorData::resource_not_found("unknown resource", Some(json!({ "uri": uri })));
        if !self.has_tasks() {
            return Err(missing);
        }
        if uri == resources_and_prompts::NOTIFICATIONS {
            let text = self.hub.notifications(&context).await?;
            return Ok(ReadResourceResult::new(vec![resources_and_prompts::notifications(text)]).into());
        }
        let agent = self.know(&context);
        let contents =
            self.look(move |yard| resources_and_prompts::read(&yard.acting_as(agent), &uri)).await?.ok_or(missing)?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.know(&context);
        if !self.has_tasks() || !resources_and_prompts::is_ours(&request.uri) {
            return Err(ErrorData::resource_not_found("unknown resource", Some(json!({ "uri": request.uri }))));
        }
        self.hub.follow().await?;
        let mut subscribed = self.subscriptions();
        if subscribed.len() >= SUBSCRIPTIONS {
            return Err(ErrorData::invalid_params("too many subscriptions on one connection", None));
        }
        subscribed.insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions().remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            uris.retain(|uri| resources_and_prompts::is_ours(uri));
            uris.truncate(SUBSCRIPTIONS);
        }
        self.has_tasks().then_some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut hearing = self.hub.news.hear();
        self.know(context.request_context());
        self.tell_of_messages();
        self.hub.follow().await?;
        // From here on it only waits, for as long as the client wants.
        admission_of(&context.request_context().extensions).iter().for_each(Admission::make_room);
        let (sink, accepted) = (context.sink().clone(), context.accepted().clone());
        loop {
            let changes = tokio::select! {
                changes = hearing.changes() => changes,
                () = context.cancelled() => None,
                () = self.left.cancelled() => None,
            };
            let Some(changes) = changes else { return Ok(()) };
            if changes.resources_came_or_went && accepted.resources_list_changed == Some(true) {
                sink.notify_resource_list_changed().await.map_err(gone)?;
            }
            let uris = accepted.resource_subscriptions.iter().flatten();
            for uri in uris.filter(|uri| changes.concern(uri, &self.agents)) {
                sink.notify_resource_updated(uri).await.map_err(gone)?;
            }
        }
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(if self.has_tasks() { resources_and_prompts::all() } else { Vec::new() }))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let prompt = match self.has_tasks() {
            true => resources_and_prompts::prompt(&request.name, request.arguments.as_ref()),
            false => Err(NoPrompt::Unknown),
        };
        let prompt = prompt.map_err(|why| match why {
            NoPrompt::Unknown => ErrorData::invalid_params(format!("unknown prompt `{}`", request.name), None),
            NoPrompt::WithoutGoal => ErrorData::invalid_params("this prompt needs the argument `goal`", None),
        })?;
        Ok(prompt.into())
    }

    #[expect(deprecated, reason = "clients of older versions ask in this way")]
    async fn set_level(
        &self,
        request: rmcp::model::SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.log_level.set(&request);
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let hearing = self.hub.news.hear();
        self.follow_roots(&context.peer).await;
        if self.has_tasks() {
            self.agents.add(&calling::agent_of(&self.hub, &context));
            self.tell_of_messages();
            let notified = NotifiedClient {
                left: self.left.clone(),
                client: context.peer,
                subscribed: Arc::clone(&self.subscribed),
                agents: self.agents.clone(),
                log_level: Arc::clone(&self.log_level),
            };
            tokio::spawn(notified.tell(hearing));
        }
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.follow_roots(&context.peer).await;
    }
}

impl Drop for Connection {
    /// Releases what the connection used.
    fn drop(&mut self) {
        self.left.cancel();
        let followed = self.followed.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        self.hub.unfollow_inboxes(&followed.into_iter().flatten().collect::<Vec<_>>());
        if let Some(agent) = self.of_session.take() {
            self.hub.forget(agent);
        }
    }
}

fn gone(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// The answer to a call, and notices to send before it.
#[derive(Debug)]
pub(crate) struct Answered {
    /// The notices, in one text.
    pub(crate) notifications: Option<String>,
    pub(crate) answer: Answer,
}

impl Answered {
    /// Returns an answer without notices.
    pub(crate) fn without(answer: Answer) -> Self {
        Self { notifications: None, answer }
    }
}

impl Hub {
    /// Makes a call for an agent: acknowledges the notices that it was shown before, and adds new ones to the answer.
    pub(crate) async fn call_and_tell(
        &self,
        served: Arc<ServedList>,
        call: Call,
        context: &RequestContext<RoleServer>,
    ) -> Answered {
        let Caller { agent, call: call_id, rights, .. } = calling::caller(self, context);
        // Answers in the client's format have no place for notices, and a caller that may only read acknowledges none.
        if served.rules().is_client() || rights.scope < Scope::Work {
            return Answered::without(self.call(served, call, context).await.answer);
        }
        if self.announced_jobs.has_told(&agent) {
            let (announced_jobs, served) = (Arc::clone(&self.announced_jobs), Arc::clone(&served));
            let (agent, call_id) = (agent.clone(), call_id.clone());
            // A failure is logged; the notices are shown again later.
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

    /// Returns the pending notices of the caller, without acknowledging them.
    pub(crate) async fn notifications(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<String>, ErrorData> {
        let failed = |error: &dyn std::fmt::Display| ErrorData::internal_error(error.to_string(), None);
        // If the list cannot be opened, there are no notices.
        let Ok(served) = self.served().await else { return Ok(None) };
        let agent = calling::caller(self, context).agent;
        let waiting = self.workers.run(Work::Looks, move || {
            served.look_at_jobs();
            let waiting = served.notice_board().waiting(&agent)?;
            Ok::<_, NoticeError>((!waiting.is_empty()).then(|| text(&waiting, &served)))
        });
        waiting.await.map_err(|error| failed(&error))?.map_err(|error| failed(&error))
    }
}

/// A client that is notified of changes.
pub(crate) struct NotifiedClient {
    /// Cancelled when the connection has ended.
    pub(crate) left: CancellationToken,
    pub(crate) client: Peer<RoleServer>,
    /// The resources that the client subscribed to.
    pub(crate) subscribed: Arc<Mutex<HashSet<String>>>,
    /// The agents of the connection.
    pub(crate) agents: Agents,
    pub(crate) log_level: Arc<LogLevel>,
}

impl NotifiedClient {
    /// Notifies the client of changes until the connection ends.
    pub(crate) async fn tell(self, mut hearing: Hearing) {
        loop {
            let changes = tokio::select! {
                changes = hearing.changes() => changes,
                () = self.left.cancelled() => None,
            };
            let Some(changes) = changes else { return };
            if self.client.is_transport_closed() || self.tell_once(&changes).await.is_err() {
                return;
            }
        }
    }

    async fn tell_once(&self, changes: &Changes) -> Result<(), rmcp::ServiceError> {
        if changes.resources_came_or_went {
            self.client.notify_resource_list_changed().await?;
        }
        let mut concerned: Vec<String> = {
            let subscribed = self.subscribed.lock().unwrap_or_else(PoisonError::into_inner);
            subscribed.iter().filter(|uri| changes.concern(uri, &self.agents)).cloned().collect()
        };
        for mail in changes.mail_for(&self.agents) {
            self.log_level.inform(&self.client, &mail.summary).await?;
            // Sent even without a subscription: a waiting agent has no other way to learn of it.
            if !concerned.iter().any(|uri| uri == resources_and_prompts::INBOX) {
                concerned.push(resources_and_prompts::INBOX.to_owned());
            }
        }
        for uri in concerned {
            self.client.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await?;
        }
        Ok(())
    }
}

/// The log level that a client has set; nothing is logged to it before it sets one.
#[derive(Debug, Default)]
pub(crate) struct LogLevel(Mutex<Option<LoggingLevel>>);

impl LogLevel {
    pub(crate) fn set(&self, request: &SetLevelRequestParams) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(request.level);
    }

    /// Sends a message at level `info`, if the client's log level includes it.
    pub(crate) async fn inform(&self, client: &Peer<RoleServer>, text: &str) -> Result<(), ServiceError> {
        let wanted = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(wanted, Some(LoggingLevel::Debug | LoggingLevel::Info)) {
            return Ok(());
        }
        let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(text)).with_logger("taskyard");
        client.notify_logging_message(message).await
    }
}

/// Adds the logging capability.
pub(crate) fn with_logging(mut capabilities: ServerCapabilities) -> ServerCapabilities {
    capabilities.logging = Some(serde_json::Map::new());
    capabilities
}

/// How long a client may take to report its directories.
const PATIENCE: Duration = Duration::from_secs(5);

/// Returns the directories that the client reports.
pub(crate) async fn roots_of(client: &Peer<RoleServer>) -> Vec<PathBuf> {
    let asked = tokio::time::timeout(PATIENCE, client.list_roots()).await;
    let roots = match asked {
        Ok(Ok(answer)) => answer.roots,
        Ok(Err(error)) => {
            tracing::warn!(%error, "the client does not say where it works");
            return Vec::new();
        }
        Err(_) => {
            tracing::warn!("the client does not say where it works");
            return Vec::new();
        }
    };
    roots.iter().filter_map(|root| file_path(&root.uri)).collect()
}

/// Returns the path in a `file:` URI on this machine.
fn file_path(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?;
    let path = path.strip_prefix("localhost").unwrap_or(path);
    let path = PathBuf::from(String::from_utf8(percent_decoded(path)).ok()?);
    path.is_absolute().then_some(path)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::file_path;

    #[test]
    fn a_root_is_a_path_on_this_machine() {
        assert_eq!(file_path("file:///home/ana/my%20work"), Some(PathBuf::from("/home/ana/my work")));
        assert_eq!(file_path("file://localhost/home/ana%2"), Some(PathBuf::from("/home/ana%2")));
        for other in ["https://example.org/x", "file://server/share", "file:x", "/home", "file:///%ff"] {
            assert_eq!(file_path(other), None, "{other}");
        }
    }
}
