//! The traits that a store of teams implements, and the types they exchange.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::path::PathBuf;

use taskyard_core::rules::teams::mailing::Traces;
use taskyard_core::rules::teams::membership::PlanState;
use taskyard_core::{AgentName, Holder, ListId, Member, Message, MessageKey, SpecialFile, Team, TeamName, Timestamp};

use super::TeamError;
use crate::store::{Moved, StuckLock};

/// A store of teams: their members, the messages between them, and what is remembered of both.
pub trait TeamStore: Roster + Mailboxes + SeatMemory {
    /// Operations that only a file-backed store has; `None` for any other store.
    fn care(&self) -> Option<&dyn TeamFileCare> {
        None
    }
}

/// The teams and their members.
///
/// Two names with the same [`TeamName::directory`] denote the same team.
pub trait Roster: Debug + Send + Sync {
    /// Returns every team, sorted by name, and the teams that cannot be read with the reason: one bad team hides no
    /// other.
    fn teams(&self) -> Result<TeamsFound, TeamError>;

    /// Returns whether there may be any team. Cheap; a store that cannot tell returns `true`.
    fn may_be_any(&self) -> bool {
        true
    }

    /// Returns a team, or `None` if it does not exist.
    fn team(&self, name: &TeamName) -> Result<Option<Team>, TeamError>;

    /// Creates a team and records its lead's seat, atomically: no team ever exists without a known lead. Returns
    /// `false` without changing anything if a team of that name exists.
    fn make_team(&self, team: &Team, lead: &SeatRecord) -> Result<bool, TeamError>;

    /// Adds a member, or replaces the member of that name, atomically. The colour is [`Team::colour_for`] its name at
    /// that moment, so members that join concurrently get different colours. Returns `None` if the team does not exist.
    fn add_member(&self, team: &TeamName, member: &Member) -> Result<Option<Added>, TeamError>;

    /// Removes a member. Returns whether it was there: if several processes remove the same member, only one gets
    /// `true`.
    fn remove_member(&self, team: &TeamName, member: &str) -> Result<bool, TeamError>;

    /// Removes a team with its mailboxes and seats, atomically for readers.
    fn remove_team(&self, team: &Team) -> Result<(), TeamError>;

    /// Returns whether a task list exists. Needed for teams whose name the client spells in two ways; a store with a
    /// single spelling need not look.
    fn has_list(&self, _list: &ListId) -> bool {
        false
    }
}

/// The messages between members.
///
/// A message is identified by its [`MessageKey`]. A mailbox may hold a message twice if its sender wrote it twice.
pub trait Mailboxes: Debug + Send + Sync {
    /// Appends a message to a mailbox, creating the mailbox if necessary. The message is durable when this returns.
    /// Returns `false`, without delivering, if the team does not exist; a store that follows the client's rules may
    /// deliver it anyway.
    fn deliver(&self, posted: &Posted<'_>) -> Result<bool, TeamError>;

    /// Returns the messages in a member's mailbox in order of arrival; empty if there is no mailbox.
    fn mailbox(&self, team: &Team, member: &str) -> Result<Mailbox, TeamError>;

    /// Records that messages were shown to their recipient.
    fn note_shown(&self, team: &Team, member: &str, keys: &[MessageKey], now: Timestamp) -> Result<(), TeamError>;

    /// Records that the recipient has received messages: from then on they are in [`Mailbox::acknowledged`] or no
    /// longer in the mailbox. The store may keep or remove them, including those acknowledged earlier. A message that
    /// arrives concurrently is not lost. If this fails half way, [`TeamError::StillInInbox`] says that the messages
    /// count as acknowledged nevertheless.
    fn acknowledge(
        &self,
        team: &Team,
        member: &str,
        keys: &[MessageKey],
        now: Timestamp,
    ) -> Result<Acknowledged, TeamError>;

    /// Returns the newest messages that a member sent, at most `most`, newest first, with what is known of each.
    fn sent(&self, team: &Team, sender: &str, most: usize) -> Result<SentFound, TeamError>;

    /// Returns a token if mail for team leads may have arrived since [`Self::lead_mail_was_read`] was last called by
    /// any process, or `None` if none has. Cheap; a store that cannot tell returns a token.
    fn new_lead_mail(&self) -> Option<LeadMail> {
        Some(LeadMail::default())
    }

    /// Records that the mail for leads up to this token has been handled. If that cannot be recorded, the mail is
    /// looked at again.
    fn lead_mail_was_read(&self, _mail: &LeadMail) {}

    /// Prepares to call `moved` whenever something may have changed. Nothing is watched before [`TeamWatch::keep_up`].
    fn watch(&self, moved: Moved) -> Box<dyn TeamWatch>;
}

/// Watches teams for one follower, until it is dropped.
pub trait TeamWatch: Send {
    /// Watches the roster and the mailboxes of these teams from now on. Every change after this returns is reported;
    /// spurious reports are possible. Returns `false` if some changes may go unreported; the follower then has to poll
    /// every second.
    fn keep_up(&mut self, teams: &[TeamName]) -> bool;
}

/// What is remembered of the seats of teams.
pub trait SeatMemory: Debug + Send + Sync {
    /// Returns the seat records of a team, keyed by member. A team that was recreated under the same name starts with
    /// none.
    fn seats_in(&self, team: &Team) -> Result<HashMap<String, SeatRecord>, TeamError>;

