//! The definition of a tool: name, description, schemas and annotations.

use serde_json::{Map, Value};

use super::schema::{Issue, Object, check, json_schema};
use crate::rules::hooks::System;
use crate::tools::refusing::{InputError, task_id};
use crate::{Rules, TaskId};

/// A tool that agents can call.
#[derive(Debug)]
pub struct Tool {
    /// The name of the tool.
    pub name: &'static str,
    /// When to use it and when not to, for a model.
    pub description: &'static str,
    /// The shape of its input.
    pub input: Object,
    /// The shape of its structured output, for success and failure.
    pub(crate) output: Object,
    /// Hints about the effects of a call.
    pub annotations: Annotations,
    /// The scope a caller needs.
    pub scope: Scope,
    /// The smallest set that contains it.
    pub(crate) set: ToolSet,
    /// The system it belongs to.
    pub system: System,
}

/// Which tools are offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolSet {
    /// The tools every agent needs.
    #[default]
    Core,
    /// The core tools and those for team members.
    Team,
    /// All tools.
    All,
    /// All tools except those for team members.
    AllAlone,
    /// Exactly the client's own tools, without those for teams.
    Client,
    /// Exactly the client's own tools.
    ClientTeam,
    /// Only the tools for claims, to be used beside the client's own tools on the same list.
    Claims,
    /// The tools for claims and those for team members.
    ClaimsTeam,
}

impl ToolSet {
    /// Returns whether the set consists of the client's own tools.
    pub const fn is_the_clients(self) -> bool {
        matches!(self, Self::Client | Self::ClientTeam)
    }
}

/// What a caller may do; each scope includes the previous ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Read everything.
    Read,
    /// Change and claim tasks, send messages, create teams.
    Work,
    /// Everything, including running commands, stopping other agents' jobs and deleting teams.
    #[default]
    All,
}

impl Scope {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Work => "work",
            Self::All => "all",
        }
    }
}

/// Hints about the effects of a call, for the program that decides whether to allow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotations {
    /// The call changes nothing.
    pub read_only: bool,
    /// The call may change or remove existing data.
    pub destructive: bool,
    /// Repeating the call has no further effect.
    pub idempotent: bool,
}

impl Annotations {
    /// A tool that only reads.
    pub(crate) const LOOKS: Self = Self { read_only: true, destructive: false, idempotent: true };
    /// A tool that adds something with every call.
    pub(crate) const ADDS: Self = Self { read_only: false, destructive: false, idempotent: false };
    /// A tool that establishes a state without removing anything.
    pub(crate) const SETTLES: Self = Self { read_only: false, destructive: false, idempotent: true };
    /// A tool that may overwrite or remove data.
    pub(crate) const REPLACES: Self = Self { read_only: false, destructive: true, idempotent: true };
}

impl Tool {
    /// Returns the JSON Schema of the input.
    pub fn input_schema(&self) -> Value {
        json_schema(&self.input)
    }

    /// Returns the JSON Schema of the structured output.
    pub fn output_schema(&self) -> Value {
        json_schema(&self.output)
    }

    /// Rejects parameters that cannot be combined with another one. Returns `Ok` if `names` is empty.
    pub(super) fn refuse_clash(&self, names: &[&str], with: &'static str, rules: Rules) -> Result<(), InputError> {
        let issues: Vec<Issue> = names.iter().map(|name| Issue::clash(name, with)).collect();
        let client = rules.client_version();
        if issues.is_empty() { Ok(()) } else { Err(InputError { tool: self.name, hint: None, issues, client }) }
    }

    /// Checks an input. `hint` is set if the input needs an explanation.
    pub(super) fn check(&self, input: &Value, hint: Option<&'static str>, rules: Rules) -> Result<Fields, InputError> {
        let client = rules.client_version();
        let checked = check(&self.input, input, rules);
        checked.map(Fields).map_err(|issues| InputError { tool: self.name, hint, issues, client })
    }
}

/// The fields of a valid input.
pub(super) struct Fields(Map<String, Value>);

impl From<Map<String, Value>> for Fields {
    fn from(checked: Map<String, Value>) -> Self {
        Self(checked)
    }
}

impl Fields {
    /// Returns the names of the given fields.
    pub(super) fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// Returns a value without removing it.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Removes and returns the task ids given under any of these names.
    pub(super) fn task_ids(&mut self, names: &[&str], rules: Rules) -> Vec<TaskId> {
        let ids = names.iter().flat_map(|name| self.list(name));
        ids.filter_map(|id| Some(task_id(id.as_str()?.to_owned(), rules))).collect()
    }

    /// Removes and returns a value.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.shift_remove(name)
    }

    /// Removes and returns a string.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Removes and returns a string that the schema requires.
    pub(super) fn required_text(&mut self, name: &str) -> String {
        self.text(name).expect("the schema demands this text, and the input was checked against it")
    }

    /// Removes and returns an object.
    pub(super) fn record(&mut self, name: &str) -> Option<Map<String, Value>> {
        match self.take(name)? {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Removes and returns an array; empty if it is missing.
    pub(super) fn list(&mut self, name: &str) -> Vec<Value> {
        match self.take(name) {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        }
    }
}
