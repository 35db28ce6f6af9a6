//! A command killed at any step leaves all of its change or none of it.
//!
//! Every step of every scenario, with every variation:
//! `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-cli --test crashes crash::`. Unset, each distinct step is taken at least once.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use taskyard_testkit::{
    Home, Scale, Step, Tasks, is_consistent_journal, leftovers, read_tasks, rewrite_in_place, side_by_side, wait_until,
    write_in_place,
};

/// What is done before, and the command that is killed.
struct Scenario {
    setup: &'static [&'static str],
    command: &'static str,
    lists: &'static [&'static str],
}

/// The contents of every list of a scenario.
type State = Vec<Tasks>;

/// A process that waits for a lock whose holder cannot be seen to be dead waits this long at least.
const LIFE_OF_A_LOCK: Duration = Duration::from_secs(10);

const TEN_DEPENDENTS: &[&str] = &[
    "create Root",
    "create A --blocked-by 1",
    "create B --blocked-by 1",
    "create C --blocked-by 1",
    "create D --blocked-by 1",
    "create E --blocked-by 1",
    "create F --blocked-by 1",
    "create G --blocked-by 1",
    "create H --blocked-by 1",
    "create I --blocked-by 1",
    "create J --blocked-by 1",
];

#[test]
fn a_killed_create_happened_or_did_not() {
    Scenario { setup: &["create A", "create B"], command: "create C -d Text", lists: &["L"] }.check();
}

#[test]
fn a_killed_create_with_edges_happened_or_did_not() {
    Scenario {
        setup: &["create A", "create B", "create C", "create D"],
        command: "create E --blocked-by 1,2 --blocks 3,4",
        lists: &["L"],
    }
    .check();
}

#[test]
fn a_killed_update_happened_or_did_not() {
    Scenario {
        setup: &["create A", "create B"],
        command: "update 2 --subject New --status in_progress --meta k=1",
        lists: &["L"],
    }
    .check();
}

#[test]
fn a_killed_edge_is_on_both_sides_or_on_none() {
    Scenario { setup: &["create A", "create B"], command: "depend 2 --on 1", lists: &["L"] }.check();
}

#[test]
fn a_killed_delete_is_gone_from_all_dependents_or_from_none() {
    Scenario { setup: TEN_DEPENDENTS, command: "delete 1", lists: &["L"] }.check();
}

#[test]
fn a_killed_clear_removed_everything_or_nothing() {
    Scenario { setup: &["create A", "create B --blocked-by 1", "create C"], command: "clear", lists: &["L"] }.check();
}

#[test]
fn a_killed_undo_happened_or_did_not() {
    Scenario {
        setup: &["create A", "create B --blocked-by 1", "create C --blocked-by 1", "delete 1"],
        command: "undo",
        lists: &["L"],
    }
    .check();
}

#[test]
fn a_killed_restore_happened_or_did_not() {
    Scenario {
        setup: &["create A", "create B --blocked-by 1", "create C --blocked-by 1", "delete 1 2"],
        command: "restore --all --deleted",
        lists: &["L"],
    }
    .check();
}

#[test]
fn a_killed_merge_happened_on_both_lists_or_on_neither() {
    Scenario {
        setup: &[
            "create X --list M",
            "create A",
            "create B --blocked-by 1",
            "create C --blocked-by 2",
            "done 1",
            "create D",
        ],
        command: "merge L M --open",
        lists: &["L", "M"],
    }
    .check();
}

/// Returns the tasks of a list as a reader sees them; none if there is no such list.
fn seen(home: &Home, list: &str) -> Vec<Value> {
    let ran = home.run(&format!("list --all --json --list {list}"));
    assert!(ran.code == Some(0) || ran.json()["error"]["code"] == "list_not_found", "{ran:?}");
    ran.json()["tasks"].as_array().cloned().unwrap_or_default()
}