    /// Like [`Self::seats_in`], but cheap, for a caller that checks again before it acts: which agent holds a seat is
    /// current, the other fields may be what this process last read.
    fn seats_recalled(&self, team: &Team) -> Result<HashMap<String, SeatRecord>, TeamError> {
        self.seats_in(team)
    }

    /// Returns the seats that an agent has taken, in any team.
    fn seats_of(&self, agent: &AgentName) -> Result<Vec<SeatTaken>, TeamError>;

    /// Changes a seat record atomically. The closure receives the default if there is no record; a record that equals
    /// the default afterwards is removed.
    fn change_seat(&self, team: &Team, member: &str, change: &mut dyn FnMut(&mut SeatRecord)) -> Result<(), TeamError>;

    /// Records that a member made a call, and which. A store may batch the calls of a few seconds, and lose them if its
    /// process is killed.
    fn note_call(&self, team: &Team, member: &str, activity: &str, now: Timestamp) -> Result<(), TeamError> {
        self.change_seat(team, member, &mut |seat| seat.note_calls(member, activity, 1, now))
    }
}

/// A member that has been added to a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// The team, including the member.
    pub team: Team,
    /// Whether the team already had a member of that name.
    pub was_there: bool,
}

/// A message to deliver.
#[derive(Clone, Copy, Debug)]
pub struct Posted<'a> {
    /// The team whose mailbox it goes to.
    pub team: &'a TeamName,
    /// The recipient.
    pub to: &'a str,
    /// The message.
    pub message: &'a Message,
    /// What the sender can look up later; `None` if nothing is to be recorded. Failing to record it is worth a warning,
    /// but is not an error.
    pub trace: Option<Trace<'a>>,
}

/// What is recorded of a message that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Trace<'a> {
    /// The team it was sent from.
    pub team: &'a Team,
    /// When it was sent.
    pub at: Timestamp,
    /// A summary of a few words.
    pub summary: &'a str,
}

/// An opaque token for the mail that leads have, obtained without reading it. Equal tokens mean equal mail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeadMail(pub(super) String);

/// What a mailbox holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mailbox {
    /// The messages, read or not, in order of arrival.
    pub messages: Vec<Message>,
    /// The keys of the messages that their recipient has acknowledged.
    pub acknowledged: HashSet<MessageKey>,
    /// The number of entries that are not valid messages.
    pub malformed: usize,
}

/// The result of acknowledging messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acknowledged {
    /// How many were still unread in the inbox, including those that were acknowledged before but not removed. Another
    /// reader took the rest.
    pub taken: usize,
    /// The entries that were not valid messages, and where they are kept now.
    pub set_aside: Vec<SetAside>,
}

/// Invalid entries that were moved out of a mailbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// Where they are kept, for display.
    pub kept_in: String,
    /// The number of entries.
    pub count: usize,
}

/// The messages that a member sent.
#[derive(Debug, Default)]
pub struct SentFound {
    /// The messages, newest first.
    pub letters: Vec<SentLetter>,
    /// The members whose mailboxes cannot be read, and why. Messages to them are reported as delivered but unread.
    pub unreadable: Vec<(String, TeamError)>,
}

/// A message that was sent, and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentLetter {
    /// Its identity: [`MessageKey::as_text`].
    pub key: String,
    /// The recipient.
    pub to: String,
    /// When it was sent.
    pub at: Timestamp,
    /// A summary of a few words.
    pub summary: String,
    /// What is known of it. Whether the recipient is still a member is not known to the store.
    pub traces: Traces,
}

/// A member's place in its team, as of when it was looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// The team.
    pub team: Team,
    /// The name of the member.
    pub name: String,
}

impl Seat {
    /// Returns the member, or `None` if it has left since.
    pub fn member(&self) -> Option<&Member> {
        self.team.member(&self.name)
    }

    /// Returns whether this is the lead's seat.
    pub fn is_lead(&self) -> bool {
        self.name == self.team.lead()
    }

    /// Returns the colour of messages sent from here. The client gives the lead none.
    pub(crate) fn message_colour(&self) -> Option<String> {
        self.member().and_then(|member| member.color.clone())
    }
}

/// What is remembered of a seat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeatRecord {
    /// The name that the member acts under; empty if only a plan is known.
    pub agent: String,
    /// The process that the member lives with, if any.
    pub holder: Option<Holder>,
    /// When it was last known to be alive; `None` if only a plan is known.
    pub seen: Option<Timestamp>,
    /// Its last activity: empty if it took the seat and has done nothing since, `None` if it never took the seat. This
    /// distinguishes members that joined through us from the client's own members.
    pub activity: Option<String>,
    /// How many tools it called.
    pub tool_uses: u64,
    /// How many tokens it used, if known.
    pub tokens: Option<u64>,
    /// The id of the shutdown request that it has not answered.
    pub stop_request: Option<String>,
    /// The plan it submitted for approval.
    pub plan: Option<Plan>,
}

