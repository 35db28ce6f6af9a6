//! The `TeamCreate` tool.

use serde_json::{Value, json};

use super::schema::{Field, Object, Shape, Unknown};
use super::{Annotations, Answer, InputError, Scope, Tool, ToolSet};
use crate::rules::hooks::System;
use crate::tools::tool_answer::said;
use crate::{LEAD, Rules, Team};

/// Makes a team.
pub(crate) const TOOL: Tool = Tool {
    name: "TeamCreate",
    description: "Create a team and lead it, if several agents will work on one task list and write to each other. Its \
        members share the task list with the team's name. Not for work you do alone.",
    input: Object {
        fields: &[
            Field::required("team_name", Shape::Text),
            Field::optional("description", Shape::Text),
            Field::optional("agent_type", Shape::Text),
        ],
        unknown: Unknown::Refused,
    },
    output: Object::answer(&[
        Field::required("team_name", Shape::Text),
        Field::required("team_file_path", Shape::Text),
        Field::required("lead_agent_id", Shape::Text),
    ]),
    annotations: Annotations::ADDS,
    scope: Scope::Work,
    set: ToolSet::All,
    system: System::Tasks,
};

/// Makes a team under client rules: the list of its name begins empty.
const CLIENTS_TOOL: Tool = Tool {
    description: "Create a team and lead it, if several agents will work on one task list and write to each other. Its \
        members share the task list with the team's name, which is emptied first. Not for work you do alone.",
    ..TOOL
};

/// Returns the variant of the tool that these rules use.
pub(crate) const fn tool(rules: Rules) -> &'static Tool {
    match rules {
        Rules::Strict => &TOOL,
        Rules::Client(_) => &CLIENTS_TOOL,
    }
}

/// A team that is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamCreate {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// What kind of agent leads it.
    pub agent_type: Option<String>,
}

/// Parses an input.
pub fn read(input: &Value, rules: Rules) -> Result<TeamCreate, InputError> {
    let mut fields = TOOL.check(input, None, rules)?;
    Ok(TeamCreate {
        name: fields.required_text("team_name"),
        description: fields.text("description"),
        agent_type: fields.text("agent_type"),
    })
}

/// Returns the answer where the team was made; `path` is that of its file.
pub fn created(team: &Team, path: &str, list: &str, rules: Rules) -> Answer {
    let structured = json!({
        "team_name": team.name.as_str(), "team_file_path": path, "lead_agent_id": team.name.agent_id(LEAD),
    });
    if rules.is_client() {
        return said(structured, rules);
    }
    let text = format!(
        "Team {} is made, and you lead it as {LEAD}. Its task list is {list}. Others join with `taskyard team join {}`; write to \
         them with SendMessage.",
        team.name, team.name
    );
    Answer::new(text, structured)
}

/// Returns the answer where no name was given.
pub fn nameless() -> Answer {
    Answer::error("team_name is required for TeamCreate")
}

/// Returns the answer where the caller leads another team, in the client's words.
pub fn already_leading(team: &str) -> Answer {
    Answer::error(format!(
        "Already leading team \"{team}\". A leader can only manage one team at a time. Use TeamDelete to end the current team \
         before creating a new one."
    ))
}
