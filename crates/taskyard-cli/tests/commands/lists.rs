use taskyard_testkit::Home;

use crate::test::Test;

#[test]
fn every_list_is_shown_and_ours_is_marked() {
    let mut test = Test::new().list("1 pending; 2 completed").list_named("other", "1 in_progress").without("LANG");
    let answer = test.json("lists --json");
    let names: Vec<&str> =
        answer["lists"].as_array().unwrap().iter().map(|list| list["list"].as_str().unwrap()).collect();
    assert_eq!(names, ["other", "project"]);
    assert_eq!(answer["lists"][1]["current"], true);
    assert_eq!(answer["lists"][1]["counts"]["completed"], 1);
    test.run("lists").run("lists --json").snapshot();
}

#[test]
fn a_store_without_lists_says_so() {
    Test::new().run("lists").run("lists --json").snapshot();
}

#[test]
fn so_many_lists_are_shown_and_that_there_are_more() {
    let mut test = Test::new().list("1 pending").list_named("other", "1 in_progress").list_named("a", "1 pending");
    let answer = test.json("lists --json --limit 2");
    assert_eq!((answer["lists"][1]["list"].as_str(), &answer["more"]), (Some("other"), &true.into()));
    assert_eq!(test.json("lists --json --limit 3")["more"], false);
    test.run("lists --limit 2").run("lists --limit 3").run("lists --limit 0").snapshot();
}

#[test]
fn original_name_is_shown_beside_the_directory() {
    Test::new()
        .without("LANG")
        .quietly("create One --list a/b")
        .quietly("create Two --list 'a;b'")
        .run("lists")
        .run("lists --json")
        .run("where --list a/b")
        .run("where --list 'a;b'")
        .run("where --list 'a;b' --json")
        .snapshot();
}

