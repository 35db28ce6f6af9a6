//! Applying events from the other threads, and the passing of time.

use std::collections::HashMap;

use taskyard::config::NoticeKind;
use taskyard::core::rules::looking::query::Times;
use taskyard::core::view::{
    Action, FilteredList, HeldTask, JobRow, LeaseShown, LiveFilter, Need, agent_rows, info, keep_seen,
};
use taskyard::core::{Event, ListId, Status, Task, TaskId, Timestamp};

use super::state::{BeforeCreation, LoadedHistory};
use super::{App, Effect, MessageKind, Mode, View};
use crate::messages::{Answer, AppEvent, Loaded, Operation, PaneEnd, Refused, Resource, cannot_be_read};

/// How long a change is highlighted, in milliseconds.
const GLOW: i64 = 1200;

/// How long the answer to a creation waits for the list to show the task, in milliseconds.
const SHOWN_WITHIN: i64 = 2000;

/// The maximum number of lines of command output that are kept.
const PANE_LINES: usize = 10_000;

/// The maximum number of simultaneous changes that are highlighted; with more, none are.
const GLOWING: usize = 40;

impl App {
    /// Applies an event.
    pub(crate) fn on_event(&mut self, news: AppEvent, now: Timestamp) {
        self.now = now;
        match news {
            AppEvent::Loaded(loaded) => self.apply_loaded(*loaded),
            AppEvent::Commits(commits) => commits.into_iter().for_each(|commit| self.apply_commit(commit)),
            AppEvent::Leases(list, leases, abandoned) if list == self.list => {
                self.leases = leases.into_iter().map(|lease| (lease.0.task.clone(), lease)).collect();
                if self.abandoned != abandoned {
                    self.abandoned = abandoned;
                    self.disarrange();
                }
                self.note_agents();
                self.is_dirty = true;
            }
            AppEvent::Invalidated(moved) => {
                if moved.mail {
                    self.request(if self.view == View::Mail { Resource::ShownMail } else { Resource::Mail });
                }
                if moved.jobs {
                    self.request(Resource::Jobs);
                }
                if moved.team {
                    self.request(Resource::Team);
                }
            }
            AppEvent::Lost(list, why) if list == self.list => {
                self.lost = Some(why);
                self.is_dirty = true;
            }
            AppEvent::Regained(list) if list == self.list => {
                self.lost = None;
                self.is_dirty = true;
            }
            AppEvent::Jobs(list, jobs) if list == self.list => {
                let changed = self.jobs != jobs;
                self.jobs = jobs;
                self.is_dirty |= changed;
                if self.view == View::Jobs {
                    self.row = self.row.min(self.rows().saturating_sub(1));
                    if self.output.is_none() {
                        self.request_output();
                    }
                }
            }
            AppEvent::Output(job, lines) => {
                let told = Some((job, lines));
                self.is_dirty |= self.output != told;
                self.output = told;
            }
            AppEvent::AgentOutputs(list, outputs) if list == self.list => {
                self.is_dirty |= self.agent_outputs != outputs;
                self.agent_outputs = outputs;
            }
            AppEvent::Team(list, team) if list == self.list => {
                self.is_dirty |= self.team != team;
                self.team = team;
                self.note_agents();
            }
            AppEvent::Mail(list, mail) if list == self.list => {
                let before = std::mem::take(&mut self.mail.threads);
                self.mail = *mail;
                keep_seen(&before, &mut self.mail.threads);
                self.is_dirty = true;
            }
            AppEvent::Lists(lists) => {
                self.is_dirty |= self.lists.as_ref() != Some(&lists);
                self.lists = Some(lists);
                self.offer_lists();
            }
            AppEvent::History { list, before, steps } if list == self.list => {
                if before.is_none() {
                    self.history = LoadedHistory::default();
                }
                self.history.is_asked = false;
                self.history.is_all = steps.is_empty();
                self.history.steps.extend(steps);
                self.is_dirty = true;
            }
            AppEvent::Page(page) if page.list == self.list => {
                self.page = Some(page);
                self.is_dirty = true;
            }
            AppEvent::Graph(list, graph) if list == self.list => {
                self.graph.picture = graph;
                self.keep_the_cursor();
                self.is_dirty = true;
            }
            AppEvent::Times(list, times) if list == self.list => {
                self.times = Some(times);
                if let (Some(filter), Some(watched)) = (&mut self.filter, &self.watched) {
                    filter.look_at_all_again(watched.live());
                }
                self.disarrange();
            }
            AppEvent::Todos(list, todos) if list == self.list => {
                self.is_dirty |= self.todos != todos;
                self.todos = todos;
            }
            AppEvent::PaneLines(lines) => {
                if let Mode::Pane(pane) = &mut self.mode {
                    pane.lines.extend(lines);
                    let surplus = pane.lines.len().saturating_sub(PANE_LINES);
                    pane.lines.drain(..surplus);
                    self.is_dirty = true;
                }
            }
            AppEvent::PaneEnded(end) => self.end_pane(end),
            AppEvent::Gone(list, gone) if list == self.list => {
                self.gone = gone;
                self.is_dirty = true;
            }
            AppEvent::Answered(did) => {
                self.answers.push((Timestamp(now.0 + SHOWN_WITHIN), *did));
                self.apply_due_answers();
            }
            // Late data of a list that is no longer shown.
            AppEvent::Leases(..)
            | AppEvent::Lost(..)
            | AppEvent::Regained(_)
            | AppEvent::Jobs(..)
            | AppEvent::AgentOutputs(..)
            | AppEvent::Team(..)
            | AppEvent::Mail(..)
            | AppEvent::History { .. }
            | AppEvent::Page(_)
            | AppEvent::Graph(..)
            | AppEvent::Times(..)
            | AppEvent::Todos(..)
            | AppEvent::Gone(..) => {}
        }
    }

