//! All tools, and which of them are offered.

use super::{
    Answer, Scope, Tool, ToolSet, dialects, inbox_read, list_agents, send_message, task_claim, task_create, task_get,
    task_list, task_output, task_release, task_run, task_stop, task_update, team_create, team_delete, todo_write,
};
use crate::rules::hooks::System;
use crate::{ClientVersion, Rules};

/// Every tool, in the order in which they are offered.
pub const TOOLS: [&Tool; 15] = [
    &task_create::TOOL,
    &task_get::TOOL,
    &task_update::TOOL,
    &task_list::TOOL,
    &task_claim::TOOL,
    &task_release::TOOL,
    &send_message::TOOL,
    &inbox_read::TOOL,
    &list_agents::TOOL,
    &team_create::TOOL,
    &team_delete::TOOL,
    &todo_write::TOOL,
    &task_run::TOOL,
    &task_output::TOOL,
    &task_stop::TOOL,
];

/// Names of tools in older clients. They are accepted but not offered.
const OLD_NAMES: [(&str, &Tool); 3] =
    [("AgentOutputTool", &task_output::TOOL), ("BashOutputTool", &task_output::TOOL), ("KillShell", &task_stop::TOOL)];

/// Tools that no client has.
const OURS: [&str; 4] = ["TaskClaim", "TaskRelease", "TaskRun", "InboxRead"];

/// The tool that lists team members. The newest client has it if its teams are enabled.
const LIST_AGENTS: &str = list_agents::TOOL.name;

/// The tools of every system that give a task to exactly one agent. The client has none of them.
const CLAIMS: [&str; 3] = ["TaskClaim", "TaskRelease", "claim_task"];

/// What determines which tools exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surface {
    /// Which of the client's two systems is enabled.
    pub system: System,
    /// The rules in force.
    pub rules: Rules,
    /// Whether tools may run commands.
    pub runs_commands: bool,
}

impl Surface {
    /// Returns whether a tool exists here.
    pub(crate) fn has(&self, tool: &Tool) -> bool {
        match tool.name {
            // Jobs belong to no system.
            "TaskRun" => self.runs_commands,
            // The newest client lets models read the output file instead.
            "TaskOutput" => self.rules != Rules::Client(ClientVersion::V2_1_325),
            "TaskStop" => true,
            // The newest client creates its teams itself.
            "TeamCreate" | "TeamDelete" if self.rules == Rules::Client(ClientVersion::V2_1_325) => false,
            // Other dialects use the same tools for teams.
            _ if tool.set > ToolSet::Core && !self.system.is_the_clients() => true,
            _ => tool.system == self.system,
        }
    }
}

/// Returns the tools of a set that exist here, in the variants of the current rules.
pub fn offered(set: ToolSet, surface: Surface) -> impl Iterator<Item = &'static Tool> {
    let has_list_agents = surface.rules == Rules::Client(ClientVersion::V2_1_325);
    let is_in = move |tool: &&Tool| match set {
        ToolSet::AllAlone => tool.name != LIST_AGENTS,
        ToolSet::Client => tool.set == ToolSet::Core && !OURS.contains(&tool.name),
        ToolSet::ClientTeam => !OURS.contains(&tool.name) && (has_list_agents || tool.name != LIST_AGENTS),
        ToolSet::Claims => CLAIMS.contains(&tool.name),
        ToolSet::ClaimsTeam => CLAIMS.contains(&tool.name) || tool.set == ToolSet::Team,
        set => tool.set <= set,
    };
    let there = all().filter(is_in).filter(move |tool| surface.has(tool));
    there.map(move |tool| as_in(surface.rules, tool))
}

