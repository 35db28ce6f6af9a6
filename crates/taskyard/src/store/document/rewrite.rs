//! What the journal keeps of a rewrite before the document is touched, and what becomes of a document that a rewrite may have torn.
//!
//! A rewrite in place leaves everything before the first difference as it is, so the rest of the new document is enough to make a
//! torn one whole. Nothing is read or written here.

use serde_json::{Value, json};
use taskyard_core::dialect::document::{BadDocument, Document};

/// A document on its way from one state to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rewrite {
    /// Where the two states begin to differ.
    pub(super) offset: usize,
    /// The new document from there on.
    pub(super) tail: Vec<u8>,
    before: Checksum,
    after: Checksum,
    /// The run of the machine in which it was begun.
    boot: String,
}

/// What a document turned out to be that was on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing was written yet.
    NotBegun,
    /// Some of it was written.
    Torn,
    /// All of it was written.
    Complete,
    /// Another program wrote a document of its own since.
    Overwritten,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Checksum {
    length: usize,
    sum: u64,
}

impl Rewrite {
    /// Returns the way from one state to the next.
    pub(super) fn between(before: &[u8], after: &[u8], boot: String) -> Self {
        let offset = first_difference(before, after);
        Self { offset, tail: after[offset..].to_vec(), before: Checksum::of(before), after: Checksum::of(after), boot }
    }

    /// Returns it as the journal keeps it.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let sum = |checksum: Checksum| json!({ "length": checksum.length, "sum": format!("{:016x}", checksum.sum) });
        let (before, after) = (sum(self.before), sum(self.after));
        let header = json!({ "offset": self.offset, "before": before, "after": after, "boot": self.boot });
        let mut bytes = header.to_string().into_bytes();
        bytes.push(b'\n');
        bytes.extend_from_slice(&self.tail);
        bytes
    }

    /// Reads what the journal kept.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let header: Value = serde_json::from_slice(&bytes[..end]).ok()?;
        let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
        let checksum = |value: &Value| {
            let sum = u64::from_str_radix(value["sum"].as_str()?, 16).ok()?;
            Some(Checksum { length: number(&value["length"])?, sum })
        };
        Some(Self {
            offset: number(&header["offset"])?,
            tail: bytes[end + 1..].to_vec(),
            before: checksum(&header["before"])?,
            after: checksum(&header["after"])?,
            boot: header["boot"].as_str()?.to_owned(),
        })
    }

    /// Returns the new document, where what was found begins as it does.
    pub(super) fn completed(&self, found: &[u8]) -> Option<Vec<u8>> {
        let mut whole = found.get(..self.offset)?.to_vec();
        whole.extend_from_slice(&self.tail);
        (Checksum::of(&whole) == self.after).then_some(whole)
    }

    /// Judges what was found in the file, in the present run of the machine.
    pub(super) fn judge(&self, found: &[u8], boot: &str) -> Progress {
        let checksum = Checksum::of(found);
        if checksum == self.after {
            return Progress::Complete;
        }
        if checksum == self.before {
            return Progress::NotBegun;
        }
        // A power loss may leave some pages old and some new, and the length of either.
        let lost_power = boot != self.boot && [self.before.length, self.after.length].contains(&found.len());
        match self.completed(found) {
            Some(_) if lost_power || is_torn(found) => Progress::Torn,
            _ => Progress::Overwritten,
        }
    }
}

impl Checksum {
    fn of(bytes: &[u8]) -> Self {
        // As FNV-1a, but by words of eight bytes: documents have megabytes. Every single difference changes the sum.
        let step = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
        let (words, rest) = bytes.as_chunks::<8>();
        let sum = words.iter().fold(0xcbf2_9ce4_8422_2325, |sum, word| step(sum, u64::from_le_bytes(*word)));
        Self { length: bytes.len(), sum: rest.iter().fold(sum, |sum, byte| step(sum, u64::from(*byte))) }
    }
}

fn is_torn(found: &[u8]) -> bool {
    matches!(Document::parse(found), Err(BadDocument::Unreadable(why)) if why.may_be_torn())
}

/// Returns where two texts begin to differ.
pub(super) fn first_difference(one: &[u8], two: &[u8]) -> usize {
    let equal_chunks = one.chunks(4096).zip(two.chunks(4096)).take_while(|(one, two)| one == two).count();
    let start = (equal_chunks * 4096).min(one.len()).min(two.len());
    start + one[start..].iter().zip(&two[start..]).take_while(|(one, two)| one == two).count()
}

#[cfg(test)]
mod tests {
    use super::{Progress, Rewrite, first_difference};

    fn document(tasks: &[&str]) -> Vec<u8> {
        format!("{{\"tasks\":[{}],\"version\":2}}", tasks.join(",")).into_bytes()
    }

    fn rewrite(before: &[u8], after: &[u8]) -> Rewrite {
        Rewrite::between(before, after, "this boot".to_owned())
    }

    #[test]
    fn only_what_is_different_is_kept() {
        let rewrite = rewrite(&document(&["1", "2"]), &document(&["1", "2", "3"]));
        assert_eq!(rewrite.tail, b",3],\"version\":2}");
        assert_eq!(Rewrite::from_bytes(&rewrite.to_bytes()), Some(rewrite));
        let (long, longer) = (vec![b'x'; 4096 * 3], vec![b'x'; 4096 * 3 + 1]);
        assert_eq!(first_difference(&long, &longer), 4096 * 3);
        assert_eq!(first_difference(&long, &long), 4096 * 3);
        assert_eq!(first_difference(b"", &long), 0);
    }

    #[test]
    fn a_document_torn_at_any_byte_is_made_whole() {
        let states = [document(&["11", "22", "33"]), document(&["11", "22"]), document(&["11", "24", "33", "44"])];
        for (before, after) in [(0, 1), (1, 0), (0, 2), (2, 0), (0, 0)] {
            let (before, after) = (&states[before], &states[after]);
            let rewrite = rewrite(before, after);
            assert_eq!(rewrite.judge(after, "this boot"), Progress::Complete);
            if before != after {
                assert_eq!(rewrite.judge(before, "this boot"), Progress::NotBegun);
            }
            for written in rewrite.offset..=after.len() {
                let mut torn = before.clone();
                torn.resize(before.len().max(after.len()) + 1, 0);
                torn[..written].copy_from_slice(&after[..written]);
                assert_eq!(rewrite.judge(&torn, "this boot"), Progress::Torn, "{torn:?}");
                assert_eq!(rewrite.completed(&torn).as_ref(), Some(after));
            }
        }
    }

    #[test]
    fn what_another_program_wrote_since_is_never_taken_for_a_torn_document() {
        let rewrite = rewrite(&document(&["1", "2"]), &document(&["1", "2", "3"]));
        for theirs in [document(&["1", "2", "9"]), document(&[]), document(&["1", "7"]), Vec::new(), b"{".to_vec()] {
            assert_eq!(rewrite.judge(&theirs, "this boot"), Progress::Overwritten, "{theirs:?}");
        }
    }

    #[test]
    fn after_a_power_loss_old_and_new_pages_may_look_like_a_document() {
        let rewrite = rewrite(&document(&["11", "21"]), &document(&["12", "22"]));
        let mixed = document(&["11", "22"]);
        assert_eq!(rewrite.judge(&mixed, "another boot"), Progress::Torn);
        assert_eq!(rewrite.judge(&mixed, "this boot"), Progress::Overwritten);
    }
}
