//! After a power loss: what the journal says and the disk forgot is written again.

use std::collections::{BTreeMap, HashSet};
use std::os::fd::AsFd;

use rustix::fs::AtFlags;
use taskyard_core::rules::changes::numbering::highest;
use taskyard_core::{Image, Revision, TaskId};

use super::found_files::{clear_away, contents, is_blank};
use crate::clock;
use crate::failpoint::reach;
use crate::store::StoreError;
use crate::store::engine::finish_noted_moves;
use crate::store::file::flush;
use crate::store::file::handle::Handle;
use crate::store::file::marks::{mark_applied, raise_mark};
use crate::store::file::reading::files::{self, Contents};
use crate::store::file::reading::numbers;
use crate::store::journal::{Journal, Known, remember_boot};
use crate::store::locks::client_lock::{self, LIFE};
use crate::store::locks::fingerprint::look_at;
use crate::store::locks::list_paths::{self, c_name};
use crate::store::locks::turn::WriteTurn;

/// Looks at everything since the last flush: what the power loss emptied, removed or brought back is made as the journal
/// has it.
pub(in crate::store) fn recover(list: &Handle, turn: &mut WriteTurn, journal: &Journal) -> Result<(), StoreError> {
    // A list whose directory had been flushed did not lose it with the power: another program removed it.
    let was_removed = turn.is_new && journal.fact::<i64>("flushed")?.is_some();
    if journal.newest()? > Revision(0) && !was_removed {
        // Whether a merge was under way is told by the journals alone; the words of our processes may be lost.
        finish_noted_moves(list, turn, journal)?;
        let newest = journal.newest()?;
        write_again(turn, journal, newest)?;
    }
    reach("power: before the boot is remembered");
    remember_boot(list.sidecar()?)
}

fn write_again(turn: &mut WriteTurn, journal: &Journal, newest: Revision) -> Result<(), StoreError> {
    clear_locks_of_the_dead(turn)?;
    turn.lock_list()?;
    let flushed = journal.fact::<i64>("flushed")?.unwrap_or(0).unsigned_abs();
    let mut fates: BTreeMap<TaskId, Fate> = BTreeMap::new();
    for stored in journal.after(Revision(flushed))? {
        let fate = fates.entry(stored.entry.task.clone()).or_default();
        fate.earlier.extend(stored.entry.before);
        fate.earlier.extend(fate.last.take());
        fate.last = stored.entry.after;
    }
    for (id, known) in journal.all_known()? {
        fates.entry(id).or_insert_with(|| Fate { last: Some(known.image), earlier: HashSet::new(), is_old: true });
    }
    for (id, fate) in &fates {
        reach("power: before a file");
        restore(turn, journal, id, fate)?;
    }
    let removed = fates.iter().filter(|(_, fate)| fate.last.is_none());
    let highest = highest(removed.map(|(id, _)| id.as_str()));
    if highest > numbers::mark(&turn.place.directory) {
        raise_mark(turn, highest)?;
    }
    clear_away(turn)?;
    turn.unlock();
    flush::flush_all(turn.directory.as_fd(), journal, newest);
    mark_applied(turn, newest)
}

/// What the journal says of one file.
#[derive(Default)]
struct Fate {
    last: Option<Image>,
    /// What it held before that, since the last flush.
    earlier: HashSet<Image>,
    /// Nothing happened to it since the last flush: only an emptied file is not to be believed.
    is_old: bool,
}

fn restore(turn: &WriteTurn, journal: &Journal, id: &TaskId, fate: &Fate) -> Result<(), StoreError> {
    let path = turn.place.task_file(id);
    let name = files::find(&turn.place, turn.directory.as_fd(), id);
    let (name, _) = name.map_err(StoreError::io("cannot look at", &path))?;
    let found = contents(turn, id)?;
    let is_forgotten = match &found {
        Contents::Missing => !fate.is_old,
        contents => contents.image().is_some_and(|(image, _)| is_blank(image) || fate.earlier.contains(image)),
    };
    match &fate.last {
        Some(last) if is_forgotten => {
            tracing::info!(task = %id, "bringing back what a power loss took");
            let directory = turn.directory.as_fd();
            let written = match found {
                Contents::Missing => {
                    let mode = journal.known(id)?.and_then(|known| known.mode);
                    files::add(directory, &name, last.bytes(), mode)
                }
                _ => files::replace(directory, &name, last.bytes()),
            };
            written.map_err(StoreError::io("cannot write", &path))?;
            if let Ok(Some(look)) = look_at(turn.directory.as_fd(), &name) {
                let (seen, mode) = (look.print.mtime, Some(look.mode));
                journal.set_known(id, &Known { print: look.print, seen, image: last.clone(), mode })?;
            }
            Ok(())
        }
        None if is_forgotten && !matches!(found, Contents::Missing) => {
            rustix::fs::unlinkat(&*turn.directory, &*name, AtFlags::empty())
                .map_err(|error| StoreError::io("cannot remove", &path)(error.into()))
        }
        _ => Ok(()),
    }
}

/// A lock from before the machine was off has no living holder.
fn clear_locks_of_the_dead(turn: &WriteTurn) -> Result<(), StoreError> {
    let started = clock::wall() - clock::since_boot();
    for name in list_paths::names(turn.directory.as_fd(), &turn.place.directory)? {
        let is_lock = name.ends_with(".json.lock");
        if let Ok(Some(look)) = look_at(turn.directory.as_fd(), &c_name(&name))
            && is_lock
            && (look.print.mtime < started || client_lock::age(&look) > LIFE)
        {
            let _ = rustix::fs::unlinkat(&*turn.directory, &*c_name(&name), AtFlags::REMOVEDIR);
        }
    }
    Ok(())
}
