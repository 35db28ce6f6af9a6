//! What passes with time.

use std::collections::HashMap;

use taskyard::core::view::{FilteredList, JobRow, LiveFilter};
use taskyard::core::{Status, Timestamp};

use super::{App, View};
use crate::deed::About;

/// So many tasks are looked at for a filter before keys are listened to again.
const LOOKED_AT: usize = 500;

/// How often the clock and what turns move on, in milliseconds, while they are shown.
const SECOND: i64 = 1000;

/// How often, in milliseconds, we ask again for something that the stream does not tell of, while it is shown.
const JOBS: i64 = 1000;
const TEAM: i64 = 3000;
const LISTS: i64 = 3000;

impl App {
    /// Moves time on.
    pub(crate) fn on_tick(&mut self, now: Timestamp) {
        let before = std::mem::replace(&mut self.now, now);
        if self.flashes.values().any(|until| *until <= now) {
            self.flashes.retain(|_, until| *until > now);
            self.is_dirty = true;
        }
        if self.said.as_ref().is_some_and(|said| said.until.is_some_and(|until| until <= now)) {
            self.said = None;
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
            self.ask_for_view();
        }
        if self.next_look_at_todos().is_some_and(|next| next <= now.0) {
            self.ask_for_todos();
        }
        self.take_in_answers();
        self.go_on_filtering();
    }

    /// Returns how long, in milliseconds, until time has to be moved on again; none where only keys and news count.
    pub(crate) fn next_tick(&self) -> Option<i64> {
        if self.is_filtering() {
            return Some(0);
        }
        let mut ends: Vec<i64> = self.flashes.values().map(|until| until.0).collect();
        ends.extend(self.said.as_ref().and_then(|said| said.until).map(|until| until.0));
        ends.extend(self.has_clock().then(|| (self.now.0 / SECOND + 1) * SECOND));
        ends.extend(self.view_period().map(|period| self.asked_at.0 + period));
        ends.extend(self.next_look_at_todos());
        ends.extend(self.filter.as_ref().and_then(|filter| filter.next_day(self.now)).map(|day| day.0));
        ends.extend(self.answers.iter().map(|(until, _)| until.0));
        ends.extend(self.watched.as_ref().and_then(|watched| watched.next_need(self.now)).map(|need| need.0 + 1));
        ends.into_iter().min().map(|end| (end - self.now.0).max(0))
    }

    /// Returns what turns while something is in progress.
    pub(crate) fn spinner(&self) -> &'static str {
        const TURNS: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
        const ASCII: [&str; 4] = ["|", "/", "-", "\\"];
        let second = usize::try_from(self.now.0 / SECOND).unwrap_or_default();
        if self.settings.unicode { TURNS[second % TURNS.len()] } else { ASCII[second % ASCII.len()] }
    }

    /// Tells whether something is shown that the clock moves.
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

    /// Tells whether the todo lists of agents are shown.
    pub(crate) fn shows_todos(&self) -> bool {
        self.settings.todo_period.is_some() && matches!(self.view, View::List | View::Columns | View::Agents)
    }

    /// Returns when todo lists are looked at next.
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

    /// Tells whether a filter has not looked at every task yet.
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
        if let super::Mode::Picking(picker) = &mut self.mode
            && picker.is_filtering()
        {
            picker.go_on(from, LOOKED_AT);
            self.is_dirty = true;
        }
        if is_moved {
            self.disarrange();
        }
    }

    /// Filters by what was typed.
    pub(super) fn filter_by(&mut self, text: &str) {
        self.filter_text = text.to_owned();
        let begun = self
            .watched
            .as_ref()
            .map_or(Ok(None), |watched| LiveFilter::begin(text, self.settings.zone, watched.live()));
        match begun {
            Ok(filter) => (self.filter, self.filter_mistake) = (filter, None),
            // What was found before stays while the user is in the middle of a word.
            Err(mistake) => self.filter_mistake = Some(mistake.to_string()),
        }
        if self.times.is_none() && self.filter.as_ref().is_some_and(LiveFilter::asks_for_times) {
            self.ask(About::Times);
        }
        self.go_on_filtering();
        self.disarrange();
    }
}
