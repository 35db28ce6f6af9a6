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
