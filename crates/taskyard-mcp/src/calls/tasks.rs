//! `TaskCreate`, `TaskGet`, `TaskUpdate`, `TaskList`

use serde_json::Value;
use taskyard::core::timing::{Clock, PartOfDay, WORKING_DAY, parse_moment};
use taskyard::core::tools::task_create::TaskCreate;
use taskyard::core::tools::task_update::{Changed, TaskUpdate};
use taskyard::core::tools::{Answer, task_create, task_get, task_list, task_update};
use taskyard::core::{DUE, Metadata, Status, TaskId};

use super::Toolbox;
use super::toolbox::NoAnswer;
use taskyard::operations::{Field, Filter, NewTask, TaskMessage, Update};
use taskyard::store::UnreadableTask;
use taskyard::{Error, Outcome};

impl Toolbox {
    pub(super) fn create(&self, input: &Value) -> Result<Answer, NoAnswer> {
        let TaskCreate { subject, description, active_form, metadata, status, owner, blocked_by, blocks, due } =
            task_create::read(input, self.yard.rules())?;
        // A new task has no time that could be taken away.
        let due = due.map(|words| self.due(&words)).transpose()?.filter(|due| !due.is_null());
        let metadata = with_due(metadata, due);
        let new = NewTask {
            subject,
            description,
            active_form,
            status,
            owner,
            blocked_by,
            blocks,
            metadata,
            ..NewTask::default()
        };
        match self.yard.create(new)? {
            Outcome::Done(created) => Ok(task_create::created(&created.task, self.yard.rules())),
            Outcome::Refused(refusal) => self.explained(|around| task_create::refused(&refusal, around)),
        }
    }

    pub(super) fn get(&self, input: &Value) -> Result<Answer, NoAnswer> {
        let id = task_get::read(input, self.yard.rules())?;
        match self.yard.task(&id)? {
            Outcome::Done((task, problem)) => {
                let mut answer = task_get::found(&task, self.yard.rules());
                if let Some(problem) = &problem {
                    logged(std::slice::from_ref(problem));
                    answer.text.push_str(&task_get::last_known(&problem.file(), &problem.why.to_string()));
                }
                Ok(answer)
            }
            Outcome::Refused(refusal) => self.explained(|around| task_get::refused(&refusal, around)),
        }
    }

    pub(super) fn update(&self, input: &Value) -> Result<Answer, NoAnswer> {
        match task_update::read(input, self.yard.rules())? {
            TaskUpdate::Delete { task } => match self.yard.delete(std::slice::from_ref(&task))? {
                Outcome::Done(deleted) => {
                    // Exactly one task was asked for, so exactly one was removed.
                    let before = deleted.tasks.first().map(|task| task.status);
                    let before = before.unwrap_or(Status::Pending);
                    Ok(match deleted.missing.is_empty() {
                        true => task_update::deleted(&task, before),
                        false => task_update::deleted_missing(&task, before),
                    })
                }
                Outcome::Refused(refusal) => match self.entitled_after(&refusal)? {
                    Some(entitled) => entitled.update(input),
                    None => self.explained(|around| task_update::refused(&task, &refusal, around)),
                },
            },
            TaskUpdate::Change {
                task,
                mut patch,
                add_blocks,
                add_blocked_by,
                remove_blocks,
                remove_blocked_by,
                due,
                note,
            } => {
                let due = due.map(|words| self.due(&words)).transpose()?;
                patch.metadata = with_due(patch.metadata.take(), due);
                let update = Update {
                    patch: *patch,
                    add_blocks,
                    add_blocked_by,
                    remove_blocks,
                    remove_blocked_by,
                    ..Update::default()
                };
                if let Some(text) = note.as_deref().filter(|_| update == Update::default()) {
                    return self.note(&task, text);
                }
                let gives_metadata = update.patch.metadata.is_some();
                // Starting is owning, and the owner is the subagent that calls.
                let is_start = update.patch.status == Some(Status::InProgress) && update.patch.owner.is_none();
                let starter = (is_start && !self.yard.rules().is_client()).then(|| self.of_claimant(None));
                let yard = starter.as_ref().map_or(&self.yard, |starter| &starter.yard);
                let updated = match &note {
                    Some(text) => yard.update_with_note(&task, &|_| update.clone(), Some(text))?,
                    None => yard.update(&task, update)?,
                };
                match updated {
                    Outcome::Done(mut updated) => {
                        if note.is_some() && !gives_metadata {
                            // That is the note, which is named by itself.
                            updated.updated.retain(|field| *field != Field::Metadata);
                        }
                        let told = note.as_deref().map(|text| self.yard.tell_of_note(&updated.task, text));
                        let noted: Option<Vec<String>> = told.as_deref().map(told_to);
                        let not_told =
                            updated.owner_message.iter().chain(told.iter().flatten()).find_map(TaskMessage::failure);
                        let block_left = updated.block_left.as_ref().map(ToString::to_string);
                        let changed = Changed {
                            updated: &updated.updated,
                            status_change: updated.status_change,
                            now_ready: &updated.now_ready,
                            open_blockers: &updated.open_blockers,
                            dependents_started: &updated.dependents_started,
                            is_by_teammate: updated.is_by_teammate,
                            not_told,
                            block_left: block_left.as_deref(),
                            noted: noted.as_deref(),
                        };
                        Ok(task_update::changed(&task, &changed, self.yard.rules()))
                    }
                    Outcome::Refused(refusal) => match self.entitled_after(&refusal)? {
                        Some(entitled) => entitled.update(input),
                        None => self.explained(|around| task_update::refused(&task, &refusal, around)),
                    },
                }
            }
        }
    }

