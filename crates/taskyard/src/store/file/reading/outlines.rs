//! A list in outline, for whoever looks at it several times a second: every file by its fingerprint, and of its contents only what a
//! summary needs, remembered from the last time.
//!
//! It opens no journal, takes no lock and records nothing of what others did.

use std::fs;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;
use std::thread;

use serde::{Deserialize, Serialize};
use serde_json::json;
use taskyard_core::rules::looking::summarizing::outline;
use taskyard_core::{Status, Task, TaskId};

use super::files::{self, Contents};
use super::scan::{self, Looks};
use crate::clock;
use crate::private;
use crate::regular_file;
use crate::store::file::handle::Handle;
use crate::store::locks::fingerprint::Fingerprint;
use crate::store::locks::turn_record::TurnRecord;

/// The file beside the journal in which outlines are remembered.
const FILE: &str = "outlines";
/// What the file says of its form.
const FORMAT: u32 = 1;
/// A larger one is none of ours.
const LARGEST: u64 = 64 << 20;
/// Fewer files are read each time: that takes no longer.
const WORTH_REMEMBERING: usize = 50;
/// A second thread costs more than it saves where less is remembered, in bytes.
const WORTH_A_THREAD: u64 = 16 << 10;

/// Returns the outlines of a list's tasks, by rising number. None where one of our writers is at work or died at it, where files are hidden
/// or half written, and where we have no memory of the list: then it takes the usual look.
pub(in crate::store) fn outlines(handle: &Handle) -> Option<Vec<Task>> {
    // Where nobody of ours has written there are no words of theirs.
    let state = || Some(handle.state().unwrap_or_default()).filter(is_settled);
    let before = state()?;
    if !handle.journals.is_there() || !handle.is_same_boot() {
        return None;
    }
    let sidecar = handle.place.sidecar.as_deref()?;
    let directory = handle.place.open().ok()??;
    let seen = clock::wall();
    let (looks, remembered) = look_while_remembering(handle, directory.as_fd(), sidecar)?;
    let Looks { tasks: mut looks, has_hidden: false, .. } = looks else { return None };
    let is_many = looks.len() >= WORTH_REMEMBERING;
    let mut outlined = Vec::with_capacity(looks.len());
    let mut is_news = false;
    let mut unknown = Vec::new();
    // In the order of the remembered, which is that of the numbers.
    for known in remembered {
        match looks.remove(&known.id) {
            Some(look) if look.print == known.print => outlined.push(known),
            Some(_) => unknown.push(known.id),
            None => is_news = true,
        }
    }
    unknown.extend(looks.into_keys());
    for id in unknown {
        let (print, task) = match files::read_once(&handle.place, directory.as_fd(), &id).ok()? {
            Contents::Task(task, _, look) => (look.print, Some(outline(&task))),
            Contents::Broken(why, _) if why.may_be_torn() => return None,
            Contents::Broken(_, Some((_, look))) => (look.print, None),
            Contents::Broken(_, None) | Contents::Missing => continue,
        };
        // What was touched at this moment may change again without a trace: it is read the next time, too.
        is_news |= print.is_settled(seen);
        outlined.push(Outlined { id, print, task });
    }
    // Whoever has begun to write since may have written some of it and not the rest.
    if state()?.sequence != before.sequence {
        return None;
    }
    outlined.sort_by(|one, two| one.id.cmp(&two.id));
    if is_many && is_news {
        let settled = outlined.iter().filter(|outlined| outlined.print.is_settled(seen));
        if let Err(error) = write(sidecar, settled) {
            tracing::debug!(%error, "the outlines of a list are not remembered");
        }
    }
    Some(outlined.into_iter().filter_map(|outlined| outlined.task).collect())
}

/// Looks at every file and reads what is remembered of them, on two threads where that is much.
fn look_while_remembering(
    handle: &Handle,
    directory: BorrowedFd<'_>,
    sidecar: &Path,
) -> Option<(Looks, Vec<Outlined>)> {
    let look = || scan::look_at_all(directory, &handle.place).ok();
    if !fs::metadata(sidecar.join(FILE)).is_ok_and(|found| found.len() >= WORTH_A_THREAD) {
        return Some((look()?, read(sidecar)));
    }
    thread::scope(|scope| {
        let remembered = scope.spawn(|| read(sidecar));
        let looks = look()?;
        Some((looks, remembered.join().ok()?))
    })
}

fn is_settled(state: &TurnRecord) -> bool {
    !state.busy && state.sequence.is_multiple_of(2)
}

/// What there is in a file.
#[derive(Debug)]
struct Outlined {
    /// The task that it is called after.
    id: TaskId,
    print: Fingerprint,
    /// The task in it, in outline; none where it holds nothing that is one.
    task: Option<Task>,
}

/// The file in which outlines are remembered.
#[derive(Serialize, Deserialize)]
struct Memory<T> {
    format: u32,
    files: Vec<T>,
}

/// One file of the list: the task; inode, time of change and size; its state, none where it holds no task; whether it is internal; what it
/// waits for; what it is a part of; what is being done.
#[derive(Serialize, Deserialize)]
struct Row(String, u64, i64, u64, Option<u8>, bool, Vec<String>, Option<String>, Option<String>);

