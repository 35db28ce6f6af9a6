//! What all requests of one server share.

use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use taskyard::core::problem::Problem;
use taskyard::core::{AgentName, ListId};
use taskyard::leases::Warden;
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

/// The maximum number of requests that look, and of requests that change something, which are answered at once.
const MOST_SEATS: usize = 8;
/// So many kilobytes of bodies are read at once.
const BODIES: usize = 64 * 1024;
/// How often is looked whether jobs and members have ended, at most.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// So many wrong tokens a second may come from one address, and so many at once.
const WRONG_TOKENS: (u32, u32) = (10, 50);
/// So many requests a second may come with one token, and so many at once.
const REQUESTS: (u32, u32) = (5_000, 10_000);

/// What all requests of one server share.
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
    /// The file that takes the user's browser to the first link, until that is used.
    opening_page: Mutex<Option<OpeningPage>>,
    entrance: Entrance,
    runs_commands: bool,
    looked: Mutex<Option<Instant>>,
    warden: OnceLock<Option<Warden>>,
}

/// Where requests come in.
#[derive(Debug)]
pub(crate) struct Entrance {
    /// Judges which requests are for this server.
    pub(crate) guard: Guard,
    /// What lets a client in.
    pub(crate) credentials: Credentials,
    /// The address for programs on this machine.
    pub(crate) url: String,
    /// The address under which a proxy shows it.
    public: Option<PublicUrl>,
    /// How many wrong tokens come from an address.
    pub(crate) failures: Rates<IpAddr>,
    /// How many requests come with a token, by its name.
    pub(crate) requests: Rates<Option<String>>,
}

impl Entrance {
    /// Returns the entrance of a server.
    pub(crate) fn new(guard: Guard, credentials: Credentials, url: String, public: Option<PublicUrl>) -> Self {
        let failures = Rates::new(WRONG_TOKENS.0, WRONG_TOKENS.1);
        Self { guard, credentials, url, public, failures, requests: Rates::new(REQUESTS.0, REQUESTS.1) }
    }

    /// Returns the address for browsers.
    pub(crate) fn public_url(&self) -> String {
        self.public.as_ref().map_or_else(|| self.url.clone(), ToString::to_string)
    }

    /// Returns what paths begin with in addresses that a browser is given: nothing, unless a proxy shows the server below a path.
    pub(crate) fn base(&self) -> &str {
        self.public.as_ref().map_or("", PublicUrl::base)
    }

    /// Tells whether a proxy shows it under another address.
    pub(crate) fn is_proxied(&self) -> bool {
        self.public.is_some()
    }
}

impl Site {
    /// Opens what a program serves. The server is ended by cancelling, and its streams by the stop.
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

    /// Prepares one request, which cancelling ends.
    pub(crate) fn call(&self, requested: Requested, cancel: Cancel) -> Result<Call, Problem> {
        Call::new(Arc::clone(&self.host), self.served(), requested, cancel)
    }

    /// Reads the configuration anew. If that cannot be done, everything stays as it is. May wait for the disk.
    pub(crate) fn reload(&self) {
        match self.host.served(Some(&self.served())) {
            Ok(served) => *self.served.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(served),
            Err(problem) => {
                tracing::error!(why = problem.report().message, "the configuration is not read anew");
            }
        }
    }

    /// Does what the end of jobs and of members of teams means, now and then. What keeps us from it keeps no request from its own work.
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
            // What the dead held on the served list comes back though no client asks for it.
            let requested = Requested { list: Some(self.list.clone()), ..Requested::default() };
            let yard = self.call(requested, self.cancel.clone()).ok()?.yard.lasting();
            Warden::guarding(&yard, |lease| lease.holder.is_none()).ok()
        });
        warden.iter().for_each(Warden::look_again);
    }

    /// Waits until there is room for a body of so many bytes.
    pub(crate) async fn room_for_body(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let kilobytes = u32::try_from(bytes.div_ceil(1024).min(BODIES)).unwrap_or(1);
        Arc::clone(&self.bodies).acquire_many_owned(kilobytes).await.ok()
    }

    /// Returns the list that is served where a request names none.
    pub(crate) fn list(&self) -> &ListId {
        &self.list
    }

    /// Returns who acts where a request does not say.
    pub(crate) fn actor(&self) -> &AgentName {
        &self.actor
    }

    /// Makes a link that opens the pages once. Returns it with its terms, of which the name is that of the user who runs the server if they
    /// have none.
    pub(crate) fn make_link(&self, terms: LinkTerms) -> Result<(String, LinkTerms), Problem> {
        let actor = terms.actor.or_else(|| Some(self.actor.as_str().to_owned()));
        let terms = LinkTerms { actor, ..terms };
        let made = self.links.make(terms.clone());
        let path = made.map_err(|error| Problem::io("cannot read random bytes", &error))?;
        Ok((format!("{}{path}", self.entrance().public_url()), terms))
    }

    /// Returns what ends every call when the process is asked to stop.
    pub(crate) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Returns what ends every stream when the process is asked to stop.
    pub(crate) fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Returns the threads that requests are answered on.
    pub(crate) fn workers(&self) -> &Workers {
        &self.workers
    }

    /// Returns the answers that are remembered.
    pub(crate) fn repeats(&self) -> &RepeatedRequests {
        &self.repeats
    }

    /// Returns the readers of streams.
    pub(crate) fn feeds(&self) -> &Feeds {
        &self.feeds
    }

    /// Returns what became of lists over time, as far as a page asked.
    pub(crate) fn pasts(&self) -> &Pasts {
        &self.pasts
    }

    /// Returns the conversations that pages showed.
    pub(crate) fn letters(&self) -> &Letters {
        &self.letters
    }

    /// Returns what was counted.
    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Returns the links that no browser has used yet.
    pub(crate) fn links(&self) -> &Links {
        &self.links
    }

    /// Keeps the file that takes the user's browser to the first link until that is used, or the server ends.
    pub(crate) fn keep_opening_page(&self, page: OpeningPage) {
        *self.opening_page.lock().unwrap_or_else(PoisonError::into_inner) = Some(page);
    }

    /// Removes that file if it leads to the link with this code, which was used. May wait for the disk.
    pub(crate) fn forget_opening_page_to(&self, code: &str) {
        let mut page = self.opening_page.lock().unwrap_or_else(PoisonError::into_inner);
        drop(page.take_if(|page| page.leads_to(code)));
    }

    /// Removes that file: the server ends. May wait for the disk.
    pub(crate) fn forget_opening_page(&self) {
        drop(self.opening_page.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Returns where requests come in.
    pub(crate) fn entrance(&self) -> &Entrance {
        &self.entrance
    }

    /// Tells whether requests may start commands.
    pub(crate) fn runs_commands(&self) -> bool {
        self.runs_commands
    }

    /// Returns the file that holds the server's own token.
    pub(crate) fn token_file(&self) -> &Path {
        self.entrance.credentials.token().path()
    }

    fn served(&self) -> Arc<Served> {
        Arc::clone(&self.served.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
