//! Telling a client that was not asked: what changed, and which messages came.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::Peer;
use tokio_util::sync::CancellationToken;

use super::log_level::LogLevel;
use super::mailed_agents::Agents;
use super::news::{Changes, Hearing};
use super::resources;

/// A client that is told of changes.
pub(crate) struct NotifiedClient {
    /// The connection has ended.
    pub(crate) left: CancellationToken,
    pub(crate) client: Peer<RoleServer>,
    /// The resources the client subscribed to.
    pub(crate) subscribed: Arc<Mutex<HashSet<String>>>,
    /// The agents of the connection.
    pub(crate) agents: Agents,
    pub(crate) log_level: Arc<LogLevel>,
}

impl NotifiedClient {
    /// Tells the client of changes until the connection ends.
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
            // Also to a client that subscribed to nothing: an agent that waits has no other way to learn of it.
            if !concerned.iter().any(|uri| uri == resources::INBOX) {
                concerned.push(resources::INBOX.to_owned());
            }
        }
        for uri in concerned {
            self.client.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await?;
        }
        Ok(())
    }
}
