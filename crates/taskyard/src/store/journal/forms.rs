//! How each task of a list in another dialect was last written there: what outside changes are told by.

use std::collections::BTreeMap;

use rusqlite::{Row, ToSql};
use taskyard_core::{Image, TaskId};

use super::Journal;
use super::damage::judge;
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
    sums::check(row, "forms")?;
    let formed = Formed { form: row.get(1)?, image: Image::new(row.get::<_, Vec<u8>>(2)?) };
    Ok((task_id(row.get_ref(0)?), formed))
}
