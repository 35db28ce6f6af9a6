//! `TaskCreate`, `TaskGet`, `TaskUpdate`, `TaskList`, `TaskClaim` and `TaskRelease`

use serde_json::Value;
use taskyard::core::answers::claim_answers::{ClaimWon, Released};
use taskyard::core::render::loss_in_words;
use taskyard::core::rules::refusal::{ClaimRefusal, LostClaim, Refusal};
use taskyard::core::timing::{Clock, PartOfDay, WORKING_DAY, parse_moment};
use taskyard::core::tools::task_claim::{TaskClaim, held_by_name};
use taskyard::core::tools::task_create::TaskCreate;
use taskyard::core::tools::task_release::TaskRelease;
use taskyard::core::tools::task_update::{Changed, TaskUpdate};
use taskyard::core::tools::{
    Answer, explain, task_claim, task_create, task_get, task_list, task_release, task_update, unreadable_line,
};
use taskyard::core::{AgentName, DUE, Metadata, Status, TaskId};
use taskyard::operations::{Claim, Field, Filter, NewTask, TaskMessage, Update};
use taskyard::store::UnreadableTask;
use taskyard::{Error, Outcome};

use super::Toolbox;
use super::toolbox::NoAnswer;

impl Toolbox {
    pub(super) fn create(&self, input: &Value) -> Result<Answer, NoAnswer> {
        let TaskCreate { subject, description, active_form, metadata, status, owner, blocked_by, blocks, due } =
            task_create::read(input, self.yard.rules())?;
        // A new task has no due time that could be removed.
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
                    // Exactly one task was requested, so exactly one was deleted.
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
                // Starting a task makes the caller its owner; that may be a subagent.
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
                            // That is the note, which is reported separately.
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

    /// Parses a due time: a bare date means its end, and `none` removes the due time.
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

/// Logs unreadable files as the client does, and returns their names.
pub(super) fn logged(unreadable: &[UnreadableTask]) -> Vec<String> {
    unreadable.iter().for_each(|task| tracing::warn!("{}", task.log_line()));
    unreadable.iter().map(UnreadableTask::file).collect()
}

/// Adds the due time to a task's metadata, if one was given.
fn with_due(metadata: Option<Metadata>, due: Option<Value>) -> Option<Metadata> {
    let Some(due) = due else { return metadata };
    let mut metadata = metadata.unwrap_or_default();
    metadata.insert(DUE.to_owned(), due);
    Some(metadata)
}

/// Returns the agents that were notified.
fn told_to(messages: &[TaskMessage]) -> Vec<String> {
    messages.iter().filter_map(TaskMessage::sent_to).map(str::to_owned).collect()
}

impl Toolbox {
    pub(super) fn take(&self, input: &Value) -> Result<Answer, NoAnswer> {
        let TaskClaim { task: id, reserve, agent } = task_claim::read(input, self.yard.rules())?;
        self.of_claimant(agent).take_task(id, reserve, self.yard.actor())
    }

    /// Claims a task for the agent of these tools, on behalf of `asked_by`.
    fn take_task(&self, id: Option<TaskId>, reserve: bool, asked_by: &AgentName) -> Result<Answer, NoAnswer> {
        let claim = Claim { reserve, ..self.claim.clone() };
        let outcome = match &id {
            Some(id) => self.yard.claim(id, &claim)?,
            None => self.yard.claim_next(&claim)?,
        };
        match outcome {
            Outcome::Done(claimed) if !claimed.is_resumed && self.cancel.is_cancelled() => {
                self.yard.proving(claimed.lease.token).release(&claimed.task.id)?;
                Err(Error::Cancelled.into())
            }
            Outcome::Done(claimed) => {
                if self.yard.actor() != asked_by {
                    self.claimed_for.remember(asked_by, &claimed.task.id, self.yard.actor());
                }
                Ok(task_claim::won(&ClaimWon::from(&claimed), claimed.is_of_run))
            }
            Outcome::Refused(refusal) => match self.yard.explained(refusal, &claim)? {
                Refusal::Claim(lost) => self.lost(&lost),
                refusal => self.explained(|around| Answer::error(explain(&refusal, around))),
            },
        }
    }

    fn lost(&self, lost: &LostClaim) -> Result<Answer, NoAnswer> {
        let mut answer = self.explained(|around| task_claim::lost(lost, around))?;
        if matches!(lost.reason, ClaimRefusal::NothingReady { .. }) {
            // The client reports no losses.
            let gone = lost.gone.as_ref().filter(|_| !self.yard.rules().is_client());
            let loss = gone.and_then(|gone| loss_in_words(gone, self.yard.list_id(), |moment| moment.to_string()));
            answer.text.extend(loss.map(|words| format!(" But {words}")));
            answer.text.push_str(&unreadable_line(&self.unreadable()?));
            answer.text.push_str(&held_by_name(self.yard.actor().as_str(), &lost.also_held));
        }
        Ok(answer)
    }

    pub(super) fn release(&self, input: &Value) -> Result<Answer, NoAnswer> {
        let TaskRelease { task, reason } = task_release::read(input, self.yard.rules())?;
        let outcome = match reason {
            Some(reason) => self.yard.give_back_interrupted(&task, &reason)?,
            None => self.yard.release(&task)?,
        };
        match outcome {
            Outcome::Done(released) => Ok(task_release::released(&Released::from(&released))),
            Outcome::Refused(refusal) => match self.entitled_after(&refusal)? {
                Some(entitled) => entitled.release(input),
                None => self.explained(|around| task_release::refused(&refusal, around)),
            },
        }
    }
}
