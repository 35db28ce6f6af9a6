//! Todo lists: one per agent, always replaced as a whole.

use std::collections::HashMap;
use std::error::Error;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, fs, io};

use serde_json::Value;
use taskyard_core::dialect::native::{LARGEST, stringify};
use taskyard_core::json_text::from_slice;
use taskyard_core::rules::lists::kept;
use taskyard_core::tools::todo_write::{read_kept, shape};
use taskyard_core::{ClientVersion, Rules, Todo};

use crate::regular_file;
use crate::regular_file::create_replacement;

/// The owner of a todo list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TodoOwner {
    /// The session, if any.
    pub session: String,
    /// The agent in the session.
    pub agent: String,
}

/// Stores todo lists. A reader sees a complete list, either before or after a write. No operation waits for another.
pub trait Todos: fmt::Debug + Send + Sync {
    /// Returns a list; `None` if it was never written.
    fn read(&self, of: &TodoOwner) -> Result<Option<Vec<Todo>>, TodoError>;

    /// Replaces a list.
    fn write(&self, of: &TodoOwner, todos: &[Todo]) -> Result<(), TodoError>;

    /// Called when an agent will not call again. Persistent lists are kept.
    fn forget(&self, of: &TodoOwner);
}

/// The todo list of one agent. Operations on it are serialised.
#[derive(Debug)]
pub struct TodoList {
    todos: Arc<dyn Todos>,
    of: TodoOwner,
    turn: Mutex<()>,
}

/// The result of replacing a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// The previous list.
    pub before: Vec<Todo>,
    /// The new list, which is empty if all given items are completed.
    pub after: Vec<Todo>,
}

impl TodoList {
    fn new(todos: Arc<dyn Todos>, of: TodoOwner) -> Self {
        Self { todos, of, turn: Mutex::default() }
    }

    /// Returns the list, empty if it was never written.
    pub fn read(&self) -> Result<Vec<Todo>, TodoError> {
        let _turn = self.turn();
        Ok(self.todos.read(&self.of)?.unwrap_or_default())
    }

    /// Replaces the list. If all given items are completed, the list becomes empty.
    pub fn replace(&self, given: &[Todo]) -> Result<Replaced, TodoError> {
        let _turn = self.turn();
        let before = self.todos.read(&self.of)?.unwrap_or_default();
        let after = kept(given).to_vec();
        self.todos.write(&self.of, &after)?;
        Ok(Replaced { before, after })
    }

    /// Writes an empty list if there is none, as 2.1.34 does when it starts.
    pub fn begin(&self) -> Result<(), TodoError> {
        let _turn = self.turn();
        // An existing list that cannot be read is left to the caller.
        if matches!(self.todos.read(&self.of), Ok(None)) { self.todos.write(&self.of, &[]) } else { Ok(()) }
    }

    /// Serialises operations. A call that panicked has changed nothing or everything, so a poisoned lock can be used.
    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of lists that are kept in memory for callers that return.
const SESSION_LISTS: usize = 1_024;

/// The todo lists of all agents of one session, opened on first use.
#[derive(Debug)]
pub struct TodoLists {
    todos: Arc<dyn Todos>,
    session: String,
    lists: Mutex<HashMap<String, Arc<TodoList>>>,
}

impl TodoLists {
    /// Returns the lists of a session in a store.
    pub fn new(todos: Arc<dyn Todos>, session: impl Into<String>) -> Self {
        Self { todos, session: session.into(), lists: Mutex::default() }
    }

    /// Returns the lists of a session for a server. Under the rules of 2.1.34 they are kept in `todos`, as that client
    /// does; under all other rules they live in memory, and nothing is written.
    pub fn served(todos: Arc<dyn Todos>, session: &str, rules: Rules) -> Self {
        match rules {
            Rules::Client(ClientVersion::V2_1_34) => Self::new(todos, session),
            Rules::Client(ClientVersion::V2_1_325) | Rules::Strict => Self::in_memory(),
        }
    }

    /// Returns lists that live as long as the process.
    pub fn in_memory() -> Self {
        Self::new(Arc::new(MemoryTodos::default()), "")
    }

    /// Returns the list of an agent; repeated calls for an agent in use return the same list.
    pub fn of(&self, agent: &str) -> Arc<TodoList> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(list) = lists.get(agent) {
            return Arc::clone(list);
        }
        if lists.len() >= SESSION_LISTS {
            lists.retain(|_, unused| Arc::strong_count(unused) > 1);
        }
        let list = Arc::new(TodoList::new(Arc::clone(&self.todos), self.owner(agent)));
        lists.insert(agent.to_owned(), Arc::clone(&list));
        list
    }

    /// Drops the list of an agent that will not call again. A file is kept.
    pub fn forget(&self, agent: &str) {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner).remove(agent);
        self.todos.forget(&self.owner(agent));
    }

    fn owner(&self, agent: &str) -> TodoOwner {
        TodoOwner { session: self.session.clone(), agent: agent.to_owned() }
    }
}

/// Todo lists in the files of a folder, `<config>/todos`. Other processes of the same agents may write to them as well.
#[derive(Clone, Debug)]
pub struct FileTodos {
    folder: PathBuf,
}

