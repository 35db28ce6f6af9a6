//! Yards as earlier releases left them: everything in them was written by that release.

use std::collections::BTreeMap;
use std::fs::{File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::{fs, io};

use rusqlite::types::Value;
use rusqlite::{Connection, params};
use taskyard::core::{Entry, Image, ListId, Rules};
use taskyard::opening::{Address, Openers, Places, WrittenAddress};
use taskyard::store::Store;
use tempfile::TempDir;

use crate::files_on_disk::connect;
use crate::process::{Program, Ran};

/// The directory in which the yards were created. It is replaced in their databases by the directory they are unpacked
/// to.
const MADE_AT: &str = "/tmp/taskyard-old-yard";

/// A yard of an earlier release, unpacked into a place of its own.
#[derive(Debug)]
pub struct OldYard {
    _folder: TempDir,
    root: PathBuf,
    binary: PathBuf,
    /// Everything in it as it was when it was unpacked.
    unpacked: Vec<u8>,
}

impl OldYard {
    /// The yards that are kept, by the commit whose release made them.
    pub const ALL: [&'static str; 2] = ["0.1.0-030b431", "0.1.0-5c55abf"];

    /// Unpacks a yard for a binary, `env!("CARGO_BIN_EXE_taskyard")` say.
    pub fn unpack(name: &str, binary: &str) -> Self {
        let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(format!("{name}.yard"));
        let folder = tempfile::Builder::new().prefix("taskyard-").tempdir().expect("a temporary directory can be made");
        let root = fs::canonicalize(folder.path()).expect("it is there").join("yard");
        unpack(&fs::read(&packed).expect("the yard is in the repository"), &root);
        let mut yard = Self { _folder: folder, root, binary: PathBuf::from(binary), unpacked: Vec::new() };
        yard.settle_here();
        yard.unpacked = bytes_of(&yard.root).expect("the yard can be read");
        yard
    }

    /// Makes everything in it as it was when it was unpacked: sooner done than to unpack another one, whose databases have to learn where
    /// they are.
    pub fn put_back(&self) {
        fs::remove_dir_all(&self.root).expect("the yard can be removed");
        write_out(&self.unpacked, &self.root);
        for list in self.lists() {
            tell_temporary_files(&list.path, &connect(&list.sidecar.join("journal.sqlite")));
        }
    }

    /// Returns our data directory.
    pub fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    /// Returns the home directory, in which the project is.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Returns the directory that commands run in.
    pub fn project(&self) -> PathBuf {
        self.home().join("project")
    }

    /// Returns the lists there are, each with the store it is in and our directory for it.
    pub fn lists(&self) -> Vec<OldList> {
        let mut lists: Vec<OldList> = self.sidecars().into_iter().map(|sidecar| self.list_of(sidecar)).collect();
        lists.sort_by(|one, two| one.sidecar.cmp(&two.sidecar));
        lists
    }

    /// Returns the list of this name in the store of this kind.
    pub fn list(&self, kind: &str, name: &str) -> OldList {
        let is_it = |list: &OldList| list.list == name && list.store.starts_with(&format!("{kind}:"));
        self.lists().into_iter().find(is_it).expect("there is such a list")
    }

    /// Returns a command in the project; words are divided at spaces.
    pub fn command(&self, words: &str) -> Program {
        let mut command = Program::new(&self.binary);
        command
            .args(words.split_whitespace())
            .env_remove("TMPDIR")
            .env("HOME", self.home())
            .env("CLAUDE_CONFIG_DIR", self.home().join(".claude"))
            .env("TASKYARD_HOME", self.data())
            .env("CLAUDE_CODE_TMPDIR", self.root.join("tmp"))
            .env("TASKYARD_AGENT", "ana")
            .current_dir(self.project())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, words: &str) -> Ran {
        self.command(words).run()
    }

    /// Runs a command under a plan of fail points.
    pub fn run_with(&self, plan: &str, words: &str) -> Ran {
        self.command(words).env("TASKYARD_FAILPOINTS", plan).run()
    }

    /// Opens the store of a list through the library.
    pub fn open(&self, list: &OldList) -> Arc<dyn Store> {
        let places = Places {
            client: Some(self.home().join(".claude")),
            data: Some(self.data()),
            directory: Some(self.project()),
            session: None,
            client_teammate: None,
            rules: Rules::Strict,
        };
        let openers = Openers::default();
        let address =
            Address::parse(&WrittenAddress::new(&list.store), &self.project(), &openers).expect("it is an address");
        taskyard::open(&address, &places, &openers).expect("the store can be opened").store
    }

    /// Updates the paths in the databases, without using our own code.
    fn settle_here(&self) {
        let mut changes = vec![(MADE_AT.to_owned(), self.root.to_str().expect("the path is text").to_owned())];
        changes.extend(this_run_for(
            &fs::read_to_string(self.root.join("made-on")).expect("the yard says where it was made"),
        ));
        let mut names = BTreeMap::new();
        for sidecar in self.sidecars() {
            let made_at = path_in(&connect(&sidecar.join("journal.sqlite")));
            let path = made_at.replacen(MADE_AT, &changes[0].1, 1);
            let old = sidecar.file_name().and_then(|name| name.to_str()).expect("the name is text").to_owned();
            let (name, _) = old.rsplit_once('-').expect("the name ends in a sum");
            names.insert(old.clone(), format!("{name}-{:016x}", fnv1a(path.as_bytes())));
        }
        changes.extend(names.clone());
        let ours = ["machine.sqlite", "teams.sqlite"].map(|file| self.data().join(file));
        let journals = self.sidecars().into_iter().map(|sidecar| sidecar.join("journal.sqlite"));
        for database in ours.into_iter().chain(journals) {
            change_everywhere(&connect(&database), &changes);
        }
        for (old, new) in names {
            fs::rename(self.data().join("lists").join(old), self.data().join("lists").join(new))
                .expect("a list is moved");
        }
        for list in self.lists() {
            let boot = list.sidecar.join("boot");
            let text = fs::read_to_string(&boot).expect("the list knows its boot");
            fs::write(&boot, text.replace(&changes[1].0, &changes[1].1)).expect("the boot is written");
            tell_temporary_files(&list.path, &connect(&list.sidecar.join("journal.sqlite")));
        }
        let team = self.home().join(".claude/teams/crew/config.json");
        let text = fs::read_to_string(&team).expect("the team has a file");
        fs::write(&team, text.replace(&changes[0].0, &changes[0].1)).expect("the file of the team is written");
    }

    fn sidecars(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.data().join("lists")).expect("there are lists");
        entries.map(|entry| entry.expect("the lists can be read").path()).collect()
    }

    fn list_of(&self, sidecar: PathBuf) -> OldList {
        let path = PathBuf::from(path_in(&connect(&sidecar.join("journal.sqlite"))));
        let named = |path: &Path| path.file_name().and_then(|name| name.to_str()).expect("the name is text").to_owned();
        let (list, store) = match named(&path).as_str() {
            "tasks.json" => ("own".to_owned(), format!("document:{}", path.display())),
            ".tasks" => ("own".to_owned(), format!("teaching:{}", path.display())),
            "own" => ("own".to_owned(), format!("file:{}", self.project().join(".taskyard").display())),
            name => (name.to_owned(), "claude:".to_owned()),
        };
        OldList { list, store, path, sidecar }
    }
}

/// A list of an earlier release.
#[derive(Clone, Debug)]
pub struct OldList {
    /// Its name.
    pub list: String,
    /// The address of the store it is in.
    pub store: String,
    /// Where its files are, or were.
    pub path: PathBuf,
    /// Our directory for it.
    pub sidecar: PathBuf,
}

impl OldList {
    /// Returns the flags that lead to it.
    pub fn flags(&self) -> String {
        format!("--list {} --store {}", self.list, self.store)
    }

    /// Returns its name.
    pub fn id(&self) -> ListId {
        ListId::new(&self.list).expect("the name of the list is a good one")
    }

    /// Returns what its journal says, as the earlier release wrote it, read past all of our own code.
    pub fn entries(&self) -> Vec<OldEntry> {
        let journal = Copy::of(&self.sidecar.join("journal.sqlite"));
        let sql = "SELECT id, at, actor, op, CAST(task AS TEXT), before, after FROM entries ORDER BY id";
        let mut statement = journal.connection.prepare(sql).expect("the query is good");
        let entries = statement.query_map([], |row| {
            Ok(OldEntry {
                revision: row.get::<_, i64>(0)?.unsigned_abs() >> 24,
                at: row.get(1)?,
                actor: row.get(2)?,
                op: row.get(3)?,
                task: row.get(4)?,
                before: row.get(5)?,
                after: row.get(6)?,
            })
        });
        entries.and_then(Iterator::collect).expect("the journal can be read")
    }

    /// Returns its leases, as the earlier release wrote them: task, agent and token.
    pub fn leases(&self) -> Vec<(String, String, u64)> {
        let journal = Copy::of(&self.sidecar.join("journal.sqlite"));
        let mut statement = journal
            .connection
            .prepare("SELECT CAST(task AS TEXT), agent, token FROM leases")
            .expect("the query is good");
        let leases =
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?.unsigned_abs())));
        leases.and_then(Iterator::collect).expect("the leases can be read")
    }
}

