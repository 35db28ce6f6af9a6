//! A place of teams that counts how often it is read.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use taskyard::core::{AgentName, ListId, Member, MessageKey, Team, TeamName, Timestamp};
use taskyard::store::Moved;
use taskyard::teams::{
    Acknowledged, Added, LeadMail, Mailbox, Mailboxes, Posted, Roster, SeatMemory, SeatRecord, SeatTaken, SentFound,
    TeamError, TeamStore, TeamWatch, TeamsFound,
};

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
