//! Teams in the client's files: their paths, reading and changing one inbox, and watching them.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fs, thread};

use serde_json::Value;
use taskyard_core::dialect::inbox;
use taskyard_core::dialect::inbox::{BadInbox, Contents, EMPTY, LARGEST, Manner};
use taskyard_core::{ClientVersion, Message, MessageKey, Rules, Team, TeamName, Timestamp, inbox_name};

use super::team_file::TeamFile;
use crate::store::{Found, Guarded, Moved, Print, Replaced, StoreError, read_unlocked};
use crate::teams::files::team_memory::Memory;
use crate::teams::{SetAside, TeamError, TeamFileCare, TeamStore, TeamWatch};
use crate::watching::WatchedDirectories;
use crate::{private, system};

/// The locations of team files, and the rules for writing them.
#[derive(Clone, Debug)]
pub struct FileTeamsOptions {
    /// The client's directory of teams.
    pub root: PathBuf,
    /// The client's directory of task lists.
    pub tasks: PathBuf,
    /// Our data directory.
    pub data: PathBuf,
    /// The rules in force, which say which release of the client the files are written for.
    pub rules: Rules,
}

/// The teams in one directory of the client.
#[derive(Debug)]
pub struct FileTeams {
    pub(super) options: FileTeamsOptions,
    pub(super) paths: TeamPaths,
    memory: Mutex<Option<Memory>>,
    whole: KnownWhole,
}

impl TeamStore for FileTeams {
    fn care(&self) -> Option<&dyn TeamFileCare> {
        Some(self)
    }
}

impl FileTeams {
    /// Returns the teams. Nothing is read or created before it is needed.
    pub fn new(options: FileTeamsOptions) -> Self {
        Self {
            paths: TeamPaths { root: options.root.clone() },
            options,
            memory: Mutex::default(),
            whole: KnownWhole::default(),
        }
    }

    pub(super) fn version(&self) -> ClientVersion {
        self.options.rules.client_version()
    }

    pub(super) fn file(&self, team: &TeamName) -> TeamFile {
        TeamFile { path: self.paths.file(team), queues: self.queues() }
    }

    pub(super) fn inbox(&self, path: PathBuf) -> Inbox {
        Inbox { path, queues: self.queues(), whole: self.whole.clone() }
    }

    /// Returns the key of a team in our database.
    pub(super) fn key(&self, team: &Team) -> String {
        let directory = self.paths.team(&team.name);
        key(&fs::canonicalize(&directory).unwrap_or(directory), team.created_at)
    }

    /// Returns the key of an inbox in our database.
    pub(super) fn inbox_key(&self, team: &Team, member: &str) -> String {
        format!("{}/{member}", self.key(team))
    }

    /// Returns the directory in which invalid entries are kept.
    pub(super) fn set_aside_folder(&self) -> PathBuf {
        self.options.data.join("set-aside")
    }

    pub(super) fn queues(&self) -> PathBuf {
        self.options.data.join("inboxes")
    }

    /// Uses our database, creating it if necessary.
    pub(super) fn remember<T>(&self, work: impl FnOnce(&mut Memory) -> Result<T, TeamError>) -> Result<T, TeamError> {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.as_ref().map_or(Ok(()), Memory::must_be_known)?;
        if memory.is_none() {
            *memory = Some(Memory::open(&self.options.data)?);
        }
        memory.as_mut().map_or_else(
            || Err(TeamError::io("cannot open", Path::new("teams.sqlite"))(std::io::ErrorKind::NotFound.into())),
            work,
        )
    }

    /// Reads from our database; returns the default if there is none yet.
    pub(super) fn remembered<T: Default>(
        &self,
        work: impl FnOnce(&mut Memory) -> Result<T, TeamError>,
    ) -> Result<T, TeamError> {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.as_ref().map_or(Ok(()), Memory::must_be_known)?;
        if memory.is_none() {
            *memory = Memory::look(&self.options.data)?;
        }
        memory.as_mut().map_or_else(|| Ok(T::default()), work)
    }
}

/// How many times to try a change that conflicts with a client that writes without the lock.
const ATTEMPTS: u32 = 16;
/// During the first attempts, the client is locked out only while the file is replaced.
const EAGER_ATTEMPTS: u32 = 3;
/// The pause after which an inbox that seems incompletely written is no longer read again.
const LONGEST_PAUSE: Duration = Duration::from_millis(150);

