//! What a test runner expects of a program of tests.

use std::panic::catch_unwind;
use std::process::ExitCode;

/// Lists the tests, or runs those that are wanted, one after the other.
pub(crate) fn run(tests: &[(&str, fn())], words: &[&str]) -> ExitCode {
    let has = |word: &str| words.contains(&word);
    let filters: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-') && *word != "terse").collect();
    let is_wanted = |name: &str| {
        filters.is_empty()
            || filters.iter().any(|filter| if has("--exact") { name == *filter } else { name.contains(filter) })
    };
    // Nothing is ignored here.
    let wanted = tests.iter().filter(|(name, _)| is_wanted(name) && !has("--ignored"));
    let mut failed = 0;
    for (name, test) in wanted {
        if has("--list") {
            println!("{name}: test");
            continue;
        }
        let is_good = catch_unwind(test).is_ok();
        println!("test {name} ... {}", if is_good { "ok" } else { "FAILED" });
        failed += u8::from(!is_good);
    }
    ExitCode::from(failed)
}
