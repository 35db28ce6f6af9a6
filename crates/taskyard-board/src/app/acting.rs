//! Performing actions: which tasks an action applies to, whether it can be performed, and what it changes.

use taskyard::core::view::{Action, AgentRow, JobRow, Property, Row, Subject, info};
use taskyard::core::{Status, Task, TaskId};
use taskyard::operations::UndoRange;

use super::picker::Picking;
use super::prompt::Purpose;
use super::{App, Effect, MessageKind, Mode, View};
use crate::messages::Operation;

impl App {
    /// Performs an action on its targets.
    pub(crate) fn perform(&mut self, action: Action) {
        self.arrange();
        if let Some(view) = View::shown_by(action) {
            self.show(view);
            return;
        }
        if !self.applies(action) {
            self.show_message(MessageKind::Refused, self.why_not(action), None);
            return;
        }
        match action {
            Action::Up | Action::Down | Action::PageUp | Action::PageDown | Action::Top | Action::Bottom => {
                if self.is_open && (self.view.has_tasks() || self.view == View::Mail) {
                    self.scroll_page(action);
                } else if self.view == View::Graph {
                    self.step_in_graph(action);
                } else {
                    self.step(action);
                }
            }
            Action::Left | Action::Right if self.view == View::Graph => self.step_in_graph(action),
            Action::Left | Action::Right => self.step_aside(action),
            Action::ZoomIn | Action::ZoomOut => self.zoom(action),
            Action::ScrollUp | Action::ScrollDown => self.scroll_page(action),
            Action::Open => self.open(),
            Action::Back => self.back(),
            Action::Palette => self.pick(Picking::Action),
            Action::Help => {
                self.mode = Mode::Help;
                self.help_scroll = 0;
                self.is_dirty = true;
            }
            Action::Filter => {
                if !self.view.has_tasks() {
                    self.show(View::List);
                }
                let text = self.filter_text.clone();
                self.prompt(Purpose::Filter, &text);
            }
            Action::Suspend => self.effects.push(Effect::Suspend),
            Action::Quit => self.effects.push(Effect::Quit),
            Action::Select => self.toggle_selected(),
            Action::SelectNone => {
                self.selected.clear();
                self.is_dirty = true;
            }
            Action::Fold if self.view == View::Graph => self.fold_in_graph(),
            Action::Fold => self.fold(),
            Action::NextNeed => self.go_to_next_need(),
            Action::Redo => {
                if let Some(revision) = self.undone.pop() {
                    self.submit(Operation::Undo(vec![UndoRange::One(revision)]));
                }
            }
            Action::Undo => {
                let step = self.history.steps.get(self.row).filter(|_| self.view == View::History);
                let meant = match step {
                    Some(step) => vec![UndoRange::One(step.revision)],
                    // Undo the newest operation of this board, then whatever the actor did before.
                    None => match self.made.pop() {
                        Some(revisions) => revisions.into_iter().rev().map(UndoRange::One).collect(),
                        None => vec![UndoRange::OwnNewest],
                    },
                };
                self.submit(Operation::Undo(meant));
            }
            Action::Force => self.force(),
            Action::Restore => self.submit(Operation::Restore),
            Action::Create => self.prompt(Purpose::Create { parent: None }, ""),
            Action::Send => match self.mail.threads.get(self.row).filter(|_| self.view == View::Mail) {
                Some(thread) => self.prompt(Purpose::Send { to: thread.with.clone() }, ""),
                None => self.pick(Picking::SendTo),
            },
            Action::SendAnew => self.pick(Picking::SendTo),
            Action::StopJob => {
                if let Some(job) = self.jobs.get(self.row) {
                    self.submit(Operation::StopJob(job.id.clone()));
                }
            }
            Action::Acknowledge => {
                if let Some(thread) = self.mail.threads.get(self.row) {
                    self.submit(Operation::Acknowledge(thread.waiting()));
                }
            }
            _ => self.act_on_tasks(action),
        }
    }

    fn act_on_tasks(&mut self, action: Action) {
        let tasks = self.targets();
        match action {
            Action::Start => self.submit(Operation::Start(self.in_state(tasks, Status::Pending))),
            Action::Done => self.submit(Operation::Done(self.open_ones(tasks))),
            Action::Cancel => self.submit(Operation::Cancel(self.open_ones(tasks))),
            Action::Reopen => self.submit(Operation::Reopen(self.in_state(tasks, Status::Completed))),
            Action::Claim => self.submit(Operation::Claim(self.open_ones(tasks))),
            Action::Release => self.submit(Operation::Release(self.open_ones(tasks))),
            Action::Delete => self.submit(Operation::Delete(tasks)),
            Action::Note => self.prompt(Purpose::Note(tasks), ""),
            Action::Assign => self.pick(Picking::Assign(tasks)),
            Action::Priority => self.pick(Picking::Set(Property::Priority, tasks)),
            Action::Due => self.pick(Picking::Set(Property::Due, tasks)),
            Action::Defer => self.pick(Picking::Set(Property::Defer, tasks)),
            Action::Tags => self.pick(Picking::Set(Property::Tags, tasks)),
            Action::Estimate => self.pick(Picking::Set(Property::Estimate, tasks)),
            Action::Parent => self.pick(Picking::Set(Property::Parent, tasks)),
            Action::Kind => self.pick(Picking::Set(Property::Kind, tasks)),
            Action::BlockedBy => self.pick(Picking::BlockedBy(tasks)),
            Action::Unblock => self.pick(Picking::Unblock(tasks)),
            Action::MoveLeft | Action::MoveRight => self.move_aside(action, tasks),
            Action::CreatePart => self.prompt(Purpose::Create { parent: self.task_at_cursor() }, ""),
            Action::Edit => {
                if let Some(task) = self.current() {
                    let subject = task.shown_subject().into_owned();
                    self.prompt(Purpose::Rename(task.id), &subject);
                }
            }
            Action::EditInEditor => {
                self.effects.push(Effect::Edit(tasks));
            }
            _ => {}
        }
    }

