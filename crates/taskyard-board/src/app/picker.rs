//! The picker: its choices, and matching them with what was typed.

use taskyard::core::live::LiveList;
use taskyard::core::render::numbered;
use taskyard::core::view::{Action, Property, fuzzy_rank, info};
use taskyard::core::{ListId, TaskId};

use crate::line::TypedLine;

/// The maximum number of choices that are shown.
const MOST: usize = 200;

/// A choice in the picker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Task(TaskId),
    List(ListId),
    /// An agent that has tasks, in the palette.
    Agent(String),
    Name(String),
    /// A typed name that no agent has yet.
    NewName(String),
    Nobody,
    Everybody,
    Action(Action),
    /// A command of the CLI, and its description.
    Command(String, String),
    /// A complete command line.
    CommandLine(String),
    /// A value of a property, with its meaning or the reason why it is invalid.
    Value(String, Result<Option<String>, String>),
}

/// The open picker.
#[derive(Debug)]
pub(crate) struct Picker {
    pub(crate) picking: Picking,
    pub(crate) line: TypedLine,
    /// The choices other than tasks.
    pub(super) candidates: Vec<Choice>,
    /// The commands of the CLI.
    commands: Vec<String>,
    /// The tasks that can be picked.
    tasks: Vec<TaskId>,
    /// How many of the tasks have been matched with the text.
    compared: usize,
    /// The matches, each with its rank.
    found: Vec<(usize, Choice)>,
    pub(crate) shown: Vec<Choice>,
    pub(crate) cursor: usize,
}

/// What the picked choice is used for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Picking {
    BlockedBy(Vec<TaskId>),
    Unblock(Vec<TaskId>),
    Assign(Vec<TaskId>),
    Set(Property, Vec<TaskId>),
    SendTo,
    Action,
}

impl Picker {
    pub(super) fn new(picking: Picking, candidates: Vec<Choice>, tasks: Vec<TaskId>, commands: Vec<String>) -> Self {
        let mut picker = Self {
            picking,
            line: TypedLine::default(),
            candidates,
            commands,
            tasks,
            compared: 0,
            found: Vec::new(),
            shown: Vec::new(),
            cursor: 0,
        };
        picker.restart();
        picker.collect();
        picker
    }

    /// Returns the prompt.
    pub(crate) fn question(&self) -> String {
        match &self.picking {
            Picking::BlockedBy(tasks) => format!("{} waits for: ", numbered(tasks)),
            Picking::Unblock(tasks) => format!("{} no longer waits for: ", numbered(tasks)),
            Picking::Assign(tasks) => format!("{} is for: ", numbered(tasks)),
            Picking::Set(property, tasks) => format!("{} of {}: ", property.name(), numbered(tasks)),
            Picking::SendTo => "Write to: ".to_owned(),
            Picking::Action => ":".to_owned(),
        }
    }

    pub(super) fn text(&self) -> &str {
        self.line.text().trim()
    }

    /// Returns whether some tasks have not been matched yet.
    pub(crate) fn is_filtering(&self) -> bool {
        self.compared < self.tasks.len()
    }

    /// Matches at most `most` more tasks.
    pub(super) fn go_on(&mut self, list: &LiveList, most: usize) {
        let until = self.tasks.len().min(self.compared.saturating_add(most));
        let text = self.text().to_owned();
        let number = text.trim_start_matches('#');
        for id in &self.tasks[self.compared..until] {
            let by_number = (id.as_str() == number).then_some(0);
            let by_subject = || {
                let task = list.task(id).filter(|task| !task.is_internal())?;
                fuzzy_rank(&task.shown_subject(), &text)
            };
            // A task is listed after the action of the same name.
            if let Some(rank) = by_number.or_else(by_subject) {
                self.found.push((rank * 4 + 1, Choice::Task(id.clone())));
            }
        }
        self.compared = until;
        self.collect();
    }

    /// Restarts matching after the text has changed.
    pub(super) fn restart(&mut self) {
        let text = self.text().to_lowercase();
        self.found = self.candidates.iter().filter_map(|choice| Some((rank(choice, &text)?, choice.clone()))).collect();
        self.cursor = 0;
        let has_all = text.is_empty() && self.picking != Picking::Action;
        self.compared = if text.is_empty() { self.tasks.len() } else { 0 };
        if has_all {
            self.found.extend(self.tasks.iter().take(MOST).map(|id| (1, Choice::Task(id.clone()))));
        }
    }

    /// Sorts the matches.
    pub(super) fn collect(&mut self) {
        self.found.sort_by_key(|(rank, _)| *rank);
        self.shown = self.found.iter().take(MOST).map(|(_, choice)| choice.clone()).collect();
        let text = self.text().to_owned();
        let is_exact = |choice: &Choice| matches!(choice, Choice::Name(name) if name.eq_ignore_ascii_case(&text));
        if matches!(self.picking, Picking::Assign(_)) && !text.is_empty() && !self.shown.iter().any(is_exact) {
            self.shown.push(Choice::NewName(text.clone()));
        }
        // A command with arguments is a command line.
        let has_arguments = self.line.text().trim_start().contains(' ');
        let first = text.split(' ').next().unwrap_or_default();
        if has_arguments && self.commands.iter().any(|name| name == first) {
            self.shown.insert(0, Choice::CommandLine(text));
        }
        self.cursor = self.cursor.min(self.shown.len().saturating_sub(1));
    }
}

/// Returns how well a choice matches, lower is better; `None` if it does not match.
fn rank(choice: &Choice, text: &str) -> Option<usize> {
    let (name, help, kind) = match choice {
        Choice::Action(action) => (info(*action).name, info(*action).help, 0),
        Choice::Agent(name) => (name.as_str(), "", 2),
        Choice::List(list) => (list.as_str(), "", 2),
        Choice::Command(name, does) => (name.as_str(), does.as_str(), 3),
        Choice::Name(name) | Choice::NewName(name) | Choice::Value(name, _) => (name.as_str(), "", 0),
        Choice::Nobody => ("nobody", "", 0),
        Choice::Everybody => ("everybody", "", 0),
        Choice::Task(_) | Choice::CommandLine(_) => return None,
    };
    // An action is also found by its description, ranked after all matches by name.
    let by_help = || (text.len() > 2 && help.to_lowercase().contains(text)).then_some(60);
    fuzzy_rank(name, text).or_else(by_help).map(|rank| rank * 4 + kind)
}