/// Returns the variant of a tool for these rules.
fn as_in(rules: Rules, tool: &'static Tool) -> &'static Tool {
    match tool.name {
        "TodoWrite" if tool.system == System::Document => dialects::document_tools::write(rules),
        _ if !tool.system.is_the_clients() => tool,
        "TaskCreate" => task_create::tool(rules),
        "TaskGet" => task_get::tool(rules),
        "TaskUpdate" => task_update::tool(rules),
        "TaskClaim" => task_claim::tool(rules),
        "SendMessage" => send_message::tool(rules),
        "TeamCreate" => team_create::tool(rules),
        "TeamDelete" => team_delete::tool(rules),
        "TodoWrite" => todo_write::tool(rules),
        "TaskRun" => task_run::tool(rules),
        "TaskOutput" => task_output::tool(rules),
        _ => tool,
    }
}

/// Returns the tool of a name that exists here. Two systems may have tools of the same name, and old names are
/// accepted.
pub fn find_in(surface: Surface, name: &str) -> Option<&'static Tool> {
    let old = OLD_NAMES.into_iter().filter(|(old, _)| *old == name).map(|(_, tool)| tool);
    let found = all().filter(|tool| tool.name == name).chain(old).find(|tool| surface.has(tool));
    found.map(|tool| as_in(surface.rules, tool))
}

fn all() -> impl Iterator<Item = &'static Tool> {
    TOOLS.into_iter().chain(dialects::TOOLS)
}

/// Returns the answer to a call of a tool that does not exist or is not offered.
pub fn not_available(name: &str) -> Answer {
    let text = format!("Error: No such tool available: {name}");
    Answer::error(text.clone()).with(text.into())
}

/// Returns the answer to a call that needs a wider scope than the caller has.
pub fn out_of_scope(name: &str, needed: Scope) -> Answer {
    let needed = needed.as_str();
    Answer::error(format!("Error: {name} needs a token with the scope `{needed}`. Nothing was done."))
}

#[cfg(test)]
mod tests {
    use super::{OLD_NAMES, Surface, TOOLS, offered};
    use crate::rules::hooks::System;
    use crate::tools::{Scope, Tool, ToolSet};
    use crate::{ClientVersion, Rules};

