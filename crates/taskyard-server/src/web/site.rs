//! State shared by all requests of a server.

use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use taskyard::core::problem::Problem;
use taskyard::core::{AgentName, ListId};
use taskyard::lease_watch::Warden;
use taskyard::process::Cancel;
use taskyard_mcp::serving::{Workers, open_files};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::api::RepeatedRequests;
use super::call::{Call, Requested};
use super::events::Feeds;
use super::host::{Host, Served};
use super::letters::Letters;
use super::pasts::Pasts;
use super::security::{Credentials, Guard, Links, OpeningPage, Rates};
use super::tally::Tally;
use crate::public_url::PublicUrl;
use crate::tokens::{LinkTerms, random_secret};

/// Maximum number of concurrent requests that read, and of those that change something.
const MOST_SEATS: usize = 8;
/// Maximum total size of bodies being read, in kilobytes.
const BODIES: usize = 64 * 1024;
/// Minimum interval between checks for ended jobs and members.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// Rate and burst of invalid tokens per address.
const WRONG_TOKENS: (u32, u32) = (10, 50);
/// Rate and burst of requests per token.
const REQUESTS: (u32, u32) = (5_000, 10_000);

#[derive(Debug)]
pub(crate) struct Site {
    host: Arc<dyn Host>,
    served: Mutex<Arc<Served>>,
    list: ListId,
    actor: AgentName,
    cancel: Cancel,
    stop: CancellationToken,
    workers: Workers,
    repeats: RepeatedRequests,
    feeds: Feeds,
    pasts: Pasts,
    letters: Letters,
    tally: Arc<Tally>,
    bodies: Arc<Semaphore>,
    links: Links,
    /// The file that redirects the user's browser to the first link, until the link is used.
    opening_page: Mutex<Option<OpeningPage>>,
    entrance: Entrance,
    runs_commands: bool,
    looked: Mutex<Option<Instant>>,
    warden: OnceLock<Option<Warden>>,
}

/// The address of a server, and the checks that requests must pass.
#[derive(Debug)]
pub(crate) struct Entrance {
    pub(crate) guard: Guard,
    pub(crate) credentials: Credentials,
    /// The URL for programs on this machine.
    pub(crate) url: String,
    /// The public address, if behind a proxy.
    public: Option<PublicUrl>,
    /// Limits invalid tokens per address.
    pub(crate) failures: Rates<IpAddr>,
    /// Limits requests per token name.
    pub(crate) requests: Rates<Option<String>>,
}

impl Entrance {
    pub(crate) fn new(guard: Guard, credentials: Credentials, url: String, public: Option<PublicUrl>) -> Self {
        let failures = Rates::new(WRONG_TOKENS.0, WRONG_TOKENS.1);
        Self { guard, credentials, url, public, failures, requests: Rates::new(REQUESTS.0, REQUESTS.1) }
    }

    /// Returns the URL for browsers.
    pub(crate) fn public_url(&self) -> String {
        self.public.as_ref().map_or_else(|| self.url.clone(), ToString::to_string)
    }

    /// Returns the path prefix of URLs given to browsers: empty unless a proxy serves us below a path.
    pub(crate) fn base(&self) -> &str {
        self.public.as_ref().map_or("", PublicUrl::base)
    }

    pub(crate) fn is_proxied(&self) -> bool {
        self.public.is_some()
    }
}

impl Site {
    /// Opens what a program serves. `cancel` ends the server, and `stop` its streams.
    pub(crate) fn open(
        host: Arc<dyn Host>,
        entrance: Entrance,
        runs_commands: bool,
        (cancel, stop): (Cancel, CancellationToken),
    ) -> Result<Self, Problem> {
        let served = host.served(None)?;
        let epoch = random_secret().map_err(|error| Problem::io("cannot read random bytes", &error))?;
        let tally = Arc::new(Tally::default());
        Ok(Self {
            list: served.list.clone(),
            actor: served.agent.0.clone(),
            cancel,
            host,
            served: Mutex::new(Arc::new(served)),
            stop,
            workers: Workers::new(MOST_SEATS, open_files()),
            repeats: RepeatedRequests::default(),
            feeds: Feeds::new(epoch[..8].to_owned(), Arc::clone(&tally)),
            pasts: Pasts::default(),
            letters: Letters::default(),
            tally,
            bodies: Arc::new(Semaphore::new(BODIES)),
            links: Links::default(),
            opening_page: Mutex::default(),
            entrance,
            runs_commands,
            looked: Mutex::new(None),
            warden: OnceLock::new(),
        })
    }

    /// Prepares one request, which `cancel` can end.
    pub(crate) fn call(&self, requested: Requested, cancel: Cancel) -> Result<Call, Problem> {
        Call::new(Arc::clone(&self.host), self.served(), requested, cancel)
    }

