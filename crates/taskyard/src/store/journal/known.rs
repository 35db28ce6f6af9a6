//! The last known state of every file, which tells outside changes and is a cache for listings. For a list in another dialect, also the
//! form in which each task was last written there.

use std::collections::BTreeMap;

use rusqlite::{Row, ToSql};
use taskyard_core::dialect::native::{self, Unreadable};
use taskyard_core::{Image, Task, TaskId, Timestamp};

use super::damage::judge;
use super::entries::{Key, task_id};
use super::fingerprint::Fingerprint;
use super::layout::FORMS;
use super::{Journal, rows};
use crate::store::StoreError;

/// The table of last known states.
const TABLE: &str = "known";
/// The columns by whose places the last known state of a file is read.
pub(super) const KNOWN_COLUMNS: &str = "SELECT task, inode, mtime, size, seen, content, mode, sum FROM known";
/// The fact that says when a look last found files that are gone now, in milliseconds.
const LAST_LOOK: &str = "seen";

/// A look is written down where the last one that was is older than this, in nanoseconds.
pub(in crate::store) const LOOK_IS_OLD: i64 = 60_000_000_000;

/// One file as it was last seen.
#[derive(Clone, Debug)]
pub(in crate::store) struct Known {
    pub(in crate::store) print: Fingerprint,
    /// When it was seen.
    pub(in crate::store) seen: i64,
    pub(in crate::store) image: Image,
    /// Its permission bits, where they were seen.
    pub(in crate::store) mode: Option<u32>,
}

/// The task in a file as it was last seen.
#[derive(Debug)]
pub(in crate::store) struct KnownTask {
    pub(in crate::store) id: TaskId,
    pub(in crate::store) print: Fingerprint,
    pub(in crate::store) seen: i64,
    pub(in crate::store) task: Result<Task, Unreadable>,
    /// Its permission bits, where they were seen.
    pub(in crate::store) mode: Option<u32>,
}

/// A file as it was last seen, and the task in it where that was wanted and there is one.
#[derive(Debug)]
pub(in crate::store) struct KnownPrint {
    pub(in crate::store) id: TaskId,
    pub(in crate::store) print: Fingerprint,
    pub(in crate::store) seen: i64,
    /// Apart, since most are not wanted.
    pub(in crate::store) task: Option<Box<Task>>,
}

impl Journal {
    /// Returns the last known state of one file.
    pub(in crate::store) fn known(&self, task: &TaskId) -> Result<Option<Known>, StoreError> {
        let sql = format!("{KNOWN_COLUMNS} WHERE task = ?1");
        self.row(&sql, [Key(task)], |row| known(row).map(|(_, known)| known))
    }

    /// Returns the last known state of every file.
    pub(in crate::store) fn all_known(&self) -> Result<Vec<(TaskId, Known)>, StoreError> {
        self.rows(KNOWN_COLUMNS, [], known)
    }

    /// Returns every known file with its fingerprint, and the task in it. The contents themselves are left where they are: for a file that
    /// has not changed they are not needed.
    pub(in crate::store) fn known_tasks(&self) -> Result<Vec<KnownTask>, StoreError> {
        self.rows(KNOWN_COLUMNS, [], |row| {
            rows::check(row, TABLE)?;
            let id = task_id(row.get_ref(0)?);
            let task = native::read(&id, row.get_ref(5)?.as_blob_or_null()?.unwrap_or_default());
            Ok(KnownTask { print: print(row)?, seen: row.get(4)?, task, mode: row.get(6)?, id })
        })
    }

