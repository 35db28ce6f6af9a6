//! What lies in the place of a list, store by store, and how a test lays it there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use taskyard::Store;
use taskyard::core::dialect::macf::hidden_names;
use taskyard::core::{Image, ListId, Rules, TaskId};
use taskyard::store::{
    DocumentOptions, DocumentPaths, FileStore, FileStoreOptions, Lookup, MemoryStore, TeachingOptions, TeachingPaths,
    open_documents, open_teaching,
};
use tempfile::TempDir;

use crate::commit;
use crate::opened::folder_in_memory;

/// What can exist under a task's name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Thing {
    Task,
    Garbage,
    Empty,
    Directory,
    LinkToNothing,
}

/// Everything in the place of a list, by name.
pub(super) type Held = BTreeMap<String, String>;

/// The place that a store keeps its lists in, open to programs that write there without asking the store.
pub(super) trait Ground: Debug {
    /// Returns the store.
    fn store(&self) -> &Arc<dyn Store>;

    /// Puts something under a task's name, where that can be done.
    fn lay(&self, list: &ListId, stem: &str, thing: Thing);

    /// Removes what exists under a task's name.
    fn take(&self, list: &ListId, stem: &str);

    /// Writes the mark, if the store has one.
    fn mark(&self, list: &ListId, text: &str);

    /// Returns everything that is there, to the letter.
    fn held(&self, list: &ListId) -> Held;

    /// Tells whether a task is held under a name.
    fn is_name_of(&self, name: &str, id: &TaskId) -> bool;

    /// Returns whether the content under a name is unchanged after a change of the named tasks.
    fn is_kept(&self, (name, contents): (&String, &String), after: &Held, _named: &BTreeSet<TaskId>) -> bool {
        after.get(name) == Some(contents)
    }
}

/// Returns a task in the words of Claude Code and of the teaching folders alike.
fn task_text(stem: &str) -> String {
    json!({"id": stem, "subject": format!("the {stem} that was there"), "description": "", "status": "pending",
        "owner": "ana", "blocks": [], "blockedBy": []})
    .to_string()
}

fn garbage(stem: &str) -> String {
    format!("{{\"id\": {stem:?}, \"subj")
}

/// A directory with a file for each task: that of the file store, or a teaching folder.
#[derive(Debug)]
pub(super) struct Folder {
    store: Arc<dyn Store>,
    lists: PathBuf,
    _kept: TempDir,
}

impl Folder {
    pub(super) fn of_the_client(rules: Rules) -> Self {
        let kept = folder_in_memory();
        let (lists, data) = (kept.path().join("tasks"), kept.path().join("data"));
        let options = FileStoreOptions { tasks: lists.clone(), data: Some(data), rules };
        Self { store: Arc::new(FileStore::open(options)), lists, _kept: kept }
    }

    pub(super) fn of_teaching(rules: Rules) -> Self {
        let kept = folder_in_memory();
        let (lists, data) = (kept.path().join("folders"), kept.path().join("data"));
        let store = open_teaching(TeachingOptions { paths: TeachingPaths::Lists(lists.clone()), data, rules });
        Self { store, lists, _kept: kept }
    }

    fn path(&self, list: &ListId, stem: &str) -> PathBuf {
        let folder = self.lists.join(list.as_str());
        fs::create_dir_all(&folder).unwrap();
        folder.join(format!("{stem}.json"))
    }
}

impl Ground for Folder {
    fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    fn lay(&self, list: &ListId, stem: &str, thing: Thing) {
        let path = self.path(list, stem);
        if path.symlink_metadata().is_ok() {
            return;
        }
        match thing {
            Thing::Task => fs::write(path, task_text(stem)).unwrap(),
            Thing::Garbage => fs::write(path, garbage(stem)).unwrap(),
            Thing::Empty => fs::write(path, "").unwrap(),
            Thing::Directory => fs::create_dir(path).unwrap(),
            Thing::LinkToNothing => std::os::unix::fs::symlink("nowhere", path).unwrap(),
        }
    }

    fn take(&self, list: &ListId, stem: &str) {
        let path = self.path(list, stem);
        if fs::remove_file(&path).is_err() {
            let _ = fs::remove_dir(&path);
        }
    }

    fn mark(&self, list: &ListId, text: &str) {
        fs::write(self.path(list, "x").with_file_name(".highwatermark"), text).unwrap();
    }

    fn held(&self, list: &ListId) -> Held {
        let Ok(entries) = fs::read_dir(self.lists.join(list.as_str())) else { return Held::new() };
        let named =
            entries.map(|entry| entry.unwrap()).map(|entry| (entry.file_name().into_string().unwrap(), entry.path()));
        let is_theirs = |name: &str| name.ends_with(".json") && !name.starts_with(".taskyard");
        named.filter(|(name, _)| is_theirs(name)).map(|(name, path)| (name, contents(&path))).collect()
    }

    fn is_name_of(&self, name: &str, id: &TaskId) -> bool {
        // A task may be hidden from the client under a dot name, or twice.
        name == format!("{}.json", id.file_stem()) || hidden_names(id).any(|hidden| hidden == name)
    }
}

fn contents(path: &Path) -> String {
    match fs::read_link(path) {
        Ok(target) => format!("a link to {}", target.display()),
        Err(_) if path.is_dir() => "a directory".to_owned(),
        Err(_) => fs::read_to_string(path).unwrap(),
    }
}

