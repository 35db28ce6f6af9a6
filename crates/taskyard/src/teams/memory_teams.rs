//! Teams in memory, for demonstrations and tests. The reference implementation of [`super::TeamStore`].

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use taskyard_core::rules::teams::mailing::Traces;
use taskyard_core::{AgentName, LEAD, Member, Message, MessageKey, Team, TeamName, Timestamp};

use super::TeamError;
use crate::store::Moved;
use crate::teams::team_store::{
    Acknowledged, Added, Mailbox, Mailboxes, Posted, Roster, SeatMemory, SeatRecord, SeatTaken, SentFound, SentLetter,
    TeamStore, TeamWatch, TeamsFound,
};
use crate::watching::{Watchers, Watching};

/// Teams that live as long as this value and its clones.
#[derive(Clone, Debug, Default)]
pub struct MemoryTeams(Arc<Mutex<KeptTeams>>);

#[derive(Debug, Default)]
struct KeptTeams {
    teams: BTreeMap<String, TeamKept>,
    watchers: Watchers,
}

#[derive(Debug)]
struct TeamKept {
    team: Team,
    seats: HashMap<String, SeatRecord>,
    mailboxes: HashMap<String, Vec<Kept>>,
    /// The sent messages with their senders, oldest first.
    sent: Vec<(String, SentLetter)>,
}

#[derive(Debug)]
struct Kept {
    message: Message,
    was_shown: bool,
    was_acknowledged: bool,
}

/// Notifies a follower of changes, until this is dropped.
struct MemoryWatch {
    _watching: Watching,
}

impl MemoryTeams {
    /// Returns a store without teams.
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, KeptTeams> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a change and notifies the followers; returns `None` without notifying them if there is nothing to change.
    fn change<T>(&self, change: impl FnOnce(&mut KeptTeams) -> Option<T>) -> Option<T> {
        let mut state = self.state();
        let answer = change(&mut state)?;
        let watchers = state.watchers.clone();
        drop(state);
        watchers.tell();
        Some(answer)
    }
}

impl KeptTeams {
    fn named(&mut self, name: &TeamName) -> Option<&mut TeamKept> {
        self.teams.get_mut(name.directory())
    }

    /// Returns this team, unless it was recreated under the same name since.
    fn same(&mut self, team: &Team) -> Option<&mut TeamKept> {
        self.named(&team.name).filter(|kept| kept.team.created_at == team.created_at)
    }

    fn mailbox(&mut self, team: &Team, member: &str) -> &mut [Kept] {
        self.same(team).and_then(|kept| kept.mailboxes.get_mut(member)).map_or(&mut [], Vec::as_mut_slice)
    }
}

impl TeamStore for MemoryTeams {}

impl Roster for MemoryTeams {
    fn teams(&self) -> Result<TeamsFound, TeamError> {
        let mut teams: Vec<Team> = self.state().teams.values().map(|kept| kept.team.clone()).collect();
        teams.sort_by(|one, two| one.name.as_str().cmp(two.name.as_str()));
        Ok(TeamsFound { teams, unreadable: Vec::new() })
    }

    fn may_be_any(&self) -> bool {
        !self.state().teams.is_empty()
    }

    fn team(&self, name: &TeamName) -> Result<Option<Team>, TeamError> {
        Ok(self.state().named(name).map(|kept| kept.team.clone()))
    }

    fn make_team(&self, team: &Team, lead: &SeatRecord) -> Result<bool, TeamError> {
        let made = self.change(|state| {
            let is_free = state.named(&team.name).is_none();
            is_free.then(|| {
                let kept = TeamKept {
                    team: team.clone(),
                    seats: HashMap::from([(LEAD.to_owned(), lead.clone())]),
                    mailboxes: HashMap::new(),
                    sent: Vec::new(),
                };
                state.teams.insert(team.name.directory().to_owned(), kept)
            })
        });
        Ok(made.is_some())
    }

    fn add_member(&self, team: &TeamName, member: &Member) -> Result<Option<Added>, TeamError> {
        Ok(self.change(|state| {
            let team = &mut state.named(team)?.team;
            let member = Member { color: Some(team.colour_for(&member.name)), ..member.clone() };
            let there = team.members.iter_mut().find(|other| other.name == member.name);
            let was_there = there.is_some();
            match there {
                Some(there) => *there = member,
                None => team.members.push(member),
            }
            Some(Added { team: team.clone(), was_there })
        }))
    }

    fn remove_member(&self, team: &TeamName, member: &str) -> Result<bool, TeamError> {
        let removed = self.change(|state| {
            let members = &mut state.named(team)?.team.members;
            let place = members.iter().position(|other| other.name == member)?;
            Some(members.remove(place))
        });
        Ok(removed.is_some())
    }

