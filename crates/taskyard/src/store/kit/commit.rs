//! Commits, and the state of a list they are applied to.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use taskyard_core::dialect::native::Unreadable;
use taskyard_core::rules::changes::numbering::counted;
use taskyard_core::{Entry, Event, Image, Lease, ListId, Revision, Status, Task, TaskId, Timestamp, Token};

use crate::store::{HistoryQuery, ListInfo, Lookup, Snapshot, StoreError, UnreadableTask};

/// All changes of one transaction. If only leases change, it has no entries; then it is not a revision and watchers are
/// not notified.
#[derive(Clone, Debug)]
pub struct Commit {
    /// What changes in each task.
    pub entries: Vec<Entry>,
    /// The changed leases with their new values, or `None` for those that end.
    pub leases: BTreeMap<TaskId, Option<Lease>>,
    /// The last token issued, even if its lease has ended.
    pub last_token: Token,
    /// The highest number ever removed.
    pub mark: f64,
    /// The new state of the task of each entry, parsed.
    pub(super) after: Vec<Option<Arc<Kept>>>,
}

impl Commit {
    /// Creates a commit from what a journal stored of it.
    pub fn new(entries: Vec<Entry>, leases: BTreeMap<TaskId, Option<Lease>>, last_token: Token, mark: f64) -> Self {
        let read = |entry: &Entry| entry.after.as_ref().map(|image| Kept::new(entry.task.clone(), image.clone()));
        let after = entries.iter().map(read).collect();
        Self { entries, leases, last_token, mark, after }
    }

    /// Moves the commit past the history of the list that is renamed to this one: past its newest revision and the last
    /// token it issued.
    pub fn go_on_from(&mut self, newest: Revision, last_token: Token) {
        for entry in &mut self.entries {
            entry.revision = entry.revision.max(newest.next());
        }
        self.last_token = self.last_token.max(last_token);
    }

    /// Returns the commits of a renamed list that are newer than `since`, without their leases, to repeat in the new
    /// list.
    pub fn repeated(former: &[Event], since: Revision) -> impl Iterator<Item = Self> {
        let newer = former.iter().filter(move |event| event.revision > since);
        newer.map(|event| Self::new(event.entries.clone(), BTreeMap::new(), Token(0), 0.0))
    }

    /// Returns whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.leases.is_empty()
    }

    /// Returns the event that watchers get, or `None` if the commit has no entries.
    pub fn event(&self, list: &ListId) -> Option<Event> {
        let revision = self.entries.first()?.revision;
        Some(Event { list: list.clone(), revision, entries: self.entries.clone() })
    }
}

/// Returns the entries of a journal that match a query, oldest first.
pub fn select(journal: &[Event], query: &HistoryQuery) -> Vec<Entry> {
    let task = query.task.as_ref().map(key_of);
    let is_of_task = |entry: &&Entry| task.as_ref().is_none_or(|task| entry.task == *task);
    let is_wanted = |entry: &&Entry| is_of_task(entry) && query.wants_deed(entry);
    let is_attempt = |event: &&Event| {
        let attempt = event.entries.first().and_then(|first| first.attempt);
        query.attempt.is_none() || attempt == query.attempt
    };
    let first = journal.partition_point(|event| event.revision <= query.since);
    let in_range = journal[first..].iter().take_while(|event| query.until.is_none_or(|end| event.revision <= end));
    let mut revisions: Vec<Vec<Entry>> = in_range
        .filter(is_attempt)
        .map(|event| event.entries.iter().filter(is_wanted).cloned().collect::<Vec<_>>())
        .filter(|entries| !entries.is_empty())
        // If both limits are set, `oldest` applies to what `newest` selects, so nothing can be cut off here.
        .take(query.oldest.filter(|_| query.newest.is_none()).unwrap_or(usize::MAX))
        .collect();
    if let Some(newest) = query.newest {
        revisions.drain(..revisions.len().saturating_sub(newest));
    }
    revisions.truncate(query.oldest.unwrap_or(usize::MAX));
    revisions.into_iter().flatten().collect()
}

