//! Queries on the command line.

use std::ffi::OsString;

use taskyard::core::rules::looking::query::FIELDS;
use taskyard::operations::Query;

use crate::problem::Problem;

/// The commands whose arguments are a query.
const ASKING: [&str; 3] = ["list", "search", "watch"];

/// Reads the query that arguments make up. What a shell unquoted is an exact text.
pub(crate) fn query_of(arguments: &[impl AsRef<str>]) -> Result<Query, Problem> {
    Ok(Query::of_arguments(arguments)?)
}

/// Reads the query that is searched for, whose words are looked for one by one.
pub(crate) fn query_of_words(arguments: &[String]) -> Result<Query, Problem> {
    Ok(Query::of_words(arguments)?)
}

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
    let name = query.split([':', '<', '>']).next().filter(|name| name.len() < query.len());
    let is_field = name.is_some_and(|name| FIELDS.iter().any(|field| field.eq_ignore_ascii_case(name)));
    Some(query).filter(|query| is_field || query.starts_with(['(', '"']))
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
        for words in [["x", "list", "-x"], ["x", "list", "--tag"], ["x", "create", "-due:x"], ["x", "list", "-n5:"]] {
            assert_eq!(read(&words), typed(&words));
        }
    }
}
