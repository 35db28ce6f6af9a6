//! Messages, and who comes and goes in teams.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use taskyard_core::{AgentName, Member, MessageKey, TeamName};

use super::control::SharedAgents;
use super::cursor::{AlreadyTold, mark_of};
use super::source::{Found, Source};
use super::{Cursor, Happening, ListsFollowed};
use crate::Error;
use crate::store::UNTOLD;
use crate::teams::{TeamWatch, Teams};

/// Tells of messages, and of who comes and goes in teams.
pub(super) struct TeamsSource {
    teams: Teams,
    watch: Box<dyn TeamWatch>,
    /// The teams whose mailboxes are watched.
    watched: Vec<TeamName>,
    inboxes: SharedAgents,
    /// The messages that each agent was told of and that are still there.
    told: BTreeMap<AgentName, BTreeSet<MessageKey>>,
    /// Who is in the teams of these lists, by the team's directory and name; none where no follower wants to know.
    members: Option<(ListsFollowed, Members)>,
}

type Members = BTreeMap<(String, String), (TeamName, Member)>;

impl TeamsSource {
    /// Begins with what was told already.
    pub(super) fn new(
        teams: &Arc<Teams>,
        watch: Box<dyn TeamWatch>,
        inboxes: SharedAgents,
        teams_of: Option<ListsFollowed>,
        cursor: &Cursor,
    ) -> Result<Self, Error> {
        let teams = teams.lasting();
        let mut source = Self { teams, watch, watched: Vec::new(), inboxes, told: BTreeMap::new(), members: None };
        source.watch_what_is_there(&mut Found::default())?;
        if let AlreadyTold::These(these) = &cursor.messages {
            source.told.clear();
            for (agent, key) in these {
                source.told.entry(agent.clone()).or_default().insert(key.clone());
            }
        }
        if let Some(lists) = teams_of {
            let mut members = source.members_of(&lists)?;
            if let Some(these) = cursor.members.these() {
                members.retain(|key, _| these.contains(key));
            }
            source.members = Some((lists, members));
        }
        Ok(source)
    }

    /// Watches, looks, and watches what was found, until nothing new was.
    fn watch_what_is_there(&mut self, found: &mut Found) -> Result<Option<Duration>, Error> {
        loop {
            // Before looking, so that nothing can move between the look and the watching.
            let is_told = self.watch.keep_up(&self.watched);
            let seen = self.tell_messages(found);
            if seen == self.watched {
                return Ok((!is_told).then_some(UNTOLD));
            }
            // What came into a mailbox before it was watched was told to no follower.
            self.watched = seen;
        }
    }

    /// Tells the messages that were not there at the last look. Returns the teams that were looked at.
    fn tell_messages(&mut self, found: &mut Found) -> Vec<TeamName> {
        let agents = self.inboxes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // An agent that comes back later is told anew of what waits.
        self.told.retain(|agent, _| agents.contains(agent));
        let mut watched = Vec::new();
        for (agent, seats) in self.teams.seats_of_all(&agents) {
            let read = seats.and_then(|seats| {
                let boxes = seats.into_iter().map(|seat| Ok((self.teams.look_into(&seat)?, seat.team.name)));
                boxes.collect::<Result<Vec<_>, _>>()
            });
            let boxes = match read {
                Ok(boxes) => boxes,
                Err(error) => {
                    tracing::warn!(%error, %agent, "messages cannot be looked at");
                    watched.extend(self.watched.iter().cloned());
                    continue;
                }
            };
            let before = self.told.remove(&agent).unwrap_or_default();
            let mut now = BTreeSet::new();
            for (received, team) in boxes {
                for delivery in received.deliveries {
                    let is_new = !delivery.keys.iter().all(|key| before.contains(key));
                    now.extend(delivery.keys.iter().cloned());
                    if is_new {
                        let (agent, team) = (agent.clone(), team.clone());
                        let delivery = Box::new(delivery);
                        found.happenings.push_back(Happening::Message { agent, team, delivery });
                    }
                }
                watched.push(team);
            }
            self.told.insert(agent, now);
        }
        watched.sort_by(|one, two| one.as_str().cmp(two.as_str()));
        watched.dedup();
        watched
    }

    fn members_of(&self, lists: &ListsFollowed) -> Result<Members, Error> {
        let mut members = Members::new();
        for team in self.teams.list()? {
            if !self.teams.list_of(&team.name).is_ok_and(|list| lists.contains(&list)) {
                continue;
            }
            for member in team.members {
                members.insert(mark_of(&team.name, &member.name), (team.name.clone(), member));
            }
        }
        Ok(members)
    }
}

impl Source for TeamsSource {
    fn look(&mut self, found: &mut Found) -> Result<Option<Duration>, Error> {
        let pause = self.watch_what_is_there(found)?;
        let Some((lists, before)) = &self.members else { return Ok(pause) };
        let now = self.members_of(lists)?;
        for (_, (team, member)) in now.iter().filter(|(key, _)| !before.contains_key(*key)) {
            let (team, member) = (team.clone(), Box::new(member.clone()));
            found.happenings.push_back(Happening::AgentCame { team, member });
        }
        for ((_, name), (team, _)) in before.iter().filter(|(key, _)| !now.contains_key(*key)) {
            found.happenings.push_back(Happening::AgentWent { team: team.clone(), name: name.clone() });
        }
        self.members = Some((lists.clone(), now));
        Ok(pause)
    }

    fn mark(&self, cursor: &mut Cursor) {
        let told = |(agent, keys): (&AgentName, &BTreeSet<MessageKey>)| {
            keys.iter().map(|key| (agent.clone(), key.clone())).collect::<Vec<_>>()
        };
        cursor.messages = AlreadyTold::These(self.told.iter().flat_map(told).collect());
        if let Some((_, members)) = &self.members {
            cursor.members = AlreadyTold::These(members.keys().cloned().collect());
        }
    }
}