#[derive(Clone, Debug)]
pub(super) struct Inbox {
    pub(super) path: PathBuf,
    /// The directory in which our processes queue for the locks of inboxes.
    pub(super) queues: PathBuf,
    pub(super) whole: KnownWhole,
}

/// The new contents of an inbox.
enum Draft {
    /// The contents stay the same.
    Unchanged,
    /// Complete contents, derived from what could be parsed.
    Sure(Vec<u8>),
    /// Contents that are complete if the inbox was.
    Unsure(Vec<u8>),
}

impl Inbox {
    /// Appends a message. Creates the directory of the inbox if its parent exists.
    pub(super) fn append(&self, message: &Message, version: ClientVersion) -> Result<(), TeamError> {
        if let Some(directory) = self.path.parent() {
            match fs::create_dir(directory) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                    return Err(TeamError::io("cannot create", directory)(error));
                }
                _ => {}
            }
        }
        self.change_keeping(|bytes| Ok((Draft::Unsure(inbox::append(bytes, message, version)?), ())), |()| Ok(()))
    }

    /// Removes messages that the recipient has read, and invalid entries if `aside` says where to keep those.
    pub(super) fn consume(
        &self,
        is_read: impl Fn(&MessageKey) -> bool,
        manner: Manner,
        aside: Option<&Path>,
    ) -> Result<(HashSet<MessageKey>, Option<SetAside>), TeamError> {
        if self.path.symlink_metadata().is_err() {
            return Ok((HashSet::new(), None));
        }
        let mut kept = None;
        let (taken, malformed) = self.change_keeping(
            |bytes| {
                let consumed = inbox::consume(&bytes, &is_read, manner, aside.is_some())?;
                let draft = consumed.bytes.map_or(Draft::Unchanged, Draft::Sure);
                Ok((draft, (consumed.taken, consumed.set_aside)))
            },
            // Kept before it is removed, so that it always exists somewhere.
            |(_, malformed): &(HashSet<MessageKey>, Vec<Value>)| {
                if let Some(folder) = aside.filter(|_| !malformed.is_empty() && kept.is_none()) {
                    kept = Some(keep_aside(folder, &self.path, malformed)?);
                }
                Ok(())
            },
        )?;
        let set_aside = kept.map(|path| SetAside { kept_in: path.display().to_string(), count: malformed.len() });
        Ok((taken, set_aside))
    }

    /// Reads it without its lock; `None` if it does not exist. Retries for a while if it seems incompletely written.
    pub(super) fn read(&self) -> Result<Option<Contents>, TeamError> {
        let mut pause = Duration::from_micros(250);
        loop {
            let why = match read_unlocked(&self.path, LARGEST).map_err(TeamError::io("cannot read", &self.path))? {
                Found::Nothing => return Ok(None),
                found => match bytes_of(found).and_then(|bytes| inbox::read(&bytes)) {
                    Ok(contents) => return Ok(Some(contents)),
                    Err(why) => why,
                },
            };
            if !why.may_be_torn() || pause > LONGEST_PAUSE {
                return Err(TeamError::bad_inbox(&self.path, why));
            }
            thread::sleep(pause);
            pause *= 2;
        }
    }

    /// Changes it under its lock. `before` is called with the result before the file is replaced.
    fn change_keeping<T>(
        &self,
        change: impl Fn(Vec<u8>) -> Result<(Draft, T), BadInbox>,
        mut before: impl FnMut(&T) -> Result<(), TeamError>,
    ) -> Result<T, TeamError> {
        let mut was_missing = false;
        for attempt in 1..=ATTEMPTS {
            // The first attempts write and flush without locking the client out; if they fail, the rest holds the lock
            // throughout.
            let is_locked = attempt > EAGER_ATTEMPTS;
            let take = if is_locked { Guarded::lock } else { Guarded::wait_for_turn };
            let mut guarded = take(&self.path, &self.queues, EMPTY.as_bytes())?;
            let bad = |why| TeamError::bad_inbox(&self.path, why);
            let (draft, is_whole, answer) = match guarded.read(LARGEST)? {
                // It was removed just before we got the lock, or is a dangling link.
                Found::Nothing => {
                    was_missing = true;
                    continue;
                }
                found => {
                    let is_whole = self.whole.has(&self.path, guarded.print());
                    match bytes_of(found).and_then(&change) {
                        Ok((draft, answer)) => (draft, is_whole, answer),
                        // The client may be writing it at the moment.
                        Err(why) if !is_locked && why.may_be_torn() => continue,
                        Err(why) => return Err(bad(why)),
                    }
                }
            };
            before(&answer)?;
            let replaced = match draft {
                Draft::Unchanged => return Ok(answer),
                Draft::Unsure(bytes) if !is_whole => guarded.replace_if(&bytes, || inbox::is_whole(&bytes))?,
                Draft::Unsure(bytes) | Draft::Sure(bytes) => guarded.replace_if(&bytes, || true)?,
            };
            match replaced {
                Replaced::Yes => {
                    self.whole.remember(&self.path, guarded.print());
                    return Ok(answer);
                }
                Replaced::No => {}
                Replaced::NotRight if !is_locked => {}
                // Reading it again gives the best description of what is wrong.
                Replaced::NotRight => match guarded.read(LARGEST)? {
                    Found::Nothing => {}
                    found => drop(bytes_of(found).and_then(|bytes| inbox::read(&bytes)).map_err(bad)?),
                },
            }
        }
        if was_missing {
            return Err(TeamError::io("cannot open", &self.path)(std::io::ErrorKind::NotFound.into()));
        }
        Err(TeamError::too_many_conflicts(&self.path, ATTEMPTS))
    }
}

