//! The scripts of the pages by themselves, run by Node.js: what they decide. What they draw is tried in a real browser (`web_pages`).
//! Each test runs a file of the folder `page_scripts` beside a copy of the scripts.

use std::fs;
use std::path::Path;

use taskyard_testkit::{Program, finishes};
use tempfile::TempDir;

/// Runs the tests of a file; fails with what Node.js printed if one of them fails.
fn pass(name: &str) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/page_scripts");
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../taskyard-server/src/web/assets");
    let place = TempDir::new().unwrap();
    fs::write(place.path().join("package.json"), r#"{"type": "module"}"#).unwrap();
    for folder in [&here, &scripts] {
        for file in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if file.path().extension().is_some_and(|extension| extension == "js") {
                fs::copy(file.path(), place.path().join(file.file_name())).unwrap();
            }
        }
    }
    let mut node = Program::new("node");
    node.arg("--test-reporter=tap").arg(format!("{name}.test.js")).current_dir(place.path());
    let ran = finishes(move || node.run());
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("# fail 0"), "no test ran: {}", ran.stdout);
}

macro_rules! scripts {
    ($($name:ident: $file:literal;)*) => {
        $(
            #[test]
            fn $name() {
                pass($file);
            }
        )*
    };
}

scripts! {
    requests_carry_the_proof_and_refusals_say_why: "acts";
    a_selection_belongs_to_the_tasks_it_was_made_on: "cursor";
    drafts_are_kept_for_what_they_were_typed_for: "drafts";
    a_box_changes_its_own_line_of_the_description: "editing";
    lost_answers_are_asked_for_again: "fetching";
    one_tab_follows_the_events_for_all: "live";
    lookups_are_asked_again_until_there_is_an_answer: "looking";
    typed_words_are_found_in_any_order: "matching";
    drawing_anew_keeps_what_a_user_is_at: "parts";
    times_pass_and_output_steers_nothing: "tails";
    edited_texts_keep_what_is_not_shown: "texts";
}
