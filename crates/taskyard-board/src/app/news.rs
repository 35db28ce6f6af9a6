//! Taking in what is told.

use std::collections::HashMap;

use taskyard::core::rules::looking::query::Times;
use taskyard::core::view::{Action, FilteredList, keep_seen};
use taskyard::core::{Event, ListId, TaskId, Timestamp};

use super::state::Past;
use super::{App, Mode, SaidKind, View};
use crate::deed::About;
use crate::news::{Did, Loaded, News, cannot_be_read};

/// How long a change glows, in milliseconds.
const GLOW: i64 = 1200;

/// How long the answer to a creation waits for the list to show the task, in milliseconds.
const SHOWN_WITHIN: i64 = 2000;

/// More changes at once than this do not glow: everything would.
const GLOWING: usize = 40;

impl App {
    /// Takes in what is told.
    pub(crate) fn on_news(&mut self, news: News, now: Timestamp) {
        self.now = now;
        match news {
            News::Loaded(loaded) => self.take_in_list(*loaded),
            News::Commits(commits) => commits.into_iter().for_each(|commit| self.take_in_commit(commit)),
            News::Leases(list, leases, abandoned) if list == self.list => {
                self.leases = leases.into_iter().map(|lease| (lease.0.task.clone(), lease)).collect();
                if self.abandoned != abandoned {
                    self.abandoned = abandoned;
                    self.disarrange();
                }
                self.note_agents();
                self.is_dirty = true;
            }
            News::Moved(moved) => {
                if moved.mail {
                    self.ask(if self.view == View::Mail { About::ShownMail } else { About::Mail });
                }
                if moved.jobs {
                    self.ask(About::Jobs);
                }
                if moved.team {
                    self.ask(About::Team);
                }
            }
            News::Lost(list, why) if list == self.list => {
                self.lost = Some(why);
                self.is_dirty = true;
            }
            News::Regained(list) if list == self.list => {
                self.lost = None;
                self.is_dirty = true;
            }
            News::Jobs(list, jobs) if list == self.list => {
                let changed = self.jobs != jobs;
                self.jobs = jobs;
                self.is_dirty |= changed;
                if self.view == View::Jobs {
                    self.row = self.row.min(self.rows().saturating_sub(1));
                    if self.output.is_none() {
                        self.ask_for_output();
                    }
                }
            }
            News::Output(job, lines) => {
                let told = Some((job, lines));
                self.is_dirty |= self.output != told;
                self.output = told;
            }
            News::Team(list, team) if list == self.list => {
                self.is_dirty |= self.team != team;
                self.team = team;
                self.note_agents();
            }
            News::Mail(list, mail) if list == self.list => {
                let before = std::mem::take(&mut self.mail.threads);
                self.mail = *mail;
                keep_seen(&before, &mut self.mail.threads);
                self.is_dirty = true;
            }
            News::Lists(lists) => {
                self.is_dirty |= self.lists.as_ref() != Some(&lists);
                self.lists = Some(lists);
            }
            News::History { list, before, steps } if list == self.list => {
                if before.is_none() {
                    self.past = Past::default();
                }
                self.past.is_asked = false;
                self.past.is_all = steps.is_empty();
                self.past.steps.extend(steps);
                self.is_dirty = true;
            }
            News::Page(page) if page.list == self.list => {
                self.page = Some(page);
                self.is_dirty = true;
            }
            News::Graph(list, graph) if list == self.list => {
                self.graph.picture = graph;
                self.keep_the_cursor();
                self.is_dirty = true;
            }
            News::Times(list, times) if list == self.list => {
                self.times = Some(times);
                if let (Some(filter), Some(watched)) = (&mut self.filter, &self.watched) {
                    filter.look_at_all_again(watched.live());
                }
                self.disarrange();
            }
            News::Todos(list, todos) if list == self.list => {
                self.is_dirty |= self.todos != todos;
                self.todos = todos;
            }
            News::Gone(list, gone) if list == self.list => {
                self.gone = gone;
                self.is_dirty = true;
            }
            News::Did(did) => {
                self.answers.push((Timestamp(now.0 + SHOWN_WITHIN), *did));
                self.take_in_answers();
            }
            // What comes late, of a list that is no longer shown.
            News::Leases(..)
            | News::Lost(..)
            | News::Regained(_)
            | News::Jobs(..)
            | News::Team(..)
            | News::Mail(..)
            | News::History { .. }
            | News::Page(_)
            | News::Graph(..)
            | News::Times(..)
            | News::Todos(..)
            | News::Gone(..) => {}
        }
    }

