//! The name of a client process, which its MCP server, shells and hooks share, and the client's name for its project
//! directory.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use serde::{Deserialize, Serialize};
use taskyard_core::rules::agents::client_name;
use taskyard_core::rules::leases::liveness::Liveness;
use taskyard_core::{AgentName, ProcessMark};

use crate::liveness::processes::liveness_of;
use crate::liveness::signs;
use crate::private;

/// The maximum length of a record.
const LONGEST: u64 = 64 * 1024;
/// How many sessions of one client are remembered; the oldest are dropped first.
const SESSIONS: usize = 256;
/// How long records of ended clients are kept, which is how long a session can be resumed.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
/// How many names are tried before two clients share one.
const ATTEMPTS: u32 = 64;

/// The names of clients in a data directory.
#[derive(Clone, Debug)]
pub struct ClientNames {
    folder: PathBuf,
}

/// A client to be named.
#[derive(Clone, Debug)]
pub struct UnnamedClient<'a> {
    /// The process of the client.
    pub process: &'a ProcessMark,
    /// Its session, if known. A resumed session keeps its name, unless a living client has it.
    pub session: Option<&'a str>,
    /// The name under which it already acted, if any. It is kept, unless a living client has it.
    pub acted_as: Option<AgentName>,
}

/// The JSON in the file of a client.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    machine: String,
    pid_space: String,
    boot: String,
    pid: u32,
    started: u64,
    name: String,
    #[serde(default)]
    sessions: Vec<String>,
}

impl ClientNames {
    /// Returns the names in a data directory. Nothing is created before a client gets a name.
    pub fn in_data(data: &Path) -> Self {
        Self { folder: data.join("clients") }
    }

    /// Returns the name of a client; `None` if it has none yet.
    pub fn of(&self, client: &ProcessMark) -> Option<AgentName> {
        AgentName::new(self.record_of(client)?.name).ok()
    }

    /// Returns the name of the client that a session was last in.
    pub fn of_session(&self, session: &str) -> Option<AgentName> {
        AgentName::new(newest_with(self.all(), session)?.name).ok()
    }

    /// Returns the known sessions of clients with a name.
    pub(crate) fn sessions_of(&self, name: &str) -> Vec<String> {
        self.all()
            .into_iter()
            .filter(|(_, record)| record.name == name)
            .flat_map(|(_, record)| record.sessions)
            .collect()
    }

    /// Returns the session of a client, if known.
    pub fn session_of(&self, client: &ProcessMark) -> Option<String> {
        self.record_of(client)?.sessions.pop()
    }

    /// Returns the name that a client would get, without assigning it.
    pub fn for_client(&self, client: &UnnamedClient<'_>) -> AgentName {
        if let Some(name) = self.of(client.process) {
            return name;
        }
        let others: Vec<Record> = self.all().into_iter().map(|(_, record)| record).collect();
        let is_free = |name: &AgentName| {
            let has_it = |other: &&Record| other.name == name.as_str() && other.mark() != *client.process;
            !others.iter().filter(has_it).any(|other| liveness_of(&other.mark()) != Liveness::Dead)
        };
        let of_session = client.session.and_then(|session| self.of_session(session));
        let known = of_session.into_iter().chain(client.acted_as.clone()).find(is_free);
        let made_up = || (0..ATTEMPTS).map(|attempt| made_up_name(client.process, attempt)).find(is_free);
        known.or_else(made_up).unwrap_or_else(|| made_up_name(client.process, ATTEMPTS))
    }

    /// Assigns a name to a client, and records its session. If nothing can be written, all programs of the client still
    /// compute the same name.
    pub fn give(&self, client: &UnnamedClient<'_>) -> AgentName {
        let given = self.try_give(client);
        given.unwrap_or_else(|error| {
            tracing::debug!(%error, "the name of a client is not written down");
            self.for_client(client)
        })
    }

    fn try_give(&self, client: &UnnamedClient<'_>) -> io::Result<AgentName> {
        let path = self.path(client.process);
        let name = self.for_client(client);
        let before = self.record_of(client.process);
        let mut record = before.clone().unwrap_or_else(|| Record::new(client.process, &name));
        let new = client.session.filter(|session| record.sessions.last().is_none_or(|last| last != session));
        if let Some(session) = new {
            record.sessions.retain(|known| known != session);
            record.sessions.push(session.to_owned());
            let excess = record.sessions.len().saturating_sub(SESSIONS);
            record.sessions.drain(..excess);
        } else if before.is_some() {
            return Ok(name);
        }
        if !self.folder.exists() {
            private::make_directory(&self.folder)?;
        }
        let written = self.folder.join(format!(".{}", std::process::id()));
        let mut file = private::open(&written)?;
        file.set_len(0)?;
        file.write_all(&serde_json::to_vec(&record)?)?;
        let placed = match before {
            Some(_) => fs::rename(&written, &path),
            // If two programs name the client at the same time, the first one wins.
            None => fs::hard_link(&written, &path).and_then(|()| fs::remove_file(&written)),
        };
        if before.is_none() {
            self.sweep();
        }
        match placed {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_file(&written)?;
                self.of(client.process).ok_or(error)
            }
            placed => placed.map(|()| name),
        }
    }

    fn record_of(&self, client: &ProcessMark) -> Option<Record> {
        read(&self.path(client)).filter(|record| record.mark() == *client)
    }

    /// Returns all records, each with its path.
    fn all(&self) -> Vec<(PathBuf, Record)> {
        let paths = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        paths.filter_map(|path| Some((path.clone(), read(&path)?))).collect()
    }

    fn path(&self, client: &ProcessMark) -> PathBuf {
        self.folder.join(signs::name_of(client))
    }

    /// Removes the records of clients that are long gone.
    fn sweep(&self) {
        for (path, record) in self.all() {
            if age(&path).is_some_and(|age| age > KEPT) && liveness_of(&record.mark()) != Liveness::Alive {
                let _ = fs::remove_file(path);
            }
        }
    }
}

