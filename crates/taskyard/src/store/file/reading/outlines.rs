//! A list in a few numbers, for a caller that looks at it several times a second: every file is recognised by its fingerprint, and of its
//! contents only what a summary needs is remembered from the last time, with the summary itself.
//!
//! It opens no journal, takes no lock and records nothing of what other programs did.

use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;
use std::{fs, thread};

use serde::{Deserialize, Serialize};
use serde_json::json;
use taskyard_core::rules::looking::summarizing::{Summary, outline, summarize};
use taskyard_core::{Rules, Status, Task, TaskId};

use super::files::{self, Contents};
use super::scan::{self, Looks};
use crate::store::file::handle::Handle;
use crate::store::locks::fingerprint::{Fingerprint, look_at, look_through};
use crate::store::locks::list_paths::c_name;
use crate::store::locks::turn_record::TurnRecord;
use crate::{clock, private, regular_file};

/// The file beside the journal in which outlines are remembered.
const FILE: &str = "outlines";
/// What the file says of its form.
const FORMAT: u32 = 3;
/// A larger one is none of ours.
const LARGEST: u64 = 64 << 20;
/// Fewer files are read each time: that takes no longer.
const WORTH_REMEMBERING: usize = 50;
/// A second thread costs more than it saves where fewer files are looked at.
const WORTH_A_THREAD: usize = 300;

/// Returns the summary of a list. None where one of our writers is at work or died at it, where files are hidden or half written, and
/// where we have no memory of the list: then it takes the usual look.
pub(in crate::store) fn summary(handle: &Handle, rules: Rules) -> Option<Summary> {
    // Where no process of ours has written there is no record of a turn.
    let state = || Some(handle.files.state().unwrap_or_default()).filter(is_settled);
    let before = state()?;
    if !handle.journals.is_there() || !handle.files.is_same_boot().unwrap_or(false) {
        return None;
    }
    let sidecar = handle.files.place.sidecar.as_deref()?;
    let directory = handle.files.place.open().ok()??;
    let seen = clock::wall();
    let text = regular_file::read(&sidecar.join(FILE), LARGEST).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let memory = text.as_deref().and_then(Memory::parse);
    let folder = look_through(directory.as_fd()).ok()?.print;
    let summary = match memory {
        Some(memory) if memory.is_of(folder, rules) && memory.is_unchanged(directory.as_fd()) => {
            memory.header.summary()
        }
        memory => look_anew(handle, directory.as_fd(), memory, (rules, seen, folder))?,
    };
    // A writer that has begun since may have written some of it and not the rest.
    (state()?.sequence == before.sequence).then_some(summary)
}

fn is_settled(state: &TurnRecord) -> bool {
    !state.busy && state.sequence.is_multiple_of(2)
}

/// Looks at every file, reads those that look different, and remembers what it found.
fn look_anew(
    handle: &Handle,
    directory: BorrowedFd<'_>,
    memory: Option<Memory<'_>>,
    (rules, seen, folder): (Rules, i64, Fingerprint),
) -> Option<Summary> {
    let Looks { tasks: mut looks, has_hidden: false, .. } = scan::look_at_all(directory, &handle.files.place).ok()?
    else {
        return None;
    };
    let (count, mut outlined) = (looks.len(), Vec::with_capacity(looks.len()));
    let mut is_news = memory.as_ref().is_none_or(|memory| !memory.is_of(folder, rules));
    let last_seen = memory.as_ref().map_or(0, |memory| memory.header.seen);
    for row in memory.into_iter().flat_map(|memory| memory.rows) {
        let id = TaskId::stored(row.id);
        if let Some(look) = looks.get(&id)
            && look.is_unchanged(&row.print, last_seen)
            && let Some(known) = row.outlined()
        {
            looks.remove(&id);
            outlined.push(known);
        }
    }
    is_news |= outlined.len() != count;
    for id in looks.into_keys() {
        let (print, task) = match files::read_once(&handle.files.place, directory, &id).ok()? {
            Contents::Task(task, _, look) => (look.print, Some(outline(&task))),
            Contents::Broken(why, _) if why.may_be_torn() => return None,
            Contents::Broken(_, Some((_, look))) => (look.print, None),
            Contents::Broken(_, None) | Contents::Missing => continue,
        };
        outlined.push(Outlined { id, print, task });
    }
    outlined.sort_by(|one, two| one.id.cmp(&two.id));
    let tasks: Vec<Task> = outlined.iter().filter_map(|outlined| outlined.task.clone()).collect();
    let summary = summarize(&tasks, rules);
    // What was touched at this moment may change again without a trace: it is read the next time, too.
    let is_worth_it = count >= WORTH_REMEMBERING && is_news && outlined.iter().any(|one| one.print.is_settled(seen));
    if let Some(sidecar) = handle.files.place.sidecar.as_deref().filter(|_| is_worth_it) {
        let header = Header::new(folder, rules, &summary, seen);
        // Its time tells of the next name that comes or goes only once it is settled.
        let is_all = folder.is_settled(seen) && outlined.iter().all(|one| one.print.is_settled(seen));
        let header = if is_all { header } else { Header { directory: None, ..header } };
        let settled = outlined.iter().filter(|outlined| outlined.print.is_settled(seen));
        if let Err(error) = write(sidecar, &header, settled) {
            tracing::debug!(%error, "the outlines of a list are not remembered");
        }
    }
    Some(summary)
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

/// The file in which outlines are remembered: the header, and a line for each file of the list.
struct Memory<'a> {
    header: Header,
    rows: Vec<Row<'a>>,
}

