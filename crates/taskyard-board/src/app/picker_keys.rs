//! The keys of the picker, its candidates, and what a choice does.

use std::collections::{BTreeSet, HashSet};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use taskyard::core::TaskId;
use taskyard::core::view::{Property, actions};

use super::picker::Picking;
use super::prompt::{Purpose, type_key};
use super::{App, Choice, Effect, MessageKind, Mode, Picker, View};
use crate::messages::{Operation, Resource};

impl App {
    pub(crate) fn picker(&self) -> Option<&Picker> {
        match &self.mode {
            Mode::Picking(picker) => Some(picker),
            _ => None,
        }
    }

    pub(super) fn pick(&mut self, picking: Picking) {
        if picking == Picking::Action && self.lists.is_none() {
            self.request(Resource::Lists);
        }
        let (candidates, tasks) = (self.candidates(&picking), self.pickable_tasks(&picking));
        let commands = match picking {
            Picking::Action => self.settings.commands.iter().map(|(name, _)| name.clone()).collect(),
            _ => Vec::new(),
        };
        self.mode = Mode::Picking(Box::new(Picker::new(picking, candidates, tasks, commands)));
        self.is_dirty = true;
    }

    /// Returns the tasks that can be picked, sorted by number.
    fn pickable_tasks(&self, picking: &Picking) -> Vec<TaskId> {
        let Some(live) = self.watched.as_ref().map(|watched| watched.live()) else { return Vec::new() };
        let is_open = |id: &TaskId| live.standing(id).is_some_and(|(status, _)| status.is_open());
        match picking {
            Picking::BlockedBy(tasks) | Picking::Set(Property::Parent, tasks) => {
                live.ids().filter(|id| !tasks.contains(id) && is_open(id)).collect()
            }
            Picking::Unblock(tasks) => {
                let on: BTreeSet<TaskId> = tasks.iter().flat_map(|id| live.waits_for(id)).collect();
                on.into_iter().collect()
            }
            Picking::Action => live.ids().collect(),
            Picking::Assign(_) | Picking::Set(..) | Picking::SendTo => Vec::new(),
        }
    }

    fn candidates(&self, picking: &Picking) -> Vec<Choice> {
        match picking {
            Picking::BlockedBy(_) | Picking::Unblock(_) => Vec::new(),
            Picking::Assign(_) => {
                let mut names = self.names();
                names.insert(self.actor.to_string());
                names.into_iter().map(Choice::Name).chain([Choice::Nobody]).collect()
            }
            Picking::Set(property, tasks) => self.values(*property, tasks),
            Picking::SendTo => {
                let others = self.team.iter().flat_map(|team| &team.members).map(|shown| shown.member.name.clone());
                let others = others.filter(|name| Some(name) != self.mail.name.as_ref());
                others.map(Choice::Name).chain([Choice::Everybody]).collect()
            }
            Picking::Action => {
                let is_new = |name: &String| !actions().iter().any(|info| info.name == name);
                let commands = self.settings.commands.iter().filter(|(name, _)| is_new(name)).cloned();
                let commands = commands.map(|(name, does)| Choice::Command(name, does));
                let lists = self.lists.iter().flatten().map(|row| Choice::List(row.list.clone()));
                let agents = self.agents.iter().map(|agent| Choice::Agent(agent.name.clone()));
                actions()
                    .iter()
                    .map(|info| Choice::Action(info.action))
                    .chain(agents)
                    .chain(lists)
                    .chain(commands)
                    .collect()
            }
        }
    }

    /// Returns the values to offer for a property. A tag that all tasks have is offered for removal.
    fn values(&self, property: Property, tasks: &[TaskId]) -> Vec<Choice> {
        let Some(live) = self.watched.as_ref().map(|watched| watched.live()) else { return Vec::new() };
        let tagged: Vec<HashSet<String>> = match property {
            Property::Tags => {
                tasks.iter().filter_map(|id| Some(live.task(id)?.tags().map(str::to_owned).collect())).collect()
            }
            _ => Vec::new(),
        };
        let value = |value: String| match !tagged.is_empty() && tagged.iter().all(|tags| tags.contains(&value)) {
            true => self.value(property, format!("-{value}")),
            false => self.value(property, value),
        };
        property.suggestions(live).into_iter().map(value).collect()
    }

    /// Returns a value with its meaning.
    fn value(&self, property: Property, text: String) -> Choice {
        let look = self.look(0);
        let meaning = match property.change(&text, &self.clock()) {
            Ok(_) if text.starts_with('-') => Ok(Some("remove it".to_owned())),
            Ok(change) => Ok(change.meaning(&look)),
            Err(why) => Err(why),
        };
        Choice::Value(text, meaning)
    }

    /// Returns the names of team members, and of agents that have a task.
    fn names(&self) -> BTreeSet<String> {
        let members = self.team.iter().flat_map(|team| &team.members).map(|shown| shown.member.name.clone());
        let holders = self.leases.values().map(|(lease, _)| lease.agent.to_string());
        members.chain(holders).chain(self.agents.iter().map(|agent| agent.name.clone())).collect()
    }

