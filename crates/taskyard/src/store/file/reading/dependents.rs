//! Which tasks wait for a task, by their own word: another program may have written an edge on that side only. And which tasks
//! are parts of others, which only the part says.
//!
//! Every file is looked at, since any may have changed; only those that did are read. Of the others the last known state is
//! searched, and nothing that neither names the task nor a parent is parsed.

use std::os::fd::BorrowedFd;

use taskyard_core::{Task, TaskId};

use super::files::{self, Contents};
use super::scan;
use crate::clock;
use crate::store::StoreError;
use crate::store::journal::Journal;
use crate::store::locks::fingerprint::Look;
use crate::store::locks::list_paths::ListPaths;

/// Fewer files than this are read again sooner than their fingerprints are written down.
const MANY: usize = 64;

/// Returns the tasks that wait for a task and all that are parts of another, in no order. Called within a turn: it may write down
/// fingerprints.
pub(in crate::store) fn waiting_for_or_parts(
    blocker: &TaskId,
    place: &ListPaths,
    directory: BorrowedFd<'_>,
    journal: &Journal,
) -> Result<Vec<Task>, StoreError> {
    let seen = clock::wall();
    let mention = Mention::of(blocker);
    let (seen_files, known) =
        scan::look_while(place, directory, Some(journal), || journal.known_where(|content| mention.is_in(content)))?;
    let mut looks = seen_files.tasks;
    let mut found = Vec::new();
    let mut changed = Vec::new();
    for known in known {
        let look = match looks.remove(&known.id) {
            Some(look) => Some(look),
            // A directory that changes while it is read may leave a name out.
            None => files::find(place, directory, &known.id)
                .map(|(_, look)| look)
                .map_err(StoreError::io("cannot look at", place.task_file(&known.id)))?,
        };
        match look {
            Some(look) if look.is_unchanged(&known.print, known.seen) => found.extend(known.task.map(|task| *task)),
            Some(_) => changed.push(known.id),
            None => {}
        }
    }
    changed.extend(looks.into_keys());
    let mut read = Vec::with_capacity(changed.len());
    for id in changed {
        let contents =
            files::read(place, directory, &id).map_err(StoreError::io("cannot read", place.task_file(&id)))?;
        read.push((id, contents));
    }
    if read.len() > MANY {
        // Fingerprints are only for speed.
        let _ = recognise_again(journal, &read, seen)
            .inspect_err(|error| tracing::debug!(%error, "fingerprints are not written down"));
    }
    found.extend(read.into_iter().filter_map(|(_, contents)| match contents {
        Contents::Task(task, ..) => Some(*task),
        Contents::Missing | Contents::Broken(..) => None,
    }));
    found.retain(|task| task.blocked_by.contains(blocker) || task.parent().is_some());
    Ok(found)
}

/// Writes down the fingerprints of files whose contents are as they were known, so that they need not be read the next time.
fn recognise_again(journal: &Journal, read: &[(TaskId, Contents)], seen: i64) -> Result<(), StoreError> {
    let mut looks: Vec<(&TaskId, &Look)> = Vec::new();
    for (id, contents) in read {
        if let Some((image, look)) = contents.image()
            && look.print.is_settled(seen)
            && journal.known(id)?.is_some_and(|known| known.image == *image)
        {
            looks.push((id, look));
        }
    }
    let transaction = journal.begin()?;
    for (id, look) in looks {
        journal.set_print(id, look.print, look.mode, seen)?;
    }
    journal.end(transaction)
}

/// What the text of every task that waits for another, or is a part of any, has in it.
struct Mention {
    /// The id in quotes; none where JSON may write it in several ways.
    quoted: Option<String>,
}

impl Mention {
    fn of(id: &TaskId) -> Self {
        let is_plain = id.as_str().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        Self { quoted: is_plain.then(|| format!("\"{id}\"")) }
    }

    fn is_in(&self, content: &[u8]) -> bool {
        match (&self.quoted, std::str::from_utf8(content)) {
            // JSON may write any character by its number.
            (Some(quoted), Ok(text)) => {
                let is_part = text.contains("\"parent\"") || text.contains("parent_id");
                text.contains(quoted.as_str()) || is_part || text.contains("\\u")
            }
            (None, _) | (_, Err(_)) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use taskyard_core::TaskId;

    use super::Mention;

    fn may_name(id: &str, content: &str) -> bool {
        Mention::of(&TaskId::stored(id)).is_in(content.as_bytes())
    }

    #[test]
    fn a_text_that_cannot_name_the_task_is_passed_over() {
        assert!(may_name("7", r#"{"blockedBy":["1","7"]}"#));
        assert!(!may_name("7", r#"{"blockedBy":["77"],"description":"after 7"}"#));
        assert!(may_name("7", r#"{"metadata":{"parent":1}}"#));
        assert!(may_name("7", r#"{"description":"<macf_task_metadata>\nparent_id: 1\n</macf_task_metadata>"}"#));
    }

    #[test]
    fn a_name_that_json_may_write_in_another_way_is_never_passed_over() {
        assert!(may_name("7", r#"{"blockedBy":["\u0037"]}"#));
        assert!(may_name("a/b", r#"{"blockedBy":["a\/b"]}"#));
        assert!(may_name("é", r#"{"blockedBy":[]}"#));
    }
}
