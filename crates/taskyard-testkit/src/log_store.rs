//! A store in one log file, outside of the `taskyard` crate: the example of a store.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use taskyard::core::{
    AgentName, Entry, Event, Holder, Image, Lease, ListId, Moment, Op, ProcessMark, Remark, Revision, Rules, TaskId,
    Timestamp, Token,
};
use taskyard::store::kit::{
    Commit, Followed, Home, ListState, StagedPair, StagedTxn, Staging, StateSnapshot, Writer, select, watch,
};
use taskyard::store::{
    Capabilities, HistoryQuery, ListInfo, ListWatch, Moved, Signature, Snapshot, Store, StoreClock, StoreError, Txn,
    TxnPair,
};

/// Keeps all lists of a directory in one append-only file.
#[derive(Debug)]
pub struct LogStore {
    log: Arc<Log>,
    rules: Rules,
}

impl LogStore {
    /// Opens the store of a directory, which must exist.
    pub fn open(directory: impl Into<PathBuf>, rules: Rules) -> Self {
        Self { log: Arc::new(Log { directory: directory.into(), lists: Mutex::default() }), rules }
    }

    fn catch_up(&self, list: &ListId, writer: LogWriter) -> Result<StagedTxn<LogWriter>, StoreError> {
        Ok(StagedTxn::new(writer, self.log.caught_up(|lists| lists.state(list))?, self.rules))
    }
}

impl Store for LogStore {
    fn now(&self) -> Result<Moment, StoreError> {
        Ok(StoreClock::default().now())
    }

    fn lists(&self) -> Result<Vec<ListInfo>, StoreError> {
        self.log.caught_up(|lists| lists.names().map(|list| lists.state(list).info(list)).collect())
    }

    fn read(&self, list: &ListId) -> Result<Box<dyn Snapshot + '_>, StoreError> {
        Ok(Box::new(StateSnapshot { state: self.log.caught_up(|lists| lists.state(list))? }))
    }

    fn write(&self, list: &ListId) -> Result<Box<dyn Txn + '_>, StoreError> {
        Ok(Box::new(self.catch_up(list, LogWriter::wait(&self.log, list)?)?))
    }

    fn try_write(&self, list: &ListId) -> Result<Option<Box<dyn Txn + '_>>, StoreError> {
        let Some(writer) = LogWriter::without_waiting(&self.log, list)? else { return Ok(None) };
        Ok(Some(Box::new(self.catch_up(list, writer)?)))
    }

    fn write_both(&self, from: &ListId, into: &ListId) -> Result<Box<dyn TxnPair + '_>, StoreError> {
        Ok(Box::new(StagedPair::open((from, into), |list| self.catch_up(list, LogWriter::wait(&self.log, list)?))?))
    }

    fn history(&self, list: &ListId, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        self.log.caught_up(|lists| select(lists.journal(list), query))
    }

    fn watch(&self, list: &ListId, moved: Moved) -> Result<Box<dyn ListWatch>, StoreError> {
        Ok(watch(Arc::new(FollowedList { log: Arc::clone(&self.log), list: list.clone() }), moved))
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::default()
    }

    fn renew(&self, list: &ListId, leases: &[Lease]) -> Result<(), StoreError> {
        self.log.append(|lists| vec![(list.clone(), lists.state(list).renewal(leases))])
    }
}

/// A list whose journal a follower follows.
struct FollowedList {
    log: Arc<Log>,
    list: ListId,
}

impl Followed for FollowedList {
    fn list(&self) -> &ListId {
        &self.list
    }

    fn directories(&self) -> Vec<&Path> {
        vec![&self.log.directory]
    }

    fn entries(&self, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        self.log.caught_up(|lists| select(lists.journal(&self.list), query))
    }
}

/// The log of a directory, and its parsed contents.
#[derive(Debug)]
struct Log {
    directory: PathBuf,
    lists: Mutex<Lists>,
}