fn bytes_of(found: Found) -> Result<Vec<u8>, BadInbox> {
    match found {
        Found::Bytes(bytes) => Ok(bytes),
        Found::TooLarge(size) => Err(BadInbox::TooLarge { size }),
        Found::NotAFile(found) => Err(BadInbox::NotAFile { found }),
        Found::Nothing => Ok(EMPTY.as_bytes().to_vec()),
    }
}

/// Writes invalid entries to one of our files, one JSON value per line.
fn keep_aside(folder: &Path, inbox: &Path, malformed: &[Value]) -> Result<PathBuf, TeamError> {
    private::make_directory(folder).map_err(StoreError::io("cannot create", folder))?;
    let name = inbox.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let path = folder.join(format!("{name}-{}.jsonl", system::wall() / 1_000));
    let lines: String = malformed.iter().map(|entry| format!("{entry}\n")).collect();
    let written = private::create(&path).and_then(|mut file| {
        std::io::Write::write_all(&mut file, lines.as_bytes())?;
        file.sync_data()
    });
    written.map_err(StoreError::io("cannot write", &path))?;
    Ok(path)
}

/// The maximum number of remembered inboxes. Above it all are dropped, and each is checked again when it is next read.
const INBOXES: usize = 4_096;

/// The inboxes as this process last wrote them. Clones share the same state.
///
/// Any change that another program makes right after our write changes the size of the file, so a file that looks
/// unchanged is unchanged.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownWhole(Arc<Mutex<HashMap<PathBuf, Print>>>);

impl KnownWhole {
    /// Returns whether a file is as we wrote it.
    pub(super) fn has(&self, path: &Path, print: Option<Print>) -> bool {
        print.is_some() && self.written().get(path).copied() == print
    }

    /// Remembers a file that we have just written.
    pub(super) fn remember(&self, path: &Path, print: Option<Print>) {
        match print {
            Some(print) => {
                let mut written = self.written();
                if written.len() >= INBOXES {
                    written.clear();
                }
                written.insert(path.to_owned(), print);
            }
            None => drop(self.written().remove(path)),
        }
    }

    fn written(&self) -> MutexGuard<'_, HashMap<PathBuf, Print>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The paths of team files.
#[derive(Clone, Debug)]
pub(super) struct TeamPaths {
    pub(super) root: PathBuf,
}

impl TeamPaths {
    /// Returns the directory with a team's file.
    pub(super) fn team(&self, team: &TeamName) -> PathBuf {
        self.root.join(team.directory())
    }

    pub(super) fn file(&self, team: &TeamName) -> PathBuf {
        self.team(team).join("config.json")
    }

    /// Returns the directories in which inboxes may be, most likely first.
    pub(super) fn inbox_directories(&self, team: &TeamName) -> Vec<PathBuf> {
        let mut directories = vec![self.root.join(team.inbox_directory()).join("inboxes")];
        let other = self.team(team).join("inboxes");
        if !directories.contains(&other) {
            directories.push(other);
        }
        directories
    }