    fn names(surface: Surface) -> Vec<&'static str> {
        offered(ToolSet::Core, surface).map(|tool| tool.name).collect()
    }

    const TASKS: Surface = Surface { system: System::Tasks, rules: Rules::Strict, runs_commands: false };

    fn find(name: &str) -> Option<&'static Tool> {
        let old = OLD_NAMES.into_iter().find(|(old, _)| *old == name).map(|(_, tool)| tool);
        TOOLS.into_iter().find(|tool| tool.name == name).or(old)
    }

    #[test]
    fn exactly_one_of_the_two_systems_is_offered_and_jobs_with_both() {
        let tasks = ["TaskCreate", "TaskGet", "TaskUpdate", "TaskList", "TaskClaim", "TaskRelease"];
        assert_eq!(names(TASKS), [&tasks[..], &["TaskOutput", "TaskStop"]].concat());
        let todos = Surface { system: System::Todos, ..TASKS };
        assert_eq!(names(todos), ["TodoWrite", "TaskOutput", "TaskStop"]);
        let team: Vec<_> = offered(ToolSet::Team, TASKS).map(|tool| tool.name).collect();
        assert_eq!(team[tasks.len()..tasks.len() + 3], ["SendMessage", "InboxRead", "ListAgents"]);
    }

    #[test]
    fn the_clients_set_is_exactly_the_clients() {
        let own = |set, rules| {
            let surface = Surface { rules, runs_commands: true, ..TASKS };
            offered(set, surface).map(|tool| tool.name).collect::<Vec<_>>()
        };
        let tasks = ["TaskCreate", "TaskGet", "TaskUpdate", "TaskList"];
        let (old, new) = (Rules::Client(ClientVersion::V2_1_34), Rules::Client(ClientVersion::V2_1_325));
        assert_eq!(own(ToolSet::Client, old), [&tasks[..], &["TaskOutput", "TaskStop"]].concat());
        assert_eq!(own(ToolSet::Client, new), [&tasks[..], &["TaskStop"]].concat());
        let teams = ["SendMessage", "TeamCreate", "TeamDelete", "TaskOutput", "TaskStop"];
        assert_eq!(own(ToolSet::ClientTeam, old), [&tasks[..], &teams].concat());
        assert_eq!(own(ToolSet::ClientTeam, new), [&tasks[..], &["SendMessage", "ListAgents", "TaskStop"]].concat());
    }

    #[test]
    fn agents_without_a_team_can_do_without_its_members() {
        let names = |set| offered(set, TASKS).map(|tool| tool.name).collect::<Vec<_>>();
        let (all, mut alone) = (names(ToolSet::All), names(ToolSet::AllAlone));
        alone.insert(all.iter().position(|name| *name == "ListAgents").unwrap(), "ListAgents");
        assert_eq!(all, alone);
    }

    #[test]
    fn beside_the_clients_tools_claims_are_enough() {
        let claims = |surface| offered(ToolSet::Claims, surface).map(|tool| tool.name).collect::<Vec<_>>();
        for rules in [Rules::Strict, Rules::Client(ClientVersion::V2_1_34), Rules::Client(ClientVersion::V2_1_325)] {
            let surface = Surface { rules, runs_commands: true, ..TASKS };
            assert_eq!(claims(surface), ["TaskClaim", "TaskRelease"], "{rules:?}");
        }
        assert_eq!(claims(Surface { system: System::Teaching, ..TASKS }), ["claim_task"]);
        let team: Vec<_> = offered(ToolSet::ClaimsTeam, TASKS).map(|tool| tool.name).collect();
        assert_eq!(team, ["TaskClaim", "TaskRelease", "SendMessage", "InboxRead", "ListAgents"]);
    }

    #[test]
    fn other_dialects_have_own_tools_and_jobs_and_teams() {
        for (system, own) in [
            (System::Document, &["TodoWrite", "TodoRead"][..]),
            (System::Teaching, &["create_task", "list_tasks", "get_task", "claim_task", "complete_task"]),
            (System::Export, &["TaskCreate", "TaskUpdate", "TaskList"]),
        ] {
            let surface = Surface { system, ..TASKS };
            assert_eq!(names(surface), [&["TaskOutput", "TaskStop"], own].concat(), "{system:?}");
            assert!(names(Surface { runs_commands: true, ..surface }).contains(&"TaskRun"), "{system:?}");
            let all: Vec<_> = offered(ToolSet::All, surface).map(|tool| tool.name).collect();
            let teams = ["SendMessage", "InboxRead", "ListAgents", "TeamCreate", "TeamDelete"];
            assert_eq!(all, [&teams[..], &["TaskOutput", "TaskStop"], own].concat(), "{system:?}");
        }
    }

    #[test]
    fn commands_are_run_only_where_that_is_allowed() {
        assert!(!names(TASKS).contains(&"TaskRun"));
        assert!(names(Surface { runs_commands: true, ..TASKS }).contains(&"TaskRun"));
    }

    #[test]
    fn newest_client_has_no_output_and_team_creation_tools() {
        for (version, has) in [(ClientVersion::V2_1_34, true), (ClientVersion::V2_1_325, false)] {
            let surface = Surface { rules: Rules::Client(version), ..TASKS };
            let names: Vec<_> = offered(ToolSet::All, surface).map(|tool| tool.name).collect();
            for name in ["TaskOutput", "TeamCreate", "TeamDelete"] {
                assert_eq!(names.contains(&name), has, "{name} of {version}");
            }
            assert!(names.contains(&"TaskStop"));
        }
    }

    #[test]
    fn every_tool_is_found_by_its_name_and_refuses_other_keys() {
        for tool in TOOLS {
            assert_eq!(find(tool.name).unwrap().name, tool.name);
            assert_eq!(tool.input_schema()["additionalProperties"], false, "{}", tool.name);
            assert!(!tool.description.is_empty());
        }
        assert!(find("taskcreate").is_none());
    }

    #[test]
    fn only_tools_that_change_nothing_need_the_scope_read() {
        for tool in super::all() {
            assert_eq!(tool.scope == Scope::Read, tool.annotations.read_only, "{}", tool.name);
        }
    }

    #[test]
    fn old_names_are_answered_to_and_not_offered() {
        for (old, new) in
            [("AgentOutputTool", "TaskOutput"), ("BashOutputTool", "TaskOutput"), ("KillShell", "TaskStop")]
        {
            assert_eq!(find(old).unwrap().name, new);
            assert!(!names(TASKS).contains(&old));
        }
        assert!(find("BashOutput").is_none());
    }
}
