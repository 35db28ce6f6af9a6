//! Log messages of the protocol, for clients that have asked for them. The newest version has none any more.
#![expect(deprecated, reason = "clients of older versions know no other way to hear of something unasked")]

use std::sync::Mutex;
use std::sync::PoisonError;

use rmcp::RoleServer;
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam, ServerCapabilities, SetLevelRequestParams};
use rmcp::service::{Peer, ServiceError};
use serde_json::json;

/// How much a client wants to hear; nothing before it has said so.
#[derive(Debug, Default)]
pub(crate) struct LogLevel(Mutex<Option<LoggingLevel>>);

impl LogLevel {
    /// Remembers how much a client wants to hear.
    pub(crate) fn set(&self, request: &SetLevelRequestParams) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(request.level);
    }

    /// Tells a client something, where it wants to hear as much as that.
    pub(crate) async fn inform(&self, client: &Peer<RoleServer>, text: &str) -> Result<(), ServiceError> {
        let wanted = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(wanted, Some(LoggingLevel::Debug | LoggingLevel::Info)) {
            return Ok(());
        }
        let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(text)).with_logger("taskyard");
        client.notify_logging_message(message).await
    }
}

/// Says that log messages can be asked for.
pub(crate) fn with_logging(mut capabilities: ServerCapabilities) -> ServerCapabilities {
    capabilities.logging = Some(serde_json::Map::new());
    capabilities
}
