//! Abbreviated command lines: `yd 3`, `yd 3 done`, `yd 3 due:fri`, `yd +ops`.

use std::ffi::OsString;

use taskyard::core::forms::one_line::{IdRange, is_attribute};
use taskyard::core::rules::looking::query::FIELDS;

/// Global flags that take a value.
const WITH_VALUE: [&str; 6] = ["--list", "--store", "--as", "--color", "--rules", "--client-version"];
/// Words after an id that mean `update`; the words that follow are a title and attributes.
const UPDATING: [&str; 5] = ["update", "mod", "modify", "set", "title"];
/// Query terms that are allowed alone, as far as they are not commands.
const LISTED: [&str; 4] = ["blocked", "overdue", "deferred", "pending"];
/// The hidden flag of `update` for ids that came before the command.
pub(crate) const THESE: &str = "these";

/// Expands an abbreviated command line: ids before a command move behind it, ids alone mean `show`, ids with
/// attributes `update`, and a query alone `list`. Any other command line is returned unchanged.
pub(crate) fn written_out(typed: Vec<OsString>) -> Vec<OsString> {
    let Some(at) = first_word(&typed) else { return typed };
    let is_ids = |word: &OsString| word.to_str().is_some_and(are_ids);
    let ids = typed[at..].iter().take_while(|word| is_ids(word)).count();
    let (before, rest) = typed.split_at(at);
    let mut written = before.to_vec();
    if ids > 0 {
        let (ids, rest) = rest.split_at(ids);
        written.extend(with_ids(ids, rest));
        return written;
    }
    match rest[0].to_str() {
        Some(word) if word.len() > 1 && word.starts_with('/') => {
            written.extend(["search".into(), OsString::from(&word[1..])]);
            written.extend_from_slice(&rest[1..]);
        }
        Some(word) if LISTED.contains(&word) || word.starts_with('+') || names_field(word) => {
            written.push("list".into());
            written.extend_from_slice(rest);
        }
        _ => return typed,
    }
    written
}

/// Returns whether a word is a query term about a field, such as `due:today`.
fn names_field(word: &str) -> bool {
    word.split_once(':').is_some_and(|(name, value)| FIELDS.contains(&name) && !value.starts_with('/'))
}

/// Returns the index of the first id if the command line contains only ids, so that a command follows.
pub(crate) fn only_ids_before(typed: &[OsString]) -> Option<usize> {
    let at = first_word(typed)?;
    let are_all_ids = typed[at..].iter().all(|word| word.to_str().is_some_and(are_ids));
    are_all_ids.then_some(at)
}

/// Returns the index of the first word that is not a global flag.
fn first_word(typed: &[OsString]) -> Option<usize> {
    let mut at = 1;
    while let Some(word) = typed.get(at) {
        let flag = word.to_str().filter(|word| word.starts_with('-'));
        match flag {
            None => return Some(at),
            Some("--") => return None,
            Some(flag) => at += if WITH_VALUE.contains(&flag) { 2 } else { 1 },
        }
    }
    None
}

/// Returns whether a word consists of task numbers: `3`, `#3`, `3-5`, `3,4`.
pub(crate) fn are_ids(word: &str) -> bool {
    let is_number = |id: &IdRange| match id {
        IdRange::One(id) => id.as_number().is_some(),
        IdRange::Numbers(..) => true,
    };
    word.split(',').all(|part| part.parse::<IdRange>().is_ok_and(|id| is_number(&id)))
}

fn with_ids(ids: &[OsString], rest: &[OsString]) -> Vec<OsString> {
    let joined = ids.join(std::ffi::OsStr::new(","));
    let updating = |rest: &[OsString]| {
        [OsString::from("update"), format!("--{THESE}").into(), joined.clone()]
            .into_iter()
            .chain(rest.to_vec())
            .collect()
    };
    match rest.first().map(|word| word.to_string_lossy()) {
        None => [OsString::from("show"), joined].into(),
        Some(word) if UPDATING.contains(&&*word) => updating(&rest[1..]),
        Some(word) if is_attribute(&word) => updating(rest),
        Some(word) if word.starts_with('-') => {
            [OsString::from("show"), joined].into_iter().chain(rest.to_vec()).collect()
        }
        Some(_) => [rest[0].clone(), joined].into_iter().chain(rest[1..].to_vec()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::CommandFactory as _;

    use super::{WITH_VALUE, written_out};
    use crate::commands::Arguments;

    fn written(line: &str) -> String {
        let typed = line.split_whitespace().map(OsString::from).collect();
        written_out(typed).join(std::ffi::OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn short_forms_are_written_out_and_commands_stay() {
        for (short, long) in [
            ("yd 3", "yd show 3"),
            ("yd #3 --json", "yd show #3 --json"),
            ("yd 3 4-6 done", "yd done 3,4-6"),
            ("yd --list x 3 start", "yd --list x start 3"),
            ("yd 3 note it rains", "yd note 3 it rains"),
            ("yd 3 due:fri +ops", "yd update --these 3 due:fri +ops"),
            ("yd 3 mod new title", "yd update --these 3 new title"),
            ("yd 3,4 update -p high", "yd update --these 3,4 -p high"),
            ("yd +ops", "yd list +ops"),
            ("yd due:today", "yd list due:today"),
            ("yd blocked", "yd list blocked"),
            ("yd /login", "yd search login"),
        ] {
            assert_eq!(written(short), long);
        }
        for line in
            ["yd", "yd --json", "yd done 3", "yd -- 3", "yd a-b", "yd 07 done", "yd --as 3 list", "yd postgres://x"]
        {
            assert_eq!(written(line), line);
        }
    }

    #[test]
    fn every_global_flag_with_a_value_is_known() {
        let command = Arguments::command();
        let globals = command.get_arguments().filter(|arg| arg.is_global_set() && arg.get_action().takes_values());
        let mut flags: Vec<String> = globals.map(|arg| format!("--{}", arg.get_long().unwrap())).collect();
        flags.sort_unstable();
        let mut known = WITH_VALUE.to_vec();
        known.sort_unstable();
        assert_eq!(flags, known);
    }
}
