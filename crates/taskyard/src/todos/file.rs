//! The file of one agent's todo list, as 2.1.34 writes it. Specified in `docs/formats/tools.md`.

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

use super::error::TodoError;
use crate::regular_file;
use crate::replacement::create_replacement;

/// Reads the list. What is not there, or is no list, is an empty one: the client takes it so, and the next call replaces it.
pub(super) fn read(path: &Path) -> Result<Vec<Todo>, TodoError> {
    let bytes = match regular_file::read(path, LARGEST) {
        Ok(bytes) => bytes,
        Err(why) if why.is_missing() => Vec::new(),
        Err(why) => return Err(TodoError::io("cannot read", path)(why.into())),
    };
    let list: Value = from_slice(&bytes).unwrap_or_default();
    Ok(read_kept(&list))
}

/// Writes the list: whoever reads sees the old one or the new one, never a part.
pub(super) fn write(path: &Path, todos: &[Todo]) -> Result<(), TodoError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(TodoError::io("cannot create", folder))?;
    }
    regular_file::must_be_replaceable(path).map_err(TodoError::io("cannot write", path))?;
    let temporary = temporary(path);
    let written = write_new(&temporary, path, stringify(&shape(todos)).as_bytes());
    let renamed = written.and_then(|()| fs::rename(&temporary, path));
    renamed.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        TodoError::io("cannot write", path)(error)
    })
}

fn write_new(temporary: &Path, path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = create_replacement(temporary, path)?;
    file.write_all(contents)?;
    file.sync_data()
}

/// Returns a name beside the file that no other writer uses. It does not end in `.json`: nobody takes it for a list.
fn temporary(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.{count}.tmp", std::process::id()));
    path.with_file_name(name)
}
