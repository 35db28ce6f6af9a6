use crate::test::Test;

#[test]
fn the_version_is_told_early_and_late() {
    Test::new().run("--version").run("-V").run("--json --version").run("--json clear --help").snapshot();
}
