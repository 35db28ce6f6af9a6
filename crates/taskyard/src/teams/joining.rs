//! Members who come and go.

use std::collections::HashMap;

use taskyard_core::rules::agents::naming::name_of;
use taskyard_core::rules::leases::leasing::{DEFAULT_LEASE, by_the_wall_clock};
use taskyard_core::rules::leases::liveness::{Liveness, Standing, Standpoint, WithoutSigns, judge_holder};
use taskyard_core::rules::teams::membership::{joined_after, judge_member_name};
use taskyard_core::{AgentName, Holder, LeadProcess, Member, ProcessMark, Team};

use super::register::Teams;
use super::seat::Seat;
use super::seat_record::SeatRecord;
use super::{Judged, TeamError, TeamRefusal};
use crate::failpoint::reach;
use crate::liveness::{liveness_of, mark_of, standpoint};

/// An agent that is to join.
#[derive(Clone, Debug)]
pub struct NewMember {
    /// The name it acts under, which is its name in the team.
    pub agent: AgentName,
    /// What kind of agent it is.
    pub agent_type: Option<String>,
    /// The model it runs on.
    pub model: Option<String>,
    /// Whether the lead has to approve its plan before it starts anything.
    pub plan_mode_required: bool,
    /// What it lives with.
    pub presence: Presence,
    /// What the client's program behind it runs in; none where there is no such program, or it was not told.
    pub backend: Option<Backend>,
}

/// What a program of the client's runs in. It looks that up in the team's file when it has agreed to end: in a window of its own the
/// program ends, within another program it only stops working.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// Within the program of the lead.
    InProcess,
    /// A program of its own, in this pane of tmux where it has one.
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

    /// Returns the pane to write down. A lead of the client's closes the pane that is named there, so no pane is named where none is
    /// known.
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
    /// Nothing that could be looked at: it stays until it leaves.
    #[default]
    Lasting,
    /// A process: when that has ended, the member is a ghost.
    Held(Holder),
}

