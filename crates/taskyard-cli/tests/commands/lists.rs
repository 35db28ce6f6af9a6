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