    /// Returns the existing inboxes of an agent.
    pub(super) fn inboxes(&self, team: &TeamName, agent: &str) -> Vec<PathBuf> {
        let file = format!("{}.json", inbox_name(agent));
        self.inbox_directories(team)
            .into_iter()
            .map(|directory| directory.join(&file))
            .filter(|path| path.symlink_metadata().is_ok())
            .collect()
    }

    /// Returns the inbox to write to: an existing one, else one in an existing directory, else one beside the team's
    /// file.
    pub(super) fn inbox_to_write(&self, team: &TeamName, agent: &str) -> PathBuf {
        if let Some(inbox) = self.inboxes(team, agent).into_iter().next() {
            return inbox;
        }
        let directories = self.inbox_directories(team);
        let directory = directories.iter().find(|directory| directory.is_dir());
        let directory = directory.cloned().unwrap_or_else(|| self.team(team).join("inboxes"));
        directory.join(format!("{}.json", inbox_name(agent)))
    }

    /// Returns the path of the inbox in a given directory, whether or not it exists, as the client derives it from the
    /// names.
    pub(super) fn inbox_in(&self, directory: &str, agent: &str) -> PathBuf {
        self.root.join(directory).join("inboxes").join(format!("{}.json", inbox_name(agent)))
    }
}

/// Returns the key of a team in our database, from its directory and creation time.
pub(super) fn key(directory: &Path, made: Timestamp) -> String {
    format!("{}#{}", directory.display(), made.0)
}

/// Returns the directory and the creation time of a team.
pub(super) fn parse_key(key: &str) -> Option<(&Path, Timestamp)> {
    let (place, made) = key.rsplit_once('#')?;
    Some((Path::new(place), Timestamp(made.parse().ok()?)))
}

/// Watches the directories that change when an agent receives a message or joins a team.
#[derive(Debug)]
pub(super) struct FileWatch {
    paths: TeamPaths,
    watched: WatchedDirectories,
}

impl FileWatch {
    pub(super) fn new(paths: TeamPaths, moved: Moved) -> Self {
        Self { paths, watched: WatchedDirectories::new(move || moved()) }
    }

    fn directories(&self, teams: &[TeamName]) -> Vec<PathBuf> {
        let mut places = vec![self.paths.root.clone()];
        let directories = fs::read_dir(&self.paths.root).into_iter().flatten().flatten();
        let is_team = |entry: &fs::DirEntry| !entry.file_name().to_string_lossy().starts_with('.');
        places.extend(directories.filter(is_team).map(|entry| entry.path()).filter(|path| path.is_dir()));
        places.sort();
        for inbox in teams.iter().flat_map(|team| self.paths.inbox_directories(team)) {
            if !places.contains(&inbox) {
                places.push(inbox);
            }
        }
        places
    }
}

impl TeamWatch for FileWatch {
    fn keep_up(&mut self, teams: &[TeamName]) -> bool {
        let mut wanted = self.directories(teams);
        loop {
            let paths: Vec<&Path> = wanted.iter().map(PathBuf::as_path).collect();
            if !self.watched.keep_up(&paths) {
                return false;
            }
            // Directories that are created while watching begins are watched as well.
            let now = self.directories(teams);
            if now == wanted {
                return true;
            }
            wanted = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use taskyard_core::TeamName;

    use super::TeamPaths;

    #[test]
    fn an_inbox_is_written_where_it_is_and_else_beside_the_team() {
        let root = tempfile::tempdir().unwrap();
        let paths = TeamPaths { root: root.path().to_owned() };
        let team = TeamName::new("My_Team").unwrap();
        let relative = |agent: &str| {
            let path = paths.inbox_to_write(&team, agent);
            path.strip_prefix(root.path()).unwrap().to_str().unwrap().to_owned()
        };
        fs::create_dir_all(root.path().join("my-team")).unwrap();
        assert_eq!(relative("bob"), "my-team/inboxes/bob.json");
        fs::create_dir_all(root.path().join("My_Team/inboxes")).unwrap();
        assert_eq!(relative("bob"), "My_Team/inboxes/bob.json");
        fs::create_dir_all(root.path().join("my-team/inboxes")).unwrap();
        fs::write(root.path().join("my-team/inboxes/bob.json"), "[]").unwrap();
        assert_eq!(relative("bob"), "my-team/inboxes/bob.json");
        assert_eq!(relative("../eve"), "My_Team/inboxes/---eve.json");
    }
}
