//! One connection: what the client asks for, and what it is told.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, GetPromptRequestParams, GetPromptResponse, Implementation,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerCapabilities, ServerConfig,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use taskyard::core::AgentName;
use taskyard::core::tools::{Answer, Scope, ToolSet};
use taskyard::{Error, Yard};
use tokio_util::sync::CancellationToken;

use super::admission::{Admission, admission_of};
use super::caller::Access;
use super::calling::Call;
use super::hub::Hub;
use super::identity;
use super::log_level::{LogLevel, with_logging};
use super::mailed_agents::Agents;
use super::notifying::Answered;
use super::options::Leases;
use super::prompts::{self, NoPrompt};
use super::roots::roots_of;
use super::serving::Work;
use super::telling::NotifiedClient;
use super::{resources, tool_list};

/// So many resources can be subscribed to on one connection.
const SUBSCRIPTIONS: usize = 10_000;

const ABOUT_TASKS: &str = "A task list shared by every agent and person at work on this project; it outlives sessions. For work \
of several steps, see what is there (TaskList), add what is missing (TaskCreate), take a task (TaskClaim), and mark it completed \
as soon as it is done (TaskUpdate).";
const ABOUT_CLIENTS_TASKS: &str = "A task list shared by every agent and person at work on this project; it outlives sessions. \
For work of several steps, see what is there (TaskList), add what is missing (TaskCreate), and keep the state of what you do up to date \
(TaskUpdate).";
const ABOUT_CLAIMS: &str = "Your own task tools work on a list that every agent and person at work on this project shares; it outlives \
sessions. Take a task of it before you work on it (TaskClaim): exactly one agent gets it. Give back what you cannot finish (TaskRelease).";
const ABOUT_TODOS: &str = "Your own todo list for this session: TodoWrite replaces it as a whole.";

/// One connection of a client.
#[derive(Debug)]
pub(crate) struct Connection {
    hub: Arc<Hub>,
    subscribed: Arc<Mutex<HashSet<String>>>,
    /// The agents that call over it, and get news of messages where the connection listens.
    agents: Agents,
    /// Those whose messages are followed because of this connection; none as long as no agent hears of them.
    followed: Mutex<Option<HashSet<AgentName>>>,
    /// The agent that is named after the session, and ends with it.
    of_session: OnceLock<AgentName>,
    log_level: Arc<LogLevel>,
    /// The client has left, as far as the transport can tell.
    left: CancellationToken,
}

impl Connection {
    /// Returns a connection to a server.
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

    /// Returns what says that the client has left. What would go on for ever ends then.
    pub(crate) fn left(&self) -> &CancellationToken {
        &self.left
    }

    /// Looks at the list on a thread of its own.
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

    /// Returns the agent that asks; it is told of messages from then on.
    fn know(&self, context: &RequestContext<RoleServer>) -> AgentName {
        let caller = identity::caller(&self.hub, context);
        if caller.is_of_session {
            let _ = self.of_session.set(caller.agent.clone());
        }
        if self.has_tasks() && self.agents.add(&caller.agent) {
            self.follow_inboxes();
        }
        caller.agent
    }

    /// Begins to follow the inboxes of all agents of this connection: it has an agent now that hears of messages. A request that stands for
    /// itself has not, and is over before any could come.
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

    /// Asks the client where it works, and goes there.
    async fn follow_roots(&self, peer: &Peer<RoleServer>) {
        // The directories of a client elsewhere are none of ours.
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
        // The name of any other agent is made from what its client says of itself later.
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
        let shown: fn(Answer) -> CallToolResult =
            if self.hub.options.structured { tool_list::with_structure } else { tool_list::text_alone };
        let mut result = shown(answered.answer);
        if let Some(notifications) = answered.notifications {
            tool_list::put_before(&mut result, notifications);
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
        // Following a list costs something with every change, so it begins when a client has looked.
        self.hub.follow().await?;
        let agent = self.know(&context);
        self.look(move |yard| resources::page(&yard.acting_as(agent), from)).await
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = if self.has_tasks() { vec![resources::template()] } else { Vec::new() };
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let missing = ErrorData::resource_not_found("there is no such resource", Some(json!({ "uri": uri })));
        if !self.has_tasks() {
            return Err(missing);
        }
        if uri == resources::NOTIFICATIONS {
            let text = self.hub.notifications(&context).await?;
            return Ok(ReadResourceResult::new(vec![resources::notifications(text)]).into());
        }
        let agent = self.know(&context);
        let contents = self.look(move |yard| resources::read(&yard.acting_as(agent), &uri)).await?.ok_or(missing)?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.know(&context);
        if !self.has_tasks() || !resources::is_ours(&request.uri) {
            return Err(ErrorData::resource_not_found(
                "there is no such resource",
                Some(json!({ "uri": request.uri })),
            ));
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
            uris.retain(|uri| resources::is_ours(uri));
            uris.truncate(SUBSCRIPTIONS);
        }
        self.has_tasks().then_some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut hearing = self.hub.news.hear();
        self.know(context.request_context());
        self.tell_of_messages();
        self.hub.follow().await?;
        // From here on it only waits, as long as its client likes.
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
        Ok(ListPromptsResult::with_all_items(if self.has_tasks() { prompts::all() } else { Vec::new() }))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let prompt = match self.has_tasks() {
            true => prompts::prompt(&request.name, request.arguments.as_ref()),
            false => Err(NoPrompt::Unknown),
        };
        let prompt = prompt.map_err(|why| match why {
            NoPrompt::Unknown => ErrorData::invalid_params(format!("there is no prompt `{}`", request.name), None),
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
            self.agents.add(&identity::agent_of(&self.hub, &context));
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
    /// What the connection used ends with it.
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