    fn take_in_list(&mut self, loaded: Loaded) {
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
        self.ask_for_page();
        self.take_in_answers();
    }

    fn take_in_commit(&mut self, mut commit: Event) {
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
            // The last known state of a task stays in view if its file can no longer be read.
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
            self.ask(About::Gone);
        }
        self.glow(&changed);
        self.note_step(newest);
        if self.at_task.as_ref().is_some_and(|id| changed.contains(id)) {
            self.ask_for_page();
        }
        if self.view == View::Graph {
            self.ask_for_graph();
        }
        self.disarrange();
        // A task tool call brings the tasks to the front, once.
        let may_bring = !self.was_brought_to_front && matches!(self.mode, Mode::Browsing) && !self.is_open;
        if is_by_others && may_bring && !self.view.has_tasks() && self.view != View::History {
            self.show(View::List);
        }
        self.was_brought_to_front |= is_by_others;
        self.take_in_answers();
    }

    fn glow(&mut self, changed: &[TaskId]) {
        if changed.len() <= GLOWING {
            let until = Timestamp(self.now.0 + GLOW);
            self.flashes.extend(changed.iter().map(|id| (id.clone(), until)));
        }
    }

    /// Puts a commit on top of what happened.
    fn note_step(&mut self, commit: Event) {
        let is_newer = self.past.steps.first().is_none_or(|step| step.revision < commit.revision);
        if is_newer && (!self.past.steps.is_empty() || self.past.is_all) {
            let step = taskyard::core::view::Step { revision: commit.revision, entries: commit.entries };
            self.past.steps.insert(0, step);
            // A user who looks at something older keeps it under the cursor.
            if self.view == View::History && self.row > 0 {
                self.row += 1;
                self.top += 1;
            }
        }
    }

    /// Takes in the answers that are due. The answer to a creation waits until the list shows the task: a user who reads that a task was
    /// made finds the cursor on it, and the next key acts on it.
    pub(super) fn take_in_answers(&mut self) {
        let live = self.watched.as_ref().map(|watched| watched.live());
        let is_shown = |id: &TaskId| live.is_none_or(|live| live.standing(id).is_some());
        let is_due = |until: &Timestamp, did: &Did| *until <= self.now || did.made.as_ref().is_none_or(is_shown);
        let answers = std::mem::take(&mut self.answers);
        let (due, later) = answers.into_iter().partition(|(until, did)| is_due(until, did));
        self.answers = later;
        let due: Vec<(Timestamp, Did)> = due;
        due.into_iter().for_each(|(_, did)| self.take_in_answer(did));
    }

    fn take_in_answer(&mut self, did: Did) {
        self.under_way = self.under_way.saturating_sub(1);
        if did.undid.is_empty() && !did.revisions.is_empty() {
            self.made.push(did.revisions);
        }
        match did.answer {
            Ok(words) => {
                self.say(SaidKind::Done, words, None);
                self.selected.clear();
                self.undone.extend(did.undid);
                for about in [About::Mail, About::Jobs, About::Team] {
                    self.ask(about);
                }
            }
            Err(refused) => self.say(SaidKind::Refused, refused.message, refused.hint),
        }
        if let Some(made) = did.made {
            self.at_task = Some(made);
            self.disarrange();
        }
    }

    /// Shows another list.
    pub(crate) fn follow(&mut self, list: ListId) {
        // What was made in the list that was shown is not looked for in this one.
        self.answers.iter_mut().for_each(|(_, did)| did.made = None);
        self.take_in_answers();
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
        (self.jobs, self.agents, self.todos) = (Vec::new(), Vec::new(), Vec::new());
        self.graph = Default::default();
        self.times = None;
        self.past = Past::default();
        self.undone.clear();
        self.made.clear();
        self.lost = None;
        self.perform(Action::ShowList);
        self.ask_around();
        self.is_dirty = true;
    }
}

/// Moves on when tasks were made and changed, by what happened to them.
fn note_times(times: &mut HashMap<TaskId, Times>, commit: &Event) {
    for entry in &commit.entries {
        let known = times.entry(entry.task.clone()).or_insert(Times { created: entry.at, updated: entry.at });
        known.updated = entry.at;
    }
}
