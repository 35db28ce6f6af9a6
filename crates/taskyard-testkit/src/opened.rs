//! Stores and teams opened for one test.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::statvfs;
use taskyard::Store;
use taskyard::core::{AgentName, ListId, Member, MessageKey, Rules, Team, TeamName, Timestamp};
use taskyard::store::Moved;
use taskyard::teams::{
    Acknowledged, Added, LeadMail, Mailbox, Mailboxes, Posted, Roster, SeatMemory, SeatRecord, SeatTaken, SentFound,
    TeamCaller, TeamError, TeamStore, TeamWatch, Teams, TeamsFound,
};
use tempfile::TempDir;

/// A store, and what must live as long as it does: a temporary directory, say.
#[derive(Clone)]
pub struct Opened {
    /// The store.
    pub store: Arc<dyn Store>,
    _kept: Option<Arc<dyn Any + Send + Sync>>,
}

impl Opened {
    /// Takes a store and what must live as long as it does.
    pub fn keeping(store: Arc<dyn Store>, kept: impl Any + Send + Sync) -> Self {
        Self { store, _kept: Some(Arc::new(kept)) }
    }
}

impl From<Arc<dyn Store>> for Opened {
    fn from(store: Arc<dyn Store>) -> Self {
        Self { store, _kept: None }
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(formatter)
    }
}

/// A place of teams that can be opened any number of times, and what must live as long as it does: a temporary directory, say.
#[derive(Clone)]
pub struct OpenedTeams {
    open: Arc<dyn Fn() -> Arc<dyn TeamStore> + Send + Sync>,
    _kept: Arc<dyn Any + Send + Sync>,
}

impl OpenedTeams {
    /// Takes what opens the place once more, as another process would, and what must live as long as it does.
    pub fn keeping(
        open: impl Fn() -> Arc<dyn TeamStore> + Send + Sync + 'static,
        kept: impl Any + Send + Sync,
    ) -> Self {
        Self { open: Arc::new(open), _kept: Arc::new(kept) }
    }

    /// Opens the place once more.
    pub fn store(&self) -> Arc<dyn TeamStore> {
        (self.open)()
    }

    /// Opens the place once more, for the operations on teams.
    pub fn teams(&self) -> Teams {
        Teams::over(self.store(), Rules::Strict, TeamCaller::default())
    }
}

impl fmt::Debug for OpenedTeams {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store().fmt(formatter)
    }
}

/// A place in memory with less room than this, as containers have it, is left alone.
const ROOM: u64 = 512 * 1024 * 1024;

/// Makes a temporary folder in memory, where the system has a place for that: for what is tested often, or measured, and must not wait for
/// what else the disk is busy with.
pub fn folder_in_memory() -> TempDir {
    let memory = Some(Path::new("/dev/shm")).filter(|memory| has_room(memory));
    let place = memory.map_or_else(std::env::temp_dir, Path::to_owned);
    tempfile::Builder::new().prefix("taskyard-").tempdir_in(place).expect("a temporary directory can be made")
}

fn has_room(folder: &Path) -> bool {
    statvfs(folder).is_ok_and(|found| found.f_bavail * found.f_frsize >= ROOM)
}

/// Counts how often the roster and the mailboxes of another place are read.
#[derive(Debug)]
pub struct CountingTeams {
    store: Arc<dyn TeamStore>,
    rosters: AtomicUsize,
    mailboxes: AtomicUsize,
}

impl CountingTeams {
    /// Counts from now on.
    pub fn over(store: Arc<dyn TeamStore>) -> Self {
        Self { store, rosters: AtomicUsize::new(0), mailboxes: AtomicUsize::new(0) }
    }

    /// Returns how often the roster, or a team of it, and how often a mailbox was read since this was last asked.
    pub fn take_reads(&self) -> (usize, usize) {
        (self.rosters.swap(0, Ordering::SeqCst), self.mailboxes.swap(0, Ordering::SeqCst))
    }
}

impl TeamStore for CountingTeams {}

impl Roster for CountingTeams {
    fn teams(&self) -> Result<TeamsFound, TeamError> {
        self.rosters.fetch_add(1, Ordering::SeqCst);
        self.store.teams()
    }

    fn may_be_any(&self) -> bool {
        self.store.may_be_any()
    }

    fn team(&self, name: &TeamName) -> Result<Option<Team>, TeamError> {
        self.rosters.fetch_add(1, Ordering::SeqCst);
        self.store.team(name)
    }

    fn make_team(&self, team: &Team, lead: &SeatRecord) -> Result<bool, TeamError> {
        self.store.make_team(team, lead)
    }

    fn add_member(&self, team: &TeamName, member: &Member) -> Result<Option<Added>, TeamError> {
        self.store.add_member(team, member)
    }

    fn remove_member(&self, team: &TeamName, member: &str) -> Result<bool, TeamError> {
        self.store.remove_member(team, member)
    }

    fn remove_team(&self, team: &Team) -> Result<(), TeamError> {
        self.store.remove_team(team)
    }

    fn has_list(&self, list: &ListId) -> bool {
        self.store.has_list(list)
    }
}

impl Mailboxes for CountingTeams {
    fn deliver(&self, posted: &Posted<'_>) -> Result<bool, TeamError> {
        self.store.deliver(posted)
    }

    fn mailbox(&self, team: &Team, member: &str) -> Result<Mailbox, TeamError> {
        self.mailboxes.fetch_add(1, Ordering::SeqCst);
        self.store.mailbox(team, member)
    }

    fn note_shown(&self, team: &Team, member: &str, keys: &[MessageKey], now: Timestamp) -> Result<(), TeamError> {
        self.store.note_shown(team, member, keys, now)
    }

    fn acknowledge(
        &self,
        team: &Team,
        member: &str,
        keys: &[MessageKey],
        now: Timestamp,
    ) -> Result<Acknowledged, TeamError> {
        self.store.acknowledge(team, member, keys, now)
    }

    fn sent(&self, team: &Team, sender: &str, most: usize) -> Result<SentFound, TeamError> {
        self.store.sent(team, sender, most)
    }

    fn new_lead_mail(&self) -> Option<LeadMail> {
        self.store.new_lead_mail()
    }

    fn lead_mail_was_read(&self, mail: &LeadMail) {
        self.store.lead_mail_was_read(mail);
    }

    fn watch(&self, moved: Moved) -> Box<dyn TeamWatch> {
        self.store.watch(moved)
    }
}

impl SeatMemory for CountingTeams {
    fn seats_in(&self, team: &Team) -> Result<HashMap<String, SeatRecord>, TeamError> {
        self.store.seats_in(team)
    }

    fn seats_of(&self, agent: &AgentName) -> Result<Vec<SeatTaken>, TeamError> {
        self.store.seats_of(agent)
    }

    fn change_seat(&self, team: &Team, member: &str, change: &mut dyn FnMut(&mut SeatRecord)) -> Result<(), TeamError> {
        self.store.change_seat(team, member, change)
    }
}