impl Record {
    fn new(client: &ProcessMark, name: &AgentName) -> Self {
        let ProcessMark { machine, pid_space, boot, pid, started } = client.clone();
        Self { machine, pid_space, boot, pid, started, name: name.as_str().to_owned(), sessions: Vec::new() }
    }

    fn mark(&self) -> ProcessMark {
        let Self { machine, pid_space, boot, pid, started, .. } = self.clone();
        ProcessMark { machine, pid_space, boot, pid, started }
    }
}

/// Generates a short name for a client, such as `claude-7f3a`. Each attempt gives another name.
fn made_up_name(client: &ProcessMark, attempt: u32) -> AgentName {
    let mut hasher = crc32fast::Hasher::new();
    for part in [&client.machine, &client.pid_space, &client.boot] {
        hasher.update(part.as_bytes());
    }
    hasher.update(&client.pid.to_le_bytes());
    hasher.update(&client.started.to_le_bytes());
    hasher.update(&attempt.to_le_bytes());
    let digits = hasher.finalize();
    client_name(&format!("{:04x}", (digits >> 16) ^ (digits & 0xffff)))
}

fn newest_with(records: Vec<(PathBuf, Record)>, session: &str) -> Option<Record> {
    let has_it = |(_, record): &(PathBuf, Record)| record.sessions.iter().any(|known| known == session);
    records.into_iter().filter(has_it).min_by_key(|(path, _)| age(path)).map(|(_, record)| record)
}

fn age(path: &Path) -> Option<Duration> {
    fs::symlink_metadata(path).ok()?.modified().ok()?.elapsed().ok()
}

fn read(path: &Path) -> Option<Record> {
    let mut text = Vec::new();
    private::open_to_read(path).ok()?.take(LONGEST).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Returns the client's directory name for a path: everything but ASCII letters and digits becomes `-`.
pub fn slug(directory: &Path) -> String {
    let keep = |unit: u16| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
        _ => '-',
    };
    directory.to_string_lossy().encode_utf16().map(keep).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use taskyard_core::{AgentName, ProcessMark};

    use super::{ClientNames, UnnamedClient};
    use crate::liveness::{mark_of, own_mark};

    fn client<'a>(process: &'a ProcessMark, session: Option<&'a str>) -> UnnamedClient<'a> {
        UnnamedClient { process, session, acted_as: None }
    }

    #[test]
    fn client_keeps_its_name_in_every_session() {
        let data = tempfile::tempdir().unwrap();
        let (names, own) = (ClientNames::in_data(data.path()), own_mark());
        let provisional = names.for_client(&client(&own, None));
        assert_eq!(names.of(&own), None);
        for session in [None, Some("one"), Some("two"), Some("one")] {
            assert_eq!(names.give(&client(&own, session)), provisional);
        }
        assert_eq!(names.of(&own), Some(provisional.clone()));
        assert_eq!(names.of_session("two"), Some(provisional.clone()));
        let (prefix, digits) = provisional.as_str().split_once('-').unwrap();
        assert!(prefix == "claude" && digits.len() == 4, "{provisional}");
    }

    #[test]
    fn resumed_session_has_the_name_of_its_ended_client() {
        let data = tempfile::tempdir().unwrap();
        let (names, own) = (ClientNames::in_data(data.path()), own_mark());
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let first = mark_of(child.id()).unwrap();
        let name = names.give(&client(&first, Some("one")));
        let beside = names.for_client(&client(&own, Some("one")));
        assert_ne!(beside, name, "a living client has it");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(names.give(&client(&own, Some("one"))), name);
        assert_eq!(names.of(&own), Some(name));
    }

    #[test]
    fn name_that_was_acted_under_before_is_kept() {
        let data = tempfile::tempdir().unwrap();
        let (names, own) = (ClientNames::in_data(data.path()), own_mark());
        let old = AgentName::new("claude-code-0198ffff").unwrap();
        let unnamed = UnnamedClient { acted_as: Some(old.clone()), ..client(&own, None) };
        assert_eq!(names.give(&unnamed), old);
        assert_eq!(names.give(&client(&own, Some("later"))), old);
    }
}
