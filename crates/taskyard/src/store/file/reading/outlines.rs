//! Cached outlines of tasks, for a caller that asks for a list's summary several times a second, and the search for the
//! dependents of a task.
//!
//! The summary recognises each file by its fingerprint and remembers only what it needs of the contents, together with
//! the result. It opens no journal, takes no lock and does not record changes by other programs.
//!
//! Dependents are found by their own `blockedBy`, since another program may have written the edge on that side only;
//! subtasks are found by their parent link, which only they contain. Every file is checked, since any may have changed,
//! but only changed files are read. Of the others the last known state is searched, and only text that mentions the
//! task or a parent is parsed.

use std::io::Write as _;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;
use std::{fs, io, thread};

use serde::{Deserialize, Serialize};
use serde_json::json;
use taskyard_core::rules::looking::statistics::{Summary, outline, summarize};
use taskyard_core::{Rules, Status, Task, TaskId};

use super::files::Contents;
use super::scan::Looks;
use super::{files, scan};
use crate::store::StoreError;
use crate::store::file::client_files::Handle;
use crate::store::journal::Journal;
use crate::store::locks::list_paths::{Fingerprint, ListPaths, Look, c_name, look_at, look_through};
use crate::store::locks::turn_record::TurnRecord;
use crate::{private, regular_file, system};

/// The file next to the journal in which outlines are cached.
const FILE: &str = "outlines";
/// The version of the cache format.
const FORMAT: u32 = 3;
/// Maximum size in bytes of a cache file; a larger one is not ours.
const LARGEST: u64 = 64 << 20;
/// Minimum number of files for caching; reading fewer takes no longer.
const WORTH_REMEMBERING: usize = 50;
/// Minimum number of files for which a second thread pays off.
const WORTH_A_THREAD: usize = 300;

/// Returns the summary of a list. Returns `None` if one of our writers is active or died, if files are hidden or half
/// written, or if we have no records of the list; the caller must then read the list.
pub(in crate::store) fn summary(handle: &Handle, rules: Rules) -> Option<Summary> {
    // A list to which no Taskyard process has written has no turn record.
    let state = || Some(handle.files.state().unwrap_or_default()).filter(is_settled);
    let before = state()?;
    if !handle.journals.is_there() || !handle.files.is_same_boot().unwrap_or(false) {
        return None;
    }
    let sidecar = handle.files.place.sidecar.as_deref()?;
    let directory = handle.files.place.open().ok()??;
    let seen = system::wall();
    let text = regular_file::read(&sidecar.join(FILE), LARGEST).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let memory = text.as_deref().and_then(Memory::parse);
    let folder = look_through(directory.as_fd()).ok()?.print;
    let summary = match memory {
        Some(memory) if memory.is_of(folder, rules) && memory.is_unchanged(directory.as_fd()) => {
            memory.header.summary()
        }
        memory => look_anew(handle, directory.as_fd(), memory, (rules, seen, folder))?,
    };
    // A writer that has started since may have written part of its commit.
    (state()?.sequence == before.sequence).then_some(summary)
}

fn is_settled(state: &TurnRecord) -> bool {
    !state.busy && state.sequence.is_multiple_of(2)
}

/// Checks every file, reads those that changed, and caches the result.
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
    // A file touched just now could change again without a visible trace, so it is read again the next time.
    let is_worth_it = count >= WORTH_REMEMBERING && is_news && outlined.iter().any(|one| one.print.is_settled(seen));
    if let Some(sidecar) = handle.files.place.sidecar.as_deref().filter(|_| is_worth_it) {
        let header = Header::new(folder, rules, &summary, seen);
        // The directory's modification time reveals the next added or removed name only once it is settled.
        let is_all = folder.is_settled(seen) && outlined.iter().all(|one| one.print.is_settled(seen));
        let header = if is_all { header } else { Header { directory: None, ..header } };
        let settled = outlined.iter().filter(|outlined| outlined.print.is_settled(seen));
        if let Err(error) = write(sidecar, &header, settled) {
            tracing::debug!(%error, "the outlines of a list are not remembered");
        }
    }
    Some(summary)
}

/// What is known about one file.
#[derive(Debug)]
struct Outlined {
    /// The task after which the file is named.
    id: TaskId,
    print: Fingerprint,
    /// The outline of its task; `None` if it does not contain one.
    task: Option<Task>,
}

/// The contents of the cache file: a header, and a line for each file of the list.
struct Memory<'a> {
    header: Header,
    rows: Vec<Row<'a>>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    /// Inode, modification time and size of the list's directory; `None` if something was touched during the check.
    directory: Option<(u64, i64, u64)>,
    /// When the files were checked, in nanoseconds.
    seen: i64,
    /// The rules used for the summary.
    rules: String,
    doing: Option<String>,
    counts: [usize; 3],
    blocked: usize,
}

