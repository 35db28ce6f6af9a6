//! What can be picked, and what was typed to find it.

use jiff::tz::TimeZone;
use taskyard::core::TaskId;
use taskyard::core::live::LiveList;
use taskyard::core::render::numbered;
use taskyard::core::view::{Action, FilteredList, LiveFilter, info};

use crate::typing::TypedLine;

/// So many choices are worked out.
const MOST: usize = 200;

/// One of many that can be picked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Task(TaskId),
    Name(String),
    /// A name that the user typed and that no agent has yet.
    NewName(String),
    Nobody,
    Everybody,
    Action(Action),
    /// A command of the command line, and what it does.
    Command(String, String),
    /// A whole command line.
    CommandLine(String),
}

/// What the user picks from.
#[derive(Debug)]
pub(crate) struct Picker {
    pub(crate) picking: Picking,
    pub(crate) line: TypedLine,
    candidates: Vec<Choice>,
    /// The commands of the command line.
    commands: Vec<String>,
    filter: Option<LiveFilter>,
    pub(crate) shown: Vec<Choice>,
    pub(crate) cursor: usize,
}

/// What something is picked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Picking {
    BlockedBy(Vec<TaskId>),
    Unblock(Vec<TaskId>),
    Assign(Vec<TaskId>),
    SendTo,
    Action,
}

impl Picker {
    pub(super) fn new(picking: Picking, candidates: Vec<Choice>, commands: Vec<String>) -> Self {
        let shown = candidates.iter().take(MOST).cloned().collect();
        Self { picking, line: TypedLine::default(), candidates, commands, filter: None, shown, cursor: 0 }
    }

    /// Returns what is asked for.
    pub(crate) fn question(&self) -> String {
        match &self.picking {
            Picking::BlockedBy(tasks) => format!("{} waits for: ", numbered(tasks)),
            Picking::Unblock(tasks) => format!("{} no longer waits for: ", numbered(tasks)),
            Picking::Assign(tasks) => format!("{} is for: ", numbered(tasks)),
            Picking::SendTo => "Write to: ".to_owned(),
            Picking::Action => ":".to_owned(),
        }
    }

    /// Tells whether not every choice was looked at yet.
    pub(crate) fn is_filtering(&self) -> bool {
        self.filter.as_ref().is_some_and(|filter| !filter.is_complete())
    }

    /// Looks at so many more choices.
    pub(super) fn go_on(&mut self, from: FilteredList<'_>, most: usize) {
        if let Some(filter) = &mut self.filter {
            filter.go_on(from, most);
        }
        self.narrow();
    }

    pub(super) fn refilter(&mut self, list: Option<&LiveList>, zone: &TimeZone) {
        let text = self.line.text().trim().to_owned();
        let has_tasks = matches!(self.picking, Picking::BlockedBy(_) | Picking::Unblock(_));
        // A number is looked for as one.
        let text = text
            .strip_prefix('#')
            .filter(|rest| rest.parse::<u64>().is_ok())
            .map_or(text.clone(), |rest| format!("id:{rest}"));
        let begun = list.filter(|_| has_tasks).map(|list| LiveFilter::begin(&text, zone, list));
        if let Some(Ok(filter)) = begun {
            self.filter = filter;
        }
        self.cursor = 0;
        self.narrow();
    }

    fn narrow(&mut self) {
        let text = self.line.text().trim().to_lowercase();
        let fits = |choice: &&Choice| match choice {
            Choice::Task(id) => self.filter.as_ref().is_none_or(|filter| filter.chosen().contains(id)),
            Choice::Name(name) | Choice::NewName(name) => name.to_lowercase().contains(&text),
            Choice::Nobody => "nobody".contains(&text),
            Choice::Everybody => "everybody".contains(&text),
            Choice::Command(name, does) => name.contains(&text) || does.to_lowercase().contains(&text),
            Choice::CommandLine(_) => false,
            Choice::Action(action) => {
                let info = info(*action);
                info.name.contains(&text) || info.help.contains(&text)
            }
        };
        let mut shown: Vec<Choice> = self.candidates.iter().filter(fits).take(MOST).cloned().collect();
        // A user who types a number or a name in full means that one.
        let is_exact = |choice: &Choice| match choice {
            Choice::Task(id) => id.as_str() == text.trim_start_matches('#'),
            Choice::Name(name) => name.to_lowercase() == text,
            Choice::Action(action) => info(*action).name == text,
            Choice::Command(name, _) => *name == text,
            Choice::NewName(_) | Choice::Nobody | Choice::Everybody | Choice::CommandLine(_) => false,
        };
        let begins = |choice: &Choice| match choice {
            Choice::Action(action) => info(*action).name.starts_with(&text),
            Choice::Command(name, _) => name.starts_with(&text),
            _ => false,
        };
        shown.sort_by_key(|choice| (!is_exact(choice), !begins(choice)));
        if matches!(self.picking, Picking::Assign(_)) && !text.is_empty() && !shown.iter().any(is_exact) {
            shown.push(Choice::NewName(self.line.text().trim().to_owned()));
        }
        // A command with its arguments is a command line.
        if let Some((first, _)) = self.line.text().trim_start().split_once(' ')
            && self.commands.iter().any(|name| name == first)
        {
            shown.insert(0, Choice::CommandLine(self.line.text().trim().to_owned()));
        }
        self.shown = shown;
        self.cursor = self.cursor.min(self.shown.len().saturating_sub(1));
    }
}