/// An entry of a journal, as an earlier release wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldEntry {
    /// The commit it belongs to.
    pub revision: u64,
    /// When it was made, in milliseconds.
    pub at: i64,
    /// Who made it.
    pub actor: String,
    /// The name of the operation.
    pub op: String,
    /// The task.
    pub task: String,
    /// The bytes of the task's file before.
    pub before: Option<Vec<u8>>,
    /// The bytes of the task's file afterwards.
    pub after: Option<Vec<u8>>,
}

impl From<&Entry> for OldEntry {
    fn from(entry: &Entry) -> Self {
        let bytes = |image: &Option<Image>| image.as_ref().map(|image| image.bytes().to_vec());
        Self {
            revision: entry.revision.0,
            at: entry.at.0,
            actor: entry.actor.as_str().to_owned(),
            op: entry.op.as_str().to_owned(),
            task: entry.task.as_str().to_owned(),
            before: bytes(&entry.before),
            after: bytes(&entry.after),
        }
    }
}

/// The rows of every table of a database, by the columns that it had when they were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows(BTreeMap<String, (String, Vec<String>)>);

impl Rows {
    /// Reads every row of a database, past all of our own code.
    pub fn of(database: &Path) -> Self {
        let copy = Copy::of(database);
        let tables = texts(&copy.connection, "SELECT name FROM sqlite_schema WHERE type = 'table'");
        let rows = |table: String| {
            let columns = texts(&copy.connection, &format!("SELECT name FROM pragma_table_info('{table}')")).join(", ");
            let found = rows_of(&copy.connection, &table, &columns);
            (table, (columns, found))
        };
        Self(tables.into_iter().map(rows).collect())
    }

