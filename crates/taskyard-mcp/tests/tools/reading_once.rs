//! In one call the teams are read once, and a mailbox once, whatever the tool needs to know of them.

use std::sync::Arc;

use serde_json::{Value, json};
use taskyard::Yard;
use taskyard::core::rules::hooks::System;
use taskyard::core::{AgentName, ListId, Rules, TeamName};
use taskyard::store::MemoryStore;
use taskyard::teams::{Letter, MemoryTeams, NewMember, NewTeam, Presence, TeamCaller, Teams};
use taskyard_mcp::calls::Toolbox;
use taskyard_testkit::CountingTeams;

fn agent(name: &str) -> AgentName {
    AgentName::new(name).unwrap()
}

/// Returns a yard on the list of a team that `boss` leads and `ana` is in, whose plan is to be approved, and what counts.
fn in_team() -> (Yard, Arc<CountingTeams>) {
    let counting = Arc::new(CountingTeams::over(Arc::new(MemoryTeams::new())));
    let caller = TeamCaller { directory: Some("/work".into()), ..TeamCaller::default() };
    let teams = Arc::new(Teams::over(Arc::clone(&counting) as _, Rules::Strict, caller));
    let new = NewTeam { name: TeamName::new("alpha").unwrap(), description: None, agent_type: None };
    let boss = teams.create(&new, &agent("boss")).unwrap().done().unwrap();
    let ana = NewMember {
        agent: agent("ana"),
        agent_type: None,
        model: None,
        plan_mode_required: true,
        presence: Presence::Lasting,
        backend: None,
    };
    let ana = teams.join(&boss.team, &ana).unwrap().done().unwrap();
    let plan = teams.show_plan(&ana, "all of it").unwrap().done().unwrap();
    let boss = teams.only_seat(&agent("boss")).unwrap().unwrap();
    teams.send(&boss, "ana", &Letter::new("hello")).unwrap().done().unwrap();
    let store = Arc::new(MemoryStore::new(Rules::Strict));
    let yard = Yard::new(store, ListId::new("elsewhere").unwrap(), agent("ana")).with_teams(Arc::clone(&teams));
    let tools = Toolbox::new(yard.in_team_list().unwrap(), System::Tasks);
    for subject in ["one", "two", "three"] {
        tools.call("TaskCreate", &json!({ "subject": subject, "description": "d" })).unwrap();
    }
    let refused = tools.call("TaskClaim", &json!({ "taskId": "1" })).unwrap();
    assert!(refused.is_error, "{}", refused.text);
    teams.answer_plan(&boss, "ana", &plan.request.unwrap(), None).unwrap().done().unwrap();
    counting.take_reads();
    (yard, counting)
}

/// Does what is done for one call.
fn call(yard: &Yard, tool: &str, input: &Value) -> String {
    let yard = yard.for_one_call().in_team_list().unwrap();
    assert_eq!(yard.list_id().as_str(), "alpha");
    let answer = Toolbox::new(yard, System::Tasks).call(tool, input).unwrap();
    assert!(!answer.is_error, "{tool}: {}", answer.text);
    answer.text
}

#[test]
fn every_call_reads_the_roster_once_and_a_mailbox_at_most_once() {
    let (yard, counting) = in_team();
    for (tool, input, mailboxes) in [
        ("TaskList", json!({}), 0),
        ("TaskCreate", json!({ "subject": "four", "description": "d" }), 0),
        ("TaskGet", json!({ "taskId": "1" }), 0),
        ("TaskClaim", json!({ "taskId": "1" }), 0),
        ("TaskUpdate", json!({ "taskId": "1", "status": "completed" }), 0),
        ("TaskUpdate", json!({ "taskId": "2", "status": "in_progress" }), 0),
        ("TaskUpdate", json!({ "taskId": "3", "owner": "team-lead" }), 0),
        ("TaskRelease", json!({ "taskId": "2" }), 0),
        ("SendMessage", json!({ "to": "team-lead", "message": "hello", "summary": "hello" }), 0),
        ("InboxRead", json!({}), 1),
        // One for each of the two members.
        ("ListAgents", json!({}), 2),
    ] {
        call(&yard, tool, &input);
        assert_eq!(counting.take_reads(), (1, mailboxes), "{tool} {input}");
    }
}

#[test]
fn acknowledging_call_reads_inbox_once_and_shows_the_rest() {
    let (yard, counting) = in_team();
    let teams = Arc::clone(yard.teams().unwrap());
    let ana = teams.only_seat(&agent("ana")).unwrap().unwrap();
    let waiting = teams.receive(&ana).unwrap().deliveries;
    let id = waiting[0].message.msg_id.clone().unwrap();
    counting.take_reads();
    let shown = call(&yard, "InboxRead", &json!({ "acknowledge": [id] }));
    assert_eq!(counting.take_reads(), (1, 1));
    assert!(!shown.contains("hello") && shown.contains("plan_approval_response"), "{shown}");
    assert_eq!(teams.look_into(&ana).unwrap().deliveries.len(), 1);
}

#[test]
fn the_next_call_sees_what_others_did_to_the_team() {
    let (yard, counting) = in_team();
    assert!(call(&yard, "ListAgents", &json!({})).contains("ana"));
    let lasting = yard.teams().unwrap();
    let ana = lasting.only_seat(&agent("ana")).unwrap().unwrap();
    lasting.leave(&ana).unwrap().done().unwrap();
    counting.take_reads();
    let left = yard.for_one_call();
    assert!(left.seat().unwrap().is_none());
    assert_eq!(left.in_team_list().unwrap().list_id().as_str(), "elsewhere");
    assert_eq!(counting.take_reads().0, 1);
}

#[test]
fn a_call_that_changes_the_team_sees_its_own_change() {
    let (yard, _) = in_team();
    let teams = yard.teams().unwrap().for_one_call();
    let ana = teams.only_seat(&agent("ana")).unwrap().unwrap();
    teams.leave(&ana).unwrap().done().unwrap();
    assert!(teams.only_seat(&agent("ana")).unwrap().is_none());
    teams.delete(&ana.team).unwrap();
    assert!(teams.only_seat(&agent("boss")).unwrap().is_none());
}