impl ListState {
    /// Applies one commit. To catch up, apply every newer commit in order.
    pub fn apply(&mut self, commit: &Commit) {
        for (entry, after) in commit.entries.iter().zip(&commit.after) {
            self.journaled = self.journaled.max(number_of(&entry.task));
            self.put(&entry.task, after.clone());
        }
        self.mark = self.mark.max(commit.mark);
        self.last_token = self.last_token.max(commit.last_token);
        for (task, lease) in &commit.leases {
            match lease {
                Some(lease) => drop(self.leases.insert(task.clone(), lease.clone())),
                None => drop(self.leases.remove(task)),
            }
        }
        if let Some(first) = commit.entries.first() {
            self.exists = true;
            self.revision = first.revision;
            self.changed = Some(first.at);
        }
    }

    /// Returns a commit that renews leases to the expiry times they carry here. Skips leases that have ended or whose
    /// token differs.
    pub fn renewal(&self, leases: &[Lease]) -> Commit {
        let renewed = |lease: &Lease| {
            let there = self.leases.get(&lease.task).filter(|there| there.token == lease.token)?;
            Some((lease.task.clone(), Some(Lease { ends: lease.ends.clone(), ..there.clone() })))
        };
        Commit::new(Vec::new(), leases.iter().filter_map(renewed).collect(), self.last_token, self.mark)
    }
}

/// A stored task.
#[derive(Debug)]
pub struct Kept {
    /// The id it is stored under.
    pub id: TaskId,
    /// Its exact contents.
    pub image: Image,
    /// The task parsed from the image, or why it cannot be parsed.
    pub task: Result<Task, Unreadable>,
}

impl Kept {
    /// Parses a task from its image.
    pub fn new(id: TaskId, image: Image) -> Arc<Self> {
        let task = image.task(&id);
        Arc::new(Self { id, image, task })
    }

    /// Returns the task or the problem with it, as the result of a lookup.
    pub(crate) fn lookup(&self, home: &Home) -> Lookup {
        match &self.task {
            Ok(task) => Lookup::Found(Box::new(task.clone()), self.image.clone()),
            Err(why) => Lookup::Unreadable(self.problem(home, why.clone())),
        }
    }

    /// Returns what is wrong with it, or `None` if it is a valid task.
    pub(crate) fn as_problem(&self, home: &Home) -> Option<UnreadableTask> {
        self.task.as_ref().err().map(|why| self.problem(home, why.clone()))
    }

    fn problem(&self, home: &Home, why: Unreadable) -> UnreadableTask {
        let contents = matches!(home, Home::Images(_)).then(|| self.image.clone());
        UnreadableTask { task: self.id.clone(), path: home.path_of(&self.id), why, last_known: None, contents }
    }
}

/// Where the tasks of a list are stored.
#[derive(Clone, Debug)]
pub enum Home {
    /// As images, each under the file name it would have in a directory.
    Images(PathBuf),
    /// In a directory of another dialect, one file per task.
    Folder(PathBuf),
    /// In a single file of another dialect.
    File(PathBuf),
}

impl Home {
    /// Returns the path of a task.
    pub(crate) fn path_of(&self, id: &TaskId) -> PathBuf {
        match self {
            Self::Images(path) | Self::Folder(path) => path.join(format!("{}.json", id.file_stem())),
            Self::File(path) => path.clone(),
        }
    }
}

impl Default for Home {
    fn default() -> Self {
        Self::Images(PathBuf::new())
    }
}

