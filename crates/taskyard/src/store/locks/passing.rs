//! Going past a queue whose head does not move: a kernel lock lasts as long as its process does, also where that was suspended.
//!
//! A link beside the queue's file keeps apart the processes that go past; it leads nowhere and says whose it is. They leave word that they
//! went past; then the writer that gets to the head makes this link, too, before it has the turn, and leaves word that all is as it was. A
//! process that was passed finds another count of turns than its own, and stops.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::backoff::Backoff;
use super::lock::{self, LIFE};
use crate::clock;
use crate::liveness::{is_seen_dead, space_tag};
use crate::store::new_name::rename_to_new;

/// The right to go past, or to keep other processes from it. Dropping it gives it back.
#[derive(Debug)]
pub(in crate::store) struct Passing {
    link: PathBuf,
    /// What the link says: the process, its pid namespace, and what no other link says.
    text: String,
}

impl Drop for Passing {
    fn drop(&mut self) {
        if fs::read_link(&self.link).is_ok_and(|text| text.as_os_str() == self.text.as_str()) {
            let _ = fs::remove_file(&self.link);
        }
    }
}

/// Makes the link, where no living process has made it.
pub(in crate::store) fn try_take(queue: &Path) -> io::Result<Option<Passing>> {
    let link = beside(queue, "passing");
    for _ in 0..2 {
        let text = new_link_text();
        match symlink(&text, &link) {
            Ok(()) => return Ok(Some(Passing { link, text })),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        let Some(text) = fs::read_link(&link).ok().map(PathBuf::into_os_string) else { continue };
        if !is_of_dead_process(&text) && !is_silent(queue, &link) {
            return Ok(None);
        }
        take_away(queue, &link, &text)?;
    }
    Ok(None)
}

/// Makes the link, after a wait for the process that has it.
pub(in crate::store) fn take(queue: &Path, patience: Duration) -> io::Result<Option<Passing>> {
    let (started, mut backoff) = (Instant::now(), Backoff::default());
    loop {
        let taken = try_take(queue)?;
        if taken.is_some() || started.elapsed() >= patience {
            return Ok(taken);
        }
        thread::sleep(backoff.next());
    }
}

/// Removes a link of a dead process; what another process put there in this instant is put back.
fn take_away(queue: &Path, link: &Path, text: &OsString) -> io::Result<()> {
    let aside = beside(queue, &format!("passed-{}", new_link_text()));
    match fs::rename(link, &aside) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    if fs::read_link(&aside).is_ok_and(|found| found.as_os_str() != text) {
        // Where a third one has it by now, its owner lost it in that instant, and will notice.
        let _ = rename_to_new(rustix::fs::CWD, &aside, link);
    }
    let _ = fs::remove_file(&aside);
    Ok(())
}

fn beside(queue: &Path, ending: &str) -> PathBuf {
    queue.with_added_extension(ending)
}

fn new_link_text() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{}-{:x}-{count}", lock::process(), space_tag(), clock::since_boot())
}

/// Tells whether a link was made by a process that this one can see to be gone.
fn is_of_dead_process(text: &OsString) -> bool {
    let text = text.to_string_lossy();
    let mut parts = text.split('-').map(str::parse::<u32>);
    let (Some(Ok(process)), Some(Ok(space))) = (parts.next(), parts.next()) else { return true };
    space == space_tag() && is_seen_dead(process)
}

/// Tells whether the process that made a link showed no sign of life for as long as a lock lives: in the queue's file, once it has the
/// turn.
fn is_silent(queue: &Path, link: &Path) -> bool {
    let changed =
        |path: &Path| fs::symlink_metadata(path).map_or(0, |found| found.mtime() * 1_000_000_000 + found.mtime_nsec());
    let last = changed(queue).max(changed(link));
    u128::try_from(clock::wall().saturating_sub(last)).is_ok_and(|silence| silence > LIFE.as_nanos())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;

    use super::{new_link_text, space_tag, try_take};

    #[test]
    fn one_has_it_at_a_time_and_what_a_dead_process_left_is_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let queue = folder.path().join("queue");
        File::create(&queue).unwrap();
        let first = try_take(&queue).unwrap().unwrap();
        assert!(try_take(&queue).unwrap().is_none());
        drop(first);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        // No process has this id.
        symlink(format!("4194305-{}-0-0", space_tag()), folder.path().join("queue.passing")).unwrap();
        let second = try_take(&queue).unwrap().unwrap();
        // Another process took it over: that one gives it back.
        fs::remove_file(&second.link).unwrap();
        symlink(new_link_text(), &second.link).unwrap();
        drop(second);
        assert!(try_take(&queue).unwrap().is_none());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