/// Every list, up to the position read in the log.
#[derive(Debug, Default)]
struct Lists {
    /// How many bytes of the log are in here.
    read: u64,
    lists: BTreeMap<ListId, (Arc<ListState>, Vec<Event>)>,
}

impl Lists {
    /// Returns the lists there are, by name.
    fn names(&self) -> impl Iterator<Item = &ListId> {
        self.lists.iter().filter(|(_, (state, _))| state.exists).map(|(list, _)| list)
    }

    /// Returns a list as it is; one that does not exist is empty.
    fn state(&self, list: &ListId) -> Arc<ListState> {
        let new = || Arc::new(ListState { home: Home::Images(list.directory().into()), ..ListState::default() });
        self.lists.get(list).map_or_else(new, |(state, _)| Arc::clone(state))
    }

    /// Returns the commits of a list.
    fn journal(&self, list: &ListId) -> &[Event] {
        self.lists.get(list).map_or(&[], |(_, journal)| journal)
    }

    fn apply(&mut self, line: Line) {
        for (list, commit) in line {
            let new = self.state(&list);
            let (state, journal) = self.lists.entry(list.clone()).or_insert_with(|| (new, Vec::new()));
            Arc::make_mut(state).apply(&commit);
            journal.extend(commit.event(&list));
        }
    }
}

impl Log {
    /// Reads what the log has that was not read yet, and has a look at it.
    fn caught_up<T>(&self, look: impl FnOnce(&Lists) -> T) -> Result<T, StoreError> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        match File::open(self.directory.join("log")) {
            Ok(file) => catch_up(&mut lists, file).map_err(failed("read the log"))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed("open the log")(error)),
        }
        Ok(look(&lists))
    }

    /// Writes the line that is to come after what the log holds: it exists when this has returned, whatever dies then.
    fn append(&self, line: impl FnOnce(&Lists) -> Line) -> Result<(), StoreError> {
        let file = File::options().create(true).truncate(false).write(true).open(self.directory.join("log"));
        let file = file.map_err(failed("open the log"))?;
        flock(&file, FlockOperation::LockExclusive).map_err(|error| failed("lock the log")(error.into()))?;
        let (end, mut line) = self.caught_up(|lists| (lists.read, line(lists)))?;
        line.retain(|(_, commit)| !commit.is_empty());
        if line.is_empty() {
            return Ok(());
        }
        let written = file.set_len(end).and_then(|()| file.write_all_at(to_text(&line).as_bytes(), end));
        let written = written.and_then(|()| file.sync_data());
        // Half a line would be cut off by the next writer; a whole one whose flush failed must not be read.
        written.inspect_err(|_| drop(file.set_len(end))).map_err(failed("write to the log"))
    }
}

/// Wraps what the system said.
fn failed(doing: &'static str) -> impl FnOnce(io::Error) -> StoreError {
    move |source| StoreError::Failed { doing: doing.to_owned(), source: source.into() }
}

fn catch_up(lists: &mut Lists, mut file: File) -> io::Result<()> {
    file.seek(SeekFrom::Start(lists.read))?;
    let mut file = BufReader::new(file);
    let mut text = Vec::new();
    while file.read_until(b'\n', &mut text)? > 0 && text.ends_with(b"\n") {
        lists.read += text.len() as u64;
        lists.apply(from_text(&text)?);
        text.clear();
    }
    Ok(())
}

/// What one line says: what happened to one list, or to two at once.
type Line = Vec<(ListId, Commit)>;

/// Writes a line.
fn to_text(line: &Line) -> String {
    let line: Value = line.iter().map(|(list, commit)| commit_to_json(list, commit)).collect();
    format!("{line}\n")
}

/// Reads a line.
fn from_text(text: &[u8]) -> io::Result<Line> {
    let line: Vec<Value> = serde_json::from_slice(text)?;
    let read = line.iter().map(commit_from_json).collect::<Option<_>>();
    read.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a line of the log says what no line says"))
}

