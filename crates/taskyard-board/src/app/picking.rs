//! Picking one of many: a task, a name, or something to do.

use std::collections::{BTreeSet, HashMap};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use taskyard::core::TaskId;
use taskyard::core::view::{FilteredList, actions};

use super::picker::{Choice, Picker, Picking};
use super::prompt::{Purpose, type_key};
use super::{App, Effect, Mode};
use crate::deed::What;

impl App {
    /// Returns what is being picked from.
    pub(crate) fn picker(&self) -> Option<&Picker> {
        match &self.mode {
            Mode::Picking(picker) => Some(picker),
            _ => None,
        }
    }

    pub(super) fn pick(&mut self, picking: Picking) {
        let candidates = self.candidates(&picking);
        let commands = match picking {
            Picking::Action => self.settings.commands.iter().map(|(name, _)| name.clone()).collect(),
            _ => Vec::new(),
        };
        self.mode = Mode::Picking(Box::new(Picker::new(picking, candidates, commands)));
        self.is_dirty = true;
    }

    fn candidates(&self, picking: &Picking) -> Vec<Choice> {
        let live = self.watched.as_ref().map(|watched| watched.live());
        let is_open = |id: &TaskId| live.and_then(|live| live.standing(id)).is_some_and(|(status, _)| status.is_open());
        match picking {
            Picking::BlockedBy(tasks) => {
                let mut ids: Vec<TaskId> = live.map(|live| live.ids().collect()).unwrap_or_default();
                ids.retain(|id| !tasks.contains(id) && is_open(id));
                ids.into_iter().map(Choice::Task).collect()
            }
            Picking::Unblock(tasks) => {
                let on = tasks.iter().flat_map(|id| live.map(|live| live.waits_for(id)).unwrap_or_default());
                on.collect::<BTreeSet<TaskId>>().into_iter().map(Choice::Task).collect()
            }
            Picking::Assign(_) => {
                let mut names = self.names();
                names.insert(self.actor.to_string());
                names.into_iter().map(Choice::Name).chain([Choice::Nobody]).collect()
            }
            Picking::SendTo => {
                let others = self.team.iter().flat_map(|team| &team.members).map(|shown| shown.member.name.clone());
                let others = others.filter(|name| Some(name) != self.mail.name.as_ref());
                others.map(Choice::Name).chain([Choice::Everybody]).collect()
            }
            Picking::Action => {
                let is_new = |name: &String| !actions().iter().any(|info| info.name == name);
                let commands = self.settings.commands.iter().filter(|(name, _)| is_new(name)).cloned();
                let commands = commands.map(|(name, does)| Choice::Command(name, does));
                actions().iter().map(|info| Choice::Action(info.action)).chain(commands).collect()
            }
        }
    }

    /// Returns the names of members and of agents that have a task.
    fn names(&self) -> BTreeSet<String> {
        let members = self.team.iter().flat_map(|team| &team.members).map(|shown| shown.member.name.clone());
        let holders = self.leases.values().map(|(lease, _)| lease.agent.to_string());
        members.chain(holders).collect()
    }

    pub(super) fn refilter_picker(&mut self) {
        let live = self.watched.as_ref().map(|watched| watched.live());
        if let Mode::Picking(picker) = &mut self.mode {
            picker.refilter(live, self.settings.zone);
        }
        self.is_dirty = true;
    }

    pub(super) fn on_picker_key(&mut self, key: &KeyEvent) {
        let Mode::Picking(picker) = &mut self.mode else { return };
        self.is_dirty = true;
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => self.mode = Mode::Browsing,
            KeyCode::Char('c') if is_control => self.mode = Mode::Browsing,
            KeyCode::Enter => self.finish_picking(),
            KeyCode::Up => picker.cursor = picker.cursor.saturating_sub(1),
            KeyCode::Char('p') if is_control => picker.cursor = picker.cursor.saturating_sub(1),
            KeyCode::Down | KeyCode::Tab => {
                picker.cursor = (picker.cursor + 1).min(picker.shown.len().saturating_sub(1))
            }
            KeyCode::Char('n') if is_control => {
                picker.cursor = (picker.cursor + 1).min(picker.shown.len().saturating_sub(1));
            }
            _ => {
                if type_key(&mut picker.line, key) {
                    self.refilter_picker();
                }
            }
        }
    }

    pub(super) fn finish_picking(&mut self) {
        let none = HashMap::new();
        // What was typed counts, also where not all of it was looked at yet.
        while let (Mode::Picking(picker), Some(watched)) = (&mut self.mode, &self.watched)
            && picker.is_filtering()
        {
            picker.go_on(FilteredList { list: watched.live(), times: &none, now: self.now }, usize::MAX);
        }
        let Mode::Picking(picker) = std::mem::take(&mut self.mode) else { return };
        let Some(choice) = picker.shown.get(picker.cursor).cloned() else { return };
        match (picker.picking, choice) {
            (Picking::BlockedBy(tasks), Choice::Task(on)) => self.have_done(What::BlockedBy { tasks, on }),
            (Picking::Unblock(tasks), Choice::Task(from)) => self.have_done(What::Unblock { tasks, from }),
            (Picking::Assign(tasks), Choice::Nobody) => self.have_done(What::Assign { tasks, to: None }),
            (Picking::Assign(tasks), Choice::Name(name) | Choice::NewName(name)) => {
                self.have_done(What::Assign { tasks, to: Some(name) });
            }
            (Picking::SendTo, Choice::Name(to)) => self.prompt(Purpose::Send { to }, ""),
            (Picking::SendTo, Choice::Everybody) => self.prompt(Purpose::Send { to: "*".to_owned() }, ""),
            (Picking::Action, Choice::Action(action)) => self.perform(action),
            (Picking::Action, Choice::Command(name, _)) => self.prompt(Purpose::Command, &format!("{name} ")),
            (Picking::Action, Choice::CommandLine(line)) => self.effects.push(Effect::Run(line)),
            _ => {}
        }
    }
}