#[test]
fn names_that_fold_are_different_lists() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    for (names, folded) in [(["东京", "北京"], "--"), (["Bär", "Bür"], "B-r"), (["a/b", "a;b"], "a-b")] {
        let [first, second] = names;
        for name in names {
            home.ask(&format!("create Of-{name} --list {name}"));
        }
        let subjects = |list: &str| -> Vec<String> {
            let tasks = home.ask(&format!("list --list={list}"))["tasks"].as_array().unwrap().clone();
            tasks.iter().map(|task| task["subject"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(subjects(first), [format!("Of-{first}")]);
        assert_eq!(subjects(second), [format!("Of-{second}")]);
        assert_eq!(subjects(folded), subjects(first), "the directory's own name means the directory");
        let found = home.ask(&format!("where --list {second}"));
        let directory = found["list"].as_str().unwrap();
        assert_eq!((found["name"].as_str(), directory.len()), (Some(second), folded.len() + 9), "{found}");
        assert_eq!(subjects(directory), subjects(second));
        assert!(found["path"].as_str().unwrap().ends_with(directory), "{found}");
        let lists = home.ask("lists")["lists"].as_array().unwrap().clone();
        let named = |name: &str| lists.iter().find(|list| list["name"] == name).unwrap()["list"].clone();
        assert_eq!((named(first), named(second)), (folded.into(), directory.into()));
        assert!(home.run("lists").stdout.contains(&format!(" · {second}\n")), "{:?}", home.run("lists"));
        // The client makes the same directory of both.
        let mut client = home.command("list --json");
        client.env_remove("TASKYARD_LIST").env("CLAUDE_CODE_TASK_LIST_ID", second);
        assert_eq!(client.run().json()["tasks"][0]["subject"], format!("Of-{first}"));
        // What is handed on is the name of the directory.
        let script = "printf '%s %s' $TASKYARD_LIST $CLAUDE_CODE_TASK_LIST_ID >handed-on";
        let mut work = home.command(&format!("work --list {second} -- sh -c"));
        assert_eq!(work.arg(script).current_dir(home.path()).run().code, Some(0));
        let handed_on = std::fs::read_to_string(home.path().join("handed-on")).unwrap();
        assert_eq!(handed_on, format!("{directory} {directory}"));
    }
}

#[test]
fn names_that_fold_and_race_get_two_lists() {
    for _ in 0..3 {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        let racing = ["东京", "北京"].map(|name| home.command(&format!("create {name} --quiet --list {name}")).start());
        for process in racing {
            assert!(process.wait_with_output().status.success());
        }
        for name in ["东京", "北京"] {
            let tasks = home.ask(&format!("list --list {name}"))["tasks"].clone();
            assert_eq!((tasks.as_array().unwrap().len(), &tasks[0]["subject"]), (1, &name.into()));
        }
    }
}

#[test]
fn names_that_cannot_be_lists_are_errors() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    for words in ["use", "merge L", "adopt", "list --list", "create X --list"] {
        for name in ["", &"é".repeat(128)] {
            let ran = home.command(words).arg(name).run();
            assert_eq!(ran.code, Some(2), "{words} {name:?}: {ran:?}");
            assert!(ran.stderr.contains("a list name"), "{words} {name:?}: {ran:?}");
        }
    }
}

#[test]
fn list_that_is_not_there_is_told_with_the_one_meant() {
    Test::new()
        .list_named("typo", "1 pending")
        .run("list --list tpyo")
        .run("show 1 --list tpyo --json")
        .run("stats --list nothing-like-it")
        .run("list --list project")
        .run("create New --list tpyo")
        .run("create Next --list tpyo")
        .run("create Third --list third --json")
        .on_terminal(80, "create Other --list typp", "n\n")
        .on_terminal(80, "create Other --list typp", "y\n")
        .snapshot();
}

#[test]
fn list_is_renamed_with_its_tasks_and_its_directories() {
    let mut test = Test::new().list("1 pending One; 3 pending Three <- 1").quietly("create Four").quietly("delete 4");
    test = test.run("lists rename project work").run("lists").run("list").run("create Five");
    assert_eq!(test.json("where --json")["list"], "work");
    assert!(!test.path("home/.claude/tasks/project").exists());
    test = test.run("lists rename nothing else").run("lists rename work a/b").list_named("full", "1 pending");
    test.run("lists rename work full --json")
        .run("lists rename work work")
        .run("lists rename work renamed --json")
        .snapshot();
}

#[test]
fn list_is_removed_and_can_be_restored() {
    let mut test = Test::new().list("1 pending").list_named("spare", "1 pending Keep; 2 completed");
    test = test
        .run("lists remove spare")
        .run("lists")
        .run("restore --all --deleted --list spare")
        .run("list --list spare");
    test = test
        .quietly("claim 1 --list spare --as ana")
        .run("lists remove spare")
        .run("lists remove spare --force --json");
    test.run("lists remove project")
        .run("lists remove spare")
        .run("lists remove project --force")
        .run("lists")
        .snapshot();
}

/// Returns what a history says, without times: the verbs and tasks of each revision.
fn told_by_history(test: &mut Test, list: &str) -> Vec<String> {
    let history = test.json(&format!("history --list {list} --json"));
    let entries = history["entries"].as_array().unwrap().iter();
    let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    entries.map(|entry| format!("r{} {} {}", entry["revision"], word(&entry["op"]), word(&entry["task"]))).collect()
}

#[test]
fn history_follows_a_renamed_list() {
    let mut test = Test::new();
    for line in ["create One", "create Two", "update 1 --subject Uno", "delete 2"] {
        test = test.quietly(line);
    }
    let before = told_by_history(&mut test, "project");
    test = test.quietly("lists rename project work");
    let after = told_by_history(&mut test, "work");
    assert_eq!(
        (after.len(), &after[before.len()..]),
        (before.len() + 2, &["r5 rename 1", "r5 rename 2"].map(str::to_owned)[..])
    );
    assert_eq!(after[..before.len()], before[..]);
    // What was done under the old name is taken back and restored under the new one; the renaming itself is not taken back.
    test = test.run("history").run("undo").run("undo 4").run("undo 3").run("list").run("restore").run("history 1");
    // The name is a plain one again if the list gets it back, with all its history.
    test = test.run("lists rename work project").run("undo").run("list");
    let again = told_by_history(&mut test, "project");
    assert!(again.len() > after.len() && again.starts_with(&before), "{again:?}");
    test.snapshot();
}

#[test]
fn name_of_a_removed_list_is_not_given_to_another() {
    let test = Test::new().list("1 pending One").list_named("spare", "1 pending Keep").quietly("lists remove spare");
    test.run("lists rename project spare")
        .run("lists rename spare other")
        .run("restore --all --deleted --list spare")
        .snapshot();
}

#[test]
fn what_uses_a_list_follows_its_new_name_or_keeps_it() {
    let mut test = Test::new().file("home/bound/x", "").list_named("crew", "1 pending").list_named("busy", "1 pending");
    test = test.inside("../bound").quietly("use shared").quietly("create One").quietly("job run --name quick -- true");
    test = test.quietly("job wait quick").quietly("lists rename shared common");
    assert_eq!(test.json("where --json")["list"], "common");
    assert_eq!(test.json("job list --json")["jobs"][0]["list"], "common");
    // Nothing is renamed under the hands of those who work with it.
    test = test.inside("").quietly("team create crew --as lea").quietly("claim 1 --list busy --as ana");
    test = test.run("lists rename crew others").run("lists rename busy idle").run("lists rename busy idle --force");
    test = test.inside("../bound").quietly("job run --name slow -- sleep 600");
    test.run("lists rename common shared").quietly("job stop slow").run("lists rename common shared").snapshot();
}