/// The state of a list at one moment. Snapshots share it; the next commit copies what is still shared.
#[derive(Clone, Debug, Default)]
pub struct ListState {
    /// Where the tasks are stored.
    pub home: Home,
    /// Whether blockers that do not exist count as open.
    pub counts_missing: bool,
    /// Whether the list exists.
    pub exists: bool,
    /// The newest commit applied.
    pub revision: Revision,
    /// Everything stored, by id.
    pub tasks: BTreeMap<TaskId, Arc<Kept>>,
    /// The position of each task, if the files have their own order; otherwise empty.
    pub places: HashMap<TaskId, usize>,
    /// The highest number ever removed.
    pub mark: f64,
    /// The highest number that occurs in the journal.
    pub journaled: f64,
    /// When the last commit happened.
    pub changed: Option<Timestamp>,
    /// The leases, by task.
    pub leases: BTreeMap<TaskId, Lease>,
    /// The last token issued.
    pub last_token: Token,
}

impl ListState {
    /// Applies one journal entry to its task.
    pub(crate) fn follow(&mut self, entry: &Entry) {
        self.put(&entry.task, entry.after.as_ref().map(|image| Kept::new(entry.task.clone(), image.clone())));
    }

    /// Returns the summary of the list, for a store without paths.
    pub fn info(&self, list: &ListId) -> ListInfo {
        ListInfo { list: list.clone(), path: None, counts: self.counts(), changed: self.changed }
    }

    /// Returns the number of tasks by status: pending, in progress, completed. Internal tasks are not counted.
    pub(crate) fn counts(&self) -> [usize; Status::ALL.len()] {
        let mut counts = [0; Status::ALL.len()];
        let tasks = self.tasks.values().filter_map(|kept| kept.task.as_ref().ok());
        for task in tasks.filter(|task| !task.is_internal()) {
            counts[task.status as usize] += 1;
        }
        counts
    }

    pub(super) fn put(&mut self, task: &TaskId, after: Option<Arc<Kept>>) {
        match after {
            Some(kept) => drop(self.tasks.insert(task.clone(), kept)),
            None => drop(self.tasks.remove(task)),
        }
    }

    /// Returns the sort position of a task, which takes precedence over its id. New tasks come last.
    pub(crate) fn place_of(&self, id: &TaskId) -> usize {
        self.places.get(id).copied().unwrap_or(usize::MAX)
    }

    /// Returns the id a task is stored under: the given id if it is in use, else the one derived from its file name.
    pub(crate) fn name_of(&self, id: &TaskId) -> TaskId {
        if self.tasks.contains_key(id) { id.clone() } else { key_of(id) }
    }
}

/// Returns the id a task is stored under by default: the stem of its file name in a file store.
pub fn key_of(id: &TaskId) -> TaskId {
    TaskId::stored(id.file_stem())
}

/// Returns the number that an id counts as when new numbers are assigned, or 0 if it is not a number.
pub fn number_of(id: &TaskId) -> f64 {
    counted(id.as_str()).unwrap_or(0.0)
}

/// A list at one moment, fully in memory.
#[derive(Debug)]
pub struct StateSnapshot {
    /// The state of the list.
    pub state: Arc<ListState>,
}

impl Snapshot for StateSnapshot {
    fn exists(&self) -> Result<bool, StoreError> {
        Ok(self.state.exists)
    }

    fn revision(&self) -> Revision {
        self.state.revision
    }

    fn find(&self, id: &TaskId) -> Result<Lookup, StoreError> {
        Ok(self.state.tasks.get(&self.state.name_of(id)).map_or(Lookup::Missing, |kept| kept.lookup(&self.state.home)))
    }

    fn counts_missing(&self) -> bool {
        self.state.counts_missing
    }

    fn tasks(&self) -> Result<Vec<Task>, StoreError> {
        let mut tasks: Vec<Task> =
            self.state.tasks.values().filter_map(|kept| kept.task.as_ref().ok().cloned()).collect();
        if !self.state.places.is_empty() {
            tasks.sort_by_key(|task| self.state.place_of(&task.id));
        }
        Ok(tasks)
    }

    fn leases(&self) -> Result<Vec<Lease>, StoreError> {
        Ok(self.state.leases.values().cloned().collect())
    }

    fn problems(&self) -> Result<Vec<UnreadableTask>, StoreError> {
        Ok(self.state.tasks.values().filter_map(|kept| kept.as_problem(&self.state.home)).collect())
    }
}