    /// Reads the same columns of the same tables of a database that may have got more of both.
    pub fn again_in(&self, database: &Path) -> Self {
        let copy = Copy::of(database);
        let again = |(table, (columns, _)): (&String, &(String, Vec<String>))| {
            (table.clone(), (columns.clone(), rows_of(&copy.connection, table, columns)))
        };
        Self(self.0.iter().map(again).collect())
    }

    /// Returns the names of the tables.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the rows of a table, in the order of their text.
    pub fn rows(&self, table: &str) -> &[String] {
        self.0.get(table).map_or(&[], |(_, rows)| rows)
    }

    /// Returns how many rows a table has.
    pub fn count(&self, table: &str) -> usize {
        self.rows(table).len()
    }
}

fn rows_of(database: &Connection, table: &str, columns: &str) -> Vec<String> {
    let mut statement = database.prepare(&format!("SELECT {columns} FROM {table}")).expect("the table is there");
    let count = statement.column_count();
    let row = |row: &rusqlite::Row<'_>| {
        let values: Vec<Value> = (0..count).map(|place| row.get(place)).collect::<Result<_, _>>()?;
        Ok(format!("{values:?}"))
    };
    let rows = statement.query_map([], row).expect("the table can be read");
    let mut rows: Vec<String> = rows.collect::<Result<_, _>>().expect("the rows can be read");
    rows.sort();
    rows
}