/// One file: inode, modification time, size and task id, followed by a tab and the outline.
#[derive(Clone, Copy)]
struct Row<'a> {
    print: Fingerprint,
    id: &'a str,
    outline: &'a str,
}

/// The outline of a task: status, whether it is internal, its blockers, its parent, and the active form.
#[derive(Serialize, Deserialize)]
struct OutlineText(u8, bool, Vec<String>, Option<String>, Option<String>);

impl<'a> Memory<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (first, rest) = text.split_once('\n')?;
        let header: Header = serde_json::from_str(first).ok().filter(|header: &Header| header.format == FORMAT)?;
        let rows = rest.lines().map(Row::parse).collect::<Option<Vec<_>>>()?;
        Some(Self { header, rows })
    }

    /// Returns whether the cache is for these rules and for a directory in which no name was added or removed since.
    fn is_of(&self, folder: Fingerprint, rules: Rules) -> bool {
        let Fingerprint { inode, mtime, size } = folder;
        self.header.directory == Some((inode, mtime, size)) && self.header.rules == format!("{rules:?}")
    }

    /// Returns whether the metadata of every file is unchanged.
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
        // A process that died may have left it behind. If another process is writing it, nothing is lost that cannot be
        // computed again.
        let _ = fs::remove_file(&new);
    }
    written
}

/// Up to this number of files, rereading is faster than recording their fingerprints.
const MANY: usize = 64;

/// Returns the tasks blocked by a task and all tasks with a parent, in no particular order. Requires the turn, since it
/// may record fingerprints.
pub(in crate::store) fn waiting_for_or_parts(
    blocker: &TaskId,
    place: &ListPaths,
    directory: BorrowedFd<'_>,
    journal: &Journal,
) -> Result<Vec<Task>, StoreError> {
    let seen = system::wall();
    let mention = Mention::of(blocker);
    let (seen_files, known) =
        scan::look_while(place, directory, Some(journal), || journal.known_where(|content| mention.is_in(content)))?;
    let mut looks = seen_files.tasks;
    let mut found = Vec::new();
    let mut changed = Vec::new();
    for known in known {
        let look = match looks.remove(&known.id) {
            Some(look) => Some(look),
            // A directory that changes while it is read may omit a name.
            None => files::find(place, directory, &known.id)
                .map(|(_, look)| look)
                .map_err(StoreError::io("cannot look at", place.task_file(&known.id)))?,
        };
        match look {
            Some(look) if look.is_unchanged(&known.print, known.seen) => found.extend(known.task.map(|task| *task)),
            Some(_) => changed.push(known.id),
            None => {}
        }
    }
    changed.extend(looks.into_keys());
    let mut read = Vec::with_capacity(changed.len());
    for id in changed {
        let contents =
            files::read(place, directory, &id).map_err(StoreError::io("cannot read", place.task_file(&id)))?;
        read.push((id, contents));
    }
    if read.len() > MANY {
        // Fingerprints only improve speed.
        let _ = recognise_again(journal, &read, seen)
            .inspect_err(|error| tracing::debug!(%error, "fingerprints are not written down"));
    }
    found.extend(read.into_iter().filter_map(|(_, contents)| match contents {
        Contents::Task(task, ..) => Some(*task),
        Contents::Missing | Contents::Broken(..) => None,
    }));
    found.retain(|task| task.blocked_by.contains(blocker) || task.parent().is_some());
    Ok(found)
}

/// Records the fingerprints of files whose contents match our records, so that they need not be read the next time.
fn recognise_again(journal: &Journal, read: &[(TaskId, Contents)], seen: i64) -> Result<(), StoreError> {
    let mut looks: Vec<(&TaskId, &Look)> = Vec::new();
    for (id, contents) in read {
        if let Some((image, look)) = contents.image()
            && look.print.is_settled(seen)
            && journal.known(id)?.is_some_and(|known| known.image == *image)
        {
            looks.push((id, look));
        }
    }
    let transaction = journal.begin()?;
    for (id, look) in looks {
        journal.set_print(id, look.print, look.mode, seen)?;
    }
    journal.end(transaction)
}

/// A text pattern that occurs in every task that depends on a given task or has a parent.
struct Mention {
    /// The id in quotes; `None` if JSON has several ways to write it.
    quoted: Option<String>,
}

impl Mention {
    fn of(id: &TaskId) -> Self {
        let is_plain = id.as_str().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        Self { quoted: is_plain.then(|| format!("\"{id}\"")) }
    }

