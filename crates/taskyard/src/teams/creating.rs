//! Teams that come and go.

use taskyard_core::{AgentName, LEAD, ListId, Member, Team, TeamName};

use super::random_id::random_id;
use super::register::Teams;
use super::seat::Seat;
use super::seat_record::SeatRecord;
use super::{Judged, TeamError, TeamRefusal};

/// A team that is to be.
#[derive(Clone, Debug)]
pub struct NewTeam {
    /// Its name.
    pub name: TeamName,
    /// What it is for.
    pub description: Option<String>,
    /// What kind of agent leads it.
    pub agent_type: Option<String>,
}

/// What the names are made of that the client gives where the one that was wanted is taken.
const WORDS: [[&str; 8]; 3] = [
    ["brave", "calm", "eager", "gentle", "keen", "quiet", "swift", "warm"],
    ["building", "chasing", "dancing", "finding", "hopping", "making", "singing", "weaving"],
    ["badger", "falcon", "harbor", "lark", "meadow", "otter", "river", "willow"],
];

impl Teams {
    /// Makes a team that an agent leads: it has the lead's seat from then on.
    pub fn create(&self, new: &NewTeam, lead: &AgentName) -> Judged<Seat> {
        let is_client = self.rules().is_client();
        if is_client && let Some(seat) = self.only_seat(lead)?.filter(Seat::is_lead) {
            return Ok(Err(TeamRefusal::AlreadyLeading { team: seat.team.name.to_string() }));
        }
        let mut name = new.name.clone();
        loop {
            let team = self.first(&name, new);
            let mut record = SeatRecord::default();
            record.sit(lead, None, team.created_at);
            match self.store.team(&name)? {
                None => {
                    // Where another process was faster, its team is found the next time.
                    if self.store.make_team(&team, &record)? {
                        self.read_roster_again();
                        return Ok(Ok(Seat { team, name: LEAD.to_owned() }));
                    }
                }
                Some(_) if is_client => name = another_name(&name),
                Some(there) => {
                    let (team, by) = (name.to_string(), there.name.to_string());
                    return Ok(Err(TeamRefusal::NameTaken { team, by }));
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

    /// Makes a place for a team's list where the client does, which is in files.
    pub(crate) fn make_list(&self, list: &ListId) -> Result<(), TeamError> {
        self.care().map_or(Ok(()), |care| care.make_list(list))
    }

    /// Returns the members that stand in the way of deleting a team: every member but the lead, and in our rules but the dead.
    pub fn standing_in_the_way(&self, team: &Team) -> Result<Vec<String>, TeamError> {
        let dead = if self.rules().is_client() { Vec::new() } else { self.ghosts(team)? };
        let is_in_the_way = |member: &&Member| !member.is_lead() && !dead.iter().any(|ghost| ghost.name == member.name);
        Ok(team.members.iter().filter(is_in_the_way).map(|member| member.name.clone()).collect())
    }

    /// Fails where a team could not be removed, before anything else is done that hangs on it.
    pub(crate) fn must_be_deletable(&self, team: &Team) -> Result<(), TeamError> {
        self.care().map_or(Ok(()), |care| care.must_be_removable(&team.name))
    }

    /// Removes a team and its inboxes, with whatever is in them. Its tasks stay; the older client removes them, too.
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
