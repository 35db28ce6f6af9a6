//! Listening on a port, until the process is asked to stop.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use taskyard::blocking::{allow_blocking, forbid_blocking};
use taskyard::core::ListId;
use taskyard::process::Cancel;
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
use taskyard::core::problem::Problem;
use taskyard_jobs::signals::hangup_means_reload;

/// How long requests that are being answered when the process is asked to stop have to come to an end.
const PATIENCE: Duration = Duration::from_secs(3);

/// A port that is ours, and what answers there.
#[derive(Debug)]
pub struct Server {
    socket: TcpListener,
    tls: Option<Tls>,
    site: Site,
    stop: CancellationToken,
}

/// How a server is to be reached, and by whom.
#[derive(Debug)]
pub struct ServerTerms<'a> {
    /// The address and port to listen on; port 0 takes any that is free.
    pub address: SocketAddr,
    /// What encrypts; none where nothing does.
    pub tls: Option<Tls>,
    /// Names that it answers to, besides its addresses.
    pub names: Vec<String>,
    /// The address under which a proxy shows it.
    pub public_url: Option<PublicUrl>,
    /// The token that lets in programs of the user.
    pub token: ServerToken,
    /// Where tokens by name are kept.
    pub data: &'a Path,
    /// Whether requests may start commands.
    pub runs_commands: bool,
}

impl Server {
    /// Takes a port.
    pub fn open(host: Arc<dyn Host>, terms: ServerTerms<'_>, cancel: Cancel) -> Result<Self, Problem> {
        let address = terms.address;
        let failed = |error: io::Error| {
            let problem = Problem::io(&format!("cannot listen on {address}"), &error);
            match error.kind() {
                io::ErrorKind::AddrInUse => match link_to_running(address, terms.token.secret()) {
                    Some(link) => problem.hint(format!(
                        "your server runs there: {link} lets one more browser in; choose another port with --port"
                    )),
                    None => problem.hint("another server runs there; choose another with --port"),
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

    /// Makes a link that opens the pages once, for the user who runs the server.
    pub fn link(&self) -> Result<String, Problem> {
        let terms = LinkTerms { actor: None, scope: Scope::All, token: None };
        self.site.make_link(terms).map(|(link, _)| link)
    }

    /// Returns the address for programs on this machine.
    pub fn url(&self) -> &str {
        &self.site.entrance().url
    }

    /// Returns the list of requests that name none.
    pub fn list(&self) -> &ListId {
        self.site.list()
    }

    /// Returns the file that holds the server's own token.
    pub fn token_file(&self) -> &Path {
        self.site.token_file()
    }

    /// Writes a file that takes the user's browser to a link, and returns where it is. Every user of the machine can read command lines, and
    /// only this one the file. It is removed when the link is used, or the server ends.
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
            // The caller that starts a thread for a call allows it to block.
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
        // Some proxies pass the prefix on, others take it away.
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

/// Reads the configuration and the certificate anew whenever the process gets a SIGHUP. Connections stay open.
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

/// Returns the address for programs on this machine.
fn url_of(address: SocketAddr, scheme: Scheme) -> String {
    let (scheme, port) = (scheme.as_str(), address.port());
    if address.ip().is_unspecified() {
        return format!("{scheme}://127.0.0.1:{port}");
    }
    format!("{scheme}://{address}")
}

/// Lets this process open as many files as the system allows without asking, up to what a server has a use for. What it starts later may, too.
fn allow_many_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.unwrap_or(MANY_FILES as u64).min(MANY_FILES as u64);
    if limit.current.is_some_and(|current| current < wanted) {
        // If that is refused, there are fewer connections.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum });
    }
}
