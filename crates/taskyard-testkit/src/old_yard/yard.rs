//! A yard, unpacked.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use taskyard::core::Rules;
use taskyard::opening::{Address, Openers, Places, WrittenAddress};
use taskyard::store::Store;
use tempfile::TempDir;

use super::list::OldList;
use super::moving::{change_everywhere, fnv1a, path_in, tell_temporary_files, this_run_for};
use super::packing::{bytes_of, unpack, write_out};
use crate::databases::connect;
use crate::process::Program;
use crate::ran::Ran;

/// Where the yards were made. What their databases say of it is changed to where they are unpacked.
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

    /// Lets the databases know where they are now, past all of our own code.
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