impl FileTodos {
    /// Returns the lists of a folder, which need not exist yet.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self { folder }
    }

    fn path(&self, of: &TodoOwner) -> PathBuf {
        self.folder.join(Todo::file_name(&of.session, &of.agent))
    }
}

impl Todos for FileTodos {
    /// Reads the file. Invalid contents count as an empty list, as for the client; the next call replaces them.
    fn read(&self, of: &TodoOwner) -> Result<Option<Vec<Todo>>, TodoError> {
        let path = self.path(of);
        let bytes = match regular_file::read(&path, LARGEST) {
            Ok(bytes) => bytes,
            Err(why) if why.is_missing() => return Ok(None),
            Err(why) => return Err(TodoError::io("cannot read", path)(why.into())),
        };
        let list: Value = from_slice(&bytes).unwrap_or_default();
        Ok(Some(read_kept(&list)))
    }

    fn write(&self, of: &TodoOwner, todos: &[Todo]) -> Result<(), TodoError> {
        let path = self.path(of);
        fs::create_dir_all(&self.folder).map_err(TodoError::io("cannot create", &self.folder))?;
        regular_file::must_be_replaceable(&path).map_err(TodoError::io("cannot write", &path))?;
        let temporary = temporary(&path);
        let written = write_new(&temporary, &path, stringify(&shape(todos)).as_bytes());
        let renamed = written.and_then(|()| fs::rename(&temporary, &path));
        renamed.map_err(|error| {
            let _ = fs::remove_file(&temporary);
            TodoError::io("cannot write", path)(error)
        })
    }

    fn forget(&self, _of: &TodoOwner) {}
}

fn write_new(temporary: &Path, path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = create_replacement(temporary, path)?;
    file.write_all(contents)?;
    file.sync_data()
}

/// Returns a name next to the file that no other writer uses. It does not end in `.json`, so that no client takes it
/// for a list.
fn temporary(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.{count}.tmp", std::process::id()));
    path.with_file_name(name)
}

/// The maximum number of lists. Above it the least recently written one is dropped, because callers choose the names.
const MEMORY_LISTS: usize = 1_024;

/// Todo lists that live as long as the process, as in 2.1.325: the 1,024 most recently written ones.
#[derive(Debug, Default)]
pub struct MemoryTodos(Mutex<Lists>);

#[derive(Debug, Default)]
struct Lists {
    /// Each list with the number of its last write.
    by_owner: HashMap<TodoOwner, (u64, Vec<Todo>)>,
    writes: u64,
}

impl MemoryTodos {
    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Todos for MemoryTodos {
    fn read(&self, of: &TodoOwner) -> Result<Option<Vec<Todo>>, TodoError> {
        Ok(self.lists().by_owner.get(of).map(|(_, todos)| todos.clone()))
    }

    fn write(&self, of: &TodoOwner, todos: &[Todo]) -> Result<(), TodoError> {
        let mut lists = self.lists();
        lists.writes += 1;
        let write = lists.writes;
        lists.by_owner.insert(of.clone(), (write, todos.to_vec()));
        if lists.by_owner.len() > MEMORY_LISTS {
            let oldest = lists.by_owner.iter().min_by_key(|(_, (write, _))| *write).map(|(of, _)| of.clone());
            oldest.and_then(|oldest| lists.by_owner.remove(&oldest));
        }
        Ok(())
    }

    fn forget(&self, of: &TodoOwner) {
        self.lists().by_owner.remove(of);
    }
}

/// Why a todo list could not be read or written: the error of its store.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct TodoError(Box<dyn Error + Send + Sync>);

/// Why the file of a todo list could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{doing} `{}`: {source}", .path.display())]
pub(crate) struct TodoFileError {
    /// What was attempted, as the beginning of a sentence: "cannot read".
    pub doing: &'static str,
    pub path: PathBuf,
    pub source: io::Error,
}

impl TodoError {
    /// Wraps the error of a store.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }

    /// Returns the I/O error of a file, if the lists are stored in files.
    pub(crate) fn of_file(&self) -> Option<&TodoFileError> {
        self.0.downcast_ref()
    }

    /// Returns a function that wraps an I/O error, for `map_err`.
    fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::new(TodoFileError { doing, path, source })
    }
}

#[cfg(test)]
mod tests {
    use taskyard_core::Todo;

    use super::{MEMORY_LISTS, MemoryTodos};
    use crate::todos::{TodoOwner, Todos as _};

    #[test]
    fn the_list_not_written_for_longest_makes_room() {
        let (todos, none) = (MemoryTodos::default(), &[] as &[Todo]);
        let of = |agent: usize| TodoOwner { session: String::new(), agent: agent.to_string() };
        (0..MEMORY_LISTS).for_each(|agent| todos.write(&of(agent), none).unwrap());
        todos.write(&of(0), none).unwrap();
        todos.write(&of(MEMORY_LISTS), none).unwrap();
        assert_eq!(
            [0, 1, 2, MEMORY_LISTS].map(|agent| todos.read(&of(agent)).unwrap().is_some()),
            [true, false, true, true]
        );
    }
}
