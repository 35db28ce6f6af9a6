//! The files of a list and our databases as other processes treat them.

use std::collections::BTreeMap;
use std::fs;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use serde_json::{Value, json};

/// Task files by id, parsed.
pub type Tasks = BTreeMap<String, Value>;

/// Reads every task file of a list; each must be whole.
pub fn read_tasks(directory: &Path) -> Tasks {
    let Ok(entries) = fs::read_dir(directory) else { return Tasks::new() };
    let names = entries.map(|entry| entry.expect("a list can be read").file_name().into_string().expect("plain names"));
    names
        .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
        .map(|id| {
            let text = fs::read_to_string(directory.join(format!("{id}.json"))).expect("a task file can be read");
            let task =
                serde_json::from_str(&text).unwrap_or_else(|error| panic!("{id}.json is torn ({error}): {text}"));
            (id, task)
        })
        .collect()
}

/// Returns the names of temporary files and lock directories that lie about in a list.
pub fn leftovers(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let names = entries.map(|entry| entry.expect("a list can be read").file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(".taskyard-") || name.ends_with(".lock") && name != ".lock").collect()
}

/// Returns the edges that only one of their two tasks knows of.
pub fn one_sided_edges(tasks: &Tasks) -> Vec<String> {
    let has = |id: &str, key: &str, other: &str| {
        tasks.get(id).is_some_and(|task| task[key].as_array().is_some_and(|ids| ids.contains(&json!(other))))
    };
    let mut found = Vec::new();
    for (id, task) in tasks {
        for (key, other_key) in [("blocks", "blockedBy"), ("blockedBy", "blocks")] {
            let others = task[key].as_array().unwrap().iter().filter_map(Value::as_str);
            found.extend(others.filter(|other| !has(other, other_key, id)).map(|other| format!("{id} {key} {other}")));
        }
    }
    found
}

/// Writes a file as the newest client does: over the old text, then cut to length.
pub fn write_in_place(path: &Path, task: &Value) {
    let bytes = serde_json::to_vec_pretty(task).expect("a task is JSON");
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(false).open(path).expect("a task file can be opened");
    file.write_all(&bytes).expect("a task file can be written");
    file.set_len(bytes.len() as u64).expect("a task file can be cut");
}

/// Adds a metadata key to a task as the client does.
pub fn rewrite_in_place(path: &Path, key: &str) {
    let text = fs::read_to_string(path).expect("a task file can be read");
    let mut task: Value = serde_json::from_str(&text).expect("a task file is whole");
    with_key(&mut task, key);
    write_in_place(path, &task);
}

fn with_key(task: &mut Value, key: &str) {
    task["metadata"][key] = json!(true);
}

/// Checks that a journal (the answer of `history --json`) replays to the files that are there; says what does not.
pub fn is_consistent_journal(history: &Value, present: &Tasks) -> Result<(), String> {
    let mut replayed = Tasks::new();
    let mut last_revision = 0;
    for entry in history["entries"].as_array().ok_or("no entries")? {
        let revision = entry["revision"].as_u64().ok_or("an entry without a revision")?;
        if revision < last_revision {
            return Err(format!("revision {revision} after {last_revision}"));
        }
        last_revision = revision;
        let task = entry["task"].as_str().ok_or("an entry without a task")?.to_owned();
        let known = replayed.get(&task).unwrap_or(&Value::Null);
        if entry["before"] != *known {
            return Err(format!(
                "revision {revision} says {task} was {}, the journal before it says {known}",
                entry["before"]
            ));
        }
        match &entry["after"] {
            Value::Null => replayed.remove(&task),
            after => replayed.insert(task, after.clone()),
        };
    }
    if replayed == *present {
        return Ok(());
    }
    let differing: Vec<&String> =
        replayed.keys().chain(present.keys()).filter(|id| replayed.get(*id) != present.get(*id)).collect();
    let first = differing.first().map_or("", |id| id.as_str());
    Err(format!(
        "tasks {differing:?} differ; {first} is {:?} by the journal and {:?} on disk",
        replayed.get(first),
        present.get(first)
    ))
}

/// Something that no program should open as data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrangeFile {
    /// A named pipe without a writer.
    Pipe,
    /// A device without an end, `/dev/zero` under another name.
    Device,
    /// A directory with something in it.
    Directory,
    /// A socket that no program listens at any more.
    Socket,
    /// A link to a good file in the same directory.
    LinkInside,
    /// A link to a good file elsewhere.
    LinkOutside,
    /// A link to nothing.
    LinkToNothing,
    /// A link to a directory.
    LinkToDirectory,
    /// A link to a device without an end.
    LinkToDevice,
    /// A link to itself.
    LinkLoop,
    /// A file of nine gigabytes that takes up no space.
    Huge,
}