    /// Explains why an action cannot be performed here.
    fn why_not(&self, action: Action) -> String {
        let name = info(action).name;
        match (action, info(action).subject) {
            (Action::Redo, _) => "there is nothing to redo".to_owned(),
            (Action::Force, _) => "nothing to repeat: no refused action can be forced".to_owned(),
            (Action::NextNeed, _) => "nothing needs attention".to_owned(),
            (Action::Restore, _) => "nothing is missing here".to_owned(),
            (Action::Send | Action::SendAnew, _) => {
                format!("{} is not in a team of this list; `:team join NAME` joins one", self.actor)
            }
            (Action::SelectNone, _) => "nothing is selected".to_owned(),
            (_, Subject::Task | Subject::Tasks) if self.targets().is_empty() => {
                format!("{name}: there is no task under the cursor")
            }
            (Action::Start, _) if !self.in_state(self.targets(), Status::InProgress).is_empty() => {
                "it is already in progress".to_owned()
            }
            (Action::Start | Action::Done | Action::Cancel | Action::Claim, _) => {
                format!("it is closed; press {} to reopen it", self.key(Action::Reopen).unwrap_or(":reopen"))
            }
            (Action::Reopen, _) => "it is open".to_owned(),
            (Action::Release, _) => "it has no owner".to_owned(),
            (Action::Unblock, _) => "it waits for nothing".to_owned(),
            (Action::Fold, _) if self.view == View::Graph => "nothing depends on it alone".to_owned(),
            (Action::Fold, _) => "it has no parts here".to_owned(),
            (Action::ZoomIn | Action::ZoomOut, _) => "only the graph can be zoomed".to_owned(),
            (Action::StopJob, _) => "there is no running job under the cursor".to_owned(),
            (Action::Acknowledge, _) => "there is no unread message under the cursor".to_owned(),
            _ => format!("{name} cannot be done here"),
        }
    }

    fn in_state(&self, mut tasks: Vec<TaskId>, wanted: Status) -> Vec<TaskId> {
        let live = self.watched.as_ref().map(|watched| watched.live());
        tasks.retain(|id| live.and_then(|live| live.standing(id)).is_some_and(|(status, _)| status == wanted));
        tasks
    }

    fn open_ones(&self, mut tasks: Vec<TaskId>) -> Vec<TaskId> {
        let live = self.watched.as_ref().map(|watched| watched.live());
        tasks.retain(|id| live.and_then(|live| live.standing(id)).is_some_and(|(status, _)| status.is_open()));
        tasks
    }

    /// Moves tasks to the adjacent column.
    fn move_aside(&mut self, action: Action, tasks: Vec<TaskId>) {
        let beside = |status: Status| match (status, action) {
            (Status::Pending, Action::MoveRight) | (Status::Completed, Action::MoveLeft) => Some(Status::InProgress),
            (Status::InProgress, Action::MoveRight) => Some(Status::Completed),
            (Status::InProgress, Action::MoveLeft) => Some(Status::Pending),
            _ => None,
        };
        let Some(to) = self.at_task.as_ref().and_then(|id| {
            let (status, _) = self.watched.as_ref()?.live().standing(id)?;
            beside(status)
        }) else {
            return;
        };
        self.submit(Operation::Move { tasks, to });
    }

    fn open(&mut self) {
        self.is_dirty = true;
        if self.is_on_fold() {
            self.shows_all_done = true;
            self.disarrange();
            return;
        }
        match self.view {
            View::List | View::Columns | View::Graph => {
                self.is_open = !self.is_open && self.at_task.is_some();
                self.page_scroll = 0;
                self.request_page();
            }
            View::Agents if self.output_of_agent().is_some() || self.is_open => self.is_open = !self.is_open,
            View::Agents => {
                let held = self.agents.get(self.row).and_then(|agent| agent.holds.first());
                if let Some(task) = held.map(|held| held.task.clone()) {
                    self.show(View::List);
                    self.go_to_task(&task);
                }
            }
            View::Jobs => {
                self.is_open = !self.is_open && self.jobs.get(self.row).is_some();
                self.request_output();
            }
            View::History => {
                let step = self.history.steps.get(self.row);
                if let Some(task) = step.and_then(|step| step.entries.first()).map(|entry| entry.task.clone()) {
                    self.show(View::List);
                    self.go_to_task(&task);
                }
            }
            View::Lists => {
                let list = self.lists.as_ref().and_then(|lists| lists.get(self.row)).map(|row| row.list.clone());
                if let Some(list) = list {
                    self.effects.push(Effect::Follow(list));
                }
            }
            View::Mail => {
                self.is_open = !self.is_open && self.mail.threads.get(self.row).is_some();
                self.page_scroll = 0;
            }
        }
    }

