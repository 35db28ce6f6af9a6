//! Members who come and go.

use taskyard_core::rules::agents::name_of;
use taskyard_core::rules::leasing::{DEFAULT_LEASE, by_the_wall_clock};
use taskyard_core::rules::liveness::{Liveness, Standing, Standpoint, WithoutSigns, judge_holder};
use taskyard_core::rules::membership::judge_member_name;
use taskyard_core::{AgentName, Holder, LeadProcess, Member, ProcessMark, Team};

use super::memory::SeatRow;
use super::register::Teams;
use super::seat::Seat;
use super::{Judged, TeamError, TeamRefusal};
use crate::clock;
use crate::liveness::{Signs, liveness_of, mark_of, own_mark, standpoint};
use crate::store::failpoint::reach;

/// Somebody who is to join.
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
}

/// What a member lives with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// Nothing that could be looked at: it stays until it leaves.
    #[default]
    Lasting,
    /// A process: when that has ended, the member is a ghost.
    Held(Holder),
}

impl Teams {
    /// Lets somebody into a team. Whoever is in it already takes the same seat again, unless somebody living sits there.
    pub fn join(&self, team: &Team, new: &NewMember) -> Judged<Seat> {
        let name = match new.agent.as_str().split_once('@') {
            Some((_, of)) if of != team.name.as_str() => new.agent.as_str(),
            _ => name_of(new.agent.as_str()),
        };
        if let Err(bad) = judge_member_name(team, name) {
            return Ok(Err(bad.into()));
        }
        let (name, key) = (name.to_owned(), self.key(team));
        let lead = self.remembered(|memory| memory.seat(&key, team.lead()))?.flatten();
        if lead.is_some_and(|lead| lead.agent == new.agent.as_str()) {
            let (agent, team, lead) = (new.agent.to_string(), team.name.to_string(), team.lead().to_owned());
            return Ok(Err(TeamRefusal::LeadsIt { agent, team, lead }));
        }
        let holder = match &new.presence {
            Presence::Lasting => None,
            Presence::Held(holder) => Some(holder.clone()),
        };
        if let Some(member) = team.member(&name) {
            let row = self.remembered(|memory| memory.seat(&key, &name))?.flatten();
            let is_another =
                row.as_ref().and_then(|row| row.holder.as_ref()).is_some_and(|old| Some(old) != holder.as_ref());
            // Who has no seat of ours is the client's own.
            let is_foreign = row.as_ref().is_none_or(|row| row.agent != new.agent.as_str());
            let is_taken = match self.standing(team, member)? {
                Some(Standing::Lives | Standing::LivesUnseen(_)) => is_another || is_foreign,
                // One that was started again takes its own seat.
                Some(Standing::Lapses(_)) => is_foreign,
                Some(Standing::Ended | Standing::Silent) | None => false,
            };
            if member.is_lead() || is_taken {
                return Ok(Err(TeamRefusal::NameInUse { name, team: team.name.to_string() }));
            }
        }
        let member = Member {
            agent_id: team.name.agent_id(&name),
            agent_type: new.agent_type.clone().or_else(|| Some("general-purpose".to_owned())),
            model: new.model.clone(),
            prompt: None,
            color: None,
            plan_mode_required: new.plan_mode_required,
            joined_at: self.now(),
            cwd: self.options.directory.as_ref().map(|directory| directory.display().to_string()),
            backend_type: None,
            name: name.clone(),
        };
        if team.member(&name).is_none() {
            // What is remembered of a seat nobody has is of one who died while leaving: its plan approves nothing of this one's.
            self.remember(|memory| memory.stand_up(&key, &name))?;
        }
        self.file(&team.name).add(&member, self.version())?;
        reach("team: joined");
        let row = SeatRow {
            team: key,
            member: name.clone(),
            agent: new.agent.to_string(),
            holder,
            seen: self.now(),
            activity: None,
            tool_uses: 0,
            tokens: None,
            stop_request: None,
        };
        self.remember(|memory| memory.sit(&row))?;
        if row.holder.is_some_and(|holder| *holder.process() == own_mark()) {
            self.signs().leave_from_now_on();
        }
        let team = self.file(&team.name).read()?.unwrap_or_else(|| team.clone());
        Ok(Ok(Seat { team, name }))
    }