fn commit_to_json(list: &ListId, commit: &Commit) -> Value {
    let leases: Vec<Value> =
        commit.leases.iter().map(|(task, lease)| json!([task.as_str(), lease.as_ref().map(lease_to_json)])).collect();
    let entries: Vec<Value> = commit.entries.iter().map(entry_to_json).collect();
    json!({ "list": list.as_str(), "entries": entries, "leases": leases, "token": commit.last_token.0, "mark": commit.mark })
}

fn commit_from_json(value: &Value) -> Option<(ListId, Commit)> {
    let entries = value["entries"].as_array()?.iter().map(entry_from_json).collect::<Option<Vec<_>>>()?;
    let leases = value["leases"].as_array()?.iter().map(|pair| {
        let lease = if pair[1].is_null() { None } else { Some(lease_from_json(&pair[1])?) };
        Some((TaskId::stored(pair[0].as_str()?), lease))
    });
    let (token, mark) = (Token(value["token"].as_u64()?), value["mark"].as_f64()?);
    Some((
        ListId::new(value["list"].as_str()?).ok()?,
        Commit::new(entries, leases.collect::<Option<_>>()?, token, mark),
    ))
}

fn entry_to_json(entry: &Entry) -> Value {
    let ready: Vec<&str> = entry.remark.now_ready.iter().map(TaskId::as_str).collect();
    json!({
        "revision": entry.revision.0, "at": entry.at.0, "actor": entry.actor.as_str(), "op": entry.op.as_str(),
        "task": entry.task.as_str(), "before": entry.before.as_ref().map(text_of), "after": entry.after.as_ref().map(text_of),
        "undoes": entry.undoes.iter().map(|revision| revision.0).collect::<Vec<_>>(),
        "notice": entry.remark.notice, "ready": ready, "attempt": entry.attempt.map(|attempt| attempt.to_string()),
    })
}

fn entry_from_json(value: &Value) -> Option<Entry> {
    let ready = value["ready"].as_array()?.iter().filter_map(Value::as_str).map(TaskId::stored);
    Some(Entry {
        revision: Revision(value["revision"].as_u64()?),
        at: Timestamp(value["at"].as_i64()?),
        actor: AgentName::new(value["actor"].as_str()?).ok()?,
        op: value["op"].as_str()?.parse().ok()?,
        task: TaskId::stored(value["task"].as_str()?),
        before: value["before"].as_str().map(image_of),
        after: value["after"].as_str().map(image_of),
        undoes: value["undoes"].as_array()?.iter().filter_map(Value::as_u64).map(Revision).collect(),
        remark: Remark {
            notice: value["notice"].as_str().map(str::to_owned),
            now_ready: ready.collect(),
            ..Remark::default()
        },
        attempt: value["attempt"].as_str().and_then(|attempt| attempt.parse().ok()),
        db_user: None,
    })
}

/// An image may hold any bytes, and JSON only text: each byte is the character of its number.
fn text_of(image: &Image) -> String {
    image.bytes().iter().map(|byte| char::from(*byte)).collect()
}

fn image_of(text: &str) -> Image {
    Image::new(text.chars().filter_map(|character| u8::try_from(character).ok()).collect::<Vec<u8>>())
}

fn lease_to_json(lease: &Lease) -> Value {
    let holder = lease.holder.as_ref().map(|holder| {
        let ProcessMark { machine, pid_space, boot, pid, started } = holder.process();
        let grace = match holder {
            Holder::Connection { grace, .. } => Some(grace.as_millis() as u64),
            Holder::Process(_) => None,
        };
        json!([machine, pid_space, boot, pid, started, grace])
    });
    let ends = lease.ends.as_ref().map(|ends| json!([ends.wall.0, ends.boot, ends.since_boot]));
    json!({
        "task": lease.task.as_str(), "agent": lease.agent.as_str(), "token": lease.token.0, "taken": lease.taken.0,
        "ttl": lease.ttl.map(|ttl| ttl.as_millis() as u64), "ends": ends, "holder": holder,
    })
}