#[test]
fn a_killed_renaming_leaves_the_list_under_one_name() {
    let base = Home::in_memory(env!("CARGO_BIN_EXE_taskyard"));
    for words in ["create A", "create B --blocked-by 1", "create C", "update 1 --subject Changed", "delete 3"] {
        base.ask(words);
    }
    base.ask("create Branch --list L@side");
    let told = base.ask("history")["entries"].as_array().unwrap().clone();
    let (all, of_branch, command) = (seen(&base, "L"), seen(&base, "L@side"), "lists rename L N");
    let steps = base.copy().steps(command);
    side_by_side(Step::sampled(&steps, Scale::from_environment(0.05)), |step| {
        let home = base.copy();
        assert!(home.run_with(&step.killing(), command).was_killed(), "{step}");
        for (old, new, all) in [("L", "N", &all), ("L@side", "N@side", &of_branch)] {
            let (old, new) = (seen(&home, old), seen(&home, new));
            let is_whole = (old == *all && new.is_empty()) || (new == *all && old.is_empty());
            assert!(is_whole, "{step}: {old:?} {new:?}");
        }
        let name = if seen(&home, "L").is_empty() { "N" } else { "L" };
        let history = home.ask(&format!("history --list {name}"));
        assert!(history["entries"].as_array().unwrap().starts_with(&told), "{step}: {history}");
        // The same command again ends it.
        home.ask(command);
        for (old, new, all) in [("L", "N", &all), ("L@side", "N@side", &of_branch)] {
            assert_eq!((seen(&home, old), &seen(&home, new)), (Vec::new(), all), "{step}");
        }
        let next = home.ask("create Later --list N");
        assert_eq!(next["task"]["id"], "4", "{step}: a number is given out again");
        assert!(!home.list("L").exists() && !home.list("L-side").exists(), "{step}");
        assert_eq!(leftovers(&home.list("N")), Vec::<String>::new(), "{step}");
    });
}

#[test]
fn a_killed_removal_of_a_list_can_be_taken_back() {
    let base = Home::in_memory(env!("CARGO_BIN_EXE_taskyard"));
    for words in ["create A", "create B --blocked-by 1", "done 1", "history"] {
        base.ask(words);
    }
    let (all, command) = (seen(&base, "L"), "lists remove L --force");
    let steps = base.copy().steps(command);
    side_by_side(Step::sampled(&steps, Scale::from_environment(0.05)), |step| {
        let home = base.copy();
        assert!(home.run_with(&step.killing(), command).was_killed(), "{step}");
        let left = seen(&home, "L");
        assert!(left == all || left.is_empty(), "{step}: {left:?}");
        if left.is_empty() {
            home.ask("restore --all --deleted");
            assert_eq!(seen(&home, "L"), all, "{step}");
        }
        home.ask(command);
        assert!(!home.list("L").exists(), "{step}");
        home.ask("restore --all --deleted");
        assert_eq!(seen(&home, "L"), all, "{step}");
    });
}

#[test]
fn a_command_on_either_list_finishes_a_merge() {
    for store in ["claude:", "document:"] {
        for next in ["list --list L", "list --list M", "create Later --list L", "create Later --list M"] {
            let home = Home::in_memory(env!("CARGO_BIN_EXE_taskyard"));
            let run = |words: &str| home.run(&format!("{words} --store {store}"));
            run("create A");
            run("create B --list M");
            let merge = format!("merge L M --store {store}");
            assert!(home.run_with("move: exists=kill", &merge).was_killed(), "{store}");
            assert_eq!(run(next).code, Some(0));
            // What the files hold without another look of ours.
            let file = |list: &str, name: &str| fs::read_to_string(home.list(list).join(name)).unwrap_or_default();
            let has_left = !file("L", "1.json").contains("A") && !file("L", "tasks.json").contains("\"A\"");
            assert!(has_left, "`{next}` on {store}");
            let has_come = file("M", "2.json").contains("\"A\"") || file("M", "tasks.json").contains("\"A\"");
            assert!(has_come, "`{next}` on {store}");
        }
    }
}

