//! All tools, and which of them are offered when.

use super::{
    Answer, Tool, ToolSet, inbox_read, list_agents, send_message, task_claim, task_create, task_get, task_list,
    task_release, task_update, team_create, team_delete, todo_write,
};
use crate::rules::gate::System;

/// Every tool there is, in the order in which they are offered. Which set and system each is in stands with it.
pub const TOOLS: [&Tool; 12] = [
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
];

/// Returns the tools of a set, where this system is on.
pub fn offered(set: ToolSet, system: System) -> impl Iterator<Item = &'static Tool> {
    TOOLS.into_iter().filter(move |tool| tool.set <= set && tool.system == system)
}

/// Returns the tool of a name.
pub fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.into_iter().find(|tool| tool.name == name)
}

/// Returns the answer to a call of a tool that there is not, or that is not offered.
pub fn not_available(name: &str) -> Answer {
    let text = format!("Error: No such tool available: {name}");
    Answer::error(text.clone()).with(text.into())
}

#[cfg(test)]
mod tests {
    use super::{TOOLS, find, offered};
    use crate::rules::gate::System;
    use crate::tools::ToolSet;

    #[test]
    fn exactly_one_of_the_two_systems_is_offered() {
        let names = |system| offered(ToolSet::Core, system).map(|tool| tool.name).collect::<Vec<_>>();
        let tasks = ["TaskCreate", "TaskGet", "TaskUpdate", "TaskList", "TaskClaim", "TaskRelease"];
        assert_eq!(names(System::Tasks), tasks);
        assert_eq!(names(System::Todos), ["TodoWrite"]);
        let team: Vec<_> = offered(ToolSet::Team, System::Tasks).map(|tool| tool.name).collect();
        assert_eq!(team[tasks.len()..], ["SendMessage", "InboxRead", "ListAgents"]);
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
}