    /// Reads when a task is due: a bare day is its end, and `none` takes the time away.
    fn due(&self, words: &str) -> Result<Value, NoAnswer> {
        if words.trim().eq_ignore_ascii_case("none") {
            return Ok(Value::Null);
        }
        let now = self.yard.store().now().map_err(Error::from)?.wall;
        let clock = Clock { now, zone: self.zone.clone(), working_day: WORKING_DAY };
        let moment = parse_moment(words, PartOfDay::End, &clock);
        let moment = moment.map_err(|bad| NoAnswer::Answer(Answer::error(format!("{bad}. Nothing was changed."))))?;
        Ok(moment.to_string().into())
    }

    /// Adds a note and changes nothing else, whichever agent has the task.
    fn note(&self, task: &TaskId, text: &str) -> Result<Answer, NoAnswer> {
        match self.yard.note(task, text)? {
            Outcome::Done(noted) => {
                let not_told = noted.messages.iter().find_map(TaskMessage::failure);
                let told = told_to(&noted.messages);
                let changed = Changed { noted: Some(&told), not_told, ..Changed::default() };
                Ok(task_update::changed(task, &changed, self.yard.rules()))
            }
            Outcome::Refused(refusal) => self.explained(|around| task_update::refused(task, &refusal, around)),
        }
    }

    pub(super) fn list(&self, input: &Value) -> Result<Answer, NoAnswer> {
        task_list::read(input, self.yard.rules())?;
        let everything = Filter { internal: true, ..Filter::default() };
        self.last_listing.keep(&self.yard, || {
            let listing = self.yard.list(&everything)?;
            let (list, gone) = (self.yard.list_id(), listing.gone.as_ref());
            let unreadable = logged(&listing.problems);
            let answer = task_list::listed(list, listing.tasks, gone, &unreadable, self.yard.rules());
            Ok((answer, listing.leases))
        })
    }
}

/// Logs files that could not be read as the client does, and returns their names.
pub(super) fn logged(unreadable: &[UnreadableTask]) -> Vec<String> {
    unreadable.iter().for_each(|task| tracing::warn!("{}", task.log_line()));
    unreadable.iter().map(UnreadableTask::file).collect()
}

/// Adds to the metadata of a task when it is due, if that was said.
fn with_due(metadata: Option<Metadata>, due: Option<Value>) -> Option<Metadata> {
    let Some(due) = due else { return metadata };
    let mut metadata = metadata.unwrap_or_default();
    metadata.insert(DUE.to_owned(), due);
    Some(metadata)
}

/// Names the agents that were told.
fn told_to(messages: &[TaskMessage]) -> Vec<String> {
    messages.iter().filter_map(TaskMessage::sent_to).map(str::to_owned).collect()
}