    fn apply_loaded(&mut self, loaded: Loaded) {
        if loaded.list != self.list {
            return;
        }
        let is_first = self.watched.is_none();
        let Loaded { watched, exists, gone, unreadable, .. } = loaded;
        self.watched = Some(watched);
        (self.exists, self.gone, self.unreadable, self.lost) = (exists, gone, unreadable, None);
        self.disarrange();
        self.arrange();
        let text = self.filter_text.clone();
        self.filter_by(&text);
        if is_first {
            self.go_to(0);
        }
        self.request_page();
        self.apply_due_answers();
    }

    fn apply_commit(&mut self, mut commit: Event) {
        let Some(watched) = self.watched.as_mut().filter(|_| commit.list == self.list) else { return };
        let is_by_others = commit.entries.iter().any(|entry| entry.actor != self.actor || entry.op.is_elsewhere());
        let has_files = commit.entries.iter().any(|entry| entry.after.is_some());
        let newest = commit.clone();
        for entry in &commit.entries {
            self.unreadable.remove(&entry.task);
            if let Some(Err(why)) = entry.after.as_ref().map(|image| image.task(&entry.task)) {
                let file = format!("{}.json", entry.task.file_stem());
                self.unreadable.insert(entry.task.clone(), cannot_be_read(&file, &why));
            }
        }
        if !watched.live().rules().is_client() {
            // The last known state of a task stays visible if its file can no longer be read.
            commit.entries.retain(|entry| !self.unreadable.contains_key(&entry.task));
        }
        let changed = watched.apply(commit, self.now);
        if let Some(times) = &mut self.times {
            note_times(times, &newest);
        }
        if let Some(filter) = &mut self.filter {
            let none = HashMap::new();
            let times = self.times.as_ref().unwrap_or(&none);
            filter.look_again(FilteredList { list: watched.live(), times, now: self.now }, &changed);
        }
        self.exists |= has_files;
        let is_empty = watched.live().is_empty();
        if has_files {
            self.gone = None;
        } else if is_empty {
            self.request(Resource::Gone);
        }
        self.glow(&changed);
        self.note_step(newest);
        if self.at_task.as_ref().is_some_and(|id| changed.contains(id)) {
            self.request_page();
        }
        if self.view == View::Graph {
            self.request_graph();
        }
        self.disarrange();
        // A task tool call brings the tasks to the front, once.
        let may_bring = !self.was_brought_to_front && matches!(self.mode, Mode::Browsing) && !self.is_open;
        if is_by_others && may_bring && !self.view.has_tasks() && self.view != View::History {
            self.show(View::List);
        }
        self.was_brought_to_front |= is_by_others;
        self.apply_due_answers();
    }

