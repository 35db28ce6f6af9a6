//! Listening on a port, until the process is asked to stop.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::WWW_AUTHENTICATE;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use taskyard::blocking::forbid_blocking;
use tokio_util::sync::CancellationToken;

use super::accepting::accept;
use super::connections::{Standing, Visit};
use super::guard::{Guard, Refused};
use super::token::Token;
use crate::mcp::{self, Hub};
use crate::open_files::open_files;
use crate::problem::Problem;

/// How long requests that are being answered when the process is asked to stop have to come to an end.
const PATIENCE: Duration = Duration::from_secs(3);

/// A port that is ours.
#[derive(Debug)]
pub(crate) struct Listening {
    socket: TcpListener,
    address: SocketAddr,
    guard: Guard,
}

impl Listening {
    /// Takes a port.
    pub(crate) fn open(address: SocketAddr, token: Token) -> Result<Self, Problem> {
        let failed = |error: io::Error| {
            let problem = Problem::io(&format!("cannot listen on {address}"), &error);
            match error.kind() {
                io::ErrorKind::AddrInUse => problem.hint("another server runs there; choose another with --port"),
                io::ErrorKind::PermissionDenied => problem.hint("choose a port above 1023 with --port"),
                _ => problem.hint("choose another address with --bind"),
            }
        };
        let socket = TcpListener::bind(address).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        Ok(Self { socket, address, guard: Guard::new(address, token) })
    }

    /// Returns the address for programs on this machine.
    pub(crate) fn url(&self) -> String {
        let port = self.address.port();
        if self.address.ip().is_unspecified() {
            return format!("http://127.0.0.1:{port}");
        }
        format!("http://{}", self.address)
    }

    /// Returns the token that lets programs in.
    pub(crate) fn token(&self) -> &Token {
        self.guard.token()
    }

    /// Answers requests until the process is asked to stop.
    pub(crate) fn serve(self, hub: Hub) -> Result<(), Problem> {
        let failed = |error: io::Error| Problem::io("cannot serve", &error);
        let hub = Arc::new(hub);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            // Those that are started for calls are allowed to block by whoever makes one.
            .on_thread_start(|| std::mem::forget(forbid_blocking()))
            .enable_all()
            .build();
        let runtime = runtime.map_err(failed)?;
        let stop = CancellationToken::new();
        let _attendance = hub.cancel().attend();
        let _stopped = hub.cancel().on_cancel({
            let stop = stop.clone();
            move || stop.cancel()
        });
        let passing_messages = forbid_blocking();
        let served = runtime.block_on(self.answer(hub, stop));
        drop(passing_messages);
        runtime.shutdown_timeout(PATIENCE);
        served.map_err(failed)
    }

    async fn answer(self, hub: Arc<Hub>, stop: CancellationToken) -> io::Result<()> {
        let socket = tokio::net::TcpListener::from_std(self.socket)?;
        let rooms = Router::new().nest_service("/mcp", mcp::answering(hub, stop.clone()));
        let rooms = rooms.layer(from_fn_with_state(Arc::new(self.guard), let_in));
        let serving = accept(socket, rooms, open_files(), stop.clone());
        let impatient = async {
            stop.cancelled().await;
            tokio::time::sleep(PATIENCE).await;
        };
        tokio::select! {
            () = serving => {}
            () = impatient => {}
        }
        Ok(())
    }
}

async fn let_in(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    match guard.judge(request.uri(), request.headers()) {
        Ok(()) => {
            if let Some(visit) = request.extensions().get::<Visit>() {
                visit.is_now(Standing::Busy);
            }
            next.run(request).await
        }
        Err(refused) => {
            tracing::warn!(?refused, "a request was turned away");
            let answer = (refused.status(), refused.advice()).into_response();
            match refused {
                Refused::Token => ([(WWW_AUTHENTICATE, "Bearer")], answer).into_response(),
                Refused::Host | Refused::Origin => answer,
            }
        }
    }
}
