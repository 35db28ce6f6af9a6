//! [`Server`]: listening on a port until the process is asked to stop.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use taskyard::core::ListId;
use taskyard::core::problem::Problem;
use taskyard::process::Cancel;
use taskyard::system::{allow_blocking, forbid_blocking};
use taskyard_jobs::processes::hangup_means_reload;
use taskyard_mcp::serving::{MANY_FILES, open_files};
use taskyard_mcp::{Hosts, Hub, answering_to};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::accepting::accept;
use super::running::link_to_running;
use super::tls::Tls;
use crate::public_url::PublicUrl;
use crate::tokens::{LinkTerms, Scope, ServerToken};
use crate::web::security::{Cookies, Credentials, Guard, OpeningPage, Scheme};
use crate::web::{Entrance, Host, Site, compressed, let_in, routes};

/// How long requests in progress may take to complete after the process is asked to stop.
const PATIENCE: Duration = Duration::from_secs(3);

/// A server that has bound its port.
#[derive(Debug)]
pub struct Server {
    socket: TcpListener,
    tls: Option<Tls>,
    site: Site,
    stop: CancellationToken,
}

/// The options of a server: its address, and who may use it.
#[derive(Debug)]
pub struct ServerTerms<'a> {
    /// The address and port to listen on. Port 0 picks a free port.
    pub address: SocketAddr,
    /// The TLS certificate; `None` for plain HTTP.
    pub tls: Option<Tls>,
    /// Additional host names to accept.
    pub names: Vec<String>,
    /// The public address, if behind a proxy.
    pub public_url: Option<PublicUrl>,
    /// The server's own token, for the user's programs.
    pub token: ServerToken,
    /// The data directory, which contains the named tokens.
    pub data: &'a Path,
    /// Whether requests may start commands.
    pub runs_commands: bool,
}

impl Server {
    /// Binds the port.
    pub fn open(host: Arc<dyn Host>, terms: ServerTerms<'_>, cancel: Cancel) -> Result<Self, Problem> {
        let address = terms.address;
        let failed = |error: io::Error| {
            let problem = Problem::io(&format!("cannot listen on {address}"), &error);
            match error.kind() {
                io::ErrorKind::AddrInUse => match link_to_running(address, terms.token.secret()) {
                    Some(link) => problem.hint(format!(
                        "your server is running there: {link} signs in one more browser; to start another, choose another \
                         port with --port"
                    )),
                    None => problem.hint("another server is running there; choose another port with --port"),
                },
                io::ErrorKind::PermissionDenied => problem.hint("choose a port above 1023 with --port"),
                _ => problem.hint("choose another address with --bind"),
            }
        };
        allow_many_open_files();
        let socket = TcpListener::bind(address).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let scheme = if terms.tls.is_some() { Scheme::Https } else { Scheme::Http };
        let cookies = match &terms.public_url {
            Some(public) => Cookies::of_public(terms.token.secret(), public),
            None => Cookies::of_port(terms.token.secret(), address.port(), scheme == Scheme::Https),
        };
        let credentials = Credentials::new(terms.token, terms.data, cookies);
        let guard = Guard::new(address, scheme, terms.names, terms.public_url.clone());
        let entrance = Entrance::new(guard, credentials, url_of(address, scheme), terms.public_url);
        let stop = CancellationToken::new();
        let site = Site::open(host, entrance, terms.runs_commands, (cancel, stop.clone()))?;
        Ok(Self { socket, tls: terms.tls, site, stop })
    }

    /// Creates a single-use link to the pages, for the user who runs the server.
    pub fn link(&self) -> Result<String, Problem> {
        let terms = LinkTerms { actor: None, scope: Scope::All, token: None };
        self.site.make_link(terms).map(|(link, _)| link)
    }

    /// Returns the URL for programs on this machine.
    pub fn url(&self) -> &str {
        &self.site.entrance().url
    }

    /// Returns the default list, for requests that do not name one.
    pub fn list(&self) -> &ListId {
        self.site.list()
    }

