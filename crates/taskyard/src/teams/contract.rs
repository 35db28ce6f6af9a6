//! What a place must be able to do for teams to live there.
//!
//! Everything that is decided about teams and messages is decided in [`super::Teams`], once, over these traits; a place keeps
//! what it is given and hands it out. It knows no rule but those that are written here. No path and no type of a database
//! crosses this line: what only the client's files know is behind [`TeamStore::care`].
//!
//! Every method may be called by several threads and processes at once. Where a promise says that something happens in one step, no reader
//! sees half of it, also when the process dies in between. A closure may run more than once, and has no side effects.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;

use taskyard_core::rules::teams::mailing::Traces;
use taskyard_core::{AgentName, ListId, Member, Message, MessageKey, Team, TeamName, Timestamp};

use super::TeamError;
use super::care::TeamFileCare;
use super::seat_record::{SeatRecord, SeatTaken};
use super::teams_found::TeamsFound;
use crate::store::Moved;

/// A place where teams live: who is in them, what their members write to each other, and what is remembered of both.
pub trait TeamStore: Roster + Mailboxes + SeatMemory {
    /// Returns what only a place of files can do; none for any other.
    fn care(&self) -> Option<&dyn TeamFileCare> {
        None
    }
}

/// The teams there are, and who is in each.
///
/// Two names with one [`TeamName::directory`] are one team.
pub trait Roster: Debug + Send + Sync {
    /// Returns every team by name, and those that cannot be read with the reason: one bad team hides no other.
    fn teams(&self) -> Result<TeamsFound, TeamError>;

    /// Tells at little cost whether there may be any team. A place that cannot tell says yes.
    fn may_be_any(&self) -> bool {
        true
    }

    /// Returns one team; none where there is none.
    fn team(&self, name: &TeamName) -> Result<Option<Team>, TeamError>;

    /// Makes a team and remembers who leads it, in one step: there is never a team whose lead's seat is not known. Returns false,
    /// and has done nothing, where there is one of that name already.
    fn make_team(&self, team: &Team, lead: &SeatRecord) -> Result<bool, TeamError>;

    /// Adds a member, or replaces the one of that name, in one step. Its colour is [`Team::colour_for`] its name at that moment, so that of
    /// several members that join at once each has its own. Returns none where there is no such team.
    fn add_member(&self, team: &TeamName, member: &Member) -> Result<Option<Added>, TeamError>;

    /// Takes a member out. Returns whether it was there: of several processes that take out the same member only one does.
    fn remove_member(&self, team: &TeamName, member: &str) -> Result<bool, TeamError>;

    /// Removes a team with its mailboxes and its seats; no reader sees half a team.
    fn remove_team(&self, team: &Team) -> Result<(), TeamError>;

    /// Tells whether a task list exists, for teams whose name the client spells in two ways. A place with one spelling need not look.
    fn has_list(&self, _list: &ListId) -> bool {
        false
    }
}

/// What members write to each other.
///
/// A message is told from others by its [`MessageKey`]; a mailbox may hold one twice, where its sender wrote it twice.
pub trait Mailboxes: Debug + Send + Sync {
    /// Lays a message into a mailbox, behind those that are there, and makes the mailbox where there is none. When this returns, the
    /// message is kept safely. Returns false, and has delivered nothing, where there is no such team; a place that follows the
    /// client's rules may take it all the same.
    fn deliver(&self, posted: &Posted<'_>) -> Result<bool, TeamError>;

    /// Returns everything in a member's mailbox, in the order in which it came; an empty one where there is none.
    fn mailbox(&self, team: &Team, member: &str) -> Result<Mailbox, TeamError>;

    /// Remembers that messages were shown to their recipient.
    fn note_shown(&self, team: &Team, member: &str, keys: &[MessageKey], now: Timestamp) -> Result<(), TeamError>;

    /// Remembers that the recipient of messages has them: from this moment on [`Mailbox::acknowledged`] has them, or
    /// they are no longer in the mailbox. A place may keep them or take them out, those of earlier acknowledgements
    /// too. A message that arrives meanwhile is not lost. Where it failed half way, [`TeamError::StillInInbox`] says
    /// that they count as acknowledged all the same.
    fn acknowledge(
        &self,
        team: &Team,
        member: &str,
        keys: &[MessageKey],
        now: Timestamp,
    ) -> Result<Acknowledged, TeamError>;

    /// Returns the newest messages that a member sent, newest first, and what is known of each.
    fn sent(&self, team: &Team, sender: &str, most: usize) -> Result<SentFound, TeamError>;

    /// Tells at little cost whether something may have come for the leads of teams since [`Self::lead_mail_was_read`] was last called
    /// here, by whatever process: none where nothing has. A place that cannot tell says that it may.
    fn new_lead_mail(&self) -> Option<LeadMail> {
        Some(LeadMail::default())
    }

    /// Remembers that what there was for leads when this was returned has been acted upon. Where it cannot be remembered, it is looked
    /// at again.
    fn lead_mail_was_read(&self, _mail: &LeadMail) {}

    /// Prepares to call `moved` whenever something may have moved; nothing is watched before [`TeamWatch::keep_up`].
    fn watch(&self, moved: Moved) -> Box<dyn TeamWatch>;
}

/// Watches teams for one follower until it is dropped.
pub trait TeamWatch: Send {
    /// Watches the roster, and the mailboxes of these teams, from now on: what moves after this returns is told, too often rather than
    /// not at all. Returns false where not all of it will be told; the follower looks again by itself then, every second.
    fn keep_up(&mut self, teams: &[TeamName]) -> bool;
}

/// What is remembered of the seats of teams.
pub trait SeatMemory: Debug + Send + Sync {
    /// Returns what is remembered of the seats of a team, by member. A team that was made anew under the same name begins with none.
    fn seats_in(&self, team: &Team) -> Result<HashMap<String, SeatRecord>, TeamError>;