/// A copy of a database and its log, open: nothing of the database itself changes.
struct Copy {
    connection: Connection,
    _folder: TempDir,
}

impl Copy {
    fn of(database: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        let copy = folder.path().join("copy");
        fs::copy(database, &copy).expect("the database is there");
        let log = PathBuf::from(format!("{}-wal", database.display()));
        if log.exists() {
            fs::copy(log, folder.path().join("copy-wal")).expect("its log can be copied");
        }
        Self { connection: Connection::open(&copy).expect("the copy can be opened"), _folder: folder }
    }
}

fn texts(database: &Connection, sql: &str) -> Vec<String> {
    let mut statement = database.prepare(sql).expect("the query is good");
    let rows = statement.query_map([], |row| row.get(0)).expect("the tables can be listed");
    rows.collect::<Result<_, _>>().expect("names are text")
}

/// Packs a directory into one file: each file with its path, its mode and its length, compressed together.
pub fn pack(directory: &Path, packed: &Path) -> io::Result<()> {
    fs::write(packed, lz4_flex::compress_prepend_size(&bytes_of(directory)?))
}

/// Returns a directory as one text: each file with its path, its mode and its length.
fn bytes_of(directory: &Path) -> io::Result<Vec<u8>> {
    let mut files = Vec::new();
    collect(directory, directory, &mut files)?;
    files.sort();
    let mut bytes = Vec::new();
    for path in files {
        let (full, name) = (directory.join(&path), path.to_string_lossy().into_owned());
        let contents = fs::read(&full)?;
        let mode = fs::metadata(&full)?.permissions().mode() & 0o777;
        writeln!(bytes, "{mode:o} {} {name}", contents.len())?;
        bytes.extend_from_slice(&contents);
    }
    Ok(bytes)
}

fn collect(root: &Path, directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
        if kind.is_dir() {
            collect(root, &path, files)?;
        } else if kind.is_file() {
            files.push(path.strip_prefix(root).map_err(io::Error::other)?.to_owned());
        }
    }
    Ok(())
}

/// Unpacks the archive into a new directory.
fn unpack(packed: &[u8], root: &Path) {
    write_out(&lz4_flex::decompress_size_prepended(packed).expect("the yard is whole"), root);
}

/// Writes the files of a directory that is one text into a directory that is not there yet.
fn write_out(bytes: &[u8], root: &Path) {
    let mut rest = bytes;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').expect("a file has a head");
        let head = std::str::from_utf8(&rest[..end]).expect("a head is text");
        let [mode, length, name] = head.splitn(3, ' ').collect::<Vec<_>>().try_into().expect("a head has three words");
        let mode = u32::from_str_radix(mode, 8).expect("a mode is octal");
        let length: usize = length.parse().expect("a length is a number");
        let (contents, after) = rest[end + 1..].split_at(length);
        rest = after;
        let path = root.join(name);
        let folder = path.parent().expect("a file is in a directory");
        fs::create_dir_all(folder).expect("a directory can be made");
        if name.starts_with("data/") {
            fs::set_permissions(folder, Permissions::from_mode(0o700)).expect("a directory can be made private");
        }
        let file = File::options().write(true).create_new(true).mode(mode).open(&path);
        file.and_then(|mut file| file.write_all(contents)).expect("a file can be written");
    }
    fs::set_permissions(root.join("data"), Permissions::from_mode(0o700)).expect("a directory can be made private");
}