    pub(super) fn refilter_picker(&mut self) {
        let Mode::Picking(picker) = &mut self.mode else { return };
        self.is_dirty = true;
        picker.restart();
        picker.collect();
        let (picking, text) = (picker.picking.clone(), picker.text().to_owned());
        // A typed value comes first, unless it is among the offered ones.
        if let Picking::Set(property, _) = picking
            && !text.is_empty()
            && property != Property::Parent
        {
            let typed = self.value(property, text.clone());
            let Mode::Picking(picker) = &mut self.mode else { return };
            let is_offered =
                |choice: &Choice| matches!(choice, Choice::Value(value, _) if value.eq_ignore_ascii_case(&text));
            let is_good = matches!(&typed, Choice::Value(_, Ok(_)));
            if !picker.shown.iter().any(is_offered) && (is_good || picker.shown.is_empty()) {
                picker.shown.insert(0, typed);
            }
        }
        self.go_on_picking(super::updates::LOOKED_AT);
    }

    /// Matches at most `most` more tasks with the text.
    pub(super) fn go_on_picking(&mut self, most: usize) {
        if let (Mode::Picking(picker), Some(watched)) = (&mut self.mode, &self.watched)
            && picker.is_filtering()
        {
            picker.go_on(watched.live(), most);
            self.is_dirty = true;
        }
    }

    /// Adds the lists to the choices once they are known.
    pub(super) fn offer_lists(&mut self) {
        let candidates = self.candidates(&Picking::Action);
        if let Mode::Picking(picker) = &mut self.mode
            && picker.picking == Picking::Action
        {
            picker.candidates = candidates;
            let cursor = picker.cursor;
            picker.restart();
            picker.cursor = cursor;
            picker.collect();
            self.go_on_picking(super::updates::LOOKED_AT);
        }
    }

    pub(super) fn on_picker_key(&mut self, key: &KeyEvent) {
        let Mode::Picking(picker) = &mut self.mode else { return };
        self.is_dirty = true;
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        let last = picker.shown.len().saturating_sub(1);
        match key.code {
            KeyCode::Esc => self.mode = Mode::Browsing,
            KeyCode::Char('c') if is_control => self.mode = Mode::Browsing,
            KeyCode::Enter => self.finish_picking(),
            KeyCode::Up => picker.cursor = picker.cursor.saturating_sub(1),
            KeyCode::Char('p') if is_control => picker.cursor = picker.cursor.saturating_sub(1),
            KeyCode::Down | KeyCode::Tab => picker.cursor = (picker.cursor + 1).min(last),
            KeyCode::Char('n') if is_control => picker.cursor = (picker.cursor + 1).min(last),
            _ => {
                if type_key(&mut picker.line, key) {
                    self.refilter_picker();
                }
            }
        }
    }

    pub(super) fn finish_picking(&mut self) {
        // The whole text counts, even if not every task has been matched yet.
        self.go_on_picking(usize::MAX);
        let Mode::Picking(picker) = std::mem::take(&mut self.mode) else { return };
        let Some(choice) = picker.shown.get(picker.cursor).cloned() else { return };
        match (picker.picking.clone(), choice) {
            (Picking::BlockedBy(tasks), Choice::Task(on)) => self.submit(Operation::BlockedBy { tasks, on }),
            (Picking::Unblock(tasks), Choice::Task(from)) => self.submit(Operation::Unblock { tasks, from }),
            (Picking::Assign(tasks), Choice::Nobody) => self.submit(Operation::Assign { tasks, to: None }),
            (Picking::Assign(tasks), Choice::Name(name) | Choice::NewName(name)) => {
                self.submit(Operation::Assign { tasks, to: Some(name) });
            }
            (Picking::Set(property, tasks), Choice::Task(parent)) => {
                self.submit(Operation::Set { tasks, property, value: parent.to_string() });
            }
            (Picking::Set(property, tasks), Choice::Value(value, Ok(_))) => {
                self.submit(Operation::Set { tasks, property, value });
            }
            (Picking::Set(..), Choice::Value(_, Err(why))) => {
                self.mode = Mode::Picking(picker);
                self.show_message(MessageKind::Refused, why, None);
            }
            (Picking::SendTo, Choice::Name(to)) => self.prompt(Purpose::Send { to }, ""),
            (Picking::SendTo, Choice::Everybody) => self.prompt(Purpose::Send { to: "*".to_owned() }, ""),
            (Picking::Action, Choice::Action(action)) => self.perform(action),
            (Picking::Action, Choice::Task(task)) => {
                if !self.view.has_tasks() {
                    self.show(View::List);
                }
                if self.filter.is_some() {
                    self.filter_by("");
                }
                self.reveal(&task);
            }
            (Picking::Action, Choice::List(list)) => self.effects.push(Effect::Follow(list)),
            (Picking::Action, Choice::Agent(name)) => {
                self.show(View::Agents);
                let row = self.agents.iter().position(|agent| agent.name == name);
                self.go_to(row.unwrap_or_default());
            }
            (Picking::Action, Choice::Command(name, _)) => self.prompt(Purpose::Command, &format!("{name} ")),
            (Picking::Action, Choice::CommandLine(line)) => self.effects.push(Effect::Run(line)),
            _ => {}
        }
    }

    /// Moves the cursor to a task, and unfolds the completed tasks if it is one of them.
    fn reveal(&mut self, task: &TaskId) {
        let is_closed = self.watched.as_ref().and_then(|watched| watched.live().standing(task));
        if is_closed.is_some_and(|(status, _)| !status.is_open()) {
            self.shows_all_done = true;
        }
        self.folded.clear();
        self.at_task = Some(task.clone());
        self.disarrange();
        self.arrange();
        self.go_to_task(task);
    }
}
