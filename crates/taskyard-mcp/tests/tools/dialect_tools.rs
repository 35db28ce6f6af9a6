//! The tools of other dialects, called by models.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};
use taskyard::core::rules::hooks::System;
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::tools::{Answer, dialects};
use taskyard::core::{AgentName, ClientVersion, ListId, Revision, Rules, Status, Task, TaskId};
use taskyard::operations::{Filter, NewTask, UndoRange};
use taskyard::store::{
    DocumentOptions, DocumentPaths, HistoryQuery, MemoryStore, TeachingOptions, TeachingPaths, open_documents,
    open_teaching,
};
use taskyard::{Outcome, Store, Yard};
use taskyard_mcp::calls::Toolbox;
use tempfile::TempDir;

const RULES: [Rules; 3] =
    [Rules::Strict, Rules::Client(ClientVersion::V2_1_34), Rules::Client(ClientVersion::V2_1_325)];

fn yard(store: Arc<dyn Store>) -> Yard {
    Yard::new(store, ListId::new("L").unwrap(), AgentName::new("ana").unwrap())
}

fn tools(store: Arc<dyn Store>, system: System) -> Toolbox {
    Toolbox::new(yard(store), system)
}

fn document(folder: &TempDir) -> Arc<dyn Store> {
    let paths = DocumentPaths::File(folder.path().join("tasks.json"));
    open_documents(DocumentOptions { paths, data: folder.path().join("data"), rules: Rules::Strict })
}

fn on_a_document(folder: &TempDir) -> Toolbox {
    tools(document(folder), System::Document)
}

fn taught(folder: &TempDir) -> Arc<dyn Store> {
    let paths = TeachingPaths::Folder(folder.path().join(".tasks"));
    open_teaching(TeachingOptions { paths, data: folder.path().join("data"), rules: Rules::Strict })
}

fn on_a_folder(folder: &TempDir) -> Toolbox {
    tools(taught(folder), System::Teaching)
}

fn call(tools: &Toolbox, name: &str, input: Value) -> Answer {
    tools.call(name, &input).unwrap()
}

fn given(tools: &Toolbox, name: &str, input: Value) -> Value {
    let answer = call(tools, name, input);
    assert!(!answer.is_error, "{}", answer.text);
    answer.structured.unwrap()
}

#[test]
fn every_tool_is_answered_in_its_own_system_and_in_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let memory = || Arc::new(MemoryStore::new(Rules::Strict));
    let all = [on_a_document(&folder), on_a_folder(&folder), tools(memory(), System::Export)];
    let systems = [System::Document, System::Teaching, System::Export];
    for tool in dialects::TOOLS {
        for (tools, system) in all.iter().zip(systems) {
            let unavailable = format!("Error: No such tool available: {}", tool.name);
            let is_there = call(tools, tool.name, json!({})).text != unavailable;
            assert_eq!(is_there, tool.system == system, "{} in {system:?}", tool.name);
        }
    }
}

#[test]
fn a_todo_is_written_and_written_again_by_its_id() {
    let folder = tempfile::tempdir().unwrap();
    let tools = on_a_document(&folder);
    let made = given(&tools, "TodoWrite", json!({"description": "First"}));
    let id = made["task"]["id"].as_str().unwrap().to_owned();
    assert_eq!(id.len(), 36);
    let second = given(
        &tools,
        "TodoWrite",
        json!({"id": "mine", "description": "Second", "dependencies": [id], "metadata": {"priority": "high", "custom_fields": {"x": 1}}}),
    );
    assert_eq!((&second["task"]["status"], &second["task"]["id"]), (&json!("blocked"), &json!("mine")));
    assert_eq!(second["task"]["metadata"], json!({"priority": "high", "custom_fields": {"x": 1}}));
    let refused = call(&tools, "TodoWrite", json!({"id": "mine", "description": "Second", "status": "in_progress"}));
    assert!(refused.is_error, "{}", refused.text);
    given(&tools, "TodoWrite", json!({"id": id, "description": "First", "status": "completed"}));
    let changed = given(
        &tools,
        "TodoWrite",
        json!({"id": "mine", "description": "Other", "status": "in_progress", "assignee": "ben"}),
    );
    assert_eq!((&changed["task"]["description"], &changed["task"]["assignee"]), (&json!("Other"), &json!("ben")));
    let refused = call(&tools, "TodoWrite", json!({"id": id, "description": "First", "dependencies": ["mine"]}));
    assert!(refused.is_error && refused.text.contains("dependency cycle"), "{}", refused.text);
    let refused = call(&tools, "TodoWrite", json!({"description": "Third", "dependencies": ["nothing"]}));
    assert!(refused.is_error, "{}", refused.text);
    let shown = given(&tools, "TodoRead", json!({}));
    assert_eq!(
        (&shown["count"], &shown["completed_count"], &shown["in_progress_count"]),
        (&json!(1), &json!(1), &json!(1))
    );
    assert_eq!(given(&tools, "TodoRead", json!({"include_completed": true}))["count"], 2);
    assert_eq!(given(&tools, "TodoRead", json!({"assignee": "nobody"}))["count"], 0);
}

