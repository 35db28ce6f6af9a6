//! Who may take a task.

use crate::rules::agents::naming::is_same_agent;
use crate::{AgentName, Assignee, Task};

/// Tells whether an agent in these roles may take a task: the task names the agent or one of its roles, or no agent at all.
pub(crate) fn may_take(task: &Task, agent: &AgentName, roles: &[String]) -> bool {
    let assignees = task.assignable_to();
    assignees.is_empty() || assignees.iter().any(|assignee| means(assignee, agent, roles))
}

fn means(assignee: &Assignee, agent: &AgentName, roles: &[String]) -> bool {
    match assignee {
        Assignee::Agent(name) => is_same_agent(name.as_str(), agent.as_str()),
        Assignee::Role(role) => roles.contains(role),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::may_take;
    use crate::{AgentName, Task, TaskId};

    fn may(assignable_to: &Value, agent: &str, roles: &[&str]) -> bool {
        let metadata = json!({ "assignable_to": assignable_to }).as_object().cloned();
        let task = Task { metadata, ..Task::new(TaskId::number(1), "x") };
        may_take(&task, &AgentName::new(agent).unwrap(), &roles.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn a_task_that_names_nobody_is_for_everyone() {
        let ana = AgentName::new("ana").unwrap();
        assert!(may_take(&Task::new(TaskId::number(1), "x"), &ana, &[]));
        for nobody in [json!(null), json!(""), json!("  "), json!([]), json!([""]), json!({}), json!(7)] {
            assert!(may(&nobody, "ana", &[]), "{nobody}");
        }
    }

    #[test]
    fn an_agent_may_take_what_names_it_with_or_without_its_team() {
        assert!(may(&json!("bob"), "bob", &[]));
        assert!(may(&json!("bob"), "bob@alpha", &[]));
        assert!(may(&json!(["ana", "bob@alpha"]), "bob", &[]));
        assert!(!may(&json!("bob@alpha"), "bob@beta", &[]));
        assert!(!may(&json!(["ana", "bob"]), "eve", &["bob"]));
    }

    #[test]
    fn a_reviewer_may_take_reviews_and_no_build_work() {
        assert!(may(&json!("role:review"), "ana", &["review", "docs"]));
        assert!(may(&json!(["role:build", "role:review"]), "ana", &["review"]));
        assert!(!may(&json!("role:build"), "ana", &["review"]));
        assert!(!may(&json!("role:build"), "build", &[]));
        assert!(!may(&json!("role:"), "ana", &["review"]));
    }
}
