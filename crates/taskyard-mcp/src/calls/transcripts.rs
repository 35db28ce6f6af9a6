//! Determines from the client's transcripts which of several agents on one connection made a call.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use std::{fs, thread};

use taskyard::core::AgentName;
use taskyard::core::dialect::transcript::{makes_call, names_given};
use taskyard::{regular_file, slug};

/// How long to look for a call. A client on a busy machine was seen to take a quarter of a second.
const PATIENCE: Duration = Duration::from_secs(2);
/// Transcripts written longer ago than this cannot contain a call that has just arrived.
const RECENT: Duration = Duration::from_secs(60);
/// How much of the end of a transcript is searched.
const TAIL: u64 = 1024 * 1024;
/// How much of a transcript is read when it is read as a whole.
const LONGEST: u64 = 64 * 1024 * 1024;
/// How many sessions are searched if the session is not known.
const SESSIONS: usize = 8;

/// The agent that made a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CalledBy {
    /// The main agent of the session.
    Session,
    /// A subagent, with the client's id for it.
    Subagent(String),
    /// Not known.
    Unknown,
}

/// The directories with the client's transcripts.
#[derive(Debug)]
pub struct Transcripts {
    projects: PathBuf,
    session: Option<String>,
    slugs: Vec<String>,
    /// Whether a call was not found: the client then writes no transcripts, and later calls are not waited for.
    are_missing: AtomicBool,
}

/// One transcript, and the offset up to which it was searched.
struct Looking {
    by: CalledBy,
    from: Option<u64>,
}

impl Transcripts {
    /// Returns the transcripts of a session if it is known, or else those of these directories.
    pub fn new(client_directory: &Path, session: Option<String>, directories: &[PathBuf]) -> Self {
        let mut slugs: Vec<String> = directories.iter().map(|directory| slug(directory)).collect();
        slugs.dedup();
        Self { projects: client_directory.join("projects"), session, slugs, are_missing: AtomicBool::new(false) }
    }

