//! Creating and deleting teams; members that join, leave and end.

use std::collections::HashMap;

use taskyard_core::rules::agents::name_of;
use taskyard_core::rules::leases::leasing::{DEFAULT_LEASE, by_the_wall_clock};
use taskyard_core::rules::leases::liveness::{Liveness, Standing, Standpoint, WithoutSigns, judge_holder};
use taskyard_core::rules::refusal::TeamRefusal;
use taskyard_core::rules::teams::membership::{ended_members, joined_after, judge_member_name};
use taskyard_core::{AgentName, Holder, LEAD, LeadProcess, ListId, Member, ProcessMark, Team, TeamName};

use super::TeamError;
use super::register::Teams;
use crate::Outcome;
use crate::failpoint::reach;
use crate::liveness::{liveness_of, mark_of, standpoint};
use crate::teams::messages::random_id;
use crate::teams::team_store::{LeadMail, Seat, SeatRecord};

/// An agent that wants to join a team.
#[derive(Clone, Debug)]
pub struct NewMember {
    /// The name that it acts under, which becomes its name in the team.
    pub agent: AgentName,
    /// The type of the agent.
    pub agent_type: Option<String>,
    /// The model that it runs on.
    pub model: Option<String>,
    /// Whether the lead has to approve its plan before it starts a task.
    pub plan_mode_required: bool,
    /// The process that it lives with.
    pub presence: Presence,
    /// What the client's program behind it runs in; `None` if there is no such program, or that is not known.
    pub backend: Option<Backend>,
}

/// What a program of the client runs in. The program looks this up in the team file after it has agreed to shut down:
/// in its own window it exits, within another program it only stops working.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// Within the lead's program.
    InProcess,
    /// A separate program, in this tmux pane if it has one.
    Tmux {
        /// The pane, as tmux names it.
        pane: Option<String>,
    },
}

impl Backend {
    fn kind(&self) -> &'static str {
        match self {
            Self::InProcess => "in-process",
            Self::Tmux { .. } => "tmux",
        }
    }

    /// Returns the pane to write to the team file. A lead of the client closes the pane that is named there, so an
    /// unknown pane is written as empty.
    fn pane(&self) -> Option<&str> {
        match self {
            Self::InProcess => None,
            Self::Tmux { pane } => Some(pane.as_deref().unwrap_or_default()),
        }
    }
}

/// What a member lives with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Presence {
    /// Nothing that can be checked: the member stays until it leaves.
    #[default]
    Lasting,
    /// A process: once it has ended, the member is a ghost.
    Held(Holder),
}

/// A member whose process has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ghost {
    /// The name of the member.
    pub name: String,
    /// The process it lived with, if known.
    pub process: Option<u32>,
}

impl Presence {
    fn holder(&self) -> Option<&Holder> {
        match self {
            Self::Lasting => None,
            Self::Held(holder) => Some(holder),
        }
    }
}