    /// Returns every known file with its fingerprint, and the task in it where its contents are wanted.
    pub(in crate::store) fn known_where(
        &self,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<KnownPrint>, StoreError> {
        self.rows(KNOWN_COLUMNS, [], |row| {
            rows::check(row, TABLE)?;
            let id = task_id(row.get_ref(0)?);
            let content = row.get_ref(5)?.as_blob_or_null()?.unwrap_or_default();
            let task = if is_wanted(content) { native::read(&id, content).ok().map(Box::new) } else { None };
            Ok(KnownPrint { print: print(row)?, seen: row.get(4)?, task, id })
        })
    }

    /// Returns the tasks whose files are known.
    pub(in crate::store) fn known_ids(&self) -> Result<Vec<TaskId>, StoreError> {
        self.rows("SELECT task FROM known", [], |row| Ok(task_id(row.get_ref(0)?)))
    }

    /// Returns about how many files are known.
    pub(in crate::store) fn known_count(&self) -> Result<usize, StoreError> {
        let count: Option<i64> = self.one("SELECT max(rowid) FROM known", [], |row| row.get(0))?;
        Ok(count.and_then(|count| usize::try_from(count).ok()).unwrap_or(0))
    }

    /// Remembers the state of a file.
    pub(in crate::store) fn set_known(&self, task: &TaskId, known: &Known) -> Result<(), StoreError> {
        let sql = "INSERT INTO known (task, inode, mtime, size, seen, content, mode, sum)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (task) DO UPDATE SET
            inode = excluded.inode, mtime = excluded.mtime, size = excluded.size, seen = excluded.seen,
            content = excluded.content, mode = excluded.mode, sum = excluded.sum";
        let columns: [&dyn ToSql; 7] = [
            &Key(task),
            &known.print.inode.cast_signed(),
            &known.print.mtime,
            &known.print.size.cast_signed(),
            &known.seen,
            &known.image.bytes(),
            &known.mode,
        ];
        self.write(sql, &columns).map(drop)
    }

    /// Remembers that a file whose contents are known looks different now.
    pub(in crate::store) fn set_print(
        &self,
        task: &TaskId,
        print: Fingerprint,
        mode: u32,
        seen: i64,
    ) -> Result<(), StoreError> {
        match self.known(task)? {
            Some(known) => self.set_known(task, &Known { print, seen, mode: Some(mode), ..known }),
            None => Ok(()),
        }
    }

    /// Remembers when a look last found files that are gone now.
    pub(in crate::store) fn set_last_look(&self, at: Timestamp) -> Result<(), StoreError> {
        self.set_fact(LAST_LOOK, at.0)
    }

    /// Returns when a look last found files that are gone now, where that was remembered.
    pub(in crate::store) fn last_look(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.fact::<i64>(LAST_LOOK)?.map(Timestamp))
    }

    /// Forgets a file.
    pub(in crate::store) fn forget(&self, task: &TaskId) -> Result<(), StoreError> {
        self.remove("DELETE FROM known WHERE task = ?1", [Key(task)])
    }
}

pub(super) fn known(row: &Row<'_>) -> rusqlite::Result<(TaskId, Known)> {
    rows::check(row, TABLE)?;
    let content = row.get_ref(5)?.as_blob_or_null()?.unwrap_or_default();
    let known = Known { print: print(row)?, seen: row.get(4)?, image: Image::new(content), mode: row.get(6)? };
    Ok((task_id(row.get_ref(0)?), known))
}

fn print(row: &Row<'_>) -> rusqlite::Result<Fingerprint> {
    Ok(Fingerprint {
        inode: row.get::<_, i64>(1)?.cast_unsigned(),
        mtime: row.get(2)?,
        size: row.get::<_, i64>(3)?.cast_unsigned(),
    })
}

/// A task, and the form it has in the list's own files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store) struct Formed {
    /// None where the files cannot hold it and it is kept here alone.
    pub(in crate::store) form: Option<Vec<u8>>,
    pub(in crate::store) image: Image,
}

impl Journal {
    /// Makes room for forms, where there is none yet.
    pub(in crate::store) fn have_forms(&self) -> Result<(), StoreError> {
        if self.has_forms()? {
            return Ok(());
        }
        self.database.transact(|database| database.batch("create", &FORMS.creation())).map_err(judge)
    }

    /// Returns every form.
    pub(in crate::store) fn forms(&self) -> Result<BTreeMap<TaskId, Formed>, StoreError> {
        if !self.has_forms()? {
            return Ok(BTreeMap::new());
        }
        Ok(self.rows("SELECT task, form, image, sum FROM forms", [], formed)?.into_iter().collect())
    }

    /// Returns one form.
    pub(super) fn form(&self, task: &TaskId) -> Result<Option<Formed>, StoreError> {
        self.row("SELECT task, form, image, sum FROM forms WHERE task = ?1", [Key(task)], |row| {
            formed(row).map(|(_, formed)| formed)
        })
    }

    /// Remembers a form.
    pub(in crate::store) fn set_form(&self, task: &TaskId, formed: &Formed) -> Result<(), StoreError> {
        let columns: [&dyn ToSql; 3] = [&Key(task), &formed.form, &formed.image.bytes()];
        self.write("INSERT OR REPLACE INTO forms (task, form, image, sum) VALUES (?1, ?2, ?3, ?4)", &columns).map(drop)
    }

    /// Forgets a form.
    pub(in crate::store) fn forget_form(&self, task: &TaskId) -> Result<(), StoreError> {
        self.remove("DELETE FROM forms WHERE task = ?1", [Key(task)])
    }

    /// Tells whether there is room for forms.
    pub(super) fn has_forms(&self) -> Result<bool, StoreError> {
        self.one("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'forms')", [], |row| row.get(0))
    }
}

fn formed(row: &Row<'_>) -> rusqlite::Result<(TaskId, Formed)> {
    rows::check(row, "forms")?;
    let formed = Formed { form: row.get(1)?, image: Image::new(row.get::<_, Vec<u8>>(2)?) };
    Ok((task_id(row.get_ref(0)?), formed))
}
