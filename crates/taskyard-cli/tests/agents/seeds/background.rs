//! Seed 001: background commands.

use serde_json::{Value, json};

use crate::seeds::site::Site;
use crate::stdio::{Piped, text};

#[test]
fn background_job_id_starts_with_its_type_letter() {
    let site = Site::new();
    site.put_tasks(&["1"]);
    site.write(".config/taskyard/taskyard.toml", "[jobs]\noutput_form = \"2.1.34\"\n");
    let job = site.json("job run --wait", &["--", "echo", "out"])["job"].clone();
    let id = job["id"].as_str().unwrap();
    assert!(id.len() == 7 && id.starts_with('b') && id[1..].bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    assert!(job["outputFile"].as_str().unwrap().ends_with(&format!("/tasks/{id}.output")), "{job}");
    for key in ["id", "type", "status", "description", "outputFile"] {
        assert!(job[key].is_string(), "{key}: {job}");
    }
    assert!(job["outputOffset"].is_u64() && job["notified"].is_boolean(), "{job}");
    // The one key of another type: a moment in words, as everywhere in our answers.
    assert!(job["startTime"].as_str().is_some_and(|time| time.ends_with('Z')), "{job}");
    assert_eq!((&job["type"], &job["status"]), (&json!("local_bash"), &json!("completed")));
    // Tasks and background commands know nothing of each other.
    let ids = |key: &str, words: &str| -> Vec<Value> {
        let answer = site.json(words, &[]);
        answer[key].as_array().unwrap().iter().map(|one| one["id"].clone()).collect()
    };
    assert_eq!((ids("tasks", "list"), ids("jobs", "job list")), (vec![json!("1")], vec![json!(id)]));
    // What came since the last look is read from where that ended.
    let first = site.json("job output", &[id])["nextOffset"].clone();
    assert_eq!((&first, &site.json("job output --offset 4", &[id])["output"]), (&json!(4), &json!("")));
    assert_eq!(site.json("job output --offset 1", &[id])["output"], "ut\n");
}

#[test]
fn output_can_be_had_whichever_of_the_two_systems_is_on() {
    let site = Site::new();
    let id = site.json("job run --wait", &["--", "echo", "out"])["job"]["id"].clone();
    for word in ["1", "0"] {
        let mut command = site.command("mcp", &[]);
        command.env("CLAUDE_CODE_ENABLE_TASKS", word);
        let mut server = Piped::spawn(command).initialized();
        for name in ["TaskOutput", "AgentOutputTool", "BashOutputTool"] {
            let output = server.call(name, json!({ "task_id": id }));
            assert!(output.contains("<output>\nout\n</output>"), "{word} {name}: {output}");
        }
        let late = server
            .ask("tools/call", json!({ "name": "TaskOutput", "arguments": { "task_id": id, "timeout": 600_001 } }));
        assert!(text(&late).contains("Too big: expected number to be <=600000"), "{late}");
    }
}
