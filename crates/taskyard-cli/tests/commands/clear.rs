use crate::test::Test;

#[test]
fn everything_goes_and_one_undo_brings_it_back() {
    Test::new().list("1 pending; 2 completed <- 1").run("clear").run("list").run("undo").run("list").snapshot();
}

#[test]
fn an_empty_list_has_nothing_to_remove() {
    Test::new().run("clear").run("clear --json").snapshot();
}
