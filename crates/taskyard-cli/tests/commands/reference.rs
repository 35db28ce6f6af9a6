use crate::test::Test;

/// Regenerate the page with `taskyard man --format markdown > docs/cli-reference.md`.
#[test]
fn the_reference_in_the_docs_is_what_the_program_says() {
    let test = Test::new();
    let output = test.command(env!("CARGO_BIN_EXE_taskyard")).args(["man", "--format", "markdown"]).output();
    let said = String::from_utf8(output.stdout).unwrap();
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli-reference.md");
    let kept = std::fs::read_to_string(page).unwrap_or_default();
    assert!(
        kept == said,
        "docs/cli-reference.md is out of date: run `taskyard man --format markdown > docs/cli-reference.md`"
    );
}