impl Teams {
    /// Adds an agent to a team. A member gets its own seat again, unless a living agent holds it.
    pub fn join(&self, team: &Team, new: &NewMember) -> Result<Outcome<Seat>, TeamError> {
        let name = match new.agent.as_str().split_once('@') {
            Some((_, of)) if of != team.name.as_str() => new.agent.as_str(),
            _ => name_of(new.agent.as_str()),
        };
        if let Err(bad) = judge_member_name(team, name) {
            return Ok(Outcome::refused(TeamRefusal::from(bad)));
        }
        let before = self.store.seats_in(team)?;
        if before.get(team.lead()).is_some_and(|lead| lead.agent == new.agent.as_str()) {
            let (agent, team, lead) = (new.agent.to_string(), team.name.to_string(), team.lead().to_owned());
            return Ok(Outcome::refused(TeamRefusal::LeadsIt { agent, team, lead }));
        }
        let in_use = || TeamRefusal::NameInUse { name: name.to_owned(), team: team.name.to_string() };
        let is_there = team.member(name);
        if is_there.is_some_and(|member| member.is_lead() || self.is_taken(team, before.get(name), new)) {
            return Ok(Outcome::refused(in_use()));
        }
        let now = self.now();
        let lead_mail = self.store.mailbox(team, team.lead()).unwrap_or_default().messages;
        let member = Member {
            agent_id: team.name.agent_id(name),
            agent_type: new.agent_type.clone().or_else(|| Some("general-purpose".to_owned())),
            model: new.model.clone(),
            prompt: None,
            color: None,
            plan_mode_required: new.plan_mode_required,
            joined_at: joined_after(name, &lead_mail, now),
            cwd: self.caller.directory.as_ref().map(|directory| directory.display().to_string()),
            backend_type: new.backend.as_ref().map(|backend| backend.kind().to_owned()),
            pane: new.backend.as_ref().and_then(Backend::pane).map(str::to_owned),
            name: name.to_owned(),
        };
        if let Some(left_over) = before.get(name).filter(|_| is_there.is_none())
            && self.store.team(&team.name)?.is_none_or(|team| team.member(name).is_none())
        {
            // The record of an empty seat belongs to a member that died while leaving; its plan must not approve
            // anything of the new one. An agent that takes the seat concurrently was in the team before.
            self.store.change_seat(team, name, &mut |seat| {
                if seat == left_over {
                    *seat = SeatRecord::default();
                }
            })?;
        }
        let added = self.store.add_member(&team.name, &member)?;
        self.read_roster_again();
        let Some(added) = added else { return Ok(Outcome::refused(self.no_such_team(team.name.as_str())?)) };
        reach("team: joined");
        let (mut is_taken, seen) = (false, self.world().now().wall);
        self.store.change_seat(&added.team, name, &mut |seat| {
            // If several agents join under one name at the same time, only one gets the seat.
            let is_anybody_there = added.was_there || *seat != SeatRecord::default();
            is_taken = is_anybody_there && self.is_taken(&added.team, Some(seat), new);
            if !is_taken {
                seat.sit(&new.agent, new.presence.holder().cloned(), seen);
            }
        })?;
        if is_taken {
            return Ok(Outcome::refused(in_use()));
        }
        if let Some(holder) = new.presence.holder() {
            self.world().sits_now(holder);
        }
        Ok(Outcome::Done(Seat { team: added.team, name: name.to_owned() }))
    }

    /// Returns whether another living agent holds a seat.
    fn is_taken(&self, team: &Team, seat: Option<&SeatRecord>, new: &NewMember) -> bool {
        let holder = seat.and_then(|seat| seat.holder.as_ref());
        let is_another = holder.is_some_and(|holder| Some(holder) != new.presence.holder());
        // A member without a seat record was added by the client.
        let is_foreign = seat.is_none_or(|seat| seat.agent != new.agent.as_str());
        match self.standing_of(team, seat) {
            Some(Standing::Lives | Standing::LivesUnseen(_)) => is_another || is_foreign,
            // A restarted agent takes its own seat.
            Some(Standing::Lapses(_)) => is_foreign,
            Some(Standing::Ended | Standing::Silent) | None => false,
        }
    }

    /// Fails if a member could not be removed from the team. Called before anything that depends on it.
    pub(crate) fn must_be_leavable(&self, team: &Team) -> Result<(), TeamError> {
        self.care().map_or(Ok(()), |care| care.must_be_changeable(&team.name))
    }

    /// Removes a member from its team, with its seat record. Returns whether it was there: if several processes remove
    /// the same member, only one gets `true`.
    pub fn leave(&self, seat: &Seat) -> Result<Outcome<bool>, TeamError> {
        if seat.is_lead() {
            let (name, team) = (seat.name.clone(), seat.team.name.to_string());
            return Ok(Outcome::refused(TeamRefusal::LeadStays { name, team }));
        }
        let was_there = self.store.remove_member(&seat.team.name, &seat.name)?;
        self.read_roster_again();
        reach("team: left");
        self.store.change_seat(&seat.team, &seat.name, &mut |record| *record = SeatRecord::default())?;
        Ok(Outcome::Done(was_there))
    }

    /// Records that a member is alive, and its activity.
    pub fn show_life(&self, seat: &Seat, activity: &str) -> Result<(), TeamError> {
        self.store.note_call(&seat.team, &seat.name, activity, self.world().now().wall)
    }

    /// Returns the members of a team, including the lead, whose process is known to have ended.
    pub fn ghosts(&self, team: &Team) -> Result<Vec<Ghost>, TeamError> {
        Ok(self.ghosts_among(team, &self.store.seats_in(team)?))
    }