/// The first line.
#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    /// Inode, time of change and size of the list's directory; none where something was touched at the moment of the look.
    directory: Option<(u64, i64, u64)>,
    /// When the files were looked at, in nanoseconds.
    seen: i64,
    /// The rules that the summary was made by.
    rules: String,
    doing: Option<String>,
    counts: [usize; 3],
    blocked: usize,
}

/// One file: inode, time of change, size and the task's id, and behind a tab what is in it.
#[derive(Clone, Copy)]
struct Row<'a> {
    print: Fingerprint,
    id: &'a str,
    outline: &'a str,
}

/// The outline of a task: its state, whether it is internal, what it waits for, what it is a part of, and what is being done.
#[derive(Serialize, Deserialize)]
struct OutlineText(u8, bool, Vec<String>, Option<String>, Option<String>);

impl<'a> Memory<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (first, rest) = text.split_once('\n')?;
        let header: Header = serde_json::from_str(first).ok().filter(|header: &Header| header.format == FORMAT)?;
        let rows = rest.lines().map(Row::parse).collect::<Option<Vec<_>>>()?;
        Some(Self { header, rows })
    }

    /// Tells whether it is about a directory in which no name has come or gone since, and about these rules.
    fn is_of(&self, folder: Fingerprint, rules: Rules) -> bool {
        let Fingerprint { inode, mtime, size } = folder;
        self.header.directory == Some((inode, mtime, size)) && self.header.rules == format!("{rules:?}")
    }

    /// Tells whether every file looks as it did.
    fn is_unchanged(&self, directory: BorrowedFd<'_>) -> bool {
        let are = |rows: &[Row<'_>]| rows.iter().all(|row| row.is_unchanged(directory, self.header.seen));
        if self.rows.len() < WORTH_A_THREAD {
            return are(&self.rows);
        }
        let (some, others) = self.rows.split_at(self.rows.len() / 2);
        thread::scope(|scope| {
            let others = scope.spawn(|| are(others));
            are(some) && others.join().unwrap_or(false)
        })
    }
}

impl Header {
    fn new(folder: Fingerprint, rules: Rules, summary: &Summary, seen: i64) -> Self {
        let Fingerprint { inode, mtime, size } = folder;
        let Summary { doing, counts, blocked } = summary.clone();
        let directory = Some((inode, mtime, size));
        Self { format: FORMAT, directory, seen, rules: format!("{rules:?}"), doing, counts, blocked }
    }

    fn summary(self) -> Summary {
        Summary { doing: self.doing, counts: self.counts, blocked: self.blocked }
    }
}

impl<'a> Row<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (file, outline) = line.split_once('\t')?;
        let mut words = file.splitn(4, ' ');
        let print = Fingerprint {
            inode: words.next()?.parse().ok()?,
            mtime: words.next()?.parse().ok()?,
            size: words.next()?.parse().ok()?,
        };
        Some(Self { print, id: words.next()?, outline })
    }

    fn is_unchanged(&self, directory: BorrowedFd<'_>, seen: i64) -> bool {
        let name = c_name(&format!("{}.json", self.id));
        look_at(directory, &name).is_ok_and(|look| look.is_some_and(|look| look.is_unchanged(&self.print, seen)))
    }

    fn outlined(&self) -> Option<Outlined> {
        let id = TaskId::stored(self.id);
        if self.outline.is_empty() {
            return Some(Outlined { id, print: self.print, task: None });
        }
        let OutlineText(status, is_internal, blocked_by, parent, doing) = serde_json::from_str(self.outline).ok()?;
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
        Some(Outlined { id, print: self.print, task: Some(task) })
    }
}

