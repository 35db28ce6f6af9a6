//! Which team's list an agent works on.

use std::fs;
use std::path::{Path, PathBuf};

use taskyard_core::rules::teams::team_choice::{chooses_a_list, nearest_above};
use taskyard_core::{AgentName, ListId, Team};

use super::TeamError;
use super::register::Teams;
use super::seat::Seat;

/// A seat in the team whose list an agent works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenSeat {
    /// The seat.
    pub seat: Seat,
    /// What chose it.
    pub by: ChosenBy,
}

/// What chose a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChosenBy {
    /// The client's own environment, or its rules.
    Client,
    /// The team was joined in the caller's directory or above it.
    Directory,
}

impl Teams {
    /// Returns the seat of an agent in the team whose list it works on in the caller's directory; none where it works on the list of the
    /// directory.
    ///
    /// In strict rules a name alone carries no list into another directory: it is the team that was joined in the directory or
    /// nearest above it, or the only one of an agent that the client's own team environment says acts.
    pub fn chosen_seat(&self, agent: &AgentName) -> Result<Option<ChosenSeat>, TeamError> {
        let mut seats = self.seats_of(agent)?;
        if self.rules().is_client() {
            return Ok(only(seats).map(|seat| ChosenSeat { seat, by: ChosenBy::Client }));
        }
        seats.retain(|seat| seat.member().is_some_and(|member| chooses_a_list(&seat.team, member)));
        if seats.len() == 1 && self.caller.client_teammate.as_ref() == Some(agent) {
            return Ok(only(seats).map(|seat| ChosenSeat { seat, by: ChosenBy::Client }));
        }
        let Some(here) = self.caller.directory.as_deref().filter(|_| !seats.is_empty()) else { return Ok(None) };
        let joined: Vec<Option<PathBuf>> = seats.iter().map(joined_in).collect();
        let joined: Vec<Option<&Path>> = joined.iter().map(Option::as_deref).collect();
        let nearest = nearest_above(&joined, &behind_links(here));
        Ok(nearest.map(|number| ChosenSeat { seat: seats.swap_remove(number), by: ChosenBy::Directory }))
    }

    /// Tells whether a member joined its team in the caller's directory or above it.
    pub(crate) fn joined_around_here(&self, seat: &Seat) -> bool {
        let here = self.caller.directory.as_deref().map(behind_links);
        here.is_some_and(|here| nearest_above(&[joined_in(seat).as_deref()], &here).is_some())
    }

    /// Returns where an agent sits in the team whose list this is; none where it is in no such team, or in several.
    pub fn seat_on(&self, agent: &AgentName, list: &ListId) -> Result<Option<Seat>, TeamError> {
        let mut seats = self.seats_of(agent)?;
        seats.retain(|seat| self.list_of(&seat.team.name).is_ok_and(|of_team| of_team == *list));
        Ok(only(seats))
    }

    /// Returns the team whose list this is; none where there is none. One that cannot be read is passed over.
    pub fn team_of(&self, list: &ListId) -> Result<Option<Team>, TeamError> {
        let is_its = |team: &Team| self.list_of(&team.name).is_ok_and(|of_team| of_team == *list);
        Ok(self.list()?.into_iter().find(is_its))
    }
}

fn only(seats: Vec<Seat>) -> Option<Seat> {
    <[Seat; 1]>::try_from(seats).ok().map(|[seat]| seat)
}

/// Returns the directory in which a member joined. A relative one does not say relative to what.
fn joined_in(seat: &Seat) -> Option<PathBuf> {
    let joined = Path::new(seat.member()?.cwd.as_deref()?);
    joined.is_absolute().then(|| behind_links(joined))
}

/// Returns the directory that a path leads to; the path itself where there is none any more.
fn behind_links(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