    /// Returns whether there may be a ghost other than the lead and the member named `living`. Cheap.
    pub(crate) fn may_have_ghosts_besides(&self, team: &Team, living: &str) -> Result<bool, TeamError> {
        let ghosts = self.ghosts_among(team, &self.store.seats_recalled(team)?);
        Ok(ghosts.iter().any(|ghost| ghost.name != team.lead() && ghost.name != living))
    }

    fn ghosts_among(&self, team: &Team, seats: &HashMap<String, SeatRecord>) -> Vec<Ghost> {
        let ghost = |member: &Member| {
            let seat = seats.get(&member.name);
            let is_gone = matches!(self.standing_of(team, seat), Some(Standing::Ended | Standing::Silent));
            is_gone.then(|| Ghost { name: member.name.clone(), process: process_of(team, seat) })
        };
        team.members.iter().filter_map(ghost).collect()
    }

    /// Returns whether the process of the member in a seat is alive; `None` if the process is not known.
    pub(super) fn standing_of(&self, team: &Team, seat: Option<&SeatRecord>) -> Option<Standing> {
        if let Some((holder, seen)) = seat.and_then(|seat| Some((seat.holder.as_ref()?, seat.seen?))) {
            let known_alive = by_the_wall_clock(seen);
            let unseen_until = known_alive.after(DEFAULT_LEASE);
            let without_signs = WithoutSigns { known_alive, unseen_until };
            let seen = self.world().see(holder.process());
            return Some(judge_holder(holder, &self.world().now(), seen, &without_signs));
        }
        // The client's own teammates run within the process of the lead.
        let is_clients = seat.is_none_or(|seat| seat.activity.is_none());
        let lead = team.lead_process.as_ref().filter(|_| is_clients)?;
        match liveness_of_lead(lead) {
            Liveness::Alive => Some(Standing::Lives),
            Liveness::Dead => Some(Standing::Ended),
            Liveness::Unknown => None,
        }
    }
}

/// Returns the process that the member in a seat lives or lived with, if known.
pub(super) fn process_of(team: &Team, seat: Option<&SeatRecord>) -> Option<u32> {
    let own = seat.and_then(|seat| seat.holder.as_ref()).map(|holder| holder.process().pid);
    own.or_else(|| team.lead_process.as_ref().map(|lead| lead.pid))
}

/// Judges the client process that leads a team. The client records the machine and pid namespace of its process ids,
/// but not the boot.
fn liveness_of_lead(lead: &LeadProcess) -> Liveness {
    if lead.pid_space.is_some() && lead.pid_space != own_pid_space() {
        return Liveness::Unknown;
    }
    let Standpoint { machine, pid_space, boot, .. } = standpoint();
    let started = lead.started.or_else(|| mark_of(lead.pid).map(|mark| mark.started)).unwrap_or_default();
    liveness_of(&ProcessMark { machine, pid_space, boot, pid: lead.pid, started })
}

/// Returns the client's name for the scope of process ids: the machine and the pid namespace.
#[cfg(target_os = "linux")]
fn own_pid_space() -> Option<String> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let space = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{}#{}", host.trim(), space.display()))
}

#[cfg(not(target_os = "linux"))]
fn own_pid_space() -> Option<String> {
    None
}

/// A team to create.
#[derive(Clone, Debug)]
pub struct NewTeam {
    /// Its name.
    pub name: TeamName,
    /// Its purpose.
    pub description: Option<String>,
    /// The type of the agent that leads it.
    pub agent_type: Option<String>,
}

/// The words of the names that the client generates if the wanted name is taken.
const WORDS: [[&str; 8]; 3] = [
    ["brave", "calm", "eager", "gentle", "keen", "quiet", "swift", "warm"],
    ["building", "chasing", "dancing", "finding", "hopping", "making", "singing", "weaving"],
    ["badger", "falcon", "harbor", "lark", "meadow", "otter", "river", "willow"],
];

impl Teams {
    /// Creates a team led by an agent, which gets the lead's seat.
    pub fn create(&self, new: &NewTeam, lead: &AgentName) -> Result<Outcome<Seat>, TeamError> {
        let is_client = self.rules().is_client();
        if is_client && let Some(seat) = self.only_seat(lead)?.filter(Seat::is_lead) {
            return Ok(Outcome::refused(TeamRefusal::AlreadyLeading { team: seat.team.name.to_string() }));
        }
        let mut name = new.name.clone();
        loop {
            let team = self.first(&name, new);
            let mut record = SeatRecord::default();
            record.sit(lead, None, team.created_at);
            match self.store.team(&name)? {
                None => {
                    // If another process was faster, the next iteration finds its team.
                    if self.store.make_team(&team, &record)? {
                        self.read_roster_again();
                        return Ok(Outcome::Done(Seat { team, name: LEAD.to_owned() }));
                    }
                }
                Some(_) if is_client => name = another_name(&name),
                Some(there) => {
                    let (team, by) = (name.to_string(), there.name.to_string());
                    return Ok(Outcome::refused(TeamRefusal::NameTaken { team, by }));
                }
            }
        }
    }

