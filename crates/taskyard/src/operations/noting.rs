//! Noting something on a task, by itself or with a change of it.

use taskyard_core::rules::agents::naming::is_same_agent;
use taskyard_core::rules::changes::notes::{NOTES, Note, participants, with_note};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Op, Revision, Task, TaskId};

use super::task_message::TaskMessage;
use super::{Update, Updated};
use crate::store::{Lookup, StoreError};
use crate::teams::{Letter, Seat, Teams};
use crate::{Error, Outcome, Yard};

/// A note that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    /// The task as it is now.
    pub task: Task,
    /// The note.
    pub(crate) note: Note,
    /// The commit it came with; none where nothing was written.
    pub(crate) revision: Option<Revision>,
    /// The messages of it to the agents that it concerns.
    pub messages: Vec<TaskMessage>,
}

impl Yard {
    /// Adds a note to a task, whichever agent has it: a remark takes nothing from the holder. The owner of the task and the agents that
    /// take part in it are told.
    pub fn note(&self, id: &TaskId, text: &str) -> Result<Outcome<Noted>, Error> {
        self.put_back_lost_notes(id)?;
        let outcome = self.transact(Op::Update, |txn, _| {
            let task = match txn.find(id)? {
                Lookup::Found(task, _) => task,
                Lookup::Missing => return Err(Refusal::NoSuchTask { task: id.clone() }.into()),
                Lookup::Unreadable(problem) => return Err(problem.into_refusal().into()),
            };
            let note = self.new_note(text)?;
            let noted = with_note(&task, &note);
            txn.put(noted.clone())?;
            Ok((noted, note))
        })?;
        Ok(outcome.map(|((task, note), event)| {
            let messages = self.tell_of_note(&task, &note.text);
            Noted { task, note, revision: event.map(|event| event.revision), messages }
        }))
    }

    /// Changes a task as `update` says once it has seen it, with a note added to those it has.
    pub fn update_with_note(
        &self,
        id: &TaskId,
        update: &impl Fn(&Task) -> Update,
        note: Option<&str>,
    ) -> Result<Outcome<Updated>, Error> {
        let note = note.map(|text| self.new_note(text)).transpose()?;
        self.change(id, |task| {
            let mut update = update(task);
            if let Some(note) = &note {
                let notes = with_note(task, note).metadata.and_then(|mut metadata| metadata.shift_remove(NOTES));
                let patched = update.patch.metadata.get_or_insert_default();
                patched.insert(NOTES.to_owned(), notes.unwrap_or_default());
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

    /// Tells the agents that own a task, made it, or noted something on it of a new note. Members of the list's team can be told; no agent
    /// is told what it noted itself.
    pub fn tell_of_note(&self, task: &Task, text: &str) -> Vec<TaskMessage> {
        let Some(teams) = self.teams() else { return Vec::new() };
        let Some(seat) = self.seat_to_note_from(teams) else { return Vec::new() };
        let maker = self.making_of(&task.id).ok().flatten().filter(|entry| !entry.op.is_elsewhere());
        let maker = maker.map(|entry| entry.actor.as_str().to_owned());
        let mut names: Vec<String> = participants(task).into_iter().map(str::to_owned).collect();
        names.extend(maker.filter(|maker| !names.iter().any(|name| is_same_agent(name, maker))));
        names.retain(|name| !is_same_agent(name, &seat.name) && !is_same_agent(name, self.actor().as_str()));
        let letter = Letter::new(format!("Note on task #{} ({}): {text}", task.id, task.shown_subject()));
        let tell = |to: String| match teams.send(&seat, &to, &letter) {
            Ok(Ok(_)) => Some(TaskMessage::Sent { to }),
            // An agent that is no member cannot be written to.
            Ok(Err(_)) => None,
            Err(error) => Some(TaskMessage::Failed { to, why: error.to_string() }),
        };
        names.into_iter().filter_map(tell).collect()
    }

    /// Returns the seat from which the actor writes to the team of this list: its own, or that of a guest.
    fn seat_to_note_from(&self, teams: &Teams) -> Option<Seat> {
        if let Ok(Some(seat)) = self.seat() {
            return Some(seat);
        }
        let team = teams.team_of(self.list_id()).ok().flatten()?;
        Some(Seat { team, name: self.actor().as_str().to_owned() })
    }

    /// Returns a note by the actor, of this moment.
    pub(super) fn new_note(&self, text: &str) -> Result<Note, StoreError> {
        Ok(Note { at: self.now()?.wall, author: self.actor().clone(), text: text.to_owned() })
    }
}