    fn glow(&mut self, changed: &[TaskId]) {
        if changed.len() <= GLOWING {
            let until = Timestamp(self.now.0 + GLOW);
            self.flashes.extend(changed.iter().map(|id| (id.clone(), until)));
        }
    }

    /// Adds a commit at the top of the history.
    fn note_step(&mut self, commit: Event) {
        let is_newer = self.history.steps.first().is_none_or(|step| step.revision < commit.revision);
        if is_newer && (!self.history.steps.is_empty() || self.history.is_all) {
            let step = taskyard::core::view::Step { revision: commit.revision, entries: commit.entries };
            self.history.steps.insert(0, step);
            // A user who looks at an older entry keeps it under the cursor.
            if self.view == View::History && self.row > 0 {
                self.row += 1;
                self.top += 1;
            }
        }
    }

    /// Applies the answers that are due. The answer to a creation waits until the list shows the task, so that a user
    /// who reads that a task was created finds the cursor on it, and the next key acts on it.
    pub(super) fn apply_due_answers(&mut self) {
        let live = self.watched.as_ref().map(|watched| watched.live());
        let is_shown = |id: &TaskId| live.is_none_or(|live| live.standing(id).is_some());
        let is_due = |until: &Timestamp, did: &Answer| *until <= self.now || did.made.as_ref().is_none_or(is_shown);
        let answers = std::mem::take(&mut self.answers);
        let (due, later) = answers.into_iter().partition(|(until, did)| is_due(until, did));
        self.answers = later;
        let due: Vec<(Timestamp, Answer)> = due;
        due.into_iter().for_each(|(_, did)| self.apply_answer(did));
    }

    fn apply_answer(&mut self, did: Answer) {
        self.under_way = self.under_way.saturating_sub(1);
        if did.undone.is_empty() && !did.revisions.is_empty() {
            self.made.push(did.revisions);
        }
        match did.answer {
            Ok(words) => {
                self.show_message(MessageKind::Done, words, None);
                self.selected.clear();
                self.undone.extend(did.undone);
                for resource in [Resource::Mail, Resource::Jobs, Resource::Team] {
                    self.request(resource);
                }
            }
            Err(refused) => {
                let hint = self.refusal_hint(&refused, did.forcible.as_ref());
                self.show_message(MessageKind::Refused, refused.message, hint);
                self.forcible = did.forcible;
            }
        }
        if let Some(made) = did.made {
            let at_task = self.at_task.take();
            self.before_creation = Some(BeforeCreation { created: made.clone(), at_task, is_shown: false });
            self.at_task = Some(made);
            self.disarrange();
        }
    }

    /// Records how the command in the pane ended. A successful command without output is replaced by a message.
    fn end_pane(&mut self, end: PaneEnd) {
        let Mode::Pane(pane) = &mut self.mode else { return };
        self.is_dirty = true;
        if pane.lines.is_empty() && end == PaneEnd::Code(0) {
            let words = format!("taskyard {}", pane.command);
            self.mode = Mode::Browsing;
            self.show_message(MessageKind::Done, words, None);
        } else {
            pane.end = Some(end);
        }
        // The command made the newest changes, whose revisions are not known here.
        self.made.clear();
        self.request_all();
    }

