//! The `ListAgents` tool.

use serde_json::{Value, json};

use super::schema::{Field, Object, Shape, Unknown};
use super::{Annotations, Answer, InputError, Scope, Tool, ToolSet};
use crate::rules::hooks::System;
use crate::rules::teams::membership::MemberState;
use crate::{Member, Rules};

/// Tells who can be written to.
pub(crate) const TOOL: Tool = Tool {
    name: "ListAgents",
    description: "See who is in your team, what each is doing, and whom you can write to with SendMessage.",
    input: Object { fields: &[], unknown: Unknown::Refused },
    output: Object::answer(&[
        Field::optional("team", Shape::Text),
        Field::required("agents", Shape::List(&Shape::Object(AGENT))),
    ]),
    annotations: Annotations::LOOKS,
    scope: Scope::Read,
    set: ToolSet::Team,
    system: System::Tasks,
};

/// A member as programs get it.
const AGENT: Object = Object::answer(&[
    Field::required("name", Shape::Text),
    Field::required("state", Shape::Text),
    Field::required("tasks", Shape::List(&Shape::Text)),
]);

/// Reads an input, which holds nothing.
pub fn read(input: &Value, rules: Rules) -> Result<(), InputError> {
    TOOL.check(input, None, rules).map(drop)
}

/// A member and what it is doing.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'a> {
    /// The member.
    pub member: &'a Member,
    /// What it is doing.
    pub state: MemberState,
    /// The numbers of the tasks it has in progress.
    pub tasks: &'a [String],
}

/// Returns the answer: a line for each member.
pub fn listed(team: &str, own: &str, members: &[Listed<'_>]) -> Answer {
    let line = |listed: &Listed<'_>| {
        let Listed { member, state, tasks } = listed;
        let tasks: String = tasks.iter().map(|task| format!(" #{task}")).collect();
        let you = if member.name == own { " (you)" } else { "" };
        format!("{}{you} [{}]{tasks}", member.name, state.as_str())
    };
    let lines: Vec<String> = members.iter().map(line).collect();
    let structured: Vec<Value> = members
        .iter()
        .map(|listed| json!({ "name": listed.member.name, "state": listed.state.as_str(), "tasks": listed.tasks }))
        .collect();
    Answer::new(format!("Team {team}:\n{}", lines.join("\n")), json!({ "team": team, "agents": structured }))
}

/// Returns the answer if the caller is not in a team.
pub fn alone() -> Answer {
    Answer::new("You are not in a team, so there is no one to write to.", json!({ "agents": [] }))
}
