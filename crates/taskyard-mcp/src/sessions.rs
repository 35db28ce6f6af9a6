//! The sessions of the older versions over HTTP: so many and no more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_core::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::server_side_http::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::session::{SessionId, SessionManager};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::caller::Access;

/// A session that is not heard of for this long ends.
const IDLE: Duration = Duration::from_secs(3600);
/// So many sessions there may be. One more, and the one that was not heard of for longest ends: clients that leave without a word must not
/// keep other clients out.
const SESSIONS: usize = 1_000;
/// The maximum number of sessions whose client has sent only `initialize`.
const HALF_OPEN: usize = 64;
/// A session whose client has not said by then that it is ready ends when another begins.
const OPENING: Duration = Duration::from_secs(60);

/// Keeps sessions, so many and no more.
#[derive(Debug)]
pub(crate) struct Sessions {
    kept: LocalSessionManager,
    activity: Mutex<HashMap<SessionId, SessionActivity>>,
    /// How many there may be.
    most: usize,
}

/// When a session was last used, whether its client has begun, and whose it is.
#[derive(Debug)]
struct SessionActivity {
    /// When its client last asked for something.
    last: Instant,
    /// Whether its client has sent anything after the request that began it.
    is_open: bool,
    /// Who opened it; `None` until that is noted.
    owner: Option<Owner>,
}

/// The caller that opened a session.
#[derive(Debug)]
struct Owner {
    /// `None` if the program around the server tells no callers apart.
    key: Option<String>,
    /// Ends the wait for the caller's end when the session has ended.
    _waiting: DropGuard,
}

impl SessionActivity {
    /// Tells whether a session counts as begun and left.
    fn is_left(&self, now: Instant) -> bool {
        !self.is_open && now.duration_since(self.last) > OPENING
    }
}

type Failed = <LocalSessionManager as SessionManager>::Error;
type Transport = <LocalSessionManager as SessionManager>::Transport;

impl Default for Sessions {
    fn default() -> Self {
        let mut config = SessionConfig::default();
        config.keep_alive = Some(IDLE);
        let mut kept = LocalSessionManager::default();
        kept.session_config = config;
        Self { kept, activity: Mutex::default(), most: SESSIONS }
    }
}

impl Sessions {
    /// Takes note that the client of a session asks for something.
    fn note_activity(&self, id: &SessionId) {
        let mut activity = self.activity.lock().unwrap_or_else(PoisonError::into_inner);
        // One that has ended does not begin again because a client still asks for it.
        if let Some(session) = activity.get_mut(id) {
            (session.last, session.is_open) = (Instant::now(), true);
        }
    }

    fn begin(&self, id: &SessionId) {
        let begun = SessionActivity { last: Instant::now(), is_open: false, owner: None };
        self.activity.lock().unwrap_or_else(PoisonError::into_inner).insert(Arc::clone(id), begun);
    }

    /// Gives a session to the caller that opened it. It ends when the caller is no longer let in.
    pub(crate) fn give_to(self: &Arc<Self>, id: &str, access: Option<&Access>) {
        let ended = CancellationToken::new();
        let owner = Owner { key: access.map(|access| access.key.clone()), _waiting: ended.clone().drop_guard() };
        let mut activity = self.activity.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(session) = activity.get_mut(id) else { return };
        session.owner = Some(owner);
        drop(activity);
        if let Some(access) = access {
            let (sessions, id, end) = (Arc::clone(self), SessionId::from(id), access.end.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = ended.cancelled() => return,
                    () = end.cancelled() => {}
                }
                tracing::info!(session = %id, "a session ends with the access of its caller");
                if let Err(error) = sessions.close_session(&id).await {
                    tracing::warn!(%error, "a session did not end in order");
                }
            });
        }
    }

    /// Tells whether a session is the caller's.
    pub(crate) fn is_of(&self, id: &str, access: Option<&Access>) -> bool {
        let activity = self.activity.lock().unwrap_or_else(PoisonError::into_inner);
        let owner = activity.get(id).and_then(|session| session.owner.as_ref());
        owner.is_some_and(|owner| owner.key.as_deref() == access.map(|access| access.key.as_str()))
    }

    /// Returns the sessions that have to end before there is room for another.
    async fn in_the_way(&self) -> Vec<SessionId> {
        let kept = self.kept.sessions.read().await;
        let mut activity = self.activity.lock().unwrap_or_else(PoisonError::into_inner);
        activity.retain(|id, _| kept.contains_key(id));
        let now = Instant::now();
        let mut by_age: Vec<_> = activity.iter().map(|(id, seen)| (!seen.is_left(now), seen.last, id)).collect();
        by_age.sort();
        let left = by_age.iter().take_while(|(is_kept, ..)| !is_kept).count();
        let too_many = (kept.len() + 1).saturating_sub(self.most);
        let mut ending: Vec<_> = by_age.into_iter().take(too_many.max(left)).map(|(_, _, id)| Arc::clone(id)).collect();
        let half_open = activity.iter().filter(|(id, session)| !session.is_open && !ending.contains(id));
        let mut half_open: Vec<_> = half_open.map(|(id, session)| (session.last, Arc::clone(id))).collect();
        half_open.sort();
        let too_many = (half_open.len() + 1).saturating_sub(HALF_OPEN);
        ending.extend(half_open.into_iter().take(too_many).map(|(_, id)| id));
        ending
    }
}