    /// Returns a hint that names the key which resolves a refusal. Commands of the CLI are typed after `:` here.
    fn refusal_hint(&self, refused: &Refused, forcible: Option<&Operation>) -> Option<String> {
        let key = |action: Action| self.key(action).unwrap_or(info(action).name);
        let force = key(Action::Force);
        let first = refused.hint.as_deref().and_then(|hint| hint.split(';').next()).unwrap_or_default();
        match (refused.code, forcible) {
            ("changed_since", Some(_)) => Some(format!("press {force} to undo the later changes too")),
            (_, Some(Operation::Undo(_))) => Some(format!("press {force} to undo the newest change by anyone")),
            ("open_parts", Some(_)) => Some(format!("{first}, or press {force} to close it anyway")),
            (_, Some(Operation::Start(_))) => Some(format!("press {force} to take it over")),
            (_, Some(_)) => Some(format!("press {force} to do it anyway")),
            ("blocked", None) => Some(format!("{first}, or press {} to remove the dependency", key(Action::Unblock))),
            ("cycle", None) => Some(format!("press {} to remove a dependency first", key(Action::Unblock))),
            ("already_resolved", None) => Some(format!("press {} to reopen it", key(Action::Reopen))),
            ("agent_busy", None) => Some(format!(
                "finish that first with {}, or release it with {}",
                key(Action::Done),
                key(Action::Release)
            )),
            _ => refused.hint.as_deref().map(|hint| hint.replace("`taskyard ", "`:")),
        }
    }

    /// Switches to another list.
    pub(crate) fn follow(&mut self, list: ListId) {
        // Tasks that were created in the previous list do not appear in this one.
        self.answers.iter_mut().for_each(|(_, did)| did.made = None);
        self.apply_due_answers();
        self.list = list;
        self.watched = None;
        self.arrangement = Default::default();
        self.tally = Default::default();
        self.needs.clear();
        self.leases.clear();
        self.abandoned.clear();
        self.at_task = None;
        (self.row, self.top, self.column_tops) = (0, 0, [0; 3]);
        self.selected.clear();
        self.folded.clear();
        (self.filter, self.filter_text, self.filter_mistake) = (None, String::new(), None);
        (self.page, self.output, self.team) = (None, None, None);
        self.mail = Default::default();
        self.agent_outputs.clear();
        (self.jobs, self.agents, self.todos) = (Vec::new(), Vec::new(), Vec::new());
        self.graph = Default::default();
        self.times = None;
        self.history = LoadedHistory::default();
        self.undone.clear();
        self.made.clear();
        self.counted = None;
        self.lost = None;
        self.perform(Action::ShowList);
        self.request_all();
        self.is_dirty = true;
    }
}

/// Updates the times of the tasks that a commit changes.
fn note_times(times: &mut HashMap<TaskId, Times>, commit: &Event) {
    for entry in &commit.entries {
        let known = times.entry(entry.task.clone()).or_insert(Times { created: entry.at, updated: entry.at });
        known.updated = entry.at;
    }
}

/// The maximum number of owned tasks without a lease that are checked.
const MOST_OWNED: usize = 500;

impl App {
    /// Determines the agents that work here: the members of the team, and every other owner of a task.
    pub(super) fn note_agents(&mut self) {
        let members =
            self.team.iter().flat_map(|team| &team.members).map(|shown| shown.row(|id| self.held(id))).collect();
        let Some(watched) = &self.watched else { return };
        // The holder of a lease has the task, and so has the agent that the client recorded as owner of a task in
        // progress.
        let named = watched.live().held(|_| true).into_iter().take(MOST_OWNED);
        let named = named.filter(|id| {
            let standing = watched.live().standing(id);
            standing.is_some_and(|(status, _)| status == taskyard::core::Status::InProgress)
        });
        let mut ids: Vec<TaskId> = self.leases.keys().cloned().chain(named).collect();
        ids.sort_by_cached_key(|id| (id.as_number(), id.as_str().to_owned()));
        ids.dedup();
        let held = ids.into_iter().filter_map(|id| self.held(&id)).collect();
        self.agents = agent_rows(members, held);
    }

