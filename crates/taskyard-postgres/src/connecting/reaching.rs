//! Reaching a server: one host after the other.

use std::any::Any;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio_postgres::config::{SslMode, TargetSessionAttrs};
use tokio_postgres::{AsyncMessage, Client, Config};

use super::failure::{Failure, FailureKind};
use super::tls::TlsMaker;
use crate::notification::Notification;
use crate::settings::{Host, Settings, TlsMode};

/// How long the other side may say nothing before we ask whether it is still there.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// How long what we sent may stay unconfirmed.
const UNCONFIRMED: Duration = Duration::from_secs(15);

/// Takes the notifications that arrive, and keeps the place of the connection until its socket is closed.
#[derive(Clone)]
pub(crate) struct NotificationSender {
    pub(crate) heard: UnboundedSender<Notification>,
    pub(crate) _place: Arc<dyn Any + Send + Sync>,
}

/// What the task of a connection owns. The fields are dropped in this order, however the task ends: the socket is closed before another
/// connection may be made in its place.
struct Driven<C> {
    connection: C,
    heard: Option<NotificationSender>,
}

/// Connects to the first host that answers and is of the kind that is wanted; what owns the socket runs as a task of this runtime.
pub(crate) async fn reach(settings: &Settings, heard: Option<NotificationSender>) -> Result<Client, Failure> {
    let mut failed: Option<Failure> = None;
    for host in &settings.hosts {
        let reaching = reach_one(settings, host, heard.clone());
        let reached = match tokio::time::timeout(settings.connect_timeout, reaching).await {
            Ok(reached) => reached,
            Err(_) => Err(Failure::timed_out(settings.connect_timeout)),
        };
        match reached {
            Ok(client) => return Ok(client),
            Err(failure) => {
                let failure = failure.of(&host.to_string());
                tracing::debug!(%failure, "a server cannot be reached");
                // A host that may come back outweighs one that will not have us.
                failed = match failed {
                    Some(earlier) if earlier.is_passing() => Some(earlier),
                    _ => Some(failure),
                };
            }
        }
    }
    Err(failed.unwrap_or_else(|| Failure::new(FailureKind::Wrong, "the address names no host")))
}

async fn reach_one(settings: &Settings, host: &Host, heard: Option<NotificationSender>) -> Result<Client, Failure> {
    let mut config = Config::new();
    config.user(&settings.user).dbname(&settings.database).application_name(&settings.application);
    config.keepalives_idle(KEEPALIVE).keepalives_interval(KEEPALIVE).keepalives_retries(3);
    config.tcp_user_timeout(UNCONFIRMED);
    if let Some(password) = &host.password {
        config.password(password.reveal());
    }
    match host {
        Host { socket: Some(directory), .. } => config.host_path(directory),
        Host { name, .. } => config.host(name),
    };
    if let Some(address) = host.address {
        config.hostaddr(address);
    }
    config.port(host.port);
    if settings.wants_writable {
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
    config.ssl_mode(match host.tls {
        TlsMode::Disable => SslMode::Disable,
        TlsMode::Prefer => SslMode::Prefer,
        TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => SslMode::Require,
    });
    let tls = TlsMaker::new(settings, host.tls)?;
    let (client, connection) = config.connect(tls).await.map_err(|error| because(error, host))?;
    let mut driven = Driven { connection, heard };
    tokio::spawn(async move {
        // The listener learns of the end when its channel ends.
        loop {
            match poll_fn(|context| driven.connection.poll_message(context)).await {
                Some(Ok(AsyncMessage::Notification(notification))) => {
                    if let Some(heard) = &driven.heard {
                        let (channel, payload) = (notification.channel().to_owned(), notification.payload().to_owned());
                        let _ = heard.heard.send(Notification { channel, payload });
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    tracing::debug!(%error, "a connection ended");
                    return;
                }
                None => return,
            }
        }
    });
    Ok(client)
}

/// Says why a connection could not be made. That a server is no writable one is told by an error of no kind.
fn because(error: tokio_postgres::Error, host: &Host) -> Failure {
    let failure = Failure::from(error);
    let said = failure.to_string();
    if said.contains("does not allow writes") {
        return Failure::new(FailureKind::Lost, "it takes no changes: it is a standby, or read-only");
    }
    // A certificate that does not do will not do the next time either.
    let is_tls = said.contains("TLS") || said.contains("certificate");
    match is_tls && !matches!(host.tls, TlsMode::Disable) {
        true => Failure::new(FailureKind::Wrong, said),
        false => failure,
    }
}
