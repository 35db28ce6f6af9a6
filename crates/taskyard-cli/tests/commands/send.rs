use crate::test::Test;

fn team() -> Test {
    Test::new().quietly("team create alpha").quietly("team join alpha --as bob").quietly("team join alpha --as eve")
}

#[test]
fn message_is_shown_until_acknowledged_and_traceable() {
    team()
        .strict()
        .run("send --to bob hello there --summary hi")
        .run("inbox --sent --json")
        .run("inbox --as bob")
        .run("inbox --sent")
        .run("inbox --as bob --json")
        .run("inbox --as bob --ack")
        .run("inbox --as bob")
        .run("inbox --sent")
        .snapshot();
}

#[test]
fn a_member_that_cannot_be_reached_is_named_with_those_who_can() {
    team()
        .run("send --to bobby hello")
        .run("send --to bobby hello --json")
        .run("send --to bob@beta hello")
        .run("send --to bob@alpha hello")
        .run("send --to bob hello --as nobody")
        .run("send --to bob")
        .run("send hello")
        .run("inbox --as nobody --json")
        .snapshot();
}

#[test]
fn a_message_for_all_says_how_many_it_reached() {
    team().run("send --to * 'all hands'").run("send --to * again --json --as bob").run("inbox --as eve").snapshot();
}

#[test]
fn message_can_carry_task_result_and_piped_text() {
    team()
        .quietly("create Parser --as bob")
        .quietly("start 1 --as bob")
        .quietly("done 1 --as bob")
        .run("send --to team-lead --task 1 'parses 12 of 12 files' --as bob")
        .stdin("two\nlines\n")
        .run("send --to team-lead - --as bob")
        .run("inbox")
        .snapshot();
}

#[test]
fn a_member_is_asked_to_end_and_goes_in_order() {
    let mut test = team().quietly("create Parser --as bob").quietly("start 1 --as bob");
    let sent = test.json("send --to bob --request shutdown 'we are done' --json");
    let request = sent["request"].as_str().unwrap().to_owned();
    assert_eq!(test.json("team show alpha --json")["members"][1]["state"], "stopping");
    test.run("inbox --as bob --ack")
        .run(&format!("send --reject {request} busy --as bob"))
        .run(&format!("send --reject {request} --as bob"))
        .run(&format!("send --approve {request} --as bob"))
        .run("inbox")
        .run("list --as eve")
        .run("team list")
        .snapshot();
}

#[test]
fn repeated_notices_of_idleness_are_one() {
    let idle = |time: &str| {
        format!(
            r#"{{"from":"bob","text":"{{\"type\":\"idle_notification\",\"from\":\"bob\",\"timestamp\":\"{time}\",\"idleReason\":\"available\"}}","timestamp":"{time}","color":"blue","read":false}}"#
        )
    };
    let times = ["2026-11-15T00:00:01.000Z", "2026-11-15T00:00:02.000Z", "2026-11-15T00:00:03.000Z"];
    let inbox = format!("[{}]", times.map(idle).join(","));
    team().file("home/.claude/teams/alpha/inboxes/team-lead.json", inbox).run("inbox --ack").run("inbox").snapshot();
}

#[test]
fn invalid_message_is_set_aside_and_invalid_inbox_kept() {
    let mut test = team()
        .file(
            "home/.claude/teams/alpha/inboxes/bob.json",
            r#"[7,{"from":"team-lead","text":"hi","timestamp":"t","read":false,"kept":[1]},{"odd":true}]"#,
        )
        .run("inbox --as bob");
    let output = test.json("inbox --as bob --json --ack");
    assert_eq!((&output["messages"][0]["text"], &output["malformed"]), (&"hi".into(), &2.into()));
    let kept = std::fs::read_dir(test.path("data/set-aside")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "7\n{\"odd\":true}\n");
    let torn = "[\n  {\n    \"from\": \"team-lead\",\n    \"te";
    test.file("home/.claude/teams/alpha/inboxes/eve.json", torn)
        .run("send --to eve hello")
        .run("inbox --as eve")
        .meanwhile(|place| {
            let path = place.join("home/.claude/teams/alpha/inboxes/eve.json");
            assert_eq!(std::fs::read_to_string(path).unwrap(), torn);
        })
        .snapshot();
}

/// Returns what lies in a member's inbox.
fn inbox(test: &Test, name: &str) -> Vec<serde_json::Value> {
    let path = test.path(&format!("home/.claude/teams/alpha/inboxes/{name}.json"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn every_message_of_ours_has_a_summary() {
    let test = team()
        .quietly("send --to bob '\n  hello there\nand more'")
        .quietly("send --to bob hello --summary ''")
        .quietly("create Parser --as eve")
        .quietly("update 1 --owner bob --as eve")
        .quietly("send --to bob --request shutdown 'we are done'")
        .quietly("team leave alpha --as eve");
    let summaries: Vec<String> =
        inbox(&test, "bob").iter().map(|message| message["summary"].as_str().unwrap().to_owned()).collect();
    let wanted = [
        "hello there",
        "hello",
        "#1 Parser is assigned to you (by eve)",
        "asks you to shut down: we are done",
        "eve has shut down.",
    ];
    assert_eq!(summaries, wanted);
}

#[test]
fn newer_client_lead_without_teammate_is_reported() {
    let file = |more: &str| {
        let lead = r#"{"agentId":"team-lead@session-11111111","name":"team-lead","agentType":"team-lead","joinedAt":1,"tmuxPaneId":"leader","cwd":"/w","subscriptions":[],"backendType":"in-process"}"#;
        let process = std::process::id();
        format!(
            r#"{{"name":"session-11111111","createdAt":1,"leadAgentId":"team-lead@session-11111111","leadSessionId":"11111111-2222-4333-8444-555555555555","leadProcess":{{"pid":{process}}},"members":[{lead}{more}]}}"#
        )
    };
    let own = r#",{"agentId":"bob@session-11111111","name":"bob","color":"blue","joinedAt":2,"tmuxPaneId":"in-process","backendType":"in-process"}"#;
    let config = "home/.claude/teams/session-11111111/config.json";
    let mut test = Test::new().file(config, file("")).quietly("team join session-11111111 --as ana");
    let warned = |test: &mut Test| {
        let output = test.output_of("send --to team-lead hello --as ana");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap().contains("reads no messages until it has a teammate")
    };
    assert!(warned(&mut test));
    let mut test = test.file(config, file(own)).quietly("team join session-11111111 --as ana");
    assert!(!warned(&mut test));
}