/// The four prompts of the tutorial the folder comes from.
#[test]
fn a_project_is_planned_listed_worked_on_and_listed_again() {
    let folder = tempfile::tempdir().unwrap();
    let tools = on_a_folder(&folder);
    let make = |subject: &str, blocked_by: &[&str]| {
        let made = given(&tools, "create_task", json!({"subject": subject, "blockedBy": blocked_by}));
        made["task"]["id"].as_str().unwrap().to_owned()
    };
    let schema = make("setup database schema", &[]);
    let endpoints = make("create API endpoints", &[&schema]);
    let tests = make("write tests", &[&endpoints]);
    let docs = make("write docs", &[&schema]);
    let files = fs::read_dir(folder.path().join(".tasks")).unwrap().flatten();
    let files: Vec<String> = files.map(|file| file.file_name().into_string().unwrap()).collect();
    assert_eq!(files.iter().filter(|name| name.starts_with("task_")).count(), 4, "{files:?}");
    let text = fs::read_to_string(folder.path().join(".tasks").join(format!("{endpoints}.json"))).unwrap();
    let keys: Vec<String> = serde_json::from_str::<serde_json::Map<_, Value>>(&text).unwrap().keys().cloned().collect();
    assert_eq!(keys, ["id", "subject", "description", "status", "owner", "blockedBy"]);
    let listed = call(&tools, "list_tasks", json!({})).text;
    assert!(listed.contains(&format!("[ ] {endpoints}: create API endpoints (blocked by: {schema})")), "{listed}");
    assert!(call(&tools, "claim_task", json!({"task_id": tests})).is_error);
    assert!(call(&tools, "complete_task", json!({"task_id": schema})).is_error, "only one in progress is completed");
    let claimed = given(&tools, "claim_task", json!({"task_id": schema}));
    assert_eq!((&claimed["task"]["status"], &claimed["task"]["owner"]), (&json!("in_progress"), &json!("ana")));
    assert!(call(&tools, "claim_task", json!({"task_id": schema})).is_error, "only one that is pending is claimed");
    let completed = given(&tools, "complete_task", json!({"task_id": schema}));
    let mut unblocked = [endpoints.as_str(), docs.as_str()];
    unblocked.sort_unstable();
    assert_eq!(completed["unblocked"], json!(unblocked));
    let listed = call(&tools, "list_tasks", json!({})).text;
    assert!(
        listed.contains(&format!("[x] {schema}")) && listed.contains(&format!("[ ] {docs}: write docs\n"))
            || listed.ends_with("write docs"),
        "{listed}"
    );
    assert!(call(&tools, "get_task", json!({"task_id": tests})).text.contains("\"blockedBy\""));
}

#[test]
fn a_dependency_that_does_not_exist_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let tools = on_a_folder(&folder);
    fs::create_dir(folder.path().join(".tasks")).unwrap();
    let text = r#"{"id": "task_1_0001", "subject": "x", "description": "", "status": "pending", "owner": null, "blockedBy": ["task_schema"]}"#;
    fs::write(folder.path().join(".tasks/task_1_0001.json"), text).unwrap();
    let refused = call(&tools, "claim_task", json!({"task_id": "task_1_0001"}));
    assert!(refused.is_error && refused.text.contains("task_schema"), "{}", refused.text);
}