    fn first(&self, name: &TeamName, new: &NewTeam) -> Team {
        let now = self.now();
        let lead = Member {
            name: LEAD.to_owned(),
            agent_id: name.agent_id(LEAD),
            agent_type: Some(new.agent_type.clone().unwrap_or_else(|| LEAD.to_owned())),
            model: self.caller.model.clone(),
            joined_at: now,
            cwd: self.caller.directory.as_ref().map(|directory| directory.display().to_string()),
            ..Member::default()
        };
        Team {
            name: name.clone(),
            description: new.description.clone(),
            created_at: now,
            lead_session: self.caller.session.clone(),
            lead_process: None,
            members: vec![lead],
        }
    }

    /// Creates the directory of a team's list, as the client does. Does nothing unless the teams are stored in files.
    pub(crate) fn make_list(&self, list: &ListId) -> Result<(), TeamError> {
        self.care().map_or(Ok(()), |care| care.make_list(list))
    }

    /// Returns the members that prevent deleting a team: every member but the lead and, in strict rules, except ghosts.
    pub fn standing_in_the_way(&self, team: &Team) -> Result<Vec<String>, TeamError> {
        let dead = if self.rules().is_client() { Vec::new() } else { self.ghosts(team)? };
        let is_in_the_way = |member: &&Member| !member.is_lead() && !dead.iter().any(|ghost| ghost.name == member.name);
        Ok(team.members.iter().filter(is_in_the_way).map(|member| member.name.clone()).collect())
    }

    /// Fails if a team could not be removed. Called before anything that depends on it.
    pub(crate) fn must_be_deletable(&self, team: &Team) -> Result<(), TeamError> {
        self.care().map_or(Ok(()), |care| care.must_be_removable(&team.name))
    }

    /// Removes a team and its inboxes with their contents. Its tasks stay; the older client removes those, too.
    pub fn delete(&self, team: &Team) -> Result<(), TeamError> {
        let removed = self.store.remove_team(team);
        self.read_roster_again();
        removed
    }
}

fn another_name(name: &TeamName) -> TeamName {
    let random = random_id();
    let digit = |place: usize| usize::from(random.as_bytes()[place] % 8);
    let word = format!("{}-{}-{}", WORDS[0][digit(0)], WORDS[1][digit(1)], WORDS[2][digit(2)]);
    TeamName::new(word).unwrap_or_else(|_| name.clone())
}

impl Teams {
    /// Returns a token if mail for leads may have arrived that no process has handled. `None` if there is none, and in
    /// the client's rules, whose leads read their own mail. Cheap.
    pub fn new_lead_mail(&self) -> Option<LeadMail> {
        if self.rules().is_client() { None } else { self.store.new_lead_mail() }
    }

    /// Records that the mail for leads up to this token has been handled.
    pub fn lead_mail_was_read(&self, mail: &LeadMail) {
        self.store.lead_mail_was_read(mail);
    }

    /// Returns the names of members that told the lead that they have shut down. Empty if the lead is a program of the
    /// client, which removes them itself.
    pub(crate) fn ended(&self, team: &Team) -> Result<Vec<String>, TeamError> {
        if team.members.len() < 2 || team.lead_process.is_some() {
            return Ok(Vec::new());
        }
        if !self.store.seats_in(team)?.get(team.lead()).is_some_and(made_the_team) {
            return Ok(Vec::new());
        }
        let mailbox = self.store.mailbox(team, team.lead())?;
        Ok(ended_members(team, &mailbox.messages).into_iter().map(|member| member.name.clone()).collect())
    }
}

/// Returns whether the lead created the team through us. Of a lead of the client we know at most its MCP calls, made
/// under the name that every lead has.
fn made_the_team(lead: &SeatRecord) -> bool {
    lead.activity.is_some() && (lead.agent != LEAD || lead.tool_uses == 0)
}
