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
