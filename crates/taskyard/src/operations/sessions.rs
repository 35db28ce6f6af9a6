//! Sessions of the client: the tasks they left open, and which session works on a task.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, io};

use taskyard_core::dialect::transcript::{TokenUse, directory_of, names_holder, session_cost, used_within};
use taskyard_core::rules::agents::{client_of, session_beginning, subagent_id};
use taskyard_core::rules::health::{may_be_of_ended_session, ran_when_written};
use taskyard_core::rules::lists::short_session_list;
use taskyard_core::rules::looking::past::{LifeState, ListPast};
use taskyard_core::{Lease, ListId, Task, TaskId, Timestamp};

use crate::liveness::client_names::slug;
use crate::liveness::{ClientNames, clients_started};
use crate::store::{FileLayout, HistoryQuery, StoreError};
use crate::{Error, Yard, regular_file};

/// A list with open tasks that an earlier session of the client left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionList {
    /// The session.
    pub session: String,
    /// Its list.
    pub list: ListId,
    /// The open tasks in it.
    pub open: Vec<Task>,
    /// When the session was last used; `None` if unknown.
    pub last_used: Option<Timestamp>,
}

/// The client session in which the owner of a task works on it, and the client's figures about it.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnerSession {
    /// The session's id.
    pub session: String,
    /// The transcript of the owner: the session's, or that of its subagent.
    pub transcript: PathBuf,
    /// The working directory of the session.
    pub(crate) directory: Option<PathBuf>,
    /// The tokens used while the owner had the task in progress, by the client's figures; `None` if the transcript has
    /// none.
    pub used: Option<TokenUse>,
    /// The cost of the whole session in dollars, by the client's figures; `None` for older clients.
    pub session_cost: Option<f64>,
}

impl OwnerSession {
    /// Returns the shell command that resumes the session in its directory.
    pub fn resuming(&self) -> String {
        let resume = format!("claude --resume {}", shell_word(&self.session));
        match &self.directory {
            Some(directory) => format!("cd {} && {resume}", shell_word(&directory.to_string_lossy())),
            None => resume,
        }
    }
}