#[test]
fn an_export_speaks_of_dependencies_and_keeps_notes() {
    let tools = tools(Arc::new(MemoryStore::new(Rules::Strict)), System::Export);
    let one = given(&tools, "TaskCreate", json!({"subject": "One"}))["task"]["id"].clone();
    assert!(one.as_str().unwrap().starts_with("task_"), "{one}");
    let two = given(&tools, "TaskCreate", json!({"subject": "Two", "dependencies": [one]}));
    assert_eq!((&two["task"]["status"], &two["task"]["blockedBy"]), (&json!("blocked"), &json!([one])));
    for text in ["first", "second"] {
        given(&tools, "TaskUpdate", json!({"id": one, "status": "in_progress", "notes": text}));
    }
    let told: Value = serde_json::from_str(&call(&tools, "TaskList", json!({})).text).unwrap();
    let notes = told[0]["metadata"]["notes"].as_array().unwrap();
    assert_eq!((notes.len(), &notes[1]["text"], &notes[1]["author"]), (2, &json!("second"), &json!("ana")));
    let blocked = given(&tools, "TaskUpdate", json!({"id": one, "status": "blocked"}));
    assert_eq!(blocked["task"]["status"], "blocked");
    let cancelled = given(&tools, "TaskUpdate", json!({"id": one, "status": "cancelled"}));
    assert_eq!(cancelled["task"]["status"], "cancelled");
    let told: Value = serde_json::from_str(&call(&tools, "TaskList", json!({})).text).unwrap();
    assert_eq!(told[1]["status"], "pending");
}

#[test]
fn task_claimed_for_another_is_completed_by_same_tools() {
    let folder = tempfile::tempdir().unwrap();
    let tools = on_a_folder(&folder);
    let made = given(&tools, "create_task", json!({"subject": "Schema"}))["task"]["id"].clone();
    let waiting = given(&tools, "create_task", json!({"subject": "API", "blockedBy": [made]}))["task"]["id"].clone();
    given(&tools, "claim_task", json!({"task_id": made, "owner": "worker"}));
    let again = call(&tools, "claim_task", json!({"task_id": made, "owner": "other"}));
    assert!(again.is_error, "{}", again.text);
    let stranger = call(&on_a_folder(&folder), "complete_task", json!({"task_id": made}));
    assert!(stranger.is_error, "{}", stranger.text);
    let completed = given(&tools, "complete_task", json!({"task_id": made}));
    assert_eq!((&completed["task"]["owner"], &completed["unblocked"]), (&json!("worker"), &json!([waiting])));
}

#[test]
fn edge_to_missing_task_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let tools = on_a_folder(&folder);
    let schema = given(&tools, "create_task", json!({"subject": "Schema"}))["task"]["id"].clone();
    let waits = json!(["task_missing", schema]);
    let made = given(&tools, "create_task", json!({"subject": "API", "blockedBy": waits}))["task"].clone();
    assert_eq!(made["blockedBy"], waits);
    given(&tools, "claim_task", json!({"task_id": schema}));
    assert_eq!(given(&tools, "complete_task", json!({"task_id": schema}))["unblocked"], json!([]));
    let refused = call(&tools, "claim_task", json!({"task_id": made["id"]}));
    assert!(refused.is_error && refused.text.ends_with("is blocked by: task_missing"), "{}", refused.text);
}

#[test]
fn nobody_stays_unowned_and_unknown_fields_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let tools = on_a_document(&folder);
    let write = |input: Value| call(&tools, "TodoWrite", input);
    let task = given(&tools, "TodoWrite", json!({"description": "One", "assignee": "ben"}))["task"].clone();
    let back = json!({"id": task["id"], "description": "One", "assignee": null});
    assert_eq!(given(&tools, "TodoWrite", back)["task"]["assignee"], Value::Null);
    assert!(write(json!({"description": "Two", "metadata": {"priority": "urgent"}})).is_error);
    assert!(write(json!({"description": "Two", "metadata": {"tags": "x"}})).is_error);
    let missing = write(json!({"description": "Two", "dependencies": ["nothing"]}));
    assert!(missing.text.contains("TodoRead shows every id"), "{}", missing.text);
    let itself = write(json!({"id": task["id"], "description": "One", "dependencies": [task["id"]]}));
    assert!(itself.text.contains("Leave its own id out of dependencies"), "{}", itself.text);
    assert_eq!(given(&tools, "TodoRead", json!({}))["count"], 1);
}