#[test]
fn doctor_reports_a_merge_that_cannot_be_finished() {
    let home = Home::in_memory(env!("CARGO_BIN_EXE_taskyard"));
    for words in ["create A", "create B --list M"] {
        home.ask(words);
    }
    assert!(home.run_with("move: exists=kill", "merge L M").was_killed());
    let sidecar = home.sidecar("M");
    let away = sidecar.with_file_name("away");
    fs::rename(&sidecar, &away).unwrap();
    fs::create_dir_all(sidecar.join("journal.sqlite")).unwrap();
    let found = home.run("doctor --json");
    let findings = found.json()["findings"].as_array().unwrap().clone();
    assert!(findings.iter().any(|finding| finding["code"] == "unfinished_move"), "{found:?}");
    let refused = home.run("done 1 --json");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    fs::remove_dir_all(&sidecar).unwrap();
    fs::rename(&away, &sidecar).unwrap();
    assert_eq!(home.run("doctor").code, Some(0));
    let list = |list: &str| home.ask(&format!("list --list {list}"))["tasks"].as_array().unwrap().len();
    assert_eq!((list("L"), list("M")), (0, 2));
}

#[test]
fn a_killed_import_took_in_everything_or_nothing() {
    Scenario {
        setup: &[
            "create A",
            concat!("import ", env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/issues.jsonl --from beads"),
        ],
        command: concat!("import ", env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/issues-later.jsonl --from beads"),
        lists: &["L"],
    }
    .check();
}

#[test]
fn a_killed_writer_whose_parent_has_not_noticed_is_dead() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    TEN_DEPENDENTS.iter().for_each(|command| drop(home.ask(command)));
    let mut child = home.start_with("task lock: taken*5=kill", "delete 1");
    let stat = format!("/proc/{}/stat", child.id());
    wait_until("it to be killed", || fs::read_to_string(&stat).unwrap().contains(") Z "));
    let (ran, took) = home.run_timed("create Later");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(took.waited < LIFE_OF_A_LOCK, "a dead writer was waited for: {took:?}");
    assert_eq!(leftovers(&home.list("L")), Vec::<String>::new());
    child.wait();
}

#[test]
fn a_killed_change_of_a_hidden_task_happened_or_did_not() {
    let base = Home::in_memory(env!("CARGO_BIN_EXE_taskyard"));
    ["create A", "create B", "done 2", "history"].iter().for_each(|command| drop(base.ask(command)));
    let hidden = |home: &Home| home.list("L").join(".2.json");
    fs::rename(base.task_file("2"), hidden(&base)).unwrap();
    let told = |home: &Home| home.run("show 2 --json").json().get("task").cloned();
    for command in ["reopen 2", "update 2 --subject New", "delete 2"] {
        let finished = base.copy();
        let steps = finished.steps(command);
        let ends = [told(&base), told(&finished)];
        assert_ne!(ends[0], ends[1]);
        side_by_side(Step::sampled(&steps, Scale::from_environment(0.05)), |step| {
            let place = format!("`{command}` killed at {step}");
            let home = base.copy();
            assert!(home.run_with(&step.killing(), command).was_killed(), "{place}");
            home.ask("create Later");
            assert!(ends.contains(&told(&home)), "{place}: {:?}", told(&home));
            let files = [home.task_file("2"), hidden(&home)].iter().filter(|path| path.exists()).count();
            assert_eq!(files, usize::from(told(&home).is_some()), "{place}");
            assert_eq!(leftovers(&home.list("L")), Vec::<String>::new(), "{place}");
        });
    }
}

/// All inodes are others in a copy: what was begun there is recognised by its contents.
#[test]
fn a_copied_home_finishes_what_was_begun() {
    for command in ["create D", "update 1 --subject Changed", "depend 3 --on 1", "delete 1", "clear"] {
        let base = Home::in_memory(env!("CARGO_BIN_EXE_taskyard"));
        for setup in ["create A", "create B --blocked-by 1", "create C", "history"] {
            base.ask(setup);
        }
        let finished = base.copy();
        finished.ask(command);
        let begun = base.copy();
        assert!(begun.run_with("journal: flushed=kill", command).was_killed(), "{command}");
        let copy = begun.copy();
        let_locks_go_stale(&copy);
        let later = copy.ask("create Later")["task"]["id"].as_str().unwrap().to_owned();
        let mut present = copy.present();
        is_consistent_journal(&copy.ask("history"), &present).unwrap_or_else(|why| panic!("{command}: {why}"));
        present.remove(&later);
        assert_eq!(present, finished.present(), "{command}");
        assert_eq!(leftovers(&copy.list("L")), Vec::<String>::new(), "{command}");
    }
}

/// A copy is used some time after it was made.
fn let_locks_go_stale(home: &Home) {
    for entry in fs::read_dir(home.list("L")).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            fs::File::open(entry).unwrap().set_modified(SystemTime::now() - Duration::from_secs(3_600)).unwrap();
        }
    }
}

