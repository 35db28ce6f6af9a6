//! The store for documents, and how the engine reads, locks and replaces one ([`DialectFiles`]).

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use taskyard_core::dialect::document;
use taskyard_core::dialect::native::Unreadable;
use taskyard_core::{ListId, Rules, Task, TaskId, Timestamp};

use super::files::{self, Raw, Read, changed, read, whole};
use super::held::{self, Held, Progress, Rewrite};
use crate::store::dialects::{Changes, DialectFiles, DialectStore, KnownFiles, Loaded};
use crate::store::kit::Home;
use crate::store::list_directories::{files_gone, list_directories, named, only_list};
use crate::store::{FileLayout, Store, StoreError};
use crate::system::{self, random_number};

const FILE: &str = "tasks.json";

/// Maps lists to files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentPaths {
    /// A directory of lists, for example `~/.claude/tasks`, with one file per list in a directory with the list's name.
    Lists(PathBuf),
    /// A single file, whatever the list is called.
    File(PathBuf),
}

impl DocumentPaths {
    pub(crate) fn path(&self, list: &ListId) -> PathBuf {
        match self {
            Self::Lists(root) => root.join(list.directory()).join(FILE),
            Self::File(path) => path.clone(),
        }
    }
}

/// Options for opening a store of documents.
#[derive(Clone, Debug)]
pub struct DocumentOptions {
    /// Maps lists to files.
    pub paths: DocumentPaths,
    /// Our own data directory.
    pub data: PathBuf,
    /// The rules for writing tasks.
    pub rules: Rules,
}

/// Opens a store of documents. Nothing is read or created until a list is used.
pub fn open_documents(options: DocumentOptions) -> Arc<dyn Store> {
    let DocumentOptions { paths, data, rules } = options;
    Arc::new(DialectStore::open(DocumentFiles { paths }, data, rules))
}

#[derive(Debug)]
pub(super) struct DocumentFiles {
    paths: DocumentPaths,
}

impl DialectFiles for DocumentFiles {
    type Raw = Raw;
    type Held = Held;

    const LAYOUT: FileLayout = FileLayout::OneFile;

    fn path(&self, list: &ListId) -> PathBuf {
        self.paths.path(list)
    }

    fn lists(&self) -> Result<Vec<(ListId, PathBuf)>, StoreError> {
        let root = match &self.paths {
            DocumentPaths::Lists(root) => root,
            DocumentPaths::File(path) => {
                let list = only_list(path).filter(|_| path.is_file());
                return Ok(list.map(|list| (list, path.clone())).into_iter().collect());
            }
        };
        let documents = list_directories(root)?.into_iter().map(|(list, directory)| (list, directory.join(FILE)));
        Ok(documents.filter(|(_, path)| path.is_file()).collect())
    }

    fn directories_of_lists(&self) -> Vec<PathBuf> {
        match &self.paths {
            DocumentPaths::Lists(root) => {
                let directories = list_directories(root).unwrap_or_default();
                std::iter::once(root.clone()).chain(directories.into_iter().map(|(_, path)| path)).collect()
            }
            DocumentPaths::File(path) => path.parent().map(Path::to_owned).into_iter().collect(),
        }
    }

    fn lists_without_a_place(&self, data: &Path) -> Vec<(ListId, PathBuf)> {
        match &self.paths {
            DocumentPaths::Lists(root) => {
                let documents = files_gone(data, root, FILE).into_iter();
                documents.filter_map(|path| Some((named(path.parent()?)?, path))).collect()
            }
            DocumentPaths::File(path) => {
                let list = only_list(path).filter(|_| !path.exists());
                list.map(|list| (list, path.clone())).into_iter().collect()
            }
        }
    }

    fn home(&self, path: &Path) -> Home {
        Home::File(path.to_owned())
    }