#[test]
fn completing_in_a_document_tells_what_is_now_ready() {
    let folder = tempfile::tempdir().unwrap();
    let tools = on_a_document(&folder);
    let write = |input: Value| given(&tools, "TodoWrite", input);
    let one = write(json!({"description": "One"}))["task"]["id"].clone();
    let two = write(json!({"description": "Two", "dependencies": [one]}))["task"]["id"].clone();
    write(json!({"description": "Three", "dependencies": [one, two]}));
    let started = call(&tools, "TodoWrite", json!({"id": one, "description": "One", "status": "in_progress"}));
    assert!(!started.text.contains("now_ready"), "{}", started.text);
    let done = call(&tools, "TodoWrite", json!({"id": one, "description": "One", "status": "completed"}));
    let now_ready = json!([{"id": two, "description": "Two"}]);
    assert_eq!(done.structured.unwrap()["now_ready"], now_ready);
    let told: Value = serde_json::from_str(&done.text).unwrap();
    assert_eq!((&told["status"], &told["now_ready"]), (&json!("completed"), &now_ready));
}

#[test]
fn what_a_task_carries_for_others_is_not_shown_to_agents() {
    let folder = tempfile::tempdir().unwrap();
    let memory: Arc<dyn Store> = Arc::new(MemoryStore::new(Rules::Strict));
    for (store, system, list) in
        [(document(&folder), System::Document, "TodoRead"), (memory, System::Export, "TaskList")]
    {
        let yard = yard(store);
        let new = NewTask { subject: "One".into(), active_form: Some("Doing".into()), ..NewTask::default() };
        yard.create(new).unwrap().done().unwrap();
        let answer = call(&Toolbox::new(yard, system), list, json!({}));
        for told in [answer.text, answer.structured.unwrap().to_string()] {
            assert!(told.contains("One") && !told.contains("taskyard") && !told.contains("Doing"), "{told}");
        }
    }
    let kept = fs::read_to_string(folder.path().join("tasks.json")).unwrap();
    assert!(kept.contains("\"taskyard\"") && kept.contains("Doing"), "{kept}");
}

#[test]
fn exported_tasks_tell_when_they_were_made_and_changed() {
    let tools = tools(Arc::new(MemoryStore::new(Rules::Strict)), System::Export);
    let made = given(&tools, "TaskCreate", json!({"subject": "One"}))["task"].clone();
    let time = |task: &Value, key: &str| task["metadata"][key].as_str().unwrap_or_default().to_owned();
    assert!(time(&made, "created_at").ends_with('Z'), "{made}");
    assert_eq!(time(&made, "created_at"), time(&made, "updated_at"));
    let moved = given(&tools, "TaskUpdate", json!({"id": made["id"], "status": "in_progress"}))["task"].clone();
    assert_eq!(time(&moved, "created_at"), time(&made, "created_at"));
    assert!(time(&moved, "updated_at") >= time(&made, "updated_at"));
}

/// A toolbox, and the yard its calls are made on.
struct Watched {
    yard: Yard,
    tools: Toolbox,
}

impl Watched {
    fn new(yard: Yard, system: System) -> Self {
        Self { tools: Toolbox::new(yard.clone(), system), yard }
    }

    /// Returns the revisions of the list, each once, and its tasks.
    fn state(&self) -> (Vec<Revision>, Vec<Task>) {
        let entries = self.yard.history(&HistoryQuery::default()).unwrap();
        let mut revisions: Vec<Revision> = entries.iter().map(|entry| entry.revision).collect();
        revisions.dedup();
        (revisions, self.yard.list(&Filter::default()).unwrap().tasks)
    }