    /// Returns an open task with its owner; `None` if it has no owner.
    fn held(&self, id: &TaskId) -> Option<HeldTask> {
        let task = self.watched.as_ref()?.live().task(id).filter(|task| task.status.is_open())?;
        let lease = self.leases.get(id);
        let owner = lease.map(|(lease, _)| lease.agent.to_string()).or_else(|| task.owner().map(str::to_owned))?;
        let shown = match lease {
            None => LeaseShown::None,
            Some((lease, state)) if state.is_alive() => LeaseShown::Lives(lease.ends.as_ref().map(|end| end.wall)),
            Some(_) => LeaseShown::Ended,
        };
        let since = lease.map(|(lease, _)| lease.taken);
        Some(HeldTask { task: id.clone(), subject: task.subject, owner, since, lease: shown })
    }
}

/// How many tasks are filtered before keys are read again.
pub(super) const LOOKED_AT: usize = 500;

/// How often clocks and spinners are updated, in milliseconds, while they are visible.
const SECOND: i64 = 1000;

/// How often, in milliseconds, data that the stream does not report is requested while it is visible.
const JOBS: i64 = 1000;
const TEAM: i64 = 3000;
const LISTS: i64 = 3000;

impl App {
    /// Advances the time.
    pub(crate) fn on_tick(&mut self, now: Timestamp) {
        let before = std::mem::replace(&mut self.now, now);
        if self.flashes.values().any(|until| *until <= now) {
            self.flashes.retain(|_, until| *until > now);
            self.is_dirty = true;
        }
        if self.message.as_ref().is_some_and(|message| message.until.is_some_and(|until| until <= now)) {
            self.message = None;
            self.is_dirty = true;
        }
        if self.has_clock() && before.0 / SECOND != now.0 / SECOND {
            self.is_dirty = true;
        }
        if let Some(watched) = self.watched.as_mut()
            && watched.next_need(before).is_some_and(|need| need < now)
        {
            watched.pass(now);
            self.disarrange();
        }
        if let (Some(filter), Some(watched)) = (self.filter.as_mut(), &self.watched)
            && filter.next_day(before).is_some_and(|day| day <= now)
        {
            filter.look_at_all_again(watched.live());
        }
        if self.view_period().is_some_and(|period| now.0 - self.asked_at.0 >= period) {
            self.request_view();
        }
        if self.next_look_at_todos().is_some_and(|next| next <= now.0) {
            self.request_todos();
        }
        self.apply_due_answers();
        self.go_on_filtering();
        self.notify_of_needs();
    }

    /// Requests a desktop notice when more items need the user than before. Items that were there when the list was
    /// opened are on the screen.
    fn notify_of_needs(&mut self) {
        if self.watched.is_none() || !self.is_arranged {
            return;
        }
        let (needs, unread) = (self.count_needs(), self.mail.unread());
        let before = self.counted.replace((needs, unread));
        let Some((needs_before, unread_before)) = before else { return };
        let title = format!("{}: {needs} {} you", self.list, if needs == 1 { "needs" } else { "need" });
        if unread > unread_before {
            let text = format!("{unread} unread messages");
            self.effects.push(Effect::Notify { kind: NoticeKind::Message, title, text });
        } else if needs > needs_before {
            let live = self.watched.as_ref().map(|watched| watched.live());
            let first = self.needs.iter().find_map(|need| Some((need, live?.task(&need.task)?)));
            let words = |(need, task): (&Need, Task)| {
                format!("#{} {}: {}", task.id, task.shown_subject(), need.kind.in_words())
            };
            let text = first.map_or_else(|| "see the board".to_owned(), words);
            self.effects.push(Effect::Notify { kind: NoticeKind::Need, title, text });
        }
    }

