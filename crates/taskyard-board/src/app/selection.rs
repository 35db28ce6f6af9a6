//! What an action is done to.

use taskyard::core::view::{Action, JobRow, Row, Subject, info};
use taskyard::core::{Status, Task, TaskId};

use super::{App, View};

impl App {
    /// Returns the selected tasks, else the one under the cursor.
    pub(crate) fn meant(&self) -> Vec<TaskId> {
        if self.view.has_tasks() && !self.selected.is_empty() {
            return self.selected.iter().cloned().collect();
        }
        self.task_at_cursor().into_iter().collect()
    }

    /// Returns the task under the cursor.
    pub(crate) fn task_at_cursor(&self) -> Option<TaskId> {
        self.at_task.clone().filter(|_| self.view.has_tasks())
    }

    /// Reads the task under the cursor.
    pub(crate) fn current(&self) -> Option<Task> {
        self.watched.as_ref()?.live().task(&self.task_at_cursor()?)
    }

    /// Tells whether something can be done to what is meant.
    pub(crate) fn applies(&self, action: Action) -> bool {
        match info(action).subject {
            Subject::Board | Subject::List => self.applies_to_list(action),
            Subject::Task | Subject::Tasks => self.applies_to_tasks(action),
            Subject::Job => self.view == View::Jobs && self.jobs.get(self.row).is_some_and(JobRow::is_going_on),
            Subject::Message => {
                self.view == View::Mail && self.mail.threads.get(self.row).is_some_and(|thread| thread.unread() > 0)
            }
            Subject::Revision => self.view == View::History,
        }
    }

    fn applies_to_list(&self, action: Action) -> bool {
        match action {
            Action::Redo => !self.undone.is_empty(),
            Action::NextNeed => self.count_needs() > 0,
            Action::Restore => self.gone.is_some() || self.view == View::History,
            Action::Send | Action::SendAnew => self.mail.name.is_some(),
            Action::ZoomIn | Action::ZoomOut => self.view == View::Graph,
            Action::SelectNone => !self.selected.is_empty(),
            _ => true,
        }
    }

    fn applies_to_tasks(&self, action: Action) -> bool {
        let meant = self.meant();
        if meant.is_empty() {
            return false;
        }
        let Some(watched) = &self.watched else { return false };
        let live = watched.live();
        let any = |is: &dyn Fn(Status, bool) -> bool| {
            meant.iter().any(|id| live.standing(id).is_some_and(|(status, owner)| is(status, owner.is_some())))
        };
        match action {
            Action::Start => any(&|status, _| status == Status::Pending),
            Action::Done | Action::Cancel => any(&|status, _| status.is_open()),
            Action::Reopen => any(&|status, _| status == Status::Completed),
            Action::Claim => any(&|status, _| status.is_open()),
            Action::Release => any(&|status, is_owned| status == Status::InProgress || (status.is_open() && is_owned)),
            Action::MoveLeft => any(&|status, _| status != Status::Pending),
            Action::MoveRight => any(&|status, _| status != Status::Completed),
            Action::Unblock => meant.iter().any(|id| !live.waits_for(id).is_empty()),
            Action::Fold if self.view == View::Graph => {
                let node = self.at_task.as_ref().and_then(|id| self.graph.picture.node(id));
                node.is_some_and(|node| node.is_folded || node.leads_on())
            }
            Action::Fold => self.view == View::List && meant.iter().any(|id| !live.parts_of(id).is_empty()),
            _ => true,
        }
    }

    /// Tells whether the cursor stands on the row of completed tasks that are not shown.
    pub(crate) fn is_on_fold(&self) -> bool {
        self.view == View::List && matches!(self.arrangement.row(self.row), Some(Row::Completed(_)))
    }
}
