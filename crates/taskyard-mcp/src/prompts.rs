//! What a person can ask an agent for with one word: to plan a goal, to take up what comes next.

use rmcp::model::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::{Map, Value};

const PLAN: &str = "plan";
const NEXT: &str = "next";
const GOAL: &str = "goal";

const HOW_TO_PLAN: &str = "Plan this goal as tasks on the shared task list. Do not begin to work on it yet.

1. Call TaskList first: what is already there is not added again.
2. Look at what the goal touches as far as you need to name the steps rightly.
3. Call TaskCreate once for each step that one agent can finish in one go. The subject is an imperative; the description says \
what to do, where, and how to tell that it is done, so that an agent that knows nothing of this conversation can do it.
4. Say the order with TaskUpdate addBlockedBy, and only where one step truly needs another: what is independent can then be \
done side by side. Include checking the whole as a last step.
5. Call TaskList and show the plan: what can start now, and what waits for what.

The goal:
";

const HOW_TO_GO_ON: &str = "Take up the next task of the shared task list and finish it.

Call TaskClaim without taskId: it gives you the task you already have, or the best that is ready. Do what its text says and \
nothing beyond it; put further work you find on the list with TaskCreate. When it is entirely done, call TaskUpdate with status \
completed. If you cannot finish it, call TaskRelease with the reason. If nothing is ready, say what holds things up.";

/// Why a prompt cannot be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoPrompt {
    /// There is none of that name.
    Unknown,
    /// It needs to know the goal.
    WithoutGoal,
}

/// Returns the prompts there are.
pub(crate) fn all() -> Vec<Prompt> {
    let goal = PromptArgument::new(GOAL).with_description("What is to be reached").with_required(true);
    vec![
        Prompt::new(PLAN, Some("Turn a goal into tasks, with what waits for what"), Some(vec![goal])),
        Prompt::new(NEXT, Some("Take up the next task and finish it"), None),
    ]
}

/// Returns a prompt.
pub(crate) fn prompt(name: &str, arguments: Option<&Map<String, Value>>) -> Result<GetPromptResult, NoPrompt> {
    let text = match name {
        PLAN => {
            let goal = arguments.and_then(|arguments| arguments.get(GOAL)).and_then(Value::as_str).map(str::trim);
            let goal = goal.filter(|goal| !goal.is_empty()).ok_or(NoPrompt::WithoutGoal)?;
            format!("{HOW_TO_PLAN}{goal}")
        }
        NEXT => HOW_TO_GO_ON.to_owned(),
        _ => return Err(NoPrompt::Unknown),
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{NoPrompt, all, prompt};

    #[test]
    fn a_plan_needs_a_goal() {
        let blank = json!({ "goal": " " });
        assert_eq!(prompt("plan", None), Err(NoPrompt::WithoutGoal));
        assert_eq!(prompt("plan", blank.as_object()), Err(NoPrompt::WithoutGoal));
        let goal = json!({ "goal": "Ship it" });
        let text = serde_json::to_string(&prompt("plan", goal.as_object()).unwrap()).unwrap();
        assert!(text.contains("The goal:\\nShip it"), "{text}");
    }

    #[test]
    fn every_prompt_that_is_offered_can_be_had() {
        let goal = json!({ "goal": "x" });
        for offered in all() {
            assert!(prompt(&offered.name, goal.as_object()).is_ok(), "{}", offered.name);
        }
        assert_eq!(prompt("plans", None), Err(NoPrompt::Unknown));
    }
}