/// Returns the path of the list that a journal is of.
fn path_in(journal: &Connection) -> String {
    journal.query_row("SELECT value FROM facts WHERE key = 'path'", [], |row| row.get(0)).expect("it has a path")
}

/// Changes what every text and every blob says. Rows with a checksum get that of what they say then.
fn change_everywhere(database: &Connection, changes: &[(String, String)]) {
    // Nothing of it has to survive anything, and every yard is unpacked many times.
    database.execute_batch("PRAGMA synchronous = OFF; BEGIN IMMEDIATE").expect("the database can be changed");
    for table in texts(database, "SELECT name FROM sqlite_schema WHERE type = 'table'") {
        let columns = texts(database, &format!("SELECT name FROM pragma_table_info('{table}')"));
        for column in &columns {
            for (from, to) in changes {
                let sql = format!(
                    "UPDATE {table} SET {column} = CASE typeof({column})
                        WHEN 'blob' THEN CAST(replace(CAST({column} AS TEXT), ?1, ?2) AS BLOB) ELSE replace({column}, ?1, ?2) END
                     WHERE typeof({column}) IN ('text', 'blob') AND instr({column}, CASE typeof({column}) WHEN 'blob' THEN CAST(?1 AS BLOB) ELSE ?1 END)"
                );
                let changed = database.execute(&sql, [from, to]).expect("what a row says can be changed");
                if changed > 0 && columns.iter().any(|column| column == "sum") {
                    // A row without one was written by a release that knew none, and counts as whole.
                    database
                        .execute(&format!("UPDATE {table} SET sum = NULL WHERE instr({column}, ?1)"), [to])
                        .expect("a sum goes");
                }
            }
        }
    }
    database.execute_batch("COMMIT").expect("the database can be changed");
}

/// Returns what has to be said in place of what a yard says of the run of the machine that it was made in: boot, pid namespace, machine.
fn this_run_for(made_on: &str) -> Vec<(String, String)> {
    let text = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned());
    let boot = text("/proc/sys/kernel/random/boot_id").expect("the system tells its boot");
    let space = fs::read_link("/proc/self/ns/pid").expect("the system tells the namespace");
    let host = || text("/proc/sys/kernel/hostname").map(|name| format!("host:{name}"));
    let machine = text("/etc/machine-id").or_else(|_| text("/var/lib/dbus/machine-id")).or_else(|_| host());
    let now = [boot, space.to_string_lossy().into_owned(), machine.expect("the machine has a name")];
    let then = made_on.lines().map(str::to_owned);
    then.zip(now).filter(|(then, now)| then != now || then.len() == 36).collect()
}

/// Lets the journal know the temporary files of a commit that was broken off by the numbers that they have here.
fn tell_temporary_files(list: &Path, journal: &Connection) {
    journal.execute_batch("PRAGMA synchronous = OFF").expect("the database can be changed");
    for entry in fs::read_dir(list).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(".taskyard-") {
            continue;
        }
        let contents = fs::read(entry.path()).expect("a file can be read");
        let inode = entry.metadata().expect("a file can be looked at").ino().cast_signed();
        let newest = "id >> 24 = (SELECT max(id) >> 24 FROM entries)";
        let sql = format!("UPDATE entries SET inode = ?1 WHERE after = ?2 AND {newest}");
        let told = journal.execute(&sql, params![inode, contents]).expect("an entry can be told");
        let has_sums = texts(journal, "SELECT name FROM pragma_table_info('entries')").iter().any(|name| name == "sum");
        if told > 0 && has_sums {
            journal.execute(&format!("UPDATE entries SET sum = NULL WHERE {newest}"), []).expect("a sum goes");
        }
    }
}

/// The sum in the names of our directories for lists.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