#[test]
fn what_was_written_to_a_copied_home_is_not_removed() {
    let home = Home::in_memory(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("create A");
    home.ask("history");
    assert!(home.run_with("journal: flushed=kill", "delete 1").was_killed());
    let copy = home.copy();
    let_locks_go_stale(&copy);
    rewrite_in_place(&copy.task_file("1"), "rival");
    copy.ask("create Later");
    assert_eq!(copy.present()["1"]["metadata"]["rival"], json!(true));
}

impl Scenario {
    fn check(&self) {
        let base = Home::in_memory(env!("CARGO_BIN_EXE_taskyard"));
        for command in self.setup {
            base.ask(command);
        }
        // Whatever the first look at fresh files records is not part of the command.
        for list in self.lists {
            base.ask(&format!("history --list {list}"));
        }
        let finished = base.copy();
        let steps = finished.steps(self.command);
        let ends = Ends { before: self.state(&base), after: self.state(&finished) };
        assert_ne!(ends.before, ends.after);
        let scale = Scale::from_environment(0.05);
        side_by_side(Step::sampled(&steps, scale).into_iter().enumerate(), |(number, step)| {
            let kill = Kill { step, number, place: format!("`{}` killed at {step}", self.command) };
            self.kill_and_look(&base, &ends, &kill);
            self.kill_and_rewrite(&base, &ends, &kill.and("a rival wrote"));
            if scale.is_full() || number % 2 == 0 {
                self.kill_and_remove(&base, &ends, &kill.and("a rival removed"));
            }
            if scale.is_full() || number % 2 == 1 {
                self.kill_and_create(&base, &ends, &kill.and("a rival created"));
            }
        });
        side_by_side(some(&steps, scale), |step| {
            let kill = Kill { step, number: 0, place: format!("`{}` killed at {step}", self.command) };
            self.kill_the_repair(&base, &ends, &kill, scale);
        });
    }

    fn state(&self, home: &Home) -> State {
        self.lists.iter().map(|list| read_tasks(&home.list(list))).collect()
    }

    fn killed(&self, base: &Home, kill: &Kill<'_>) -> Home {
        let home = base.copy();
        let ran = home.run_with(&kill.step.killing(), self.command);
        assert!(ran.was_killed(), "{}: {ran:?}", kill.place);
        home
    }

    fn kill_and_look(&self, base: &Home, ends: &Ends, kill: &Kill<'_>) {
        let home = self.killed(base, kill);
        self.look(&home, ends, &kill.place);
    }

    /// After the kill a client rewrites one of the files the change touches; what it wrote must survive.
    fn kill_and_rewrite(&self, base: &Home, ends: &Ends, kill: &Kill<'_>) {
        let home = self.killed(base, kill);
        let touched = ends.touched(&self.state(&home));
        let Some((list, task)) = touched.get(kill.number % touched.len().max(1)) else { return };
        rewrite_in_place(&home.list(self.lists[*list]).join(format!("{task}.json")), "rival");
        let ends = ends.with_key(*list, task, "rival");
        self.look(&home, &ends, &format!("{} {task} of {}", kill.place, self.lists[*list]));
    }

    /// After the kill a client removes one of the files the change touches; it must stay removed.
    fn kill_and_remove(&self, base: &Home, ends: &Ends, kill: &Kill<'_>) {
        let home = self.killed(base, kill);
        let touched = ends.touched(&self.state(&home));
        let Some((list, task)) = touched.get(kill.number % touched.len().max(1)) else { return };
        fs::remove_file(home.list(self.lists[*list]).join(format!("{task}.json"))).unwrap();
        let ends = ends.without(*list, task);
        self.look(&home, &ends, &format!("{} {task} of {}", kill.place, self.lists[*list]));
    }

    /// After the kill a client creates a task, and may so take a number the change had written down.
    fn kill_and_create(&self, base: &Home, ends: &Ends, kill: &Kill<'_>) {
        let (home, place) = (self.killed(base, kill), &kill.place);
        let list = self.lists[self.lists.len() - 1];
        let directory = home.list(list);
        let mark = fs::read_to_string(directory.join(".highwatermark")).unwrap_or_default();
        let numbers = read_tasks(&directory).into_keys().chain([mark]).filter_map(|id| id.trim().parse::<u64>().ok());
        let id = (numbers.max().unwrap_or(0) + 1).to_string();
        let theirs = json!({ "id": id, "subject": "Rival", "description": "", "status": "pending", "blocks": [], "blockedBy": [] });
        write_in_place(&directory.join(format!("{id}.json")), &theirs);
        for list in self.lists {
            home.ask(&format!("list --list {list}"));
        }
        for list in self.lists {
            home.ask(&format!("create Later --list {list}"));
            assert_eq!(leftovers(&home.list(list)), Vec::<String>::new(), "{place}");
            let history = home.ask(&format!("history --list {list}"));
            let present = read_tasks(&home.list(list));
            is_consistent_journal(&history, &present).unwrap_or_else(|why| panic!("{place}: {why}"));
        }
        let mut found = self.state(&home);
        let rival = found[self.lists.len() - 1].remove(&id);
        assert_eq!(rival, Some(theirs), "{place}");
        for tasks in &mut found {
            tasks.retain(|_, task| task["subject"] != json!("Later"));
        }
        let allowed = [by_subject(&ends.before), by_subject(&ends.after)];
        assert!(allowed.contains(&by_subject(&found)), "{place}: half a change\n{}", ends.tell(&found));
    }

    /// The command that repairs is killed as well, at every one of its steps.
    fn kill_the_repair(&self, base: &Home, ends: &Ends, kill: &Kill<'_>, scale: Scale) {
        let stride = if scale.is_full() { 1 } else { 3 * self.lists.len() };
        for list in self.lists {
            let repair = format!("list --list {list}");
            let steps = self.killed(base, kill).steps(&repair);
            for second in steps.iter().step_by(stride) {
                let home = self.killed(base, kill);
                let place = format!("{}, its repair by `{repair}` at {second}", kill.place);
                assert!(home.run_with(&second.killing(), &repair).was_killed(), "{place}");
                self.look(&home, ends, &place);
            }
        }
    }

    /// Requires all or nothing: of a reader, then of a writer, which also leaves nothing lying about.
    fn look(&self, home: &Home, ends: &Ends, place: &str) {
        for list in self.lists {
            let shown = home.ask(&format!("list --all --list {list}"));
            assert_eq!(
                shown.get("problems").and_then(|problems| problems.as_array()).map_or(0, Vec::len),
                0,
                "{place}"
            );
        }
        let read = self.state(home);
        assert!(ends.before == read || ends.after == read, "{place}: half a change for a reader\n{}", ends.tell(&read));
        for list in self.lists {
            let id = home.ask(&format!("create Later --list {list}"))["task"]["id"].as_str().unwrap().to_owned();
            let mut tasks = read_tasks(&home.list(list));
            assert_eq!(tasks[&id]["subject"], json!("Later"), "{place}");
            assert_eq!(leftovers(&home.list(list)), Vec::<String>::new(), "{place}");
            let history = home.ask(&format!("history --list {list}"));
            is_consistent_journal(&history, &tasks).unwrap_or_else(|why| panic!("{place}: {why}"));
            tasks.remove(&id);
            let index = self.lists.iter().position(|other| other == list).unwrap();
            assert_eq!(tasks, read[index], "{place}: a writer changed what a reader saw");
        }
    }
}

/// Where a command is killed.
struct Kill<'a> {
    step: &'a Step,
    /// Which of the kills of a scenario it is: what differs from one to the next goes by this.
    number: usize,
    /// What a failure calls it.
    place: String,
}

