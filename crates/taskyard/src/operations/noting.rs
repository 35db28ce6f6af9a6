//! Changing a task and noting why.

use taskyard_core::rules::attempts::{Note, with_note};
use taskyard_core::{Task, TaskId};

use super::{Update, Updated};
use crate::{Error, Outcome, Yard, clock};

impl Yard {
    /// Changes a task as `update` says once it has seen it, with a note added to those it has.
    pub fn update_with_note(
        &self,
        id: &TaskId,
        update: &impl Fn(&Task) -> Update,
        note: Option<&str>,
    ) -> Result<Outcome<Updated>, Error> {
        self.change(id, |task| {
            let mut update = update(task);
            if let Some(text) = note {
                let note = Note { at: clock::now(), author: self.actor().clone(), text: text.to_owned() };
                let notes = with_note(task, &note).metadata.and_then(|mut metadata| metadata.shift_remove("notes"));
                let patched = update.patch.metadata.get_or_insert_default();
                patched.insert("notes".to_owned(), notes.unwrap_or_default());
            }
            if let Some(metadata) = &mut update.patch.metadata {
                // What is not there need not be taken away.
                metadata.retain(|key, value| !value.is_null() || task.meta(key).is_some());
                if metadata.is_empty() {
                    update.patch.metadata = None;
                }
            }
            update
        })
    }
}
