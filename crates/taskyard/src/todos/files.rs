//! Todo lists in files, one for each agent of a session, as 2.1.34 writes them. Specified in `docs/formats/tools.md`.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use taskyard_core::Todo;
use taskyard_core::dialect::native::{LARGEST, stringify};
use taskyard_core::json_text::from_slice;
use taskyard_core::tools::todo_write::{read_kept, shape};

use super::{TodoError, TodoOwner, Todos};
use crate::regular_file;
use crate::replacement::create_replacement;

/// Todo lists in the files of a folder, `<config>/todos`, which other processes of the same agents may write, too.
#[derive(Clone, Debug)]
pub struct FileTodos {
    folder: PathBuf,
}

impl FileTodos {
    /// Returns the lists of a folder, which need not be there yet.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self { folder }
    }

    fn path(&self, of: &TodoOwner) -> PathBuf {
        self.folder.join(Todo::file_name(&of.session, &of.agent))
    }
}

impl Todos for FileTodos {
    /// Reads the file. What is no list is an empty one: the client takes it so, and the next call replaces it.
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

/// Returns a name beside the file that no other writer uses. It does not end in `.json`: no client takes it for a list.
fn temporary(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.{count}.tmp", std::process::id()));
    path.with_file_name(name)
}
