//! Which of the files that are gone a client deleted.

use std::collections::HashSet;
use std::os::fd::AsFd as _;

use taskyard_core::dialect::team_file;
use taskyard_core::rules::history::vanishing::{Rest, is_deletion};
use taskyard_core::{TaskId, Timestamp};

use super::{hidden, numbers};
use crate::regular_file;
use crate::store::StoreError;
use crate::store::journal::Journal;
use crate::store::locks::list_paths::ListPaths;

/// Returns those of the tasks whose files are gone that a client deleted. The journal still knows them.
pub(in crate::store) fn deletions(
    place: &ListPaths,
    journal: &Journal,
    gone: &[&TaskId],
) -> Result<HashSet<TaskId>, StoreError> {
    let mark = numbers::mark(&place.directory);
    if !gone.iter().any(|id| is_deletion(id, mark, Rest::Others)) {
        return Ok(HashSet::new());
    }
    let rest = rest(place, journal, gone)?;
    Ok(gone.iter().filter(|id| is_deletion(id, mark, rest)).map(|id| (*id).clone()).collect())
}

/// Tells what is left of the list.
fn rest(place: &ListPaths, journal: &Journal, gone: &[&TaskId]) -> Result<Rest, StoreError> {
    let mut is_one = gone.len() == 1;
    if let Some(directory) = place.open()? {
        let went: HashSet<&TaskId> = gone.iter().copied().collect();
        for other in journal.known_ids()?.iter().filter(|id| !went.contains(id)) {
            let found = hidden::find(place, directory.as_fd(), other);
            if found.map_err(StoreError::io("cannot look at", place.task_file(other)))?.1.is_some() {
                return Ok(Rest::Others);
            }
            is_one = false;
        }
    }
    let known = gone.first().filter(|_| is_one).map(|id| journal.known(id)).transpose()?.flatten();
    let (Some(known), Some(id)) = (known, gone.first()) else { return Ok(Rest::NoneOfSeveral) };
    let was_open = known.image.task(id).is_ok_and(|task| task.status.is_open());
    let last_seen = Timestamp(known.seen / 1_000_000);
    Ok(Rest::NoneOfOne { was_open, is_for_new_team: team_made(place).is_some_and(|made| made >= last_seen) })
}

/// Returns when the team that works on the list was made; `None` if there is none.
fn team_made(place: &ListPaths) -> Option<Timestamp> {
    let teams = place.directory.parent()?.parent()?.join("teams");
    let file = teams.join(place.directory.file_name()?).join("config.json");
    let team = team_file::read(&regular_file::read(&file, team_file::LARGEST).ok()?).ok()?;
    Some(team.created_at)
}
