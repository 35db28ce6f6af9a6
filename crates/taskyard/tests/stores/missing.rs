//! What is missing is named until an agent deletes it on purpose, on every store.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use taskyard::Store;
use taskyard::core::{AgentName, ClientVersion, ListId, Op, Rules, TaskId};
use taskyard::store::{
    DocumentOptions, DocumentPaths, FileStore, FileStoreOptions, MemoryStore, Signature, TeachingOptions,
    TeachingPaths, open_documents, open_teaching,
};
use taskyard_testkit::properties::{Removable, Removal, RemoveOutside, what_is_missing_is_named};
use taskyard_testkit::{Opened, folder_in_memory};

/// No program can reach into the memory of a store: what is removed is removed in another program's name.
fn memory(rules: Rules) -> Removable {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(rules));
    let opened = Opened::from(Arc::clone(&store));
    let remove = move |list: &ListId, removal: Removal<'_>| {
        let mut txn = store.write(list).unwrap();
        match removal {
            Removal::Tasks(tasks) => tasks.iter().for_each(|task| txn.remove(task).unwrap()),
            Removal::Everything => txn.clear().unwrap(),
        }
        txn.commit(&Signature::new(AgentName::elsewhere(), Op::RemovedElsewhere)).unwrap();
    };
    Removable { opened, remove: Box::new(remove) }
}

fn files(rules: Rules) -> Removable {
    let folder = folder_in_memory();
    let (tasks, data) = (folder.path().join("tasks"), folder.path().join("data"));
    let remove = remove_files(&tasks);
    let store = FileStore::open(FileStoreOptions { tasks, data: Some(data), rules });
    Removable { opened: Opened::keeping(Arc::new(store) as Arc<dyn Store>, folder), remove }
}

fn folders(rules: Rules) -> Removable {
    let folder = folder_in_memory();
    let (lists, data) = (folder.path().join("folders"), folder.path().join("data"));
    let remove = remove_files(&lists);
    let store = open_teaching(TeachingOptions { paths: TeachingPaths::Lists(lists), data, rules });
    Removable { opened: Opened::keeping(store, folder), remove }
}

fn documents(rules: Rules) -> Removable {
    let folder = folder_in_memory();
    let (lists, data) = (folder.path().join("tasks"), folder.path().join("data"));
    let paths = DocumentPaths::Lists(lists.clone());
    let remove = move |list: &ListId, removal: Removal<'_>| {
        let file = lists.join(list.directory()).join("tasks.json");
        match removal {
            Removal::Tasks(tasks) => remove_elements(&file, tasks),
            Removal::Everything => drop(fs::remove_file(file)),
        }
    };
    let store = open_documents(DocumentOptions { paths, data, rules });
    Removable { opened: Opened::keeping(store, folder), remove: Box::new(remove) }
}

fn remove_files(lists: &Path) -> Box<RemoveOutside> {
    let lists = lists.to_owned();
    Box::new(move |list, removal| {
        let directory = lists.join(list.directory());
        match removal {
            Removal::Tasks(tasks) => {
                tasks.iter().for_each(|task| fs::remove_file(directory.join(format!("{task}.json"))).unwrap());
            }
            Removal::Everything => drop(fs::remove_dir_all(directory)),
        }
    })
}

fn remove_elements(file: &Path, tasks: &[TaskId]) {
    if tasks.is_empty() {
        return;
    }
    let mut document: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let goes = |element: &Value| tasks.iter().any(|task| element["id"] == task.as_str());
    document["tasks"].as_array_mut().unwrap().retain(|element| !goes(element));
    fs::write(file, serde_json::to_vec_pretty(&document).unwrap()).unwrap();
}

#[test]
fn in_memory() {
    what_is_missing_is_named(memory, Rules::Strict, 2000);
}

#[test]
fn in_files() {
    what_is_missing_is_named(files, Rules::Strict, 400);
}

#[test]
fn in_files_by_the_clients_rules() {
    what_is_missing_is_named(files, Rules::Client(ClientVersion::V2_1_325), 200);
}

#[test]
fn in_documents() {
    what_is_missing_is_named(documents, Rules::Strict, 200);
}

#[test]
fn in_teaching_folders() {
    what_is_missing_is_named(folders, Rules::Strict, 200);
}