    fn directory<'a>(&self, path: &'a Path) -> &'a Path {
        path.parent().unwrap_or(path)
    }

    fn temporary(&self, path: &Path) -> String {
        files::temporary_prefix(path)
    }

    fn hold(&self, path: &Path, patience: Duration) -> Result<Option<Self::Held>, StoreError> {
        held::hold(path, patience)
    }

    fn is_held(&self, path: &Path, held: &Held) -> bool {
        held.is_at(path)
    }

    fn load(&self, path: &Path) -> Result<Option<Raw>, StoreError> {
        files::load(path)
    }

    fn look(
        &self,
        path: &Path,
        rewrite: Option<&[u8]>,
        is_quiet: &dyn Fn() -> Result<bool, StoreError>,
        _known: &dyn Fn() -> Result<KnownFiles, StoreError>,
    ) -> Result<Loaded<Raw>, StoreError> {
        look(path, rewrite.and_then(Rewrite::from_bytes).as_ref(), is_quiet)
    }

    fn forms(&self, raw: &Raw) -> BTreeMap<TaskId, Vec<u8>> {
        let form = |place: &usize| serde_json::to_vec(&raw.document.elements()[*place]).unwrap_or_default();
        raw.places.iter().map(|(id, place)| (id.clone(), form(place))).collect()
    }

    fn place_of(&self, raw: &Raw, id: &TaskId) -> Option<usize> {
        raw.places.get(id).copied()
    }

    fn read(&self, raw: &Raw, id: &TaskId) -> Result<Task, Unreadable> {
        let place = *raw.places.get(id).ok_or(Unreadable::Empty)?;
        let task = document::read(&raw.document.elements()[place], raw.waiting(id))?;
        match task.id == *id {
            true => Ok(task),
            false => {
                Err(Unreadable::WrongType { key: "id", expected: "an id of its own", found: "that of another task" })
            }
        }
    }

    fn change(&self, raw: Option<&Raw>, changes: &Changes, at: Timestamp) -> Raw {
        changed(raw, changes, at)
    }

    fn is_settled(&self, raw: &Raw, seen: i64) -> bool {
        raw.stamp.is_some_and(|stamp| stamp.is_settled(seen))
    }

    fn is_still(&self, path: &Path, raw: Option<&Raw>) -> bool {
        files::stamp_of(path) == raw.and_then(|raw| raw.stamp)
    }

    fn prepare(&self, path: &Path, held: &mut Held, before: Option<&Raw>, after: &Raw) -> Result<bool, StoreError> {
        held.prepare(path, before, after)
    }

    fn rewrite(&self, before: Option<&Raw>, after: &Raw) -> Option<Vec<u8>> {
        before.map(|before| Rewrite::between(&before.bytes, &after.bytes, system::boot_id()).to_bytes())
    }

    fn save(&self, path: &Path, held: &mut Held, before: Option<&Raw>, after: &Raw) -> Result<bool, StoreError> {
        held.save(path, before, after)
    }

    fn finish_rewrite(&self, path: &Path, held: &mut Held, rewrite: &[u8]) -> Result<bool, StoreError> {
        Rewrite::from_bytes(rewrite).map_or(Ok(false), |rewrite| held.finish(path, &rewrite))
    }

    fn set_aside(&self, held: &mut Held, torn: &Path, aside: &Path) -> io::Result<()> {
        held.set_aside(torn, aside, &document::Document::new().with_elements(Vec::new(), &system::now().to_string()))
    }

    fn elements(&self, raw: &Raw) -> Vec<Value> {
        raw.document.elements().to_vec()
    }

    fn new_id(&self, _at: Timestamp) -> TaskId {
        let (high, low) = (random_number(), random_number());
        let version = (high & 0xffff_ffff_ffff_0fff) | 0x4000;
        let variant = (low & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000;
        let digits = format!("{version:016x}{variant:016x}");
        let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
        TaskId::stored(parts.join("-"))
    }
}