    /// Does the same at little cost, for a caller that asks again before it acts: who sits where is current, and what else is remembered
    /// may be what this process saw last.
    fn seats_recalled(&self, team: &Team) -> Result<HashMap<String, SeatRecord>, TeamError> {
        self.seats_in(team)
    }

    /// Returns the seats that an agent acting under a name has taken, in whatever team.
    fn seats_of(&self, agent: &AgentName) -> Result<Vec<SeatTaken>, TeamError>;

    /// Changes what is remembered of a seat, in one step. The closure begins with the default where nothing is remembered; what is the
    /// default again afterwards is forgotten.
    fn change_seat(&self, team: &Team, member: &str, change: &mut dyn FnMut(&mut SeatRecord)) -> Result<(), TeamError>;

    /// Remembers that a member made a call, and which. A store may write down what happens within a few seconds together, and lose it if
    /// its process is killed meanwhile.
    fn note_call(&self, team: &Team, member: &str, activity: &str, now: Timestamp) -> Result<(), TeamError> {
        self.change_seat(team, member, &mut |seat| seat.note_calls(member, activity, 1, now))
    }
}

/// A member that is in a team now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// The team with the member in it.
    pub team: Team,
    /// Whether one of that name was in it before.
    pub was_there: bool,
}

/// A message on its way.
#[derive(Clone, Copy, Debug)]
pub struct Posted<'a> {
    /// The team whose mailbox it goes to.
    pub team: &'a TeamName,
    /// The recipient.
    pub to: &'a str,
    /// The message.
    pub message: &'a Message,
    /// What its sender can look up later; none where it will not. That it cannot be remembered is worth a warning, and no failure.
    pub trace: Option<Trace<'a>>,
}

/// What is remembered of a message that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Trace<'a> {
    /// The team it was sent from.
    pub team: &'a Team,
    /// When it was sent.
    pub at: Timestamp,
    /// What it says, in a few words.
    pub summary: &'a str,
}

/// What there is for the leads of teams, as far as one can tell without reading it: two that are equal are the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeadMail(pub(super) String);

/// What a mailbox holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mailbox {
    /// The messages, read or not, in the order in which they came.
    pub messages: Vec<Message>,
    /// Those among them that their reader has acknowledged.
    pub acknowledged: HashSet<MessageKey>,
    /// How many entries are no messages.
    pub malformed: usize,
}

/// What came of saying that one has messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acknowledged {
    /// How many were still unread in the inbox, those included that were acknowledged before and not taken out. Another reader had the
    /// rest.
    pub taken: usize,
    /// The entries that were no messages, and where they are kept now.
    pub set_aside: Vec<SetAside>,
}

/// What was found in a mailbox, was no message, and is kept elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// Where it is kept, for people.
    pub kept_in: String,
    /// How many entries.
    pub count: usize,
}

/// The messages that a member sent.
#[derive(Debug, Default)]
pub struct SentFound {
    /// The messages, newest first.
    pub letters: Vec<SentLetter>,
    /// Whose mailboxes cannot be read, and why: their messages are told as lying there unread.
    pub unreadable: Vec<(String, TeamError)>,
}

/// A message that was sent, and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentLetter {
    /// What tells it from others: [`MessageKey::as_text`].
    pub key: String,
    /// The recipient.
    pub to: String,
    /// When it was sent.
    pub at: Timestamp,
    /// What it says, in a few words.
    pub summary: String,
    /// What is known of it; whether its recipient is still there is not the place's to say.
    pub traces: Traces,
}
