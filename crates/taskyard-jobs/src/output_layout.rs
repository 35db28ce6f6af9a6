//! Where in a job's file the bytes it wrote are.

use taskyard::core::Gap;

/// How much is looked through at once for the ends of lines.
const STRIDE: u64 = 64 << 10;

/// How long the line is that stands for what was left out. It never changes, so that it can be written anew in its place.
pub(crate) const MARK: u64 = 104;

/// Where in a job's file the bytes it wrote are: its beginning, and, once something was left out, a line that says so and what
/// it wrote last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// How many bytes of the beginning are kept; what matters only where something was left out.
    pub(crate) head: u64,
    /// How many bytes after them were left out.
    pub(crate) dropped: u64,
    /// How many of those could not be written.
    pub(crate) lost: u64,
}

/// Where a byte that the job wrote is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    /// At this place in the file, and so are those after it, up to this many.
    At(u64, u64),
    /// It was left out.
    LeftOut(Gap),
}

impl Layout {
    /// Returns what was left out.
    pub(crate) fn gap(&self) -> Option<Gap> {
        (self.dropped > 0).then(|| Gap { from: self.head, to: self.head + self.dropped })
    }

    /// Returns where in the file the line is followed by what was written last.
    pub(crate) fn tail_at(&self) -> u64 {
        self.head + MARK
    }

    /// Returns how many bytes the job has written when the file is this long.
    pub(crate) fn written(&self, length: u64) -> u64 {
        match self.gap() {
            None => length,
            Some(gap) => gap.to + length.saturating_sub(self.tail_at()),
        }
    }

    /// Returns where a byte is.
    pub(crate) fn find(&self, offset: u64) -> Spot {
        match self.gap() {
            None => Spot::At(offset, u64::MAX),
            Some(gap) if offset < gap.from => Spot::At(offset, gap.from - offset),
            Some(gap) if offset < gap.to => Spot::LeftOut(gap),
            Some(gap) => Spot::At(self.tail_at() + (offset - gap.to), u64::MAX),
        }
    }

    /// Returns the line that stands for what was left out.
    pub(crate) fn mark(&self) -> Vec<u8> {
        let mut text = format!("\n[taskyard: {} bytes left out here", self.dropped);
        if self.lost > 0 {
            text.push_str(&format!(", {} of them could not be written", self.lost));
        }
        text.push(']');
        let width = usize::try_from(MARK - 1).unwrap_or(text.len());
        format!("{text:<width$}\n").into_bytes()
    }
}

/// Returns the offset where the last lines begin; `first`, from which on everything up to `written` can be read, if fewer lines follow it.
/// `read` returns that many bytes from an offset on, or none if they are not there.
pub(crate) fn begin_of_lines<E>(
    written: u64,
    first: u64,
    count: u64,
    mut read: impl FnMut(u64, u64) -> Result<Vec<u8>, E>,
) -> Result<u64, E> {
    let (mut at, mut missing) = (written, count);
    // The end of the last line begins no further one.
    let mut is_last = true;
    while at > first && missing > 0 {
        let from = at.saturating_sub(STRIDE).max(first);
        let bytes = read(from, at - from)?;
        if bytes.is_empty() {
            break;
        }
        for (number, byte) in bytes.iter().enumerate().rev() {
            if *byte == b'\n' && !std::mem::take(&mut is_last) {
                missing -= 1;
                if missing == 0 {
                    return Ok(from + number as u64 + 1);
                }
            }
            is_last = false;
        }
        at = from;
    }
    Ok(if count == 0 { written } else { first })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use taskyard::core::Gap;

    use super::{Layout, MARK, STRIDE, Spot, begin_of_lines};

    #[test]
    fn the_last_lines_are_found_from_the_end() {
        let text = format!("one\n{}\nthree\n", "x".repeat(2 * STRIDE as usize));
        let begin = |first, count| {
            let read = |from: u64, length: u64| -> Result<Vec<u8>, Infallible> {
                Ok(text.as_bytes()[from as usize..][..length as usize].to_vec())
            };
            let Ok(begin) = begin_of_lines(text.len() as u64, first, count, read);
            begin
        };
        let three = text.len() as u64 - 6;
        assert_eq!([0, 1, 2, 3, 9].map(|count| begin(0, count)), [text.len() as u64, three, 4, 0, 0]);
        assert_eq!(begin(three - 10, 2), three - 10, "what is before that cannot be read");
    }

    #[test]
    fn a_file_without_a_gap_is_what_was_written() {
        let layout = Layout::default();
        assert_eq!(layout.gap(), None);
        assert_eq!(layout.find(12), Spot::At(12, u64::MAX));
        assert_eq!(layout.written(40), 40);
    }

    #[test]
    fn a_gap_is_between_the_beginning_and_the_newest() {
        let layout = Layout { head: 100, dropped: 50, lost: 0 };
        assert_eq!(layout.find(99), Spot::At(99, 1));
        assert_eq!(layout.find(100), Spot::LeftOut(Gap { from: 100, to: 150 }));
        assert_eq!(layout.find(149), Spot::LeftOut(Gap { from: 100, to: 150 }));
        assert_eq!(layout.find(150), Spot::At(100 + MARK, u64::MAX));
        assert_eq!(layout.written(100 + MARK + 7), 157);
    }

    #[test]
    fn the_mark_is_always_of_one_length() {
        for (dropped, lost) in [(1, 0), (u64::MAX / 2, 0), (u64::MAX / 2, u64::MAX / 2)] {
            assert_eq!(Layout { head: 0, dropped, lost }.mark().len() as u64, MARK);
        }
        let mark = String::from_utf8(Layout { head: 0, dropped: 7, lost: 2 }.mark()).unwrap();
        assert_eq!(mark.trim(), "[taskyard: 7 bytes left out here, 2 of them could not be written]");
    }
}
