//! Which parts of a text are ours.

use std::ops::Range;

/// The parts of a text that were added to a shorter one, in order, none touching the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    ranges: Vec<Range<usize>>,
}

impl Additions {
    /// Takes parts in any order; those that touch or overlap become one.
    pub fn new(mut ranges: Vec<Range<usize>>) -> Self {
        ranges.retain(|range| !range.is_empty());
        ranges.sort_by_key(|range| range.start);
        let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        Self { ranges: merged }
    }

    /// Inserts texts at places of a text, which come in order, and returns the longer text and what was added to it.
    pub(crate) fn insert(text: &str, insertions: &[(usize, String)]) -> (String, Self) {
        let mut longer = String::with_capacity(text.len() + insertions.iter().map(|(_, new)| new.len()).sum::<usize>());
        let mut ranges = Vec::new();
        let mut done = 0;
        for (at, new) in insertions {
            longer.push_str(&text[done..*at]);
            ranges.push(longer.len()..longer.len() + new.len());
            longer.push_str(new);
            done = *at;
        }
        longer.push_str(&text[done..]);
        (longer, Self::new(ranges))
    }

    /// Returns the parts.
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// Returns the longer text without what was added; none where this cannot be a text the parts belong to.
    pub fn take_out(&self, longer: &str) -> Option<String> {
        let mut shorter = String::with_capacity(longer.len());
        let mut done = 0;
        for range in &self.ranges {
            shorter.push_str(longer.get(done..range.start)?);
            done = range.end;
        }
        shorter.push_str(longer.get(done..)?);
        Some(shorter)
    }

    /// Returns what was added in two steps, the second of which made the text that is meant now.
    #[must_use]
    pub fn then(self, later: &Self) -> Self {
        let moved = |place: usize| {
            later
                .ranges
                .iter()
                .fold(place, |place, range| if range.start <= place { place + range.len() } else { place })
        };
        let ranges = self.ranges.into_iter().map(|range| moved(range.start)..moved(range.end - 1) + 1);
        Self::new(ranges.chain(later.ranges.iter().cloned()).collect())
    }

    /// Returns the same parts of a text that has so many bytes more at its beginning.
    #[must_use]
    pub(crate) fn shifted(self, by: usize) -> Self {
        Self { ranges: self.ranges.into_iter().map(|range| range.start + by..range.end + by).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::Additions;

    #[test]
    fn what_was_inserted_can_be_taken_out() {
        let (longer, added) =
            Additions::insert("ab", &[(0, "1".into()), (1, "22".into()), (1, "3".into()), (2, "4".into())]);
        assert_eq!(longer, "1a223b4");
        assert_eq!(added.ranges(), [0..1, 2..5, 6..7]);
        assert_eq!(added.take_out(&longer).as_deref(), Some("ab"));
        assert_eq!(added.take_out("1a"), None);
    }

    #[test]
    fn two_steps_are_one_addition() {
        let (first, one) = Additions::insert("abc", &[(1, "[]".into()), (3, "!".into())]);
        let (second, two) = Additions::insert(&first, &[(0, "^".into()), (2, "xx".into()), (6, "?".into())]);
        assert_eq!(second, "^a[xx]bc!?");
        assert_eq!(one.then(&two).take_out(&second).as_deref(), Some("abc"));
    }
}
