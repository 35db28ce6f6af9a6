//! What there is to know of a tool before it is called.

use serde_json::{Map, Value};

use super::input_error::InputError;
use super::repairing::task_id;
use super::schema::{Issue, Object, check, json_schema};
use crate::rules::hooks::gate::System;
use crate::{Rules, TaskId};

/// A tool that agents call.
#[derive(Debug)]
pub struct Tool {
    /// The name it is called by.
    pub name: &'static str,
    /// When to use it and when not, for a model.
    pub description: &'static str,
    /// What it takes.
    pub input: Object,
    /// What it answers for programs, if it does what it is asked for or says why not.
    pub(crate) output: Object,
    /// What a call may do.
    pub annotations: Annotations,
    /// What a caller has to be allowed to do.
    pub scope: Scope,
    /// The smallest set it is in.
    pub(crate) set: ToolSet,
    /// The system it belongs to.
    pub system: System,
}

/// Which tools are offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolSet {
    /// Those every agent needs.
    #[default]
    Core,
    /// Those a member of a team needs besides.
    Team,
    /// All there are.
    All,
    /// All tools but those for members of a team.
    AllAlone,
    /// Exactly the client's own, without those for teams.
    Client,
    /// Exactly the client's own.
    ClientTeam,
    /// Only those for claims, beside the client's own tools on the same list.
    Claims,
    /// Those, and what a member of a team needs besides.
    ClaimsTeam,
}

impl ToolSet {
    /// Tells whether it consists of the client's own tools.
    pub const fn is_the_clients(self) -> bool {
        matches!(self, Self::Client | Self::ClientTeam)
    }
}

/// What a caller may do; each scope includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Look at everything.
    Read,
    /// Change tasks, claim them, write messages, make teams.
    Work,
    /// Everything: run commands, stop those of others, end teams.
    #[default]
    All,
}

impl Scope {
    /// Returns the word for it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Work => "work",
            Self::All => "all",
        }
    }
}

/// What a call of a tool may do, as hints for the program that decides whether it is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotations {
    /// It changes nothing.
    pub read_only: bool,
    /// It may change or remove what is there, not only add to it.
    pub destructive: bool,
    /// The same call again changes nothing more.
    pub idempotent: bool,
}

impl Annotations {
    /// Those of a tool that only looks.
    pub(crate) const LOOKS: Self = Self { read_only: true, destructive: false, idempotent: true };
    /// Those of a tool that adds something with every call.
    pub(crate) const ADDS: Self = Self { read_only: false, destructive: false, idempotent: false };
    /// Those of a tool that brings something into a state, and takes nothing away.
    pub(crate) const SETTLES: Self = Self { read_only: false, destructive: false, idempotent: true };
    /// Those of a tool that may overwrite or remove.
    pub(crate) const REPLACES: Self = Self { read_only: false, destructive: true, idempotent: true };
}

impl Tool {
    /// Returns the JSON Schema of what it takes.
    pub fn input_schema(&self) -> Value {
        json_schema(&self.input)
    }

    /// Returns the JSON Schema of what it answers for programs.
    pub fn output_schema(&self) -> Value {
        json_schema(&self.output)
    }

    /// Refuses parameters that cannot be given together with another one; `Ok` if there are none.
    pub(super) fn refuse_clash(&self, names: &[&str], with: &'static str, rules: Rules) -> Result<(), InputError> {
        let issues: Vec<Issue> = names.iter().map(|name| Issue::clash(name, with)).collect();
        let client = rules.client_version();
        if issues.is_empty() { Ok(()) } else { Err(InputError { tool: self.name, hint: None, issues, client }) }
    }

    /// Checks an input, which may have been repaired before.
    pub(super) fn check(&self, input: &Value, hint: Option<&'static str>, rules: Rules) -> Result<Fields, InputError> {
        let client = rules.client_version();
        let checked = check(&self.input, input, rules);
        checked.map(Fields).map_err(|issues| InputError { tool: self.name, hint, issues, client })
    }
}

/// The fields of an input that was found to be as it should be.
pub(super) struct Fields(Map<String, Value>);

impl From<Map<String, Value>> for Fields {
    fn from(checked: Map<String, Value>) -> Self {
        Self(checked)
    }
}

impl Fields {
    /// Returns the names of all fields that were given.
    pub(super) fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// Returns a value and leaves it there.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Takes the ids of tasks out that are given under any of these names.
    pub(super) fn task_ids(&mut self, names: &[&str], rules: Rules) -> Vec<TaskId> {
        let ids = names.iter().flat_map(|name| self.list(name));
        ids.filter_map(|id| Some(task_id(id.as_str()?.to_owned(), rules))).collect()
    }

    /// Takes any value out.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.shift_remove(name)
    }

    /// Takes a text out.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Takes a text out that has to be there.
    pub(super) fn required_text(&mut self, name: &str) -> String {
        self.text(name).expect("the schema demands this text, and the input was checked against it")
    }

    /// Takes an object out.
    pub(super) fn record(&mut self, name: &str) -> Option<Map<String, Value>> {
        match self.take(name)? {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Takes a list out; empty where there is none.
    pub(super) fn list(&mut self, name: &str) -> Vec<Value> {
        match self.take(name) {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        }
    }
}