    /// Calls a tool that has to make one revision, and looks that undoing it takes the whole call back; then calls it again.
    fn given(&self, name: &str, input: &Value) -> Value {
        let (revisions, tasks) = self.state();
        given(&self.tools, name, input.clone());
        assert_eq!(self.state().0.len(), revisions.len() + 1, "{name} {input}");
        self.yard.undo(UndoRange::Newest).unwrap().done().unwrap();
        assert_eq!(self.state().1, tasks, "{name} {input}");
        given(&self.tools, name, input.clone())
    }

    /// Calls a tool that has to refuse, and looks that nothing was written.
    fn refused(&self, name: &str, input: &Value) {
        let before = self.state();
        assert!(call(&self.tools, name, input.clone()).is_error, "{name} {input}");
        assert_eq!(self.state(), before, "{name} {input}");
    }
}

#[test]
fn a_taught_task_is_completed_under_every_rule_set() {
    for rules in RULES {
        let folder = tempfile::tempdir().unwrap();
        let paths = TeachingPaths::Folder(folder.path().join(".tasks"));
        let store = open_teaching(TeachingOptions { paths, data: folder.path().join("data"), rules });
        let tools = Toolbox::new(yard(store).with_rules(rules), System::Teaching);
        let made = given(&tools, "create_task", json!({"subject": "Schema"}))["task"]["id"].clone();
        let claimed = given(&tools, "claim_task", json!({"task_id": made}));
        assert_eq!(claimed["task"]["status"], "in_progress", "{rules:?}");
        let completed = given(&tools, "complete_task", json!({"task_id": made}));
        assert_eq!(completed["task"]["status"], "completed", "{rules:?}");
    }
}

#[test]
fn unknown_dependencies_of_documents_are_refused() {
    for rules in RULES {
        let folder = tempfile::tempdir().unwrap();
        let paths = DocumentPaths::File(folder.path().join("tasks.json"));
        let store = open_documents(DocumentOptions { paths, data: folder.path().join("data"), rules });
        let yard = yard(store).with_rules(rules);
        let watched = Watched::new(yard.clone(), System::Document);
        watched.given("TodoWrite", &json!({"id": "a", "description": "A", "status": "pending"}));
        for id in ["a", "b"] {
            let unknown = json!({"id": id, "description": "A", "status": "pending", "dependencies": ["nothing"]});
            watched.refused("TodoWrite", &unknown);
        }
        let native = Watched::new(yard.clone(), System::Tasks);
        for key in ["addBlockedBy", "addBlocks"] {
            native.refused("TaskUpdate", &json!({"taskId": "a", key: ["nothing"]}));
        }
        let new = NewTask { subject: "C".into(), blocked_by: vec![TaskId::stored("nothing")], ..NewTask::default() };
        assert!(matches!(yard.create(new).unwrap(), Outcome::Refused(Refusal::NoSuchBlocker { .. })), "{rules:?}");
    }
}

#[test]
fn every_call_of_a_document_tool_is_one_revision_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let client = Rules::Client(ClientVersion::V2_1_325);
    for yard in [
        yard(document(&folder)),
        yard(Arc::new(MemoryStore::new(Rules::Strict))),
        yard(Arc::new(MemoryStore::new(client))).with_rules(client),
    ] {
        let watched = Watched::new(yard, System::Document);
        watched.given("TodoWrite", &json!({"id": "first", "description": "One", "status": "pending"}));
        let begun = json!({"id": "second", "description": "Two", "status": "in_progress", "assignee": "ben"});
        watched.given("TodoWrite", &begun);
        let done = json!({"id": "third", "description": "Three", "status": "completed", "dependencies": ["first"]});
        watched.given("TodoWrite", &done);
        let status = |id: &str| watched.yard.show(&TaskId::stored(id)).unwrap().done().unwrap().task.status;
        assert_eq!((status("second"), status("third")), (Status::InProgress, Status::Completed));
        let back = json!({"id": "third", "description": "Four", "status": "pending", "dependencies": ["second"]});
        watched.given("TodoWrite", &back);
        let blocked = json!({"id": "fourth", "description": "x", "status": "in_progress", "dependencies": ["first"]});
        if watched.yard.rules() == Rules::Strict {
            watched.refused("TodoWrite", &blocked);
            let missing = json!({"description": "x", "status": "completed", "dependencies": ["nothing"]});
            watched.refused("TodoWrite", &missing);
        } else {
            watched.given("TodoWrite", &blocked);
        }
    }
}