    /// Returns the file that contains the server's own token.
    pub fn token_file(&self) -> &Path {
        self.site.token_file()
    }

    /// Writes a file that redirects the user's browser to a link, and returns its path. Command lines are visible to
    /// all users of the machine, the file only to this user. It is removed when the link is used or the server ends.
    pub fn write_opening_page(&self, data: &Path, link: &str) -> io::Result<PathBuf> {
        let page = OpeningPage::write(data, link)?;
        let path = page.path().to_owned();
        self.site.keep_opening_page(page);
        Ok(path)
    }

    /// Answers requests until the process is asked to stop.
    pub fn serve(self, hub: Hub) -> Result<(), Problem> {
        let failed = |error: io::Error| Problem::io("cannot serve", &error);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            // Code that starts a thread for a call allows blocking there.
            .on_thread_start(|| std::mem::forget(forbid_blocking()))
            .enable_all()
            .build();
        let runtime = runtime.map_err(failed)?;
        let stop = self.stop.clone();
        let cancel = hub.cancel().clone();
        let _attendance = cancel.attend();
        let _stopped = cancel.on_cancel({
            let stop = stop.clone();
            move || stop.cancel()
        });
        let passing_messages = forbid_blocking();
        let served = runtime.block_on(self.answer(hub, stop));
        drop(passing_messages);
        runtime.shutdown_timeout(PATIENCE);
        served.map_err(failed)
    }

    async fn answer(self, hub: Hub, stop: CancellationToken) -> io::Result<()> {
        let socket = tokio::net::TcpListener::from_std(self.socket)?;
        let site = Arc::new(self.site);
        if hangup_means_reload() {
            tokio::spawn(reload_when_asked(Arc::clone(&site), self.tls.clone()));
        }
        let rooms = Router::new()
            .nest_service("/mcp", answering_to(Hosts::judged_before(), hub, stop.clone()))
            .merge(routes(Arc::clone(&site)).layer(from_fn(compressed)));
        let rooms = rooms.layer(from_fn_with_state(Arc::clone(&site), let_in));
        // Some proxies forward the prefix, others strip it.
        let rooms = match site.entrance().base() {
            "" => rooms,
            base => Router::new().nest_service(base, rooms.clone()).fallback_service(rooms),
        };
        let serving = accept(socket, rooms, self.tls, open_files(), stop.clone());
        let impatient = async {
            stop.cancelled().await;
            tokio::time::sleep(PATIENCE).await;
        };
        tokio::select! {
            () = serving => {}
            () = impatient => {}
        }
        site.forget_opening_page();
        Ok(())
    }
}

/// Reloads the configuration and the certificate on each SIGHUP. Connections stay open.
async fn reload_when_asked(site: Arc<Site>, tls: Option<Tls>) {
    let Ok(mut asked) = signal(SignalKind::hangup()) else { return };
    while asked.recv().await.is_some() {
        let (site, tls) = (Arc::clone(&site), tls.clone());
        let reloading = tokio::task::spawn_blocking(move || {
            allow_blocking(|| {
                site.reload();
                tls.iter().for_each(Tls::reload);
            });
            tracing::info!("configuration and certificate were read anew");
        });
        let _ = reloading.await;
    }
}

/// Returns the URL for programs on this machine.
fn url_of(address: SocketAddr, scheme: Scheme) -> String {
    let (scheme, port) = (scheme.as_str(), address.port());
    if address.ip().is_unspecified() {
        return format!("{scheme}://127.0.0.1:{port}");
    }
    format!("{scheme}://{address}")
}

/// Raises this process's limit on open files to the maximum allowed, up to what a server can use. Child processes
/// inherit it.
fn allow_many_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.unwrap_or(MANY_FILES as u64).min(MANY_FILES as u64);
    if limit.current.is_some_and(|current| current < wanted) {
        // If this fails, fewer connections are accepted.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum });
    }
}