fn write<'a>(sidecar: &Path, header: &Header, outlined: impl Iterator<Item = &'a Outlined>) -> io::Result<()> {
    let mut text = serde_json::to_string(header)?;
    for Outlined { id, print: Fingerprint { inode, mtime, size }, task } in outlined {
        if id.as_str() != id.file_stem() || id.as_str().contains(char::is_control) {
            return Ok(());
        }
        let outline = task.as_ref().map(|task| {
            let blocked_by = task.blocked_by.iter().map(|id| id.as_str().to_owned()).collect();
            let parent = task.parent().map(|parent| parent.as_str().to_owned());
            let text = OutlineText(task.status as u8, task.is_internal(), blocked_by, parent, task.active_form.clone());
            serde_json::to_string(&text)
        });
        text.push_str(&format!("\n{inode} {mtime} {size} {id}\t{}", outline.transpose()?.unwrap_or_default()));
    }
    text.push('\n');
    let new = sidecar.join(format!("{FILE}.new"));
    let written = private::create_new(&new).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        fs::rename(&new, sidecar.join(FILE))
    });
    if written.is_err() {
        // A process that died may have left it. A process that is at it loses nothing that is not found out again.
        let _ = fs::remove_file(&new);
    }
    written
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::time::{Duration, SystemTime};
    use std::{fs, thread};

    use taskyard_core::rules::looking::summarizing::{Summary, summarize};
    use taskyard_core::{AgentName, ListId, Rules, TaskId};

    use super::{FILE, WORTH_REMEMBERING};
    use crate::operations::{NewTask, Update};
    use crate::store::journal::FileStamp;
    use crate::store::{FileStore, FileStoreOptions};
    use crate::{Yard, clock};

    fn yard(place: &Path) -> Yard {
        let (tasks, data) = (place.join("tasks"), Some(place.join("data")));
        let store = Arc::new(FileStore::open(FileStoreOptions { tasks, data, rules: Rules::Strict }));
        Yard::new(store, ListId::new("L").unwrap(), AgentName::new("ana").unwrap())
    }

    /// Returns what outlines say, and that it is what the list says.
    fn seen(place: &Path) -> Summary {
        let yard = yard(place);
        let outlined = yard.store().care().unwrap().summary(yard.list_id(), Rules::Strict);
        let outlined = outlined.expect("nobody is at the list");
        let tasks = yard.store().read(yard.list_id()).unwrap().tasks().unwrap();
        assert_eq!(outlined, summarize(&tasks, Rules::Strict));
        outlined
    }

    #[test]
    fn a_program_that_changes_a_file_changes_what_outlines_say() {
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

    #[test]
    fn where_nothing_was_touched_the_numbers_are_remembered_and_any_touch_is_seen() {
        let place = tempfile::tempdir().unwrap();
        let one = yard(place.path());
        let count = WORTH_REMEMBERING + 10;
        for number in 1..=count {
            one.create(NewTask { subject: format!("Task {number}"), ..NewTask::default() }).unwrap().done().unwrap();
        }
        let list = place.path().join("tasks/L");
        // Everything was touched an hour ago, as far as programs can set times, and nothing at this instant.
        let age = || {
            let hour_ago = SystemTime::now() - Duration::from_secs(3_600);
            let names = fs::read_dir(&list).unwrap().map(|entry| entry.unwrap().path());
            for path in names.filter(|path| path.is_file()).chain([list.clone()]) {
                let file = fs::File::open(path).unwrap();
                file.set_modified(hour_ago).unwrap();
                while !FileStamp::of(&file.metadata().unwrap()).is_settled(clock::wall()) {
                    thread::sleep(Duration::from_millis(1));
                }
            }
        };
        let memory = one.store().care().unwrap().memory_of(one.list_id()).unwrap().join(FILE);
        let remembers_all = || fs::read_to_string(&memory).is_ok_and(|text| text.contains("\"directory\":["));
        age();
        assert_eq!(seen(place.path()).counts, [count, 0, 0]);
        assert!(remembers_all());
        // What is remembered is the answer: numbers that were not counted come back.
        let text = fs::read_to_string(&memory).unwrap();
        fs::write(&memory, text.replace(&format!("[{count},0,0]"), "[7,7,7]")).unwrap();
        let summary = || yard(place.path()).summary().unwrap().counts;
        assert_eq!(summary(), [7, 7, 7]);
        // By other rules it is another answer.
        let care = one.store().care().unwrap();
        let client = Rules::Client(taskyard_core::ClientVersion::default());
        assert_eq!(care.summary(one.list_id(), client).unwrap().counts, [count, 0, 0]);
        age();
        assert_eq!(seen(place.path()).counts, [count, 0, 0]);
        assert!(remembers_all());
        let file = list.join("3.json");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("pending", "pendinG")).unwrap();
        assert_eq!(seen(place.path()).counts, [count - 1, 0, 0]);
        fs::write(&file, &text).unwrap();
        age();
        assert_eq!(seen(place.path()).counts, [count, 0, 0]);
        fs::copy(&file, list.join("1000.json")).unwrap();
        assert_eq!(seen(place.path()).counts, [count + 1, 0, 0]);
        fs::remove_file(list.join("1000.json")).unwrap();
        assert_eq!(seen(place.path()).counts, [count, 0, 0]);
    }
}