    /// Reloads the configuration. If that fails, the current one stays in use. May access the disk.
    pub(crate) fn reload(&self) {
        match self.host.served(Some(&self.served())) {
            Ok(served) => *self.served.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(served),
            Err(problem) => {
                tracing::error!(why = problem.report().message, "the configuration is not read anew");
            }
        }
    }

    /// Applies the effects of ended jobs and members, at most once per [`BETWEEN_LOOKS`]. Failures do not affect the
    /// request.
    pub(crate) fn settle(&self, call: &Call) {
        let Ok(mut looked) = self.looked.try_lock() else { return };
        if looked.is_some_and(|looked| looked.elapsed() < BETWEEN_LOOKS) {
            return;
        }
        *looked = Some(Instant::now());
        drop(looked);
        let jobs = call.jobs();
        if jobs.may_reopen_tasks()
            && let Err(error) = jobs.reopen_tasks(&call.yard, &call.served.address)
        {
            tracing::warn!(%error, "what the end of jobs means is not settled yet");
        }
        if call.teams().is_ok_and(|teams| teams.new_lead_mail().is_some()) {
            match call.yard.take_out_ended() {
                Ok(gone) => gone
                    .iter()
                    .for_each(|gone| tracing::warn!(name = gone.name, "a member that has ended is taken out")),
                Err(error) => tracing::warn!(%error, "a member that has ended stays in its team"),
            }
        }
        let warden = self.warden.get_or_init(|| {
            // Release tasks of dead agents on the served list even if no client asks for it.
            let requested = Requested { list: Some(self.list.clone()), ..Requested::default() };
            let yard = self.call(requested, self.cancel.clone()).ok()?.yard.lasting();
            Warden::guarding(&yard, |lease| lease.holder.is_none()).ok()
        });
        warden.iter().for_each(Warden::look_again);
    }

    /// Waits until a body of this size may be read.
    pub(crate) async fn room_for_body(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let kilobytes = u32::try_from(bytes.div_ceil(1024).min(BODIES)).unwrap_or(1);
        Arc::clone(&self.bodies).acquire_many_owned(kilobytes).await.ok()
    }

    /// Returns the default list.
    pub(crate) fn list(&self) -> &ListId {
        &self.list
    }

    /// Returns the default actor.
    pub(crate) fn actor(&self) -> &AgentName {
        &self.actor
    }

    /// Creates a single-use link. Returns it with its terms, in which a missing name is replaced by that of the user
    /// who runs the server.
    pub(crate) fn make_link(&self, terms: LinkTerms) -> Result<(String, LinkTerms), Problem> {
        let actor = terms.actor.or_else(|| Some(self.actor.as_str().to_owned()));
        let terms = LinkTerms { actor, ..terms };
        let made = self.links.make(terms.clone());
        let path = made.map_err(|error| Problem::io("cannot read random bytes", &error))?;
        Ok((format!("{}{path}", self.entrance().public_url()), terms))
    }

    /// Returns the handle that ends every call when the process is asked to stop.
    pub(crate) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Returns the token that ends every stream when the process is asked to stop.
    pub(crate) fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    pub(crate) fn workers(&self) -> &Workers {
        &self.workers
    }

    pub(crate) fn repeats(&self) -> &RepeatedRequests {
        &self.repeats
    }

    pub(crate) fn feeds(&self) -> &Feeds {
        &self.feeds
    }

    pub(crate) fn pasts(&self) -> &Pasts {
        &self.pasts
    }

    pub(crate) fn letters(&self) -> &Letters {
        &self.letters
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    pub(crate) fn links(&self) -> &Links {
        &self.links
    }

    /// Keeps the redirect file until its link is used or the server ends.
    pub(crate) fn keep_opening_page(&self, page: OpeningPage) {
        *self.opening_page.lock().unwrap_or_else(PoisonError::into_inner) = Some(page);
    }

    /// Removes the redirect file if it leads to the link with this code, which was used. May access the disk.
    pub(crate) fn forget_opening_page_to(&self, code: &str) {
        let mut page = self.opening_page.lock().unwrap_or_else(PoisonError::into_inner);
        drop(page.take_if(|page| page.leads_to(code)));
    }

    /// Removes the redirect file when the server ends. May access the disk.
    pub(crate) fn forget_opening_page(&self) {
        drop(self.opening_page.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    pub(crate) fn entrance(&self) -> &Entrance {
        &self.entrance
    }

    pub(crate) fn runs_commands(&self) -> bool {
        self.runs_commands
    }

    /// Returns the file that contains the server's own token.
    pub(crate) fn token_file(&self) -> &Path {
        self.entrance.credentials.token().path()
    }

    fn served(&self) -> Arc<Served> {
        Arc::clone(&self.served.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
