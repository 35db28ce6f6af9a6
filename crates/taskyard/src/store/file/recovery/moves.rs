//! Carrying out, on the list that things leave, a move between two lists that its writer did not finish.

use taskyard_core::{Image, ListId, Op, Rules, TaskId};

use super::found_files::{contents, rebased, write_temporary};
use super::outside_changes::journal_outside_changes;
use crate::clock;
use crate::failpoint::reach;
use crate::store::StoreError;
use crate::store::file::handle::Handle;
use crate::store::journal::{Journal, Known, Move, MovePeer, NewEntry};
use crate::store::locks::fingerprint::Look;
use crate::store::locks::list_paths::ListPaths;
use crate::store::locks::turn::WriteTurn;

/// Carries out, on the list that things leave, the moves that did happen, and strikes off those that did not. Returns the lists that
/// things went to.
pub(in crate::store) fn finish_noted_moves(
    turn: &mut WriteTurn,
    journal: &mut Journal,
    rules: Rules,
) -> Result<Vec<MovePeer>, StoreError> {
    let mut followed = Vec::new();
    for noted in journal.noted_moves()? {
        let happened = Journal::decide_move_at(&noted.peer.sidecar, &noted.token)?;
        reach("move: decided");
        let transaction = journal.begin()?;
        if happened {
            tracing::info!(tasks = noted.changes.len(), "finishing a merge that its writer did not finish");
            append(turn, journal, &noted, rules)?;
            followed.push(noted.peer.clone());
        }
        journal.forget_move(&noted.token)?;
        journal.end(transaction)?;
        reach("move: followed by its note");
    }
    Ok(followed)
}

/// Finishes moves to this list in the lists that the tasks came from, if the writer did not get that far.
pub(in crate::store) fn finish_arrivals(handle: &Handle, journal: &Journal) -> Result<(), StoreError> {
    for (token, origin) in journal.arrivals()? {
        if finish_peer(handle, origin)? {
            journal.forget_arrival(&token)?;
        }
    }
    Ok(())
}

/// Has the other list of a move finish what its writer left. Returns false if a process has the turn there: it begins with this very thing.
pub(in crate::store) fn finish_peer(handle: &Handle, peer: MovePeer) -> Result<bool, StoreError> {
    let MovePeer { list, place, sidecar } = peer;
    let is_there = place.try_exists().map_err(StoreError::io("cannot look at", &place))?;
    let Some(list) = ListId::new(&list).ok().filter(|_| is_there) else { return Ok(true) };
    let peer = Handle::new(list, ListPaths::at(place, sidecar, handle.rules), handle.rules, handle.clock.clone());
    let Some((turn, journal)) = peer.try_take_turn()? else { return Ok(false) };
    drop(turn);
    peer.give_back(journal);
    Ok(true)
}

/// Finishes what is left of moves to and from a list, and returns why that fails.
pub(in crate::store) fn unfinished_move(handle: &Handle) -> Result<Option<StoreError>, StoreError> {
    if !handle.journals.ask(Journal::has_pending_moves)? {
        return Ok(None);
    }
    match handle.try_take_turn() {
        Ok(Some((turn, journal))) => {
            let failed = finish_arrivals(handle, &journal).err();
            drop(turn);
            handle.give_back(journal);
            Ok(failed)
        }
        Ok(None) => Ok(None),
        Err(error) => Ok(Some(error)),
    }
}

/// Writes the entries a move should have written; the files follow with everything else that is not written out.
fn append(turn: &WriteTurn, journal: &Journal, noted: &Move, rules: Rules) -> Result<(), StoreError> {
    let at = clock::now();
    let changes: Vec<Followed<'_>> = noted
        .changes
        .iter()
        .map(|(task, after)| follow(turn, journal, task, after.as_ref(), rules))
        .collect::<Result<_, _>>()?;
    let found = changes.iter().map(|change| (change.task, change.before.as_ref(), None));
    let revision = journal.newest()?.next();
    let seen_elsewhere = journal_outside_changes(journal, &turn.place, found, revision, at)?.is_some();
    let entries: Vec<NewEntry<'_>> = changes
        .iter()
        .map(|change| NewEntry {
            task: change.task,
            op: noted.signature.op,
            before: change.before.as_ref(),
            after: change.after.as_ref().map(|(image, _)| image),
            inode: match (&change.after, change.inode) {
                (Some((_, look)), _) => Some(look.print.inode),
                (None, inode) => inode,
            },
            mode: change.mode,
        })
        .collect();
    let revision = if seen_elsewhere { revision.next() } else { revision };
    journal.append(revision, at, &noted.signature, &entries)?;
    for change in &changes {
        match &change.after {
            None => journal.forget(change.task)?,
            Some((image, look)) => {
                let (seen, mode) = (look.print.mtime, Some(look.mode));
                let known = Known { print: look.print, seen, image: image.clone(), mode };
                journal.set_known(change.task, &known)?;
            }
        }
    }
    Ok(())
}

/// What a move does to one file of the list that things leave.
struct Followed<'a> {
    task: &'a TaskId,
    before: Option<Image>,
    /// What it is to hold, and the temporary file that holds it.
    after: Option<(Image, Look)>,
    /// The file that is to be removed.
    inode: Option<u64>,
    /// The permission bits it has.
    mode: Option<u32>,
}

fn follow<'a>(
    turn: &WriteTurn,
    journal: &Journal,
    task: &'a TaskId,
    after: Option<&Image>,
    rules: Rules,
) -> Result<Followed<'a>, StoreError> {
    let found = contents(turn, task)?;
    let now = found.image().map(|(image, _)| image);
    let known = journal.known(task)?.map(|known| known.image);
    let after = match (after, now) {
        // Another program wrote in between: what the move changes is changed in what it wrote. What it removed stays removed.
        (Some(after), Some(now)) => Some(rebased(Op::Merge, task, known.as_ref(), after, now, rules)),
        (Some(_), None) | (None, _) => None,
    };
    let written = after.map(|image| write_temporary(turn, task, &image).map(|look| (image, look))).transpose()?;
    let look = found.image().map(|(_, look)| look);
    Ok(Followed {
        task,
        before: now.cloned(),
        after: written,
        inode: look.map(|look| look.print.inode),
        mode: look.map(|look| look.mode),
    })
}
