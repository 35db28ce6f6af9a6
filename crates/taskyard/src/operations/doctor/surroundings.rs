//! What is worth knowing around a list before it becomes a trouble.

use taskyard_core::ListId;
use taskyard_core::rules::health::FindingCode;
use taskyard_core::rules::history::elapsed::ClockDoubt;

use super::finding::Finding;
use super::inotify_use::InotifyUse;

/// Tells of a journal that is larger than it may get.
pub(super) fn large_journal(size: u64, limit: u64) -> Option<Finding> {
    let message = || format!("the journal of the list takes {}, and may take {}", in_words(size), in_words(limit));
    let file = || Some("journal.sqlite".to_owned());
    (size > limit).then(|| Finding::of_surroundings(FindingCode::LargeJournal, file(), message()))
}

/// Tells of what is remembered of lists that are gone.
pub(super) fn gone_lists(gone: &[(ListId, u64)]) -> Option<Finding> {
    let size = in_words(gone.iter().map(|(_, size)| size).sum());
    let message = match gone {
        [] => return None,
        [(list, _)] => format!("list {list} is gone, and what is remembered of it takes {size}"),
        [(list, _), others @ ..] => {
            format!("list {list} and {} more are gone, and what is remembered of them takes {size}", others.len())
        }
    };
    Some(Finding::of_surroundings(FindingCode::GoneLists, None, message))
}

/// Tells that nothing is tidied, because the clock has jumped.
pub(super) fn clock_in_doubt(doubt: ClockDoubt) -> Finding {
    let message = format!("{doubt}; `taskyard gc` asks whether it is right");
    Finding::of_surroundings(FindingCode::ClockInDoubt, None, message)
}

/// Tells that the kernel will soon watch nothing more for this user.
pub(super) fn few_watches(used: InotifyUse) -> Option<Finding> {
    let InotifyUse { instances, limit } = used;
    let message = || {
        format!(
            "this user has {instances} of {limit} inotify instances in use (fs.inotify.max_user_instances), as far as /proc shows"
        )
    };
    used.is_near_limit().then(|| Finding::of_surroundings(FindingCode::FewWatches, None, message()))
}

fn in_words(bytes: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", bytes / unit, bytes % unit * 10 / unit);
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..0x10_0000 => format!("{} KB", tenths(1 << 10)),
        0x10_0000..0x4000_0000 => format!("{} MB", tenths(1 << 20)),
        _ => format!("{} GB", tenths(1 << 30)),
    }
}

#[cfg(test)]
mod tests {
    use taskyard_core::ListId;

    use super::super::inotify_use::InotifyUse;
    use super::{few_watches, gone_lists, in_words, large_journal};

    #[test]
    fn a_journal_is_told_of_once_it_is_larger_than_it_may_get() {
        assert_eq!(large_journal(1 << 20, 1 << 20), None);
        let told = large_journal((5 << 20) + 1, 1 << 20).unwrap();
        assert_eq!(told.message, "the journal of the list takes 5.0 MB, and may take 1.0 MB");
    }

    #[test]
    fn lists_that_are_gone_are_told_of_together() {
        let list = |name: &str| ListId::new(name).unwrap();
        assert_eq!(gone_lists(&[]), None);
        let told = |gone: &[(ListId, u64)]| gone_lists(gone).unwrap().message;
        assert_eq!(told(&[(list("a"), 10)]), "list a is gone, and what is remembered of it takes 10 bytes");
        let gone = [(list("a"), 1000), (list("b"), 1048), (list("c"), 512)];
        assert_eq!(told(&gone), "list a and 2 more are gone, and what is remembered of them takes 2.5 KB");
    }

    #[test]
    fn watches_are_told_of_when_nine_tenths_are_in_use() {
        assert_eq!(few_watches(InotifyUse { instances: 115, limit: 128 }), None);
        let told = few_watches(InotifyUse { instances: 116, limit: 128 }).unwrap();
        assert!(told.message.contains("116 of 128"), "{}", told.message);
        assert!(few_watches(InotifyUse { instances: 0, limit: 0 }).is_some());
    }

    #[test]
    fn sizes_are_told_in_the_largest_unit_that_fits() {
        assert_eq!(
            [0, 1023, 1024, 1536 << 10, 3 << 30].map(in_words),
            ["0 bytes", "1023 bytes", "1.0 KB", "1.5 MB", "3.0 GB"]
        );
    }
}