/// Quotes a text so that a shell takes it as a single literal word.
pub fn shell_word(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_.@/".contains(character);
    if text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// How many sessions are searched for one that claimed a task.
const SESSIONS: usize = 8;
/// How many bytes at the end of each are searched.
const TAIL: u64 = 4 * 1024 * 1024;
/// How many bytes at the end of the owner's transcript are read.
const LONGEST: u64 = 64 * 1024 * 1024;

impl Yard {
    /// Finds the client session in which the owner of a task works or worked: by the owner's name, or by a reply in a
    /// transcript of these directories that gave the owner the task. Returns `None` if the client's files do not tell.
    /// `names` are those of the clients on this machine.
    pub fn session_of_owner(
        &self,
        config_dir: &Path,
        directories: &[&Path],
        names: &ClientNames,
        task: &Task,
    ) -> Result<Option<OwnerSession>, Error> {
        let Some(owner) = task.owner().filter(|owner| !owner.is_empty()) else { return Ok(None) };
        let sessions_of_client = names.sessions_of(client_of(owner));
        for directory in directories {
            let folder = config_dir.join("projects").join(slug(directory));
            let found = sessions(&folder)?;
            let transcript = |session: &str| match subagent_id(owner) {
                Some(id) => folder.join(session).join("subagents").join(format!("agent-{id}.jsonl")),
                None => folder.join(format!("{session}.jsonl")),
            };
            let is_named = |session: &str| {
                sessions_of_client.iter().any(|known| known == session)
                    || session_beginning(owner).is_some_and(|begins| session.starts_with(begins))
            };
            let claimed = |session: &str| {
                let text = regular_file::read_end(&transcript(session), TAIL);
                text.is_ok_and(|text| names_holder(&text, owner, task.id.as_str()))
            };
            // One client may have had several sessions.
            let mut named = found.iter().filter(|(session, _)| is_named(session)).peekable();
            let first_named = named.peek().copied();
            let by_claim = || found.iter().take(SESSIONS).find(|(session, _)| claimed(session));
            let is_only_one = named.nth(1).is_none() && first_named.is_some();
            let session = if is_only_one { first_named } else { by_claim().or(first_named) };
            if let Some((session, _)) = session {
                return self.described(session, transcript(session), owner, task).map(Some);
            }
        }
        Ok(None)
    }

    fn described(&self, session: &str, transcript: PathBuf, owner: &str, task: &Task) -> Result<OwnerSession, Error> {
        let text = regular_file::read_end(&transcript, LONGEST).unwrap_or_default();
        let query = HistoryQuery { task: Some(task.id.clone()), ..HistoryQuery::default() };
        let (now, mut past) = (self.now()?.wall, ListPast::default());
        match self.store().history(self.list_id(), &query) {
            Err(error) if error.is_of_memory() => {}
            entries => entries?.iter().for_each(|entry| past.note(entry)),
        }
        let stretches = past.tasks().flat_map(|(_, stretches)| stretches);
        let theirs = stretches
            .filter(|stretch| stretch.state == LifeState::InProgress && stretch.owner.as_deref() == Some(owner));
        let times: Vec<_> = theirs.filter_map(|stretch| Some((stretch.from?, stretch.until.unwrap_or(now)))).collect();
        Ok(OwnerSession {
            session: session.to_owned(),
            directory: directory_of(&text).map(PathBuf::from),
            used: used_within(&text, &times),
            session_cost: session_cost(&text),
            transcript,
        })
    }

    /// Returns the lists with open tasks that sessions of the client left in this directory, most recently used first.
    ///
    /// The client keeps a transcript of each session in `projects/<directory>/<session>.jsonl`. A session's list is
    /// named after the session, or has the short name that newer clients use with teams. The yard's own list is not
    /// included.
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

/// A task that the client's own tools left in progress for a session that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AbandonedTask {
    /// The task.
    pub(super) task: Task,
    /// When its file was last written.
    pub(super) written: Timestamp,
    /// Whether it was written at least [`GRACE`] ago, so that another agent may get it without confirmation.
    pub(super) is_free: bool,
}

/// How long such a task is not given to other agents automatically: twice the TTL of a lease. A client on another
/// machine that shares the directory may be working on it, and we cannot see its processes.
const GRACE: Duration = Duration::from_secs(2 * 3600);

impl Yard {
    /// Returns the ids of the tasks that the client's own tools left in progress for a session that has ended.
    pub fn abandoned_tasks(&self) -> Result<Vec<TaskId>, Error> {
        let snapshot = self.store().read(self.list_id())?;
        let in_memory = snapshot.live()?.map(|live| live.unowned_in_progress());
        let tasks = in_memory.map_or_else(|| snapshot.tasks(), Ok)?;
        let leases = snapshot.leases()?;
        drop(snapshot);
        Ok(self.of_ended_sessions(&tasks, &leases)?.into_iter().map(|abandoned| abandoned.task.id).collect())
    }

    /// Returns the tasks that the client's own tools left in progress for a session that has ended. They have no owner
    /// and no lease, and no client that ran when they were last written is still running. Empty if not every process of
    /// this machine is visible.
    pub(super) fn of_ended_sessions(&self, tasks: &[Task], leases: &[Lease]) -> Result<Vec<AbandonedTask>, StoreError> {
        let care =
            self.store().care().filter(|care| care.layout() == FileLayout::Numbered && !self.rules().is_client());
        let Some(care) = care else { return Ok(Vec::new()) };
        let is_leased = |task: &Task| leases.iter().any(|lease| lease.task == task.id);
        let unowned = tasks.iter().filter(|task| may_be_of_ended_session(task) && !is_leased(task));
        let now = self.now()?;
        let is_free = |written: Timestamp| {
            u128::try_from(now.wall.0.saturating_sub(written.0)).is_ok_and(|age| age >= GRACE.as_millis())
        };
        let abandoned = |task: &Task| {
            let written = care.written_at(self.list_id(), &task.id)?;
            Some(AbandonedTask { task: task.clone(), written, is_free: is_free(written) })
        };
        let mut left: Vec<AbandonedTask> = unowned.filter_map(abandoned).collect();
        if left.is_empty() {
            return Ok(left);
        }
        let Some(clients) = clients_started() else { return Ok(Vec::new()) };
        left.retain(|abandoned| !ran_when_written(abandoned.written, &now, &clients));
        Ok(left)
    }
}

/// Returns at most `most` client sessions of a directory, most recently used first.
pub fn recent_sessions(config_dir: &Path, directory: &Path, most: usize) -> Result<Vec<String>, Error> {
    let found = sessions(&config_dir.join("projects").join(slug(directory)))?;
    Ok(found.into_iter().take(most).map(|(session, _)| session).collect())
}

/// Returns the sessions whose transcripts are in a directory with the time each was last used, most recent first.
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
