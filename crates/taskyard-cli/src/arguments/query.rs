//! Queries on the command line.

use std::ffi::OsString;

use taskyard::core::rules::looking::query::{FIELDS, is_keyword};

/// The commands whose arguments are a query.
const ASKING: [&str; 3] = ["list", "search", "watch"];

/// Writes what is not to be as `not` where an argument of a query begins with a hyphen (`-tag:old`), which would be taken for a flag.
pub(crate) fn with_negations(typed: Vec<OsString>) -> Vec<OsString> {
    let mut asks = false;
    let written = |argument: OsString| {
        asks |= ASKING.iter().any(|command| argument == *command);
        match argument.to_str().filter(|_| asks).and_then(negated) {
            Some(query) => OsString::from(format!("not {query}")),
            None => argument,
        }
    };
    typed.into_iter().map(written).collect()
}

/// Returns what an argument says is not to be, where it says something of a task.
fn negated(argument: &str) -> Option<&str> {
    let query = argument.strip_prefix('-')?;
    let name = query.split([':', '<', '>', '=', '!']).next().filter(|name| name.len() < query.len());
    let is_field = name.is_some_and(|name| FIELDS.iter().any(|field| field.eq_ignore_ascii_case(name)));
    let begins_with_keyword = query.split_whitespace().next().is_some_and(is_keyword);
    Some(query).filter(|query| is_field || begins_with_keyword || query.starts_with(['(', '"']))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::with_negations;

    #[test]
    fn only_what_says_something_of_a_task_is_no_flag() {
        let typed = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let read = |words: &[&str]| with_negations(typed(words));
        assert_eq!(read(&["taskyard", "list", "-tag:old b"]), typed(&["taskyard", "list", "not tag:old b"]));
        assert_eq!(read(&["taskyard", "list", "-(a or b)"]), typed(&["taskyard", "list", "not (a or b)"]));
        assert_eq!(
            read(&["taskyard", "list", "-blocked", "-done"]),
            typed(&["taskyard", "list", "not blocked", "not done"])
        );
        for words in [["x", "list", "-x"], ["x", "list", "--tag"], ["x", "create", "-due:x"], ["x", "list", "-n5:"]] {
            assert_eq!(read(&words), typed(&words));
        }
    }
}