/// Reads the file while one of our writers may be writing: the pending `rewrite`, or a later one if `is_quiet` returns
/// false.
pub(super) fn look(
    path: &Path,
    rewrite: Option<&Rewrite>,
    is_quiet: &dyn Fn() -> Result<bool, StoreError>,
) -> Result<Loaded<Raw>, StoreError> {
    let began = system::wall();
    let Some(Read { bytes, stamp, is_unmoved }) = read(path)? else { return Ok(Loaded::Absent) };
    // No program wrote while we read: that would have left a later modification time.
    let is_settled = is_unmoved && stamp.is_settled(began);
    let Some(rewrite) = rewrite else {
        return match is_settled || (is_unmoved && is_quiet()?) {
            true => whole(path, bytes, Some(stamp)),
            false => Ok(Loaded::Moving),
        };
    };
    if is_settled && rewrite.judge(&bytes, &system::boot_id()) == Progress::Overwritten {
        return whole(path, bytes, Some(stamp));
    }
    match rewrite.completed(&bytes) {
        Some(bytes) => Ok(match whole(path, bytes, None)? {
            Loaded::Whole(raw) => Loaded::Completed(raw),
            torn => torn,
        }),
        None => Ok(Loaded::Moving),
    }
}

#[cfg(test)]
mod tests {
    use taskyard_core::Timestamp;

    use super::{DocumentFiles, DocumentPaths};
    use crate::store::dialects::DialectFiles;

    #[test]
    fn a_new_id_is_a_uuid_of_version_four() {
        let files = DocumentFiles { paths: DocumentPaths::File("x".into()) };
        let ids: Vec<String> = (0..100).map(|_| files.new_id(Timestamp(0)).to_string()).collect();
        for id in &ids {
            let lengths: Vec<usize> = id.split('-').map(str::len).collect();
            assert_eq!(lengths, [8, 4, 4, 4, 12], "{id}");
            assert_eq!(&id[14..15], "4", "{id}");
            assert!("89ab".contains(&id[19..20]), "{id}");
        }
        let different: std::collections::HashSet<_> = ids.iter().collect();
        assert_eq!(different.len(), 100);
    }
}

#[cfg(test)]
mod reading_tests {
    use std::path::{Path, PathBuf};
    use std::time::Duration;
    use std::{fs, thread};

    use super::files::stamp_of;
    use super::look;
    use crate::store::dialects::Loaded;
    use crate::store::document::held::Rewrite;
    use crate::system;

    fn document(tasks: [&str; 2]) -> String {
        let [one, two] = tasks.map(|task| format!("{{\"id\":\"{task}\"}}"));
        format!("{{\"tasks\":[{one},{two}],\"version\":2}}")
    }

    fn file(folder: &tempfile::TempDir, text: &str) -> PathBuf {
        let path = folder.path().join("tasks.json");
        fs::write(&path, text).unwrap();
        path
    }

    fn let_it_settle(path: &Path) {
        while !stamp_of(path).unwrap().is_settled(system::wall()) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn fresh_file_is_trusted_only_without_newer_commit() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(&folder, &document(["1", "2"]));
        assert!(matches!(look(&path, None, &|| Ok(false)).unwrap(), Loaded::Moving));
        assert!(matches!(look(&path, None, &|| Ok(true)).unwrap(), Loaded::Whole(_)));
        let_it_settle(&path);
        assert!(matches!(look(&path, None, &|| panic!("nobody has written")).unwrap(), Loaded::Whole(_)));
    }

    #[test]
    fn a_mixture_of_old_and_new_is_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let (before, after) = (document(["1", "3"]), document(["2", "4"]));
        let rewrite = Rewrite::between(before.as_bytes(), after.as_bytes(), crate::system::boot_id());
        for found in [&before, &after, &document(["2", "3"]), &document(["1", "4"]), &format!("{after}\0")] {
            let path = file(&folder, found);
            let Loaded::Completed(raw) = look(&path, Some(&rewrite), &|| Ok(true)).unwrap() else { panic!("{found}") };
            assert_eq!(raw.bytes, after.as_bytes(), "{found}");
        }
    }

    #[test]
    fn what_another_program_wrote_after_a_crash_is_shown_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let rewrite = Rewrite::between(document(["1", "3"]).as_bytes(), document(["2", "4"]).as_bytes(), String::new());
        let theirs = document(["1", "theirs"]);
        let path = file(&folder, &theirs);
        let_it_settle(&path);
        let Loaded::Whole(raw) = look(&path, Some(&rewrite), &|| Ok(true)).unwrap() else { panic!("{theirs}") };
        assert_eq!(raw.bytes, theirs.as_bytes());
    }
}
