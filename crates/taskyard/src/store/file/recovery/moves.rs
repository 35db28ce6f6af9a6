//! What a move between two lists changes in the files of the list that things leave, if its writer did not finish it.

use taskyard_core::{Image, Op, Rules, TaskId};

use super::found_files::{contents, rebased, write_temporary};
use crate::clock;
use crate::store::StoreError;
use crate::store::file::reading::observe::journal_outside_changes;
use crate::store::journal::{Journal, Known, Move, NewEntry};
use crate::store::locks::fingerprint::Look;
use crate::store::locks::turn::WriteTurn;

/// Writes the entries a move should have written; the files follow with everything else that is not written out.
pub(in crate::store) fn follow_move(
    turn: &WriteTurn,
    journal: &Journal,
    noted: &Move,
    rules: Rules,
) -> Result<(), StoreError> {
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
