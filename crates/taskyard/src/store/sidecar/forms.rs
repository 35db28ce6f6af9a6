//! How each task of a list in another dialect was last written there: what outside changes are told by.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Row, ToSql};
use taskyard_core::{Image, TaskId};

use super::Journal;
use super::entries::{Key, task_id};
use super::schema::FORMS;
use super::sums;
use crate::store::StoreError;

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
        self.batch("create", FORMS)
    }

    /// Returns every form.
    pub(in crate::store) fn forms(&self) -> Result<BTreeMap<TaskId, Formed>, StoreError> {
        if !self.has_forms()? {
            return Ok(BTreeMap::new());
        }
        let mut statement = self.prepare("SELECT * FROM forms")?;
        let rows = statement.query_map([], formed).map_err(self.failed("read"))?;
        rows.collect::<Result<_, _>>().map_err(self.failed("read"))
    }

    /// Returns one form.
    pub(super) fn form(&self, task: &TaskId) -> Result<Option<Formed>, StoreError> {
        let mut statement = self.prepare("SELECT * FROM forms WHERE task = ?1")?;
        let formed = statement.query_row([Key(task)], |row| formed(row).map(|(_, formed)| formed));
        formed.optional().map_err(self.failed("read"))
    }

    /// Remembers a form.
    pub(in crate::store) fn set_form(&self, task: &TaskId, formed: &Formed) -> Result<(), StoreError> {
        let mut statement = self.prepare("INSERT OR REPLACE INTO forms VALUES (?1, ?2, ?3, ?4)")?;
        let columns: [&dyn ToSql; 3] = [&Key(task), &formed.form, &formed.image.bytes()];
        sums::execute(&mut statement, &columns).map(drop).map_err(self.failed("write"))
    }

    /// Forgets a form.
    pub(in crate::store) fn forget_form(&self, task: &TaskId) -> Result<(), StoreError> {
        let mut statement = self.prepare("DELETE FROM forms WHERE task = ?1")?;
        statement.execute([Key(task)]).map(drop).map_err(self.failed("write"))
    }

    /// Tells whether there is room for forms.
    pub(super) fn has_forms(&self) -> Result<bool, StoreError> {
        let mut statement = self.prepare("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'forms')")?;
        statement.query_row([], |row| row.get(0)).map_err(self.failed("read"))
    }
}

fn formed(row: &Row<'_>) -> rusqlite::Result<(TaskId, Formed)> {
    sums::check(row, "forms")?;
    let formed = Formed { form: row.get(1)?, image: Image::new(row.get::<_, Vec<u8>>(2)?) };
    Ok((task_id(row.get_ref(0)?), formed))
}