impl StrangeFile {
    /// Every one.
    pub const ALL: [Self; 11] = [
        Self::Pipe,
        Self::Device,
        Self::Directory,
        Self::Socket,
        Self::LinkInside,
        Self::LinkOutside,
        Self::LinkToNothing,
        Self::LinkToDirectory,
        Self::LinkToDevice,
        Self::LinkLoop,
        Self::Huge,
    ];

    /// Puts it at a path, in the place of whatever is there. Links to good files lead to this one, beside it or elsewhere. A user that may
    /// not make a device gets a link to one.
    pub fn put(self, path: &Path, good: &Path) {
        let _ = fs::remove_file(path);
        let make = |kind, device| mknodat(CWD, path, kind, Mode::from_raw_mode(0o666), device);
        match self {
            Self::Pipe => make(FileType::Fifo, 0).unwrap(),
            Self::Device => {
                if make(FileType::CharacterDevice, makedev(1, 5)).is_err() {
                    symlink("/dev/zero", path).unwrap();
                }
            }
            Self::Directory => {
                fs::create_dir(path).unwrap();
                fs::write(path.join("inside"), "x").unwrap();
            }
            Self::Socket => drop(UnixListener::bind(path).unwrap()),
            Self::LinkInside => {
                let inside = path.with_file_name("good-inside");
                fs::copy(good, &inside).unwrap();
                symlink("good-inside", path).unwrap();
            }
            Self::LinkOutside => symlink(good, path).unwrap(),
            Self::LinkToNothing => symlink("nowhere", path).unwrap(),
            Self::LinkToDirectory => symlink("/tmp", path).unwrap(),
            Self::LinkToDevice => symlink("/dev/zero", path).unwrap(),
            Self::LinkLoop => symlink(path.file_name().unwrap(), path).unwrap(),
            Self::Huge => File::create(path).unwrap().set_len(9 << 30).unwrap(),
        }
    }

    /// Returns its name at a path.
    pub fn called(self, path: &Path) -> &'static str {
        let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
        match self {
            _ if is_link => "a link",
            Self::Pipe => "a named pipe",
            Self::Directory => "a directory",
            Self::Socket => "a socket",
            Self::Huge => "9663676416 bytes",
            _ => "a device",
        }
    }
}

/// What a directory takes with everything in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskUse {
    /// The lengths of all files, as `du --apparent-size` has it.
    pub apparent: u64,
    /// The blocks they take on the disk, as `du` has it.
    pub allocated: u64,
}

impl DiskUse {
    /// Measures a directory; a missing one takes no space.
    pub fn of(path: &Path) -> Self {
        let Ok(found) = fs::symlink_metadata(path) else { return Self::default() };
        let below = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| Self::of(&entry.path()));
        let own = Self { apparent: found.len(), allocated: found.blocks() * 512 };
        below.fold(own, |sum, part| Self {
            apparent: sum.apparent + part.apparent,
            allocated: sum.allocated + part.allocated,
        })
    }

    /// Returns the larger of the two counts.
    pub fn most(self) -> u64 {
        self.apparent.max(self.allocated)
    }
}

/// A database in the middle of whose writing this process stays, until this is dropped.
#[derive(Debug)]
pub struct HeldDatabase(Connection);

impl HeldDatabase {
    /// Begins to write to a database.
    pub fn at(path: &Path) -> Self {
        let connection = connect(path);
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        Self(connection)
    }
}

impl Drop for HeldDatabase {
    fn drop(&mut self) {
        let _ = self.0.execute_batch("ROLLBACK");
    }
}

/// Lets a database say that it has another format.
pub fn set_database_format(path: &Path, format: u32) {
    connect(path).pragma_update(None, "user_version", format).unwrap();
}

/// Upgrades a database as a newer release would: every table gets a column, and the format is one that no release knows yet.
pub fn upgrade_beyond_today(path: &Path) {
    let connection = connect(path);
    let mut tables = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    let columns: String = tables.iter().map(|table| format!("ALTER TABLE {table} ADD COLUMN tomorrow;")).collect();
    connection.execute_batch(&format!("BEGIN IMMEDIATE; {columns} PRAGMA user_version = 99; COMMIT")).unwrap();
    // Every release notes beside a journal how far it goes, after the commit: that wakes its followers.
    if let Ok(stamp) = File::options().read(true).write(true).open(path.with_file_name("stamp")) {
        let mut first = [0];
        stamp.read_exact_at(&mut first, 0).and_then(|()| stamp.write_all_at(&first, 0)).unwrap();
    }
}

/// Opens a database past all of our own code.
pub(crate) fn connect(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    // As every release leaves it: with its log, without which SQLite reads nothing where it may not write.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    connection
}
