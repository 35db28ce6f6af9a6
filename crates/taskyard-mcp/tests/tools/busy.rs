//! An agent that has as much in progress as it may begins nothing else, wherever a task can be begun.

use std::sync::Arc;

use serde_json::{Value, json};
use taskyard::core::rules::hooks::System;
use taskyard::core::rules::refusal::{ClaimRefusal, Refusal};
use taskyard::core::{AgentName, ListId, Rules, Status, TaskId, TeamName};
use taskyard::operations::{Claim, NewTask, OwnerChange, Patch, Update};
use taskyard::store::MemoryStore;
use taskyard::teams::{MemoryTeams, NewMember, NewTeam, Presence, TeamCaller, Teams};
use taskyard::{Outcome, Yard};
use taskyard_mcp::calls::Toolbox;
use taskyard_testkit::list_builder;

const LIST: &str = "1 in_progress (ana); 2 pending (ana); 3 pending";

/// Returns the yard of an agent that has task 1 in progress and may have no other. Task 2 is its own, task 3 has no owner.
fn busy() -> Yard {
    let (store, list) = (MemoryStore::new(Rules::Strict), ListId::new("L").unwrap());
    list_builder::fill(&store, &list, LIST);
    Yard::new(Arc::new(store), list, AgentName::new("ana").unwrap()).with_limit(Some(1))
}

/// Returns the same for a member of a team without a limit that was set: it is one.
fn busy_teammate() -> Yard {
    let teams = Teams::over(Arc::new(MemoryTeams::new()), Rules::Strict, TeamCaller::default());
    let team = NewTeam { name: TeamName::new("alpha").unwrap(), description: None, agent_type: None };
    let boss = teams.create(&team, &AgentName::new("boss").unwrap()).unwrap().done().unwrap();
    let ana = NewMember {
        agent: AgentName::new("ana").unwrap(),
        agent_type: None,
        model: None,
        plan_mode_required: false,
        presence: Presence::Lasting,
        backend: None,
    };
    teams.join(&boss.team, &ana).unwrap().done().unwrap();
    let list = teams.list_of(&boss.team.name).unwrap();
    let store = MemoryStore::new(Rules::Strict);
    list_builder::fill(&store, &list, LIST);
    Yard::new(Arc::new(store), list, ana.agent).with_teams(Arc::new(teams))
}

fn id(number: u64) -> TaskId {
    TaskId::number(number)
}

fn is_busy<T>(outcome: &Outcome<T>) -> bool {
    matches!(outcome, Outcome::Refused(Refusal::AgentBusy { with, .. }) if *with == [id(1)])
}

#[test]
fn nothing_is_begun_through_an_operation() {
    nothing_is_begun(&busy());
    nothing_is_begun(&busy_teammate());
}

fn nothing_is_begun(yard: &Yard) {
    assert!(is_busy(&yard.start(&id(2)).unwrap()));
    let begin =
        Patch { status: Some(Status::InProgress), owner: Some(OwnerChange::Set("ana".to_owned())), ..Patch::default() };
    assert!(is_busy(&yard.update(&id(3), Update { patch: begin, ..Update::default() }).unwrap()));
    let new = NewTask { status: Some(Status::InProgress), owner: Some("ana".to_owned()), ..NewTask::default() };
    assert!(is_busy(&yard.create(new).unwrap()));
    if yard.seat().unwrap().is_some() {
        // What a teammate begins and has no owner is its own.
        let new = NewTask { status: Some(Status::InProgress), ..NewTask::default() };
        assert!(is_busy(&yard.create(new).unwrap()));
        assert!(is_busy(&yard.start(&id(3)).unwrap()));
    }
    let claim = Claim { limit: Some(1), ..Claim::default() };
    let claimed = yard.claim(&id(3), &claim).unwrap();
    let refused = claimed.refusal().and_then(Refusal::of_claim);
    assert_eq!(refused.map(ClaimRefusal::as_str), Some("agent_busy"));
    assert_eq!(yard.store().read(yard.list_id()).unwrap().tasks().unwrap().len(), 3);
}

#[test]
fn nothing_is_begun_through_a_tool() {
    let calls: [(System, &str, Value); 5] = [
        (System::Tasks, "TaskUpdate", json!({"taskId": "2", "status": "in_progress"})),
        (System::Tasks, "TaskUpdate", json!({"taskId": "3", "status": "in_progress", "owner": "ana"})),
        (System::Document, "TodoWrite", json!({"id": "2", "description": "x", "status": "in_progress"})),
        (System::Document, "TodoWrite", json!({"description": "x", "status": "in_progress", "assignee": "ana"})),
        (System::Export, "TaskUpdate", json!({"id": "3", "status": "in_progress"})),
    ];
    for (yard, (system, name, input)) in
        [busy as fn() -> Yard, busy_teammate].into_iter().flat_map(|yard| calls.clone().map(|call| (yard(), call)))
    {
        let before = yard.store().read(yard.list_id()).unwrap().tasks().unwrap();
        let answer = Toolbox::new(yard.clone(), system).call(name, &input).unwrap();
        assert!(answer.is_error && answer.text.contains('1'), "{system:?} {input}: {}", answer.text);
        assert_eq!(yard.store().read(yard.list_id()).unwrap().tasks().unwrap(), before, "{system:?} {input}");
    }
}
