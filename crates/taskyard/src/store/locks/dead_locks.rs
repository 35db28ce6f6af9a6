//! Clearing away the locks of a writer of ours that died: it wrote down which they are.

use crate::liveness::is_seen_dead;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::AtFlags;

use super::fingerprint::{Look, look_at};
use super::list_paths::{OURS, c_name};
use super::lock::{self, temporary_name};
use super::turn_record::{self, HeldName};
use crate::failpoint::reach;

/// Removes the locks that a dead writer of ours left in a directory.
pub(in crate::store) fn clear_dead_locks(directory: BorrowedFd<'_>, memory: &File) -> io::Result<()> {
    let is_there = |held: &HeldName| {
        let look = look_at(directory, &c_name(&held.name)).ok().flatten();
        look.is_some_and(|look| is_named(held, &look))
    };
    let mut dead: Vec<HeldName> = turn_record::load_held(memory)?.into_iter().filter(is_there).collect();
    if dead.is_empty() {
        return Ok(());
    }
    let aside = temporary_name("stale");
    dead.push(HeldName::of_ours(&aside));
    turn_record::save_held(memory, lock::process(), &dead)?;
    reach("locks of the dead: written down");
    for held in &dead {
        remove_dead(directory, held, &aside);
        reach("locks of the dead: removed one");
    }
    Ok(())
}

/// Tells whether the process that made something of ours is gone; its process id is in the name. A living process may be waiting for a
/// lock.
pub(in crate::store) fn maker_is_dead(name: &str) -> bool {
    let process = name.trim_start_matches(OURS).split('-').next().and_then(|word| word.parse().ok());
    process.is_none_or(is_seen_dead)
}

fn remove_dead(directory: BorrowedFd<'_>, held: &HeldName, aside: &CStr) {
    let name = c_name(&held.name);
    let Ok(Some(look)) = look_at(directory, &name) else { return };
    if held.name.starts_with(OURS) {
        let _ = rustix::fs::unlinkat(directory, &*name, AtFlags::REMOVEDIR);
    } else if is_named(held, &look) {
        let _ = lock::take_aside(directory, &name, &look, aside);
    }
}

/// Tells whether what stands under a name is the directory that was written down. Inode numbers are used again; where the file
/// system does not tell when a directory was made, it may be a rival's, and has to go stale by itself.
fn is_named(held: &HeldName, look: &Look) -> bool {
    let is_the_one = || look.print.inode == held.inode && look.born == held.born && held.born != 0;
    held.name.starts_with(OURS) || (is_the_one() && lock::is_of_ours(look))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::{HeldName, is_named, look_at};

    #[test]
    fn a_rivals_lock_with_the_inode_and_the_birth_of_one_of_ours_is_not_ours() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(".lock.lock")).unwrap();
        let directory = std::fs::File::open(folder.path()).unwrap();
        let look = look_at(directory.as_fd(), c".lock.lock").unwrap().unwrap();
        let held = HeldName { name: ".lock.lock".into(), inode: look.print.inode, born: look.born };
        assert!(!is_named(&held, &look));
    }
}