impl Kill<'_> {
    fn and(&self, what: &str) -> Self {
        Self { step: self.step, number: self.number, place: format!("{}, and {what}", self.place) }
    }
}

/// The two states a scenario may be found in.
struct Ends {
    before: State,
    after: State,
}

impl Ends {
    /// Returns the files that are there and that the change makes, changes or removes, each with the list it is of.
    fn touched(&self, present: &State) -> Vec<(usize, String)> {
        let mut touched = Vec::new();
        for (list, tasks) in present.iter().enumerate() {
            let differs = |id: &&String| self.before[list].get(*id) != self.after[list].get(*id);
            touched.extend(tasks.keys().filter(differs).map(|id| (list, id.clone())));
        }
        touched
    }

    fn with_key(&self, list: usize, task: &str, key: &str) -> Self {
        let add = |state: &State| {
            let mut state = state.clone();
            if let Some(task) = state[list].get_mut(task) {
                task["metadata"][key] = json!(true);
            }
            state
        };
        Self { before: add(&self.before), after: add(&self.after) }
    }

    fn without(&self, list: usize, task: &str) -> Self {
        let remove = |state: &State| {
            let mut state = state.clone();
            state[list].remove(task);
            state
        };
        Self { before: remove(&self.before), after: remove(&self.after) }
    }