/// A plan and its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The id of the approval request.
    pub request: String,
    /// Its state.
    pub state: PlanState,
    /// When it reached that state.
    pub at: Timestamp,
}

/// A seat that an agent took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeatTaken {
    /// The name of the team's directory, as returned by `TeamName::directory`.
    pub directory: String,
    /// When the team was created; another team may have its name since.
    pub made: Timestamp,
    /// The name of the member.
    pub member: String,
}

impl SeatRecord {
    /// Seats an agent, or seats it again. The counters are kept.
    pub(super) fn sit(&mut self, agent: &AgentName, holder: Option<Holder>, now: Timestamp) {
        self.agent = agent.to_string();
        self.holder = holder;
        self.seen = Some(now);
        self.activity.get_or_insert_default();
    }

    /// Creates the record of a member that may never have taken its seat.
    pub(super) fn note(&mut self, member: &str, now: Timestamp) {
        if self.seen.is_none() {
            self.agent = member.to_owned();
            self.seen = Some(now);
        }
    }

    /// Records that a member made `count` calls, the last of which was `activity`.
    pub fn note_calls(&mut self, member: &str, activity: &str, count: u64, now: Timestamp) {
        self.note(member, now);
        self.seen = Some(now);
        self.activity = Some(activity.to_owned());
        self.tool_uses += count;
    }
}

impl SeatTaken {
    /// Returns whether this is a seat of `team`.
    pub(super) fn is_in(&self, team: &Team) -> bool {
        self.directory == team.name.directory() && self.made == team.created_at
    }
}

/// Operations that only a file-backed store has.
pub trait TeamFileCare: Debug + Send + Sync {
    /// Returns the path of a team's file.
    fn file_of(&self, team: &TeamName) -> PathBuf;

    /// Creates the directory of a team's list and its lock file, as the client does for a new team.
    fn make_list(&self, list: &ListId) -> Result<(), TeamError>;

    /// Fails if members could not be removed from a team. Called before anything that depends on it.
    fn must_be_changeable(&self, team: &TeamName) -> Result<(), TeamError>;

    /// Fails if a team could not be removed. Called before anything that depends on it.
    fn must_be_removable(&self, team: &TeamName) -> Result<(), TeamError>;

    /// Finds inboxes and team files that cannot be read, and locks that block them, sorted by path. Changes nothing. A
    /// file that may not be opened is an I/O error, not a problem of the file, and is not reported.
    fn find_trouble(&self, found: TeamsFound) -> Vec<TeamTrouble>;

    /// Repairs a torn file under its lock: copies it unchanged to `set-aside` in the data directory, then replaces it
    /// by what can be read of it. Complete messages are kept, each once; of a team file, everything before the cut.
    ///
    /// Does not handle ghosts, whose tasks must be released: see `Yard::prune_team`.
    fn mend(&self, trouble: &TeamTrouble) -> Result<Mended, TeamError>;
}

/// A problem of a team.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TeamTrouble {
    /// An inbox cannot be read, so no member can write to its owner.
    TornInbox {
        /// The inbox.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A team file cannot be read, so its members appear to be in no team.
    TornTeamFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Something other than a regular file in place of an inbox or a team file. It is never opened.
    SpecialFile {
        /// Its path.
        path: PathBuf,
        /// What it is.
        found: SpecialFile,
        /// Whether it is in place of an inbox.
        is_inbox: bool,
    },
    /// A lock on one of these files that would never be released, or whose holder is dead.
    LockInTheWay {
        /// The lock.
        path: PathBuf,
        /// What is wrong with it.
        why: StuckLock,
    },
    /// The process that a member lived with has ended. `Yard::prune_team` removes the member.
    Ghost {
        /// The team.
        team: String,
        /// The member.
        name: String,
        /// The process it lived with, if known.
        process: Option<u32>,
    },
}

/// The result of repairing a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mended {
    /// It was repaired.
    Whole {
        /// Where the original is kept.
        kept: PathBuf,
        /// How many messages or members could be recovered.
        saved: usize,
    },
    /// It did not belong there and was renamed or removed.
    SetAside,
    /// It was already intact: another program was writing it, or has repaired it.
    WasWhole,
    /// It is too large, not a regular file, or contains nothing that makes a team. It was left alone.
    BeyondMending,
}

/// The result of reading all teams.
#[derive(Debug, Default)]
pub struct TeamsFound {
    /// The readable teams, sorted by name.
    pub teams: Vec<Team>,
    /// The teams that cannot be read, and why.
    pub unreadable: Vec<UnreadableTeam>,
}

/// A team that cannot be read.
#[derive(Debug)]
pub struct UnreadableTeam {
    /// The name of its directory, as returned by [`taskyard_core::TeamName::directory`].
    pub directory: String,
    /// Why it cannot be read.
    pub error: TeamError,
}