    fn back(&mut self) {
        self.is_dirty = true;
        if self.message.take().is_some() {
            return;
        }
        if self.is_open {
            self.is_open = false;
        } else if !self.selected.is_empty() {
            self.selected.clear();
        } else if self.filter.is_some() {
            self.filter_by("");
        } else if self.shows_all_done {
            self.shows_all_done = false;
            self.disarrange();
        } else {
            self.show(View::List);
        }
    }

    fn scroll_page(&mut self, action: Action) {
        let page = self.page_rows.saturating_sub(1).max(1);
        // A conversation is read from its end.
        let action = match (self.view, action) {
            (View::Mail, Action::Up | Action::ScrollUp) => Action::Down,
            (View::Mail, Action::Down | Action::ScrollDown) => Action::Up,
            (View::Mail, Action::PageUp) => Action::PageDown,
            (View::Mail, Action::PageDown) => Action::PageUp,
            (View::Mail, Action::Top) => Action::Bottom,
            (View::Mail, Action::Bottom) => Action::Top,
            (_, action) => action,
        };
        self.page_scroll = match action {
            Action::Up | Action::ScrollUp => self.page_scroll.saturating_sub(1),
            Action::Down | Action::ScrollDown => self.page_scroll + 1,
            Action::PageUp => self.page_scroll.saturating_sub(page),
            Action::PageDown => self.page_scroll + page,
            Action::Top => 0,
            _ => usize::MAX / 2,
        };
        self.is_dirty = true;
    }

    fn toggle_selected(&mut self) {
        let Some(id) = self.task_at_cursor() else { return };
        if !self.selected.remove(&id) {
            self.selected.insert(id);
        }
        self.step(Action::Down);
    }

    fn fold(&mut self) {
        let Some(id) = self.task_at_cursor() else { return };
        if !self.folded.remove(&id) {
            self.folded.insert(id);
        }
        self.disarrange();
    }

    /// Goes to the next item that needs a person: a task, then an agent, then a job, then messages.
    fn go_to_next_need(&mut self) {
        let after = self.at_task.clone().filter(|_| self.view.has_tasks());
        let next = match &after {
            Some(at) => self.needs.iter().find(|need| need.task > *at).or(self.needs.first()),
            None => self.needs.first(),
        };
        if let Some(task) = next.map(|need| need.task.clone()) {
            self.show(View::List);
            self.go_to_task(&task);
        } else if self.agents.iter().any(AgentRow::needs_a_person) {
            self.show(View::Agents);
        } else if self.jobs.iter().any(|job| job.needs_a_person) {
            self.show(View::Jobs);
        } else if self.mail.unread() > 0 {
            self.show(View::Mail);
        } else if let Some((task, why)) = self.unreadable.first_key_value() {
            let (task, why) = (task.clone(), why.clone());
            self.show(View::List);
            self.go_to_task(&task);
            self.show_message(MessageKind::Refused, why, Some("taskyard doctor".to_owned()));
        }
    }
}

impl App {
    /// Returns the selected tasks, or else the one under the cursor.
    pub(crate) fn targets(&self) -> Vec<TaskId> {
        if self.view.has_tasks() && !self.selected.is_empty() {
            return self.selected.iter().cloned().collect();
        }
        self.task_at_cursor().into_iter().collect()
    }

    pub(crate) fn task_at_cursor(&self) -> Option<TaskId> {
        self.at_task.clone().filter(|_| self.view.has_tasks())
    }

    /// Returns the state of the task under the cursor.
    pub(crate) fn current(&self) -> Option<Task> {
        self.watched.as_ref()?.live().task(&self.task_at_cursor()?)
    }

    /// Returns whether an action can be performed on its targets.
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
            Action::Force => self.forcible.is_some(),
            Action::NextNeed => self.count_needs() > 0,
            Action::Restore => self.gone.is_some() || self.view == View::History,
            Action::Send | Action::SendAnew => self.mail.name.is_some(),
            Action::ZoomIn | Action::ZoomOut => self.view == View::Graph,
            Action::SelectNone => !self.selected.is_empty(),
            _ => true,
        }
    }

    fn applies_to_tasks(&self, action: Action) -> bool {
        let meant = self.targets();
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

    /// Returns whether the cursor is on the row that summarises hidden completed tasks.
    pub(crate) fn is_on_fold(&self) -> bool {
        self.view == View::List && matches!(self.arrangement.row(self.row), Some(Row::Completed(_)))
    }
}