fn read(sidecar: &Path) -> Vec<Outlined> {
    let Ok(bytes) = regular_file::read(&sidecar.join(FILE), LARGEST) else { return Vec::new() };
    match serde_json::from_slice::<Memory<Row>>(&bytes) {
        Ok(Memory { format: FORMAT, files }) => files.into_iter().filter_map(remembered).collect(),
        _ => Vec::new(),
    }
}

fn remembered(row: Row) -> Option<Outlined> {
    let Row(id, inode, mtime, size, status, is_internal, blocked_by, parent, doing) = row;
    let id = TaskId::stored(id);
    let print = Fingerprint { inode, mtime, size };
    let Some(status) = status else { return Some(Outlined { id, print, task: None }) };
    let status = *Status::ALL.get(usize::from(status))?;
    let mut metadata = serde_json::Map::new();
    if is_internal {
        metadata.insert("_internal".to_owned(), json!(true));
    }
    metadata.extend(parent.map(|parent| ("parent".to_owned(), json!(parent))));
    let task = Task {
        status,
        active_form: doing,
        blocked_by: blocked_by.into_iter().map(TaskId::stored).collect(),
        metadata: (!metadata.is_empty()).then_some(metadata),
        ..Task::new(id.clone(), "")
    };
    Some(Outlined { id, print, task: Some(task) })
}

fn write<'a>(sidecar: &Path, outlined: impl Iterator<Item = &'a Outlined>) -> io::Result<()> {
    let row = |outlined: &Outlined| {
        let id = outlined.id.as_str().to_owned();
        let Fingerprint { inode, mtime, size } = outlined.print;
        match &outlined.task {
            None => Row(id, inode, mtime, size, None, false, Vec::new(), None, None),
            Some(task) => {
                let blocked_by = task.blocked_by.iter().map(|id| id.as_str().to_owned()).collect();
                let parent = task.parent().map(|parent| parent.as_str().to_owned());
                let status = Some(task.status as u8);
                Row(id, inode, mtime, size, status, task.is_internal(), blocked_by, parent, task.active_form.clone())
            }
        }
    };
    let text = serde_json::to_vec(&Memory { format: FORMAT, files: outlined.map(row).collect() })?;
    let new = sidecar.join(format!("{FILE}.new"));
    let written = private::create_new(&new).and_then(|mut file| {
        file.write_all(&text)?;
        fs::rename(&new, sidecar.join(FILE))
    });
    if written.is_err() {
        // Somebody who died may have left it. Somebody who is at it loses nothing that is not found out again.
        let _ = fs::remove_file(&new);
    }
    written
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;

    use taskyard_core::rules::looking::summarizing::{Summary, summarize};
    use taskyard_core::{AgentName, ListId, Rules, TaskId};

    use super::{FILE, WORTH_REMEMBERING};
    use crate::Yard;
    use crate::operations::{NewTask, Update};
    use crate::store::{FileStore, FileStoreOptions};

    fn yard(place: &Path) -> Yard {
        let (tasks, data) = (place.join("tasks"), Some(place.join("data")));
        let store = Arc::new(FileStore::open(FileStoreOptions { tasks, data, rules: Rules::Strict }));
        Yard::new(store, ListId::new("L").unwrap(), AgentName::new("ana").unwrap())
    }

    /// Returns what outlines say, and that it is what the list says.
    fn seen(place: &Path) -> Summary {
        let yard = yard(place);
        let outlines = yard.store().care().unwrap().outlines(yard.list_id());
        let outlined = summarize(&outlines.expect("nobody is at the list"), Rules::Strict);
        let tasks = yard.store().read(yard.list_id()).unwrap().tasks().unwrap();
        assert_eq!(outlined, summarize(&tasks, Rules::Strict));
        outlined
    }

    #[test]
    fn whoever_changes_a_file_changes_what_outlines_say() {
        let place = tempfile::tempdir().unwrap();
        let one = yard(place.path());
        let count = WORTH_REMEMBERING + 10;
        for number in 1..=count {
            one.create(NewTask { subject: format!("Task {number}"), ..NewTask::default() }).unwrap().done().unwrap();
        }
        assert_eq!(seen(place.path()).counts, [count, 0, 0]);
        let id = TaskId::number;
        one.start(&id(3)).unwrap().done().unwrap();
        one.done(&id(4)).unwrap().done().unwrap();
        let after = Update { add_blocked_by: vec![id(3)], ..Update::default() };
        one.update(&id(5), after).unwrap().done().unwrap();
        for _ in 0..2 {
            let expected = Summary { doing: Some("Task 3".into()), counts: [count - 2, 1, 1], blocked: 1 };
            assert_eq!(seen(place.path()), expected);
        }
        let memory = one.store().care().unwrap().memory_of(one.list_id()).unwrap().join(FILE);
        assert!(memory.exists());
        // In place, and with as many bytes, as a client would.
        let file = place.path().join("tasks/L/3.json");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("Task 3", "Work 3")).unwrap();
        assert_eq!(seen(place.path()).doing.as_deref(), Some("Work 3"));
        fs::remove_file(&file).unwrap();
        fs::write(place.path().join("tasks/L/6.json"), "{}").unwrap();
        assert_eq!(seen(place.path()), Summary { doing: None, counts: [count - 3, 0, 1], blocked: 0 });
        // Whatever stands there instead is found out, and done without.
        fs::write(&memory, "{\"format\":2,\"files\":[]}").unwrap();
        fs::create_dir(memory.with_extension("new")).unwrap();
        assert_eq!(seen(place.path()).counts, [count - 3, 0, 1]);
    }
}