/// Documents of tasks.
#[derive(Debug)]
pub(super) struct Documents {
    store: Arc<dyn Store>,
    lists: PathBuf,
    _kept: TempDir,
}

impl Documents {
    pub(super) fn new(rules: Rules) -> Self {
        let kept = folder_in_memory();
        let (lists, data) = (kept.path().join("tasks"), kept.path().join("data"));
        let store = open_documents(DocumentOptions { paths: DocumentPaths::Lists(lists.clone()), data, rules });
        Self { store, lists, _kept: kept }
    }

    fn path(&self, list: &ListId) -> PathBuf {
        self.lists.join(list.as_str()).join("tasks.json")
    }

    fn elements(&self, list: &ListId) -> Vec<Value> {
        let Ok(bytes) = fs::read(self.path(list)) else { return Vec::new() };
        let document: Value = serde_json::from_slice(&bytes).unwrap();
        document["tasks"].as_array().unwrap().clone()
    }

    fn write(&self, list: &ListId, elements: &[Value]) {
        fs::create_dir_all(self.path(list).parent().unwrap()).unwrap();
        fs::write(self.path(list), json!({ "version": 2, "tasks": elements }).to_string()).unwrap();
    }
}

impl Ground for Documents {
    fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    fn lay(&self, list: &ListId, stem: &str, thing: Thing) {
        let mut elements = self.elements(list);
        elements.push(match thing {
            Thing::Task => json!({"id": stem, "description": format!("the {stem} that was there"), "status": "pending",
                "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}),
            Thing::Garbage => json!({"id": stem, "description": 7}),
            Thing::Empty => json!({}),
            Thing::Directory => json!({"id": stem.len(), "description": "an id that is a number"}),
            Thing::LinkToNothing => json!(stem),
        });
        self.write(list, &elements);
    }

    fn take(&self, list: &ListId, stem: &str) {
        let mut elements = self.elements(list);
        let before = elements.len();
        elements.retain(|element| element["id"] != stem);
        if elements.len() != before {
            self.write(list, &elements);
        }
    }

    fn mark(&self, _list: &ListId, _text: &str) {}

    fn held(&self, list: &ListId) -> Held {
        let mut held = Held::new();
        for element in self.elements(list) {
            let name = element["id"].as_str().unwrap_or_default().to_owned();
            // Elements may share an id: each is held under one of its own.
            let name = (0..).map(|count| format!("{name}{}", "'".repeat(count))).find(|name| !held.contains_key(name));
            held.insert(name.unwrap(), element.to_string());
        }
        held
    }

    fn is_name_of(&self, name: &str, id: &TaskId) -> bool {
        name == id.as_str()
    }

    fn is_kept(&self, (name, contents): (&String, &String), after: &Held, named: &BTreeSet<TaskId>) -> bool {
        // If the named task is removed, later elements of the same id move up by one.
        let follows_named = named.iter().any(|id| name.trim_end_matches('\'') == id.as_str());
        let moved_up = name.strip_suffix('\'').filter(|_| follows_named).and_then(|name| after.get(name));
        [after.get(name), moved_up].contains(&Some(contents))
    }
}

/// Lists in memory, where things are laid down as a restore would bring them.
#[derive(Debug)]
pub(super) struct Memory(Arc<dyn Store>);

impl Memory {
    pub(super) fn new(rules: Rules) -> Self {
        Self(Arc::new(MemoryStore::new(rules)))
    }
}

impl Ground for Memory {
    fn store(&self) -> &Arc<dyn Store> {
        &self.0
    }

    fn lay(&self, list: &ListId, stem: &str, thing: Thing) {
        let id = TaskId::stored(stem);
        let text = match thing {
            Thing::Task => task_text(stem),
            Thing::Garbage | Thing::Directory => garbage(stem),
            Thing::Empty | Thing::LinkToNothing => String::new(),
        };
        commit(&*self.0, list, |txn| {
            if txn.is_free(&id).unwrap() {
                txn.put_image(&id, Image::new(text.clone().into_bytes())).unwrap();
            }
        });
    }

    fn take(&self, list: &ListId, stem: &str) {
        let id = TaskId::stored(stem);
        commit(&*self.0, list, |txn| {
            if txn.find(&id).unwrap().task().is_some() {
                txn.remove(&id).unwrap();
            }
        });
    }

    fn mark(&self, _list: &ListId, _text: &str) {}

    fn held(&self, list: &ListId) -> Held {
        let list = self.0.read(list).unwrap();
        let ids = list.tasks().unwrap().into_iter().map(|task| task.id);
        let ids = ids.chain(list.problems().unwrap().into_iter().map(|problem| problem.task));
        let image = |id: &TaskId| match list.find(id).unwrap() {
            Lookup::Found(_, image) => image,
            Lookup::Unreadable(problem) => problem.contents.unwrap(),
            Lookup::Missing => panic!("{id} was there"),
        };
        let text = |id: &TaskId| String::from_utf8(image(id).bytes().to_vec()).unwrap();
        ids.map(|id| (id.file_stem(), text(&id))).collect()
    }

    fn is_name_of(&self, name: &str, id: &TaskId) -> bool {
        name == id.file_stem()
    }
}