    fn tell(&self, found: &State) -> String {
        format!("before: {:?}\nfound:  {found:?}\nafter:  {:?}", self.before, self.after)
    }
}

/// Returns the tasks by what they are called instead of by their numbers, their edges too.
fn by_subject(state: &State) -> State {
    let renamed = |tasks: &Tasks| -> Tasks {
        let subject = |id: &Value| tasks.get(id.as_str().unwrap()).map_or(id.clone(), |task| task["subject"].clone());
        let rename = |task: &Value| {
            let mut task = task.clone();
            task["id"] = task["subject"].clone();
            for key in ["blocks", "blockedBy"] {
                task[key] = task[key].as_array().unwrap().iter().map(subject).collect();
            }
            (task["id"].as_str().unwrap().to_owned(), task)
        };
        tasks.values().map(rename).collect()
    };
    state.iter().map(renamed).collect()
}

/// Returns the steps whose repair is killed too: all of them, or a few of the later ones, where there is something to repair.
fn some(steps: &[Step], scale: Scale) -> Vec<&Step> {
    let is_wanted =
        |step: &&Step| ["journal: flushed", "move: exists", "temporary files: written"].contains(&step.name.as_str());
    match scale.is_full() {
        true => steps.iter().collect(),
        false => steps.iter().filter(is_wanted).take(3).collect(),
    }
}
