//! Todo lists of sessions that are over.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use taskyard::clock;

/// What stands between session and agent in the name of a file.
const BETWEEN: &str = "-agent-";

/// The todo list of one agent of a session that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeadTodo {
    /// The file.
    pub(super) path: PathBuf,
    /// How many bytes it has.
    pub(super) bytes: u64,
}

impl DeadTodo {
    /// Removes the file.
    pub(super) fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// How long a list and the transcript of its session have to have been left unwritten.
const SILENCE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Returns the todo lists in the client's directory that no session has written for a month, and whose session has no transcript that was
/// written since.
pub(super) fn dead_todos(client: &Path) -> Vec<DeadTodo> {
    let now = UNIX_EPOCH + Duration::from_millis(clock::now().0.unsigned_abs());
    dead_todos_at(client, now)
}

fn dead_todos_at(client: &Path, now: SystemTime) -> Vec<DeadTodo> {
    let before = now - SILENCE;
    let is_old = |metadata: &fs::Metadata| metadata.modified().is_ok_and(|written| written < before);
    let mut dead = Vec::new();
    for entry in fs::read_dir(client.join("todos")).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let session = name.strip_suffix(".json").and_then(|name| name.split_once(BETWEEN)).map(|(session, _)| session);
        let (Some(session), Ok(metadata)) = (session, fs::symlink_metadata(entry.path())) else { continue };
        if metadata.is_file() && is_old(&metadata) && !is_alive(client, session, &is_old) {
            dead.push(DeadTodo { path: entry.path(), bytes: metadata.len() });
        }
    }
    dead.sort_by(|one, other| one.path.cmp(&other.path));
    dead
}

/// Tells whether a transcript of the session was written lately.
fn is_alive(client: &Path, session: &str, is_old: &impl Fn(&fs::Metadata) -> bool) -> bool {
    let projects = fs::read_dir(client.join("projects")).into_iter().flatten().flatten();
    let mut transcripts = projects.map(|project| project.path().join(format!("{session}.jsonl")));
    transcripts.any(|transcript| fs::metadata(transcript).is_ok_and(|metadata| !is_old(&metadata)))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    use super::dead_todos_at;

    #[test]
    fn only_what_nobody_has_touched_is_dead() {
        let client = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let write = |path: &str, days: u64| {
            let path = client.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "[]").unwrap();
            let written = now - Duration::from_secs(days * 86_400);
            File::options().write(true).open(&path).unwrap().set_modified(written).unwrap();
        };
        for (path, days) in [
            ("todos/a-agent-a.json", 40),
            ("todos/b-agent-b.json", 2),
            ("todos/c-agent-x.json", 40),
            ("projects/p/c.jsonl", 3),
            ("todos/d-agent-d.json", 40),
            ("projects/p/d.jsonl", 50),
            ("todos/notes.json", 400),
        ] {
            write(path, days);
        }
        fs::create_dir(client.path().join("todos/e-agent-e.json")).unwrap();
        let dead = dead_todos_at(client.path(), now);
        let names: Vec<_> = dead.iter().map(|todo| todo.path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["a-agent-a.json", "d-agent-d.json"]);
        assert!(dead.iter().all(|todo| todo.bytes == 2));
    }
}