impl SessionManager for Sessions {
    type Error = Failed;
    type Transport = Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        for id in self.in_the_way().await {
            tracing::info!(session = %id, "a session ends to make room for another");
            self.close_session(&id).await?;
        }
        let created = self.kept.create_session().await?;
        self.begin(&created.0);
        Ok(created)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.kept.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.kept.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        self.kept.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.note_activity(id);
        self.kept.create_stream(id, message).await
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.note_activity(id);
        self.kept.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.note_activity(id);
        self.kept.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.note_activity(id);
        self.kept.resume(id, last_event_id).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use rmcp::transport::streamable_http_server::session::SessionManager as _;
    use taskyard::core::tools::Scope;
    use tokio_util::sync::CancellationToken;

    use super::{HALF_OPEN, OPENING, Sessions};
    use crate::caller::Access;

    #[test]
    fn a_session_that_was_begun_and_left_ends_when_another_begins() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let sessions = Sessions::default();
            let (left, _one) = sessions.create_session().await.unwrap();
            let (open, _two) = sessions.create_session().await.unwrap();
            sessions.note_activity(&open);
            for session in sessions.activity.lock().unwrap().values_mut() {
                session.last -= OPENING + Duration::from_secs(1);
            }
            let (new, _three) = sessions.create_session().await.unwrap();
            for (session, is_there) in [(&left, false), (&open, true), (&new, true)] {
                assert_eq!(sessions.has_session(session).await.unwrap(), is_there);
            }
        });
    }

    #[test]
    fn few_sessions_wait_for_their_clients_to_go_on() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let sessions = Sessions::default();
            let (open, _one) = sessions.create_session().await.unwrap();
            sessions.note_activity(&open);
            let mut transports = Vec::new();
            for _ in 0..HALF_OPEN * 2 {
                transports.push(sessions.create_session().await.unwrap());
            }
            let (first, last) = (&transports[0].0, &transports[HALF_OPEN * 2 - 1].0);
            for (session, is_there) in [(&open, true), (first, false), (last, true)] {
                assert_eq!(sessions.has_session(session).await.unwrap(), is_there);
            }
            assert_eq!(sessions.activity.lock().unwrap().len(), HALF_OPEN + 1);
        });
    }

    #[test]
    fn a_session_is_its_owners_and_ends_with_the_owners_access() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let sessions = Arc::new(Sessions::default());
            let (id, _transport) = sessions.create_session().await.unwrap();
            let access = |key: &str| Access {
                scope: Scope::Work,
                key: key.to_owned(),
                name: None,
                end: CancellationToken::new(),
            };
            let (one, two) = (access("one"), access("two"));
            assert!(!sessions.is_of(&id, Some(&one)), "nobody has it yet");
            sessions.give_to(&id, Some(&one));
            assert!(sessions.is_of(&id, Some(&one)));
            assert!(!sessions.is_of(&id, Some(&two)) && !sessions.is_of(&id, None));
            one.end.cancel();
            while sessions.has_session(&id).await.unwrap() {
                tokio::task::yield_now().await;
            }
            assert!(sessions.activity.lock().unwrap().is_empty());
        });
    }

    #[test]
    fn the_session_not_heard_of_for_longest_makes_room() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let sessions = Sessions { most: 2, ..Sessions::default() };
            let (first, _one) = sessions.create_session().await.unwrap();
            let (second, _two) = sessions.create_session().await.unwrap();
            sessions.note_activity(&first);
            let (third, _three) = sessions.create_session().await.unwrap();
            for (session, is_there) in [(&first, true), (&second, false), (&third, true)] {
                assert_eq!(sessions.has_session(session).await.unwrap(), is_there);
            }
            assert_eq!(sessions.activity.lock().unwrap().len(), 2);
        });
    }
}