fn lease_from_json(value: &Value) -> Option<Lease> {
    let ends = |ends: &Value| {
        let (wall, since_boot) = (Timestamp(ends[0].as_i64()?), ends[2].as_i64()?);
        Some(Moment { wall, boot: ends[1].as_str()?.to_owned(), since_boot })
    };
    let holder = |holder: &Value| {
        let text = |place: usize| holder[place].as_str().map(str::to_owned);
        let (pid, started) = (u32::try_from(holder[3].as_u64()?).ok()?, holder[4].as_u64()?);
        let process = ProcessMark { machine: text(0)?, pid_space: text(1)?, boot: text(2)?, pid, started };
        Some(match holder[5].as_u64() {
            Some(grace) => Holder::Connection { process, grace: Duration::from_millis(grace) },
            None => Holder::Process(process),
        })
    };
    Some(Lease {
        task: TaskId::stored(value["task"].as_str()?),
        agent: AgentName::new(value["agent"].as_str()?).ok()?,
        token: Token(value["token"].as_u64()?),
        taken: Timestamp(value["taken"].as_i64()?),
        ttl: value["ttl"].as_u64().map(Duration::from_millis),
        ends: ends(&value["ends"]),
        holder: holder(&value["holder"]),
    })
}

/// The one writer of a list. The flock of the list's file is given back with it.
#[derive(Debug)]
struct LogWriter {
    log: Arc<Log>,
    list: ListId,
    _lock: File,
}

impl LogWriter {
    /// Waits until no other process writes to a list.
    fn wait(log: &Arc<Log>, list: &ListId) -> Result<Self, StoreError> {
        Self::lock(log, list, FlockOperation::LockExclusive).map_err(failed("lock a list"))
    }

    /// Becomes the writer of a list if there is none.
    fn without_waiting(log: &Arc<Log>, list: &ListId) -> Result<Option<Self>, StoreError> {
        match Self::lock(log, list, FlockOperation::NonBlockingLockExclusive) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            locked => locked.map(Some).map_err(failed("lock a list")),
        }
    }

    fn lock(log: &Arc<Log>, list: &ListId, lock: FlockOperation) -> io::Result<Self> {
        let file = File::create(log.directory.join(format!("{}.turn", list.directory())))?;
        flock(&file, lock)?;
        Ok(Self { log: Arc::clone(log), list: list.clone(), _lock: file })
    }

    /// Writes what several writers have staged: one line, which is in the log or is not.
    fn write<const N: usize>(
        staged: [(Self, Staging); N],
        signature: &Signature,
    ) -> Result<[Option<Event>; N], StoreError> {
        let log = Arc::clone(&staged[0].0.log);
        let now = StoreClock::default().now().wall;
        let mut commits = staged.map(|(writer, staging)| (writer, staging.into_commit(now, signature)));
        log.append(|lists| {
            let mut line = Vec::new();
            if let (Op::Rename, [(from, _), (into, commit)]) = (signature.op, commits.as_mut_slice()) {
                let (state, newest) = (lists.state(&from.list), lists.state(&into.list).revision);
                commit.go_on_from(state.revision, state.last_token);
                let repeated = Commit::repeated(lists.journal(&from.list), newest);
                line.extend(repeated.map(|commit| (into.list.clone(), commit)));
            }
            line.extend(commits.iter().map(|(writer, commit)| (writer.list.clone(), commit.clone())));
            line
        })?;
        Ok(commits.map(|(writer, commit)| commit.event(&writer.list)))
    }
}

impl Writer for LogWriter {
    fn now(&self) -> Result<Moment, StoreError> {
        Ok(StoreClock::default().now())
    }

    fn commit(self, staging: Staging, signature: &Signature) -> Result<Option<Event>, StoreError> {
        Self::write([(self, staging)], signature).map(|[event]| event)
    }

    fn commit_both(
        from: (Self, Staging),
        into: (Self, Staging),
        signature: &Signature,
    ) -> Result<[Option<Event>; 2], StoreError> {
        Self::write([from, into], signature)
    }
}