    fn remove_team(&self, team: &Team) -> Result<(), TeamError> {
        self.change(|state| {
            state.same(team)?;
            state.teams.remove(team.name.directory())
        });
        Ok(())
    }
}

impl Mailboxes for MemoryTeams {
    fn deliver(&self, posted: &Posted<'_>) -> Result<bool, TeamError> {
        let message = posted.message;
        let delivered = self.change(|state| {
            let kept = Kept { message: message.clone(), was_shown: false, was_acknowledged: false };
            state.named(posted.team)?.mailboxes.entry(posted.to.to_owned()).or_default().push(kept);
            if let Some(trace) = posted.trace
                && let Some(team) = state.same(trace.team)
            {
                let letter = SentLetter {
                    key: message.key().as_text(),
                    to: posted.to.to_owned(),
                    at: trace.at,
                    summary: trace.summary.to_owned(),
                    traces: Traces::default(),
                };
                team.sent.push((message.from.clone(), letter));
            }
            Some(())
        });
        Ok(delivered.is_some())
    }

    fn mailbox(&self, team: &Team, member: &str) -> Result<Mailbox, TeamError> {
        let mut state = self.state();
        let kept = state.mailbox(team, member);
        let acknowledged = kept.iter().filter(|kept| kept.was_acknowledged).map(|kept| kept.message.key());
        Ok(Mailbox {
            acknowledged: acknowledged.collect(),
            messages: kept.iter().map(|kept| kept.message.clone()).collect(),
            malformed: 0,
        })
    }

    fn note_shown(&self, team: &Team, member: &str, keys: &[MessageKey], _now: Timestamp) -> Result<(), TeamError> {
        for kept in self.state().mailbox(team, member) {
            kept.was_shown |= keys.contains(&kept.message.key());
        }
        Ok(())
    }

    fn acknowledge(
        &self,
        team: &Team,
        member: &str,
        keys: &[MessageKey],
        _now: Timestamp,
    ) -> Result<Acknowledged, TeamError> {
        let taken = self.change(|state| {
            let is_taken = |kept: &&mut Kept| !kept.was_acknowledged && keys.contains(&kept.message.key());
            let taken =
                state.mailbox(team, member).iter_mut().filter(is_taken).map(|kept| kept.was_acknowledged = true);
            Some(taken.count()).filter(|taken| *taken > 0)
        });
        Ok(Acknowledged { taken: taken.unwrap_or_default(), set_aside: Vec::new() })
    }

    fn sent(&self, team: &Team, sender: &str, most: usize) -> Result<SentFound, TeamError> {
        let mut state = self.state();
        let Some(team) = state.same(team) else { return Ok(SentFound::default()) };
        let letters = team.sent.iter().rev().filter(|(from, _)| from == sender).take(most).map(|(_, letter)| {
            let mailbox = team.mailboxes.get(&letter.to).into_iter().flatten();
            let kept = mailbox.into_iter().find(|kept| kept.message.key().as_text() == letter.key);
            let traces = kept.map_or_else(Traces::default, |kept| Traces {
                has_recipient: false,
                in_inbox: Some(kept.message.read),
                was_delivered: kept.was_shown,
                was_acknowledged: kept.was_acknowledged,
            });
            SentLetter { traces, ..letter.clone() }
        });
        Ok(SentFound { letters: letters.collect(), unreadable: Vec::new() })
    }

    fn watch(&self, moved: Moved) -> Box<dyn TeamWatch> {
        Box::new(MemoryWatch { _watching: self.state().watchers.add(moved) })
    }
}

impl SeatMemory for MemoryTeams {
    fn seats_in(&self, team: &Team) -> Result<HashMap<String, SeatRecord>, TeamError> {
        Ok(self.state().same(team).map(|kept| kept.seats.clone()).unwrap_or_default())
    }

    fn seats_of(&self, agent: &AgentName) -> Result<Vec<SeatTaken>, TeamError> {
        let state = self.state();
        let taken = state.teams.iter().flat_map(|(directory, kept)| {
            let own = kept.seats.iter().filter(|(_, seat)| seat.agent == agent.as_str());
            own.map(|(member, _)| SeatTaken {
                directory: directory.clone(),
                made: kept.team.created_at,
                member: member.clone(),
            })
        });
        Ok(taken.collect())
    }

    fn change_seat(&self, team: &Team, member: &str, change: &mut dyn FnMut(&mut SeatRecord)) -> Result<(), TeamError> {
        let mut state = self.state();
        let Some(kept) = state.same(team) else { return Ok(()) };
        let mut seat = kept.seats.remove(member).unwrap_or_default();
        change(&mut seat);
        if seat != SeatRecord::default() {
            kept.seats.insert(member.to_owned(), seat);
        }
        Ok(())
    }
}

impl TeamWatch for MemoryWatch {
    fn keep_up(&mut self, _teams: &[TeamName]) -> bool {
        true
    }
}