    /// Returns the time until the next tick in milliseconds; `None` if only keys and events matter.
    pub(crate) fn next_tick(&self) -> Option<i64> {
        if self.is_filtering() {
            return Some(0);
        }
        let mut ends: Vec<i64> = self.flashes.values().map(|until| until.0).collect();
        ends.extend(self.message.as_ref().and_then(|message| message.until).map(|until| until.0));
        ends.extend(self.has_clock().then(|| (self.now.0 / SECOND + 1) * SECOND));
        ends.extend(self.view_period().map(|period| self.asked_at.0 + period));
        ends.extend(self.next_look_at_todos());
        ends.extend(self.filter.as_ref().and_then(|filter| filter.next_day(self.now)).map(|day| day.0));
        ends.extend(self.answers.iter().map(|(until, _)| until.0));
        ends.extend(self.watched.as_ref().and_then(|watched| watched.next_need(self.now)).map(|need| need.0 + 1));
        ends.into_iter().min().map(|end| (end - self.now.0).max(0))
    }

    /// Returns the current frame of the spinner.
    pub(crate) fn spinner(&self) -> &'static str {
        const TURNS: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
        const ASCII: [&str; 4] = ["|", "/", "-", "\\"];
        let second = usize::try_from(self.now.0 / SECOND).unwrap_or_default();
        if self.settings.unicode { TURNS[second % TURNS.len()] } else { ASCII[second % ASCII.len()] }
    }

    /// Returns whether something visible changes with the clock.
    fn has_clock(&self) -> bool {
        let is_busy = self.tally.of(Status::InProgress) > 0;
        let is_turning = self.shows_todos() && !self.todos.is_empty();
        is_turning
            || match self.view {
                View::List | View::Columns => is_busy,
                View::Agents => !self.agents.is_empty(),
                View::Jobs => self.jobs.iter().any(JobRow::is_going_on),
                View::Graph | View::Mail | View::History | View::Lists => false,
            }
    }

    /// Returns whether the todo lists of agents are visible.
    pub(crate) fn shows_todos(&self) -> bool {
        self.settings.todo_period.is_some() && matches!(self.view, View::List | View::Columns | View::Agents)
    }

    /// Returns when todo lists are next requested.
    fn next_look_at_todos(&self) -> Option<i64> {
        self.settings.todo_period.filter(|_| self.shows_todos()).map(|period| self.todos_asked_at.0 + period)
    }

    fn view_period(&self) -> Option<i64> {
        match self.view {
            View::Jobs => Some(JOBS),
            View::Agents => Some(TEAM),
            View::Lists => Some(LISTS),
            View::List | View::Columns | View::Graph | View::Mail | View::History => None,
        }
    }

    /// Returns whether a filter has not processed every task yet.
    pub(crate) fn is_filtering(&self) -> bool {
        self.filter.as_ref().is_some_and(|filter| !filter.is_complete())
            || self.picker().is_some_and(|picker| picker.is_filtering())
    }

    fn go_on_filtering(&mut self) {
        let Some(watched) = &self.watched else { return };
        let none = HashMap::new();
        let times = self.times.as_ref().unwrap_or(&none);
        let from = FilteredList { list: watched.live(), times, now: self.now };
        let mut is_moved = false;
        if let Some(filter) = self.filter.as_mut().filter(|filter| !filter.is_complete()) {
            filter.go_on(from, LOOKED_AT);
            is_moved = true;
        }
        if is_moved {
            self.disarrange();
        }
        self.go_on_picking(LOOKED_AT);
    }

    /// Sets the filter.
    pub(super) fn filter_by(&mut self, text: &str) {
        self.filter_text = text.to_owned();
        let begun = self
            .watched
            .as_ref()
            .map_or(Ok(None), |watched| LiveFilter::begin(text, self.settings.zone, watched.live()));
        match begun {
            Ok(filter) => (self.filter, self.filter_mistake) = (filter, None),
            // The previous result stays while the user is still typing.
            Err(mistake) => self.filter_mistake = Some(mistake.to_string()),
        }
        if self.times.is_none() && self.filter.as_ref().is_some_and(LiveFilter::asks_for_times) {
            self.request(Resource::Times);
        }
        self.go_on_filtering();
        self.disarrange();
    }
}