/// A member whose process has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ghost {
    /// The name of the member.
    pub name: String,
    /// The process it lived with, where that is known.
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
    /// Lets an agent into a team. A member takes the same seat again, unless a living one sits there.
    pub fn join(&self, team: &Team, new: &NewMember) -> Judged<Seat> {
        let name = match new.agent.as_str().split_once('@') {
            Some((_, of)) if of != team.name.as_str() => new.agent.as_str(),
            _ => name_of(new.agent.as_str()),
        };
        if let Err(bad) = judge_member_name(team, name) {
            return Ok(Err(bad.into()));
        }
        let before = self.store.seats_in(team)?;
        if before.get(team.lead()).is_some_and(|lead| lead.agent == new.agent.as_str()) {
            let (agent, team, lead) = (new.agent.to_string(), team.name.to_string(), team.lead().to_owned());
            return Ok(Err(TeamRefusal::LeadsIt { agent, team, lead }));
        }
        let in_use = || TeamRefusal::NameInUse { name: name.to_owned(), team: team.name.to_string() };
        let is_there = team.member(name);
        if is_there.is_some_and(|member| member.is_lead() || self.is_taken(team, before.get(name), new)) {
            return Ok(Err(in_use()));
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
            // What is remembered of an empty seat is of a member that died while leaving: its plan approves nothing of this one's. An agent
            // that sits down meanwhile was in the team before.
            self.store.change_seat(team, name, &mut |seat| {
                if seat == left_over {
                    *seat = SeatRecord::default();
                }
            })?;
        }
        let added = self.store.add_member(&team.name, &member)?;
        self.read_roster_again();
        let Some(added) = added else { return Ok(Err(self.no_such_team(team.name.as_str())?)) };
        reach("team: joined");
        let (mut is_taken, seen) = (false, self.world().now().wall);
        self.store.change_seat(&added.team, name, &mut |seat| {
            // Of several agents that join under one name at once only one gets the seat.
            let is_anybody_there = added.was_there || *seat != SeatRecord::default();
            is_taken = is_anybody_there && self.is_taken(&added.team, Some(seat), new);
            if !is_taken {
                seat.sit(&new.agent, new.presence.holder().cloned(), seen);
            }
        })?;
        if is_taken {
            return Ok(Err(in_use()));
        }
        if let Some(holder) = new.presence.holder() {
            self.world().sits_now(holder);
        }
        Ok(Ok(Seat { team: added.team, name: name.to_owned() }))
    }

    /// Tells whether another living agent sits in a seat.
    fn is_taken(&self, team: &Team, seat: Option<&SeatRecord>, new: &NewMember) -> bool {
        let holder = seat.and_then(|seat| seat.holder.as_ref());
        let is_another = holder.is_some_and(|holder| Some(holder) != new.presence.holder());
        // A member without a seat of ours is the client's own.
        let is_foreign = seat.is_none_or(|seat| seat.agent != new.agent.as_str());
        match self.standing_of(team, seat) {
            Some(Standing::Lives | Standing::LivesUnseen(_)) => is_another || is_foreign,
            // One that was started again takes its own seat.
            Some(Standing::Lapses(_)) => is_foreign,
            Some(Standing::Ended | Standing::Silent) | None => false,
        }
    }

    /// Fails where a member could not be taken out of the team, before anything else is done that hangs on it.
    pub(crate) fn must_be_leavable(&self, team: &Team) -> Result<(), TeamError> {
        self.care().map_or(Ok(()), |care| care.must_be_changeable(&team.name))
    }

    /// Takes a member out of its team, and forgets its seat. Returns whether it was there: of several processes that take out the same
    /// member only one does.
    pub fn leave(&self, seat: &Seat) -> Judged<bool> {
        if seat.is_lead() {
            let (name, team) = (seat.name.clone(), seat.team.name.to_string());
            return Ok(Err(TeamRefusal::LeadStays { name, team }));
        }
        let was_there = self.store.remove_member(&seat.team.name, &seat.name)?;
        self.read_roster_again();
        reach("team: left");
        self.store.change_seat(&seat.team, &seat.name, &mut |record| *record = SeatRecord::default())?;
        Ok(Ok(was_there))
    }

    /// Writes down that a member lives, and what it does.
    pub fn show_life(&self, seat: &Seat, activity: &str) -> Result<(), TeamError> {
        self.store.note_call(&seat.team, &seat.name, activity, self.world().now().wall)
    }

    /// Returns those in a team, the lead included, whose process has ended, as far as that can be told from here.
    pub fn ghosts(&self, team: &Team) -> Result<Vec<Ghost>, TeamError> {
        Ok(self.ghosts_among(team, &self.store.seats_in(team)?))
    }

    /// Tells at little cost whether a member may be one of them that is neither the lead nor the one of this name.
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

    /// Returns whether the process of the member in a seat lives; none where it is not known which process that is.
    pub(super) fn standing_of(&self, team: &Team, seat: Option<&SeatRecord>) -> Option<Standing> {
        if let Some((holder, seen)) = seat.and_then(|seat| Some((seat.holder.as_ref()?, seat.seen?))) {
            let known_alive = by_the_wall_clock(seen);
            let unseen_until = known_alive.after(DEFAULT_LEASE);
            let without_signs = WithoutSigns { known_alive, unseen_until };
            let seen = self.world().see(holder.process());
            return Some(judge_holder(holder, &self.world().now(), seen, &without_signs));
        }
        // The client's own teammates run within the process that leads the team.
        let is_clients = seat.is_none_or(|seat| seat.activity.is_none());
        let lead = team.lead_process.as_ref().filter(|_| is_clients)?;
        match liveness_of_lead(lead) {
            Liveness::Alive => Some(Standing::Lives),
            Liveness::Dead => Some(Standing::Ended),
            Liveness::Unknown => None,
        }
    }
}

/// Returns the process that the member in a seat lives or lived with, where that is known.
pub(super) fn process_of(team: &Team, seat: Option<&SeatRecord>) -> Option<u32> {
    let own = seat.and_then(|seat| seat.holder.as_ref()).map(|holder| holder.process().pid);
    own.or_else(|| team.lead_process.as_ref().map(|lead| lead.pid))
}

/// Judges the client's process that leads a team. The client writes down where its ids mean something, and no run of the machine.
fn liveness_of_lead(lead: &LeadProcess) -> Liveness {
    if lead.pid_space.is_some() && lead.pid_space != own_pid_space() {
        return Liveness::Unknown;
    }
    let Standpoint { machine, pid_space, boot, .. } = standpoint();
    let started = lead.started.or_else(|| mark_of(lead.pid).map(|mark| mark.started)).unwrap_or_default();
    liveness_of(&ProcessMark { machine, pid_space, boot, pid: lead.pid, started })
}

/// Returns what the client calls the place in which process ids mean something: the machine and the namespace.
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