    /// Fails where a member could not be taken out of the team's file, before anything else is done that hangs on it.
    pub(crate) fn must_be_leavable(&self, team: &Team) -> Result<(), TeamError> {
        self.file(&team.name).must_be_changeable()
    }

    /// Takes a member out of the team's file, and forgets its seat. Returns whether it was there: of several who take out the same one
    /// only one does.
    pub fn leave(&self, seat: &Seat) -> Judged<bool> {
        if seat.is_lead() {
            let (name, team) = (seat.name.clone(), seat.team.name.to_string());
            return Ok(Err(TeamRefusal::LeadStays { name, team }));
        }
        let was_there = self.file(&seat.team.name).remove(&seat.name)?;
        reach("team: left");
        let key = self.key(&seat.team);
        self.remember(|memory| memory.stand_up(&key, &seat.name))?;
        Ok(Ok(was_there))
    }

    /// Writes down that somebody lives, and what it does.
    pub fn show_life(&self, seat: &Seat, activity: &str) -> Result<(), TeamError> {
        let (key, now) = (self.key(&seat.team), self.now());
        self.remember(|memory| memory.show_life(&key, &seat.name, activity, now))
    }

    /// Returns the process that a member lives or lived with, where that is known.
    pub fn process_of(&self, team: &Team, member: &Member) -> Result<Option<u32>, TeamError> {
        let key = self.key(team);
        let row = self.remembered(|memory| memory.seat(&key, &member.name))?.flatten();
        let own = row.and_then(|row| row.holder).map(|holder| holder.process().pid);
        Ok(own.or_else(|| team.lead_process.as_ref().map(|lead| lead.pid)))
    }

    /// Returns how a member stands with what it lives with; none where nobody said what that is.
    pub fn standing(&self, team: &Team, member: &Member) -> Result<Option<Standing>, TeamError> {
        let key = self.key(team);
        let row = self.remembered(|memory| memory.seat(&key, &member.name))?.flatten();
        if let Some((holder, seen)) = row.as_ref().and_then(|row| Some((row.holder.as_ref()?, row.seen))) {
            let known_alive = by_the_wall_clock(seen);
            let unseen_until = known_alive.after(DEFAULT_LEASE);
            let without_signs = WithoutSigns { known_alive, unseen_until };
            let process = self.signs().see(holder.process());
            return Ok(Some(judge_holder(holder, &clock::moment(), process, &without_signs)));
        }
        // The client's own teammates run within the process that leads the team.
        let is_clients = row.is_none_or(|row| row.activity.is_none());
        let lead = team.lead_process.as_ref().filter(|_| is_clients);
        Ok(lead.and_then(|lead| match liveness_of_lead(lead) {
            Liveness::Alive => Some(Standing::Lives),
            Liveness::Dead => Some(Standing::Ended),
            Liveness::Unknown => None,
        }))
    }

    /// Tells whether what a member lived with has ended, as far as that can be told from here.
    pub fn is_gone(&self, team: &Team, member: &Member) -> Result<bool, TeamError> {
        Ok(matches!(self.standing(team, member)?, Some(Standing::Ended | Standing::Silent)))
    }

    fn signs(&self) -> Signs {
        Signs::in_data(&self.options.data)
    }
}

/// Judges the client's process that leads a team. The client writes down where its ids mean something, and no run of the machine.
fn liveness_of_lead(lead: &LeadProcess) -> Liveness {
    if lead.pid_space.is_some() && lead.pid_space != own_pid_space() {
        return Liveness::Unknown;
    }
    let Standpoint { machine, pid_space, boot } = standpoint();
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
