//! The `TeamDelete` tool.

use serde_json::{Value, json};

use super::schema::{Field, Object, Shape, Unknown};
use super::{Annotations, Answer, InputError, Scope, Tool, ToolSet};
use crate::Rules;
use crate::rules::hooks::System;
use crate::tools::tool_answer::said;

/// The tool under strict rules.
pub(crate) const TOOL: Tool = Tool {
    name: "TeamDelete",
    description: "End the team you lead, once its members have left: ask each to end with SendMessage (shutdown_request) first. \
        Its inboxes go; its tasks stay.",
    input: Object { fields: &[], unknown: Unknown::Refused },
    output: Object::answer(&[
        Field::required("success", Shape::Flag),
        Field::required("message", Shape::Text),
        Field::optional("team_name", Shape::Text),
    ]),
    annotations: Annotations::REPLACES,
    scope: Scope::All,
    set: ToolSet::All,
    system: System::Tasks,
};

/// The tool under client rules: the team's list is deleted with it.
const CLIENTS_TOOL: Tool = Tool {
    description: "End the team you lead, once its members have left: ask each to end with SendMessage (shutdown_request) first. \
        Its inboxes and its task list go, with every task in it.",
    ..TOOL
};

/// Returns the variant of the tool that these rules use.
pub(crate) const fn tool(rules: Rules) -> &'static Tool {
    match rules {
        Rules::Strict => &TOOL,
        Rules::Client(_) => &CLIENTS_TOOL,
    }
}

/// Checks that the input is empty.
pub fn read(input: &Value, rules: Rules) -> Result<(), InputError> {
    TOOL.check(input, None, rules).map(drop)
}

/// Returns the answer for a deleted team.
pub fn deleted(team: &str, rules: Rules) -> Answer {
    let message = format!("Cleaned up directories and worktrees for team \"{team}\"");
    let structured = json!({ "success": true, "message": message, "team_name": team });
    if rules.is_client() {
        return said(structured, rules);
    }
    Answer::new(format!("Team {team} is ended. Its tasks stay."), structured)
}

/// Returns the answer if the caller is not in a team.
pub fn no_team(rules: Rules) -> Answer {
    let structured = json!({ "success": true, "message": "No team name found, nothing to clean up" });
    if rules.is_client() {
        return said(structured, rules);
    }
    Answer::new("You do not lead a team, so there is nothing to end.", structured)
}

/// Returns the answer if the team still has members.
pub fn members_left(team: &str, members: &[String], rules: Rules) -> Answer {
    let names = members.join(", ");
    let message = format!(
        "Cannot cleanup team with {} active member(s): {names}. Use requestShutdown to gracefully terminate teammates first.",
        members.len()
    );
    let structured = json!({ "success": false, "message": message, "team_name": team });
    if rules.is_client() {
        return said(structured, rules);
    }
    let text = format!(
        "Team {team} still has {names}. Nothing was changed. Ask each to end with SendMessage (message \
         {{\"type\":\"shutdown_request\"}}), wait for the answers, then call TeamDelete again."
    );
    Answer::error(text).with(structured)
}