    fn is_in(&self, content: &[u8]) -> bool {
        match (&self.quoted, std::str::from_utf8(content)) {
            // JSON can escape any character by its code.
            (Some(quoted), Ok(text)) => {
                let is_part = text.contains("\"parent\"") || text.contains("parent_id");
                text.contains(quoted.as_str()) || is_part || text.contains("\\u")
            }
            (None, _) | (_, Err(_)) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::time::{Duration, SystemTime};
    use std::{fs, thread};

    use taskyard_core::rules::looking::statistics::{Summary, summarize};
    use taskyard_core::{AgentName, ListId, Rules, TaskId};

    use super::{FILE, WORTH_REMEMBERING};
    use crate::operations::{NewTask, Update};
    use crate::store::journal::FileStamp;
    use crate::store::{FileStore, FileStoreOptions};
    use crate::{Yard, system};

    fn yard(place: &Path) -> Yard {
        let (tasks, data) = (place.join("tasks"), Some(place.join("data")));
        let store = Arc::new(FileStore::open(FileStoreOptions { tasks, data, rules: Rules::Strict }));
        Yard::new(store, ListId::new("L").unwrap(), AgentName::new("ana").unwrap())
    }

    /// Returns the cached summary, after checking it against the list.
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
        // In place and with the same number of bytes, as a client would.
        let file = place.path().join("tasks/L/3.json");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("Task 3", "Work 3")).unwrap();
        assert_eq!(seen(place.path()).doing.as_deref(), Some("Work 3"));
        fs::remove_file(&file).unwrap();
        fs::write(place.path().join("tasks/L/6.json"), "{}").unwrap();
        assert_eq!(seen(place.path()), Summary { doing: None, counts: [count - 3, 0, 1], blocked: 0 });
        // Anything else in its place is detected and ignored.
        fs::write(&memory, "{\"format\":2,\"files\":[]}").unwrap();
        fs::create_dir(memory.with_extension("new")).unwrap();
        assert_eq!(seen(place.path()).counts, [count - 3, 0, 1]);
    }

    #[test]
    fn untouched_numbers_are_cached_and_any_touch_is_seen() {
        let place = tempfile::tempdir().unwrap();
        let one = yard(place.path());
        let count = WORTH_REMEMBERING + 10;
        for number in 1..=count {
            one.create(NewTask { subject: format!("Task {number}"), ..NewTask::default() }).unwrap().done().unwrap();
        }
        let list = place.path().join("tasks/L");
        // Set all modification times to an hour ago, and wait until no change time is recent.
        let age = || {
            let hour_ago = SystemTime::now() - Duration::from_secs(3_600);
            let names = fs::read_dir(&list).unwrap().map(|entry| entry.unwrap().path());
            for path in names.filter(|path| path.is_file()).chain([list.clone()]) {
                let file = fs::File::open(path).unwrap();
                file.set_modified(hour_ago).unwrap();
                while !FileStamp::of(&file.metadata().unwrap()).is_settled(system::wall()) {
                    thread::sleep(Duration::from_millis(1));
                }
            }
        };
        let memory = one.store().care().unwrap().memory_of(one.list_id()).unwrap().join(FILE);
        let remembers_all = || fs::read_to_string(&memory).is_ok_and(|text| text.contains("\"directory\":["));
        age();
        assert_eq!(seen(place.path()).counts, [count, 0, 0]);
        assert!(remembers_all());
        // The cached summary is returned: numbers that were never counted come back.
        let text = fs::read_to_string(&memory).unwrap();
        fs::write(&memory, text.replace(&format!("[{count},0,0]"), "[7,7,7]")).unwrap();
        let summary = || yard(place.path()).summary().unwrap().counts;
        assert_eq!(summary(), [7, 7, 7]);
        // Under other rules the cache is not used.
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

#[cfg(test)]
mod dependents_tests {
    use taskyard_core::TaskId;

    use super::Mention;

    fn may_name(id: &str, content: &str) -> bool {
        Mention::of(&TaskId::stored(id)).is_in(content.as_bytes())
    }

    #[test]
    fn a_text_that_cannot_name_the_task_is_passed_over() {
        assert!(may_name("7", r#"{"blockedBy":["1","7"]}"#));
        assert!(!may_name("7", r#"{"blockedBy":["77"],"description":"after 7"}"#));
        assert!(may_name("7", r#"{"metadata":{"parent":1}}"#));
        assert!(may_name("7", r#"{"description":"<macf_task_metadata>\nparent_id: 1\n</macf_task_metadata>"}"#));
    }

    #[test]
    fn escaped_json_key_is_never_overlooked() {
        assert!(may_name("7", r#"{"blockedBy":["\u0037"]}"#));
        assert!(may_name("a/b", r#"{"blockedBy":["a\/b"]}"#));
        assert!(may_name("é", r#"{"blockedBy":[]}"#));
    }
}