#[test]
fn every_call_of_a_teaching_tool_is_one_revision_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let watched = Watched::new(yard(taught(&folder)), System::Teaching);
    let schema = watched.given("create_task", &json!({"subject": "Schema"}))["task"]["id"].clone();
    let api = json!({"subject": "API", "blockedBy": [schema, "task_missing"]});
    let api = watched.given("create_task", &api)["task"]["id"].clone();
    watched.refused("claim_task", &json!({"task_id": api}));
    watched.refused("complete_task", &json!({"task_id": schema}));
    watched.given("claim_task", &json!({"task_id": schema}));
    let (revisions, _) = watched.state();
    given(&watched.tools, "complete_task", json!({"task_id": schema}));
    assert_eq!(watched.state().0.len(), revisions.len() + 1);
}

#[test]
fn every_call_of_an_export_tool_is_one_revision_or_none() {
    let watched = Watched::new(yard(Arc::new(MemoryStore::new(Rules::Strict))), System::Export);
    let one = watched.given("TaskCreate", &json!({"subject": "One"}))["task"]["id"].clone();
    let two = json!({"subject": "Two", "dependencies": [one]});
    let two = watched.given("TaskCreate", &two)["task"]["id"].clone();
    watched.refused("TaskUpdate", &json!({"id": two, "status": "in_progress", "notes": "why"}));
    for status in ["in_progress", "blocked", "cancelled", "completed"] {
        watched.given("TaskUpdate", &json!({"id": one, "status": status, "notes": "why"}));
    }
}

#[test]
fn agent_starting_an_exported_task_owns_it_alone() {
    let ana = yard(Arc::new(MemoryStore::new(Rules::Strict)));
    let ben = Toolbox::new(ana.acting_as(AgentName::new("ben").unwrap()), System::Export);
    let ana = Toolbox::new(ana, System::Export);
    let make = |input: Value| given(&ana, "TaskCreate", input)["task"].clone();
    let one = make(json!({"subject": "One"}))["id"].clone();
    let begun = given(&ana, "TaskUpdate", json!({"id": one, "status": "in_progress"}))["task"].clone();
    assert_eq!(begun["metadata"]["subagent_id"], "ana");
    for status in ["in_progress", "completed", "cancelled", "pending"] {
        let refused = call(&ben, "TaskUpdate", json!({"id": one, "status": status}));
        assert!(refused.is_error && refused.text.contains("ana"), "{status}: {}", refused.text);
    }
    given(&ana, "TaskUpdate", json!({"id": one, "status": "in_progress", "notes": "goes on"}));
    given(&ana, "TaskUpdate", json!({"id": one, "status": "completed"}));
    // Assigned by either name, and begun by no other agent.
    let two = make(json!({"subject": "Two", "assigned_to": "ben", "metadata": {"area": "db"}}));
    assert_eq!((&two["metadata"]["subagent_id"], &two["metadata"]["area"]), (&json!("ben"), &json!("db")));
    assert!(call(&ana, "TaskUpdate", json!({"id": two["id"], "status": "in_progress"})).is_error);
    let assigned = json!({"id": two["id"], "status": "pending", "metadata": {"subagent_id": "ana"}});
    assert_eq!(given(&ana, "TaskUpdate", assigned)["task"]["metadata"]["subagent_id"], "ana");
    let freed = given(&ana, "TaskUpdate", json!({"id": two["id"], "status": "pending", "assigned_to": null}));
    assert_eq!(freed["task"]["metadata"].get("subagent_id"), None);
    assert_eq!(
        given(&ben, "TaskUpdate", json!({"id": two["id"], "status": "in_progress"}))["task"]["metadata"]["subagent_id"],
        "ben"
    );
}
