//! Our check of inputs finds what zod finds: random inputs and what zod made of each, written down by `rivals/zod/cases.mjs`.

use serde_json::Value;
use taskyard_core::dialect::native::stringify;
use taskyard_core::rules::hooks::System;
use taskyard_core::tools::catalogue::Surface;
use taskyard_core::tools::schema::{Issue, Wrong, check};
use taskyard_core::tools::send_message::Unsendable;
use taskyard_core::tools::{
    InputError, Tool, catalogue, inbox_read, list_agents, send_message, task_claim, task_create, task_get, task_list,
    task_output, task_release, task_run, task_stop, task_update, team_create, team_delete, todo_write,
};
use taskyard_core::{ClientVersion, Rules};

#[test]
fn every_issue_is_the_one_that_zod_finds_in_its_place_and_order() {
    let (mut taken, mut refused) = (0, 0);
    for line in include_str!("../fixtures/zod.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let tool = clients_tool(case["tool"].as_str().unwrap());
        match check(&tool.input, &case["input"], OLD) {
            Ok(fields) => {
                assert_eq!(stringify(&Value::Object(fields)), stringify(&case["data"]), "{line}");
                taken += 1;
            }
            Err(issues) => {
                let issues: Value = issues.iter().map(Issue::to_json).collect();
                assert_eq!(stringify(&issues), stringify(&case["issues"]), "{line}");
                refused += 1;
            }
        }
    }
    assert!(taken > 50 && refused > 200, "{taken} taken, {refused} refused");
}

const OLD: Rules = Rules::Client(ClientVersion::V2_1_34);

/// Returns a tool as it is under the rules of the older client, which has all of them.
fn clients_tool(name: &str) -> &'static Tool {
    let surface = |system| Surface { system, rules: OLD, runs_commands: true };
    let found = [System::Tasks, System::Todos].into_iter().find_map(|system| catalogue::find_in(surface(system), name));
    found.unwrap()
}

/// Reads an input with a tool; what it reads does not matter here.
fn read(tool: &str, input: &Value, rules: Rules) -> Result<(), InputError> {
    match tool {
        "TaskCreate" => task_create::read(input, rules).map(drop),
        "TaskGet" => task_get::read(input, rules).map(drop),
        "TaskUpdate" => task_update::read(input, rules).map(drop),
        "TaskList" => task_list::read(input, rules),
        "TaskClaim" => task_claim::read(input, rules).map(drop),
        "TaskRelease" => task_release::read(input, rules).map(drop),
        "TaskOutput" => task_output::read(input, rules).map(drop),
        "TaskStop" => task_stop::read(input, rules).map(drop),
        "TaskRun" => task_run::read(input, rules).map(drop),
        "TodoWrite" => todo_write::read(input, rules).map(drop),
        "TeamCreate" => team_create::read(input, rules).map(drop),
        "TeamDelete" => team_delete::read(input, rules),
        "ListAgents" => list_agents::read(input, rules),
        "InboxRead" => inbox_read::read(input, rules).map(drop),
        other => panic!("{other} is not read here"),
    }
}

#[test]
fn every_tool_reads_or_refuses_whatever_it_is_given() {
    let mut repaired = 0;
    for line in include_str!("../fixtures/zod.jsonl").lines() {
        let input = &serde_json::from_str::<Value>(line).unwrap()["input"];
        // Its two generations of input have tests of their own (`tools/send_message`); here it must only answer.
        for rules in [Rules::Strict, Rules::Client(ClientVersion::V2_1_34), Rules::Client(ClientVersion::V2_1_325)] {
            match send_message::read(input, rules) {
                Err(Unsendable::Input(error)) => assert!(error.to_string().starts_with("InputValidationError: ")),
                Err(Unsendable::Answer(answer)) => assert!(answer.is_error && !answer.text.is_empty(), "{line}"),
                // No input here names anybody.
                Ok(sent) => panic!("{sent:?} would be sent: {line}"),
            }
        }
        for tool in catalogue::TOOLS.into_iter().filter(|tool| tool.name != send_message::TOOL.name) {
            let as_it_is = check(&clients_tool(tool.name).input, input, OLD).map(drop);
            let old = read(tool.name, input, OLD);
            assert_eq!(old.map_err(|error| error.issues), as_it_is, "{}: {line}", tool.name);
            let new = read(tool.name, input, Rules::Client(ClientVersion::V2_1_325));
            let ours = read(tool.name, input, Rules::Strict);
            if [task_output::TOOL.name, task_stop::TOOL.name].contains(&tool.name) {
                // The client takes no other names for a job; we do.
                assert_eq!(new.as_ref().map_err(|error| &error.issues), as_it_is.as_ref(), "{}: {line}", tool.name);
            }
            assert!(as_it_is.is_err() || new.is_ok(), "{}: what was right was repaired: {line}", tool.name);
            repaired += usize::from(as_it_is.is_err() && new.is_ok());
            // What strict rules refuse and the client takes they name.
            if let (Ok(()), Err(error)) = (&new, &ours) {
                let is_named = |issue: &Issue| {
                    let is_clash = matches!(issue.wrong, Wrong::Clash { .. });
                    let is_key = matches!(&issue.wrong, Wrong::UnknownKeys { allowed: Some(_), .. });
                    is_clash || is_key || matches!(issue.wrong, Wrong::Type { .. } | Wrong::Value(_))
                };
                assert!(error.issues.iter().all(is_named), "{}: {line}: {error}", tool.name);
            }
            let text = ours.map_err(|error| error.to_string());
            let told = |text: &String| text.starts_with("InputValidationError: ") || text.contains(" cannot take `");
            assert!(text.as_ref().err().is_none_or(told), "{text:?}");
        }
    }
    assert!(repaired > 20, "{repaired}");
}