    /// Returns who made a call, waiting briefly for the client to record it.
    pub(super) fn who_called(&self, id: &str) -> CalledBy {
        // A client that runs for the first time has no folder for transcripts yet.
        if !self.projects.parent().is_some_and(Path::is_dir) {
            return CalledBy::Unknown;
        }
        let patience = if self.are_missing.load(Ordering::Relaxed) { Duration::ZERO } else { PATIENCE };
        let (begun, since) = (Instant::now(), SystemTime::now().checked_sub(RECENT));
        let mut looked: HashMap<PathBuf, Looking> = HashMap::new();
        let mut pause = Duration::from_millis(2);
        loop {
            for (path, by) in self.candidates() {
                let looking = looked.entry(path.clone()).or_insert(Looking { by, from: None });
                if looking.finds(&path, id, since) {
                    self.are_missing.store(false, Ordering::Relaxed);
                    return looking.by.clone();
                }
            }
            if begun.elapsed() >= patience {
                self.are_missing.store(true, Ordering::Relaxed);
                return CalledBy::Unknown;
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }

    fn candidates(&self) -> Vec<(PathBuf, CalledBy)> {
        let folders: Vec<PathBuf> = self.slugs.iter().map(|slug| self.projects.join(slug)).collect();
        match &self.session {
            Some(session) => {
                let is_there = |folder: &PathBuf| {
                    folder.join(format!("{session}.jsonl")).exists() || folder.join(session).exists()
                };
                let folder = folders.into_iter().find(is_there);
                // The client may have started in another directory than it reported.
                let folder = folder.or_else(|| entries(&self.projects).into_iter().find(is_there));
                folder.into_iter().flat_map(|folder| of_session(&folder, session)).collect()
            }
            None => folders.iter().flat_map(|folder| of_last_sessions(folder)).collect(),
        }
    }
}

impl Looking {
    /// Searches what was added since the last search.
    fn finds(&mut self, path: &Path, id: &str, since: Option<SystemTime>) -> bool {
        let Ok(found) = path.metadata() else { return false };
        let is_old = since.zip(found.modified().ok()).is_some_and(|(since, modified)| modified < since);
        let from = self.from.unwrap_or_else(|| found.len().saturating_sub(TAIL));
        if is_old || found.len() <= from || !found.is_file() {
            return false;
        }
        let Ok(text) = regular_file::read_from(path, from, 2 * TAIL) else { return false };
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.from = Some(from + whole as u64);
        makes_call(&text, id)
    }
}

/// Returns the names under which an agent claimed tasks over a shared connection, from its transcript; empty if that
/// cannot be read.
pub fn names_given_in(transcript: &Path) -> Vec<String> {
    let read = regular_file::read_end(transcript, LONGEST);
    read.map(|text| names_given(&text)).unwrap_or_default()
}

fn of_session(folder: &Path, session: &str) -> Vec<(PathBuf, CalledBy)> {
    let mut found = vec![(folder.join(format!("{session}.jsonl")), CalledBy::Session)];
    found.extend(of_subagents(&folder.join(session)));
    found
}

fn of_subagents(session: &Path) -> impl Iterator<Item = (PathBuf, CalledBy)> + use<> {
    entries(&session.join("subagents")).into_iter().filter_map(|path| {
        let id = path.file_name()?.to_str()?.strip_prefix("agent-")?.strip_suffix(".jsonl")?.to_owned();
        Some((path, CalledBy::Subagent(id)))
    })
}

/// Returns the transcripts of a directory's most recent sessions, and of those that most recently started a subagent.
fn of_last_sessions(folder: &Path) -> Vec<(PathBuf, CalledBy)> {
    let (mut own, mut begun) = (Vec::new(), Vec::new());
    for path in entries(folder) {
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            own.extend(path.metadata().and_then(|found| found.modified()).map(|modified| (modified, path)));
        } else {
            let modified = path.join("subagents").metadata().and_then(|found| found.modified());
            begun.extend(modified.map(|modified| (modified, path)));
        }
    }
    for last in [&mut own, &mut begun] {
        last.sort_by(|(one, _), (two, _)| two.cmp(one));
        last.truncate(SESSIONS);
    }
    let subagents = begun.into_iter().flat_map(|(_, session)| of_subagents(&session));
    own.into_iter().map(|(_, path)| (path, CalledBy::Session)).chain(subagents).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// The state shared by the agents of one connection.
#[derive(Debug)]
pub struct SharedConnection {
    pub(super) transcripts: Transcripts,
    /// The names that subagents chose.
    pub(super) names: Mutex<HashMap<AgentName, AgentName>>,
}

/// A call over a connection that several agents share.
#[derive(Clone, Debug)]
pub(super) struct SharedCall {
    pub(super) connection: Arc<SharedConnection>,
    pub(super) id: String,
}

impl SharedConnection {
    /// Returns a connection whose agents are distinguished by these transcripts.
    pub fn new(transcripts: Transcripts) -> Self {
        Self { transcripts, names: Mutex::default() }
    }

    /// Returns the name under which a subagent acts: the one it chose, or else its own.
    pub(super) fn name_of(&self, subagent: &AgentName) -> AgentName {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.get(subagent).unwrap_or(subagent).clone()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;
    use std::thread;
    use std::time::Duration;

    use super::{CalledBy, Transcripts};

    fn line(id: &str) -> String {
        format!(r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"{id}"}}]}}}}"#) + "\n"
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_call_is_of_the_agent_that_has_it_in_its_transcript() {
        let client = tempfile::tempdir().unwrap();
        let folder = client.path().join("projects/-w");
        write(&folder.join("s1.jsonl"), &line("toolu_main"));
        write(&folder.join("s1/subagents/agent-acd2cc6.jsonl"), &line("toolu_a"));
        write(&folder.join("s2/subagents/agent-ae0de9f.jsonl"), &line("toolu_b"));
        let here = [PathBuf::from("/w")];
        // A known session is also found under another directory.
        let known = Transcripts::new(client.path(), Some("s1".into()), &[PathBuf::from("/elsewhere")]);
        let any = Transcripts::new(client.path(), None, &here);
        for transcripts in [&known, &any] {
            assert_eq!(transcripts.who_called("toolu_main"), CalledBy::Session);
            assert_eq!(transcripts.who_called("toolu_a"), CalledBy::Subagent("acd2cc6".into()));
        }
        assert_eq!(any.who_called("toolu_b"), CalledBy::Subagent("ae0de9f".into()));
        assert_eq!(known.who_called("toolu_b"), CalledBy::Unknown);
        let nowhere = Transcripts::new(Path::new("/nonexistent"), None, &here);
        assert_eq!(nowhere.who_called("toolu_main"), CalledBy::Unknown);
    }

    #[test]
    fn transcript_written_late_is_found_and_partial_line_awaited() {
        let client = tempfile::tempdir().unwrap();
        let own = client.path().join("projects/-w/s1.jsonl");
        let subagent = client.path().join("projects/-w/s1/subagents/agent-acd2cc6.jsonl");
        let whole = line("toolu_a");
        write(&own, &line("toolu_main"));
        write(&subagent, &whole[..30]);
        let transcripts = Arc::new(Transcripts::new(client.path(), Some("s1".into()), &[PathBuf::from("/w")]));
        let looking = thread::spawn({
            let transcripts = Arc::clone(&transcripts);
            move || transcripts.who_called("toolu_a")
        });
        fs::write(&subagent, whole).unwrap();
        assert_eq!(looking.join().unwrap(), CalledBy::Subagent("acd2cc6".into()));
    }

    #[test]
    fn a_client_that_has_written_nothing_down_yet_is_waited_for() {
        let client = tempfile::tempdir().unwrap();
        let transcripts = Arc::new(Transcripts::new(client.path(), None, &[PathBuf::from("/w")]));
        let looking = thread::spawn({
            let transcripts = Arc::clone(&transcripts);
            move || transcripts.who_called("toolu_a")
        });
        thread::sleep(Duration::from_millis(50));
        write(&client.path().join("projects/-w/s1/subagents/agent-acd2cc6.jsonl"), &line("toolu_a"));
        assert_eq!(looking.join().unwrap(), CalledBy::Subagent("acd2cc6".into()));
    }
}
