//! What is gone from a list, in words.

use crate::rules::history::vanishing::{Gone, KeptIn};
use crate::{ListId, Timestamp};

/// Says how many open tasks are gone from a list, what went with them, between which two looks, and how they come back; none where
/// only what was done with is gone.
pub fn loss_in_words(gone: &Gone, list: &ListId, time: impl Fn(Timestamp) -> String) -> Option<String> {
    if !gone.is_loss() {
        return None;
    }
    let (tasks, are, them) = match gone.open {
        1 => ("1 open task".to_owned(), "is", "it"),
        open => (format!("{open} open tasks"), "are", "them"),
    };
    let completed = match gone.completed {
        0 => String::new(),
        1 => " (and 1 completed)".to_owned(),
        completed => format!(" (and {completed} completed)"),
    };
    let with = match gone.with {
        Some(KeptIn::Directory) => format!(", and the directory with {them}"),
        Some(KeptIn::File) => format!(", and the file with {them}"),
        None => String::new(),
    };
    let (seen, noticed) = (time(gone.last_seen), time(gone.noticed));
    let name = list.directory();
    Some(format!(
        "{tasks}{completed} of list {list} {are} gone{with}: lost between {seen} and {noticed}, and not deleted with Taskyard. \
         `taskyard restore --all --list {name}` brings {them} back; `taskyard clear --list {name}` says that it was meant."
    ))
}

/// Says that what was done with was cleared away; none where open tasks are gone.
pub fn clearing_in_words(gone: &Gone) -> Option<String> {
    let them = match gone.completed {
        _ if gone.is_loss() => return None,
        1 => "1 completed task was cleared away by another program; `taskyard restore --all` brings it back".to_owned(),
        count => format!(
            "{count} completed tasks were cleared away by another program; `taskyard restore --all` brings them back"
        ),
    };
    Some(them)
}

#[cfg(test)]
mod tests {
    use super::{clearing_in_words, loss_in_words};
    use crate::rules::history::vanishing::{Gone, KeptIn};
    use crate::{ListId, Timestamp};

    #[test]
    fn a_loss_is_told_with_what_went_along_and_when() {
        let list = ListId::new("L").unwrap();
        let time = |moment: Timestamp| format!("t{}", moment.0);
        let with = Some(KeptIn::Directory);
        let gone = Gone { open: 2, completed: 1, with, last_seen: Timestamp(1), noticed: Timestamp(2) };
        assert_eq!(
            loss_in_words(&gone, &list, time).unwrap(),
            "2 open tasks (and 1 completed) of list L are gone, and the directory with them: lost between t1 and t2, and not \
             deleted with Taskyard. `taskyard restore --all --list L` brings them back; `taskyard clear --list L` says that it \
             was meant."
        );
        assert_eq!(clearing_in_words(&gone), None);
        let cleared = Gone { open: 0, ..gone };
        assert_eq!(loss_in_words(&cleared, &list, time), None);
        assert!(clearing_in_words(&cleared).unwrap().starts_with("1 completed task was cleared away"));
    }
}
