//! What earlier sessions of the client left.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, io};

use taskyard_core::rules::health::{may_be_of_ended_session, ran_when_written};
use taskyard_core::rules::lists::list_choice::short_session_list;
use taskyard_core::{Lease, ListId, Task, Timestamp};

use crate::liveness::clients_started;
use crate::project_slug::slug;
use crate::store::{FileLayout, StoreError};
use crate::{Error, Yard};

/// A list that an earlier session of the client left, with tasks still open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionList {
    /// The session.
    pub session: String,
    /// Its list.
    pub list: ListId,
    /// The open tasks in it.
    pub open: Vec<Task>,
    /// When the session was last used.
    pub last_used: Option<Timestamp>,
}

impl Yard {
    /// Returns the lists with open tasks that sessions of the client in this directory left, the last used first.
    ///
    /// The client keeps a transcript of each session in `projects/<directory>/<session>.jsonl`. A session's list has its
    /// name, or the short one that newer clients use with teams. Our own list is not among them.
    pub fn left_by_sessions(&self, config_dir: &Path, directory: &Path) -> Result<Vec<SessionList>, Error> {
        let mut left: Vec<SessionList> = Vec::new();
        for (session, last_used) in sessions(&config_dir.join("projects").join(slug(directory)))? {
            for name in [session.clone(), short_session_list(&session)] {
                let Ok(list) = ListId::new(name) else { continue };
                if list == *self.list_id() || left.iter().any(|known| known.list == list) {
                    continue;
                }
                let open = self.open_tasks_of(&list)?;
                if !open.is_empty() {
                    left.push(SessionList { session: session.clone(), list, open, last_used });
                }
            }
        }
        Ok(left)
    }
}

/// How long a task is left alone that no session seems to work on: twice the time of a lease. A client in a container, whose processes we do not
/// see, may work on it.
const GRACE: Duration = Duration::from_secs(2 * 3600);

impl Yard {
    /// Returns the tasks that the client's own tools have put in progress for a session that has ended, each with when it was last written. They
    /// name no owner and have no lease; whoever wrote them last ran then, and no client that ran then runs now. Those written less than [`GRACE`]
    /// ago are left out. Empty if not every process of this machine can be seen.
    pub(super) fn of_ended_sessions(
        &self,
        tasks: &[Task],
        leases: &[Lease],
    ) -> Result<Vec<(Task, Timestamp)>, StoreError> {
        let care =
            self.store().care().filter(|care| care.layout() == FileLayout::Numbered && !self.rules().is_client());
        let Some(care) = care else { return Ok(Vec::new()) };
        let is_leased = |task: &Task| leases.iter().any(|lease| lease.task == task.id);
        let unowned = tasks.iter().filter(|task| may_be_of_ended_session(task) && !is_leased(task));
        let written = |task: &Task| Some((task.clone(), care.written_at(self.list_id(), &task.id)?));
        let mut left: Vec<(Task, Timestamp)> = unowned.filter_map(written).collect();
        let now = self.now()?;
        let age = |written: Timestamp| now.wall.0.saturating_sub(written.0);
        left.retain(|(_, written)| u128::try_from(age(*written)).is_ok_and(|age| age >= GRACE.as_millis()));
        if left.is_empty() {
            return Ok(left);
        }
        let Some(clients) = clients_started() else { return Ok(Vec::new()) };
        left.retain(|(_, written)| !ran_when_written(*written, &now, &clients));
        Ok(left)
    }
}

/// Returns the sessions of the client in a directory, so many at most, the last used first.
pub fn recent_sessions(config_dir: &Path, directory: &Path, most: usize) -> Result<Vec<String>, Error> {
    let found = sessions(&config_dir.join("projects").join(slug(directory)))?;
    Ok(found.into_iter().take(most).map(|(session, _)| session).collect())
}

/// Returns the sessions whose transcripts are in a directory and when each was last used, the last used first.
fn sessions(transcripts: &Path) -> Result<Vec<(String, Option<Timestamp>)>, StoreError> {
    let files = match fs::read_dir(transcripts) {
        Ok(files) => files,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(StoreError::io("cannot look for sessions in", transcripts)(error)),
    };
    let mut sessions = Vec::new();
    for file in files {
        let file = file.map_err(StoreError::io("cannot look for sessions in", transcripts))?;
        let name = file.file_name();
        let Some(session) = name.to_str().and_then(|name| name.strip_suffix(".jsonl")) else { continue };
        let modified = file.metadata().and_then(|metadata| metadata.modified()).ok();
        sessions.push((session.to_owned(), modified.and_then(timestamp)));
    }
    sessions.sort_by(|(one, used_one), (two, used_two)| used_two.cmp(used_one).then_with(|| one.cmp(two)));
    Ok(sessions)
}

fn timestamp(moment: SystemTime) -> Option<Timestamp> {
    let since = moment.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Timestamp)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::slug;

    #[test]
    fn a_path_becomes_a_name_as_the_client_makes_it() {
        assert_eq!(slug(Path::new("/home/ana/my_app.v2")), "-home-ana-my-app-v2");
    }
}
