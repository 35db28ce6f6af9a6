use crate::test::Test;

#[test]
fn the_tour_is_plain_in_a_pipe_and_leaves_nothing_behind() {
    let test = Test::new();
    let temporary = test.path("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let test = test.env("TMPDIR", temporary.as_os_str()).run("demo");
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(test.path("data")).unwrap().count(), 0);
    test.snapshot();
}
