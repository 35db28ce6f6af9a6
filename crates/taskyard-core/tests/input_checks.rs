//! Our check of inputs finds what zod finds: random inputs and what zod made of each, written down by `rivals/zod/cases.mjs`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use serde_json::Value;
use taskyard_core::dialect::native::stringify;
use taskyard_core::tools::schema::{Issue, check};
use taskyard_core::tools::send_message::Unsendable;
use taskyard_core::tools::{
    InputError, catalogue, inbox_read, list_agents, send_message, task_claim, task_create, task_get, task_list,
    task_output, task_release, task_run, task_stop, task_update, team_create, team_delete, todo_write,
};
use taskyard_core::{ClientVersion, Rules};

#[test]
fn every_issue_is_the_one_that_zod_finds_in_its_place_and_order() {
    let (mut taken, mut refused) = (0, 0);
    for line in include_str!("fixtures/zod.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let tool = catalogue::find(case["tool"].as_str().unwrap()).unwrap();
        match check(&tool.input, &case["input"]) {
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
    for line in include_str!("fixtures/zod.jsonl").lines() {
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
            let as_it_is = check(&tool.input, input).map(drop);
            let old = read(tool.name, input, Rules::Client(ClientVersion::V2_1_34));
            assert_eq!(old.map_err(|error| error.issues), as_it_is, "{}: {line}", tool.name);
            let new = read(tool.name, input, Rules::Client(ClientVersion::V2_1_325));
            let ours = read(tool.name, input, Rules::Strict);
            if [task_output::TOOL.name, task_stop::TOOL.name].contains(&tool.name) {
                // The client takes no other names for a job; we do.
                assert_eq!(new.map_err(|error| error.issues), as_it_is, "{}: {line}", tool.name);
            } else {
                assert_eq!(new, ours, "{}: {line}", tool.name);
            }
            assert!(as_it_is.is_err() || ours.is_ok(), "{}: what was right was repaired: {line}", tool.name);
            repaired += usize::from(as_it_is.is_err() && ours.is_ok());
            let text = ours.map_err(|error| error.to_string());
            assert!(text.as_ref().err().is_none_or(|text| text.starts_with("InputValidationError: ")), "{text:?}");
        }
    }
    assert!(repaired > 20, "{repaired}");
}
