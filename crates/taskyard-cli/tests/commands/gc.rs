use crate::test::Test;

#[test]
fn litter_is_shown_and_then_swept() {
    Test::new()
        .list("1 pending")
        .task_file(".highwatermark", "garbage")
        .run("gc --dry-run")
        .run("gc --dry-run --json")
        .run("gc")
        .run("gc")
        .snapshot();
}
