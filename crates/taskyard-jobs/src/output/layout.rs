//! Where in a job's file the bytes it wrote are, and the small file beside it that says so.
//!
//! The small file has a fixed length and is written over in one go, so that it can be written when the disk is full. Its generation
//! is odd while the output is being rearranged; a reader that read an odd one, or one generation before and another
//! after, reads again. Its time of change is the job's sign of life.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

use taskyard::core::{Gap, Timestamp};
use taskyard::private;

/// How much is looked through at once for the ends of lines.
const STRIDE: u64 = 64 << 10;
/// How long the line is that stands for what was left out. It never changes, so that it can be written anew in its place.
pub(crate) const MARK: u64 = 104;
const MAGIC: u64 = u64::from_le_bytes(*b"tyjobmap");
const FIELDS: usize = 10;
const LENGTH: usize = FIELDS * 8;
/// What stands for a number that is not known.
const NONE: u64 = u64::MAX;

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

/// What the small file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Map {
    /// Grows with every rearrangement; odd while one is under way.
    pub(crate) generation: u64,
    /// How the output is laid out; while it is rearranged, how it will be.
    pub(crate) layout: Layout,
    /// How it was laid out before.
    pub(crate) before: Layout,
    /// How many bytes the job wrote, once it writes no more.
    pub(crate) written: Option<u64>,
}

impl Map {
    /// Tells whether the output is being rearranged.
    pub(crate) fn is_moving(&self) -> bool {
        self.generation % 2 == 1
    }

    fn encode(&self) -> [u8; LENGTH] {
        let (layout, before) = (self.layout, self.before);
        let fields = [
            MAGIC,
            self.generation,
            layout.head,
            layout.dropped,
            layout.lost,
            before.head,
            before.dropped,
            before.lost,
            self.written.unwrap_or(NONE),
        ];
        let mut bytes = [0; LENGTH];
        for (place, field) in bytes.chunks_exact_mut(8).zip(fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        let sum = checksum(&bytes[..LENGTH - 8]);
        bytes[LENGTH - 8..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads what was written; `None` if it was not written in one piece.
    fn decode(bytes: &[u8; LENGTH]) -> Option<Self> {
        let mut fields = [0; FIELDS];
        for (field, place) in fields.iter_mut().zip(bytes.chunks_exact(8)) {
            *field = u64::from_le_bytes(place.try_into().ok()?);
        }
        let [magic, generation, head, dropped, lost, old_head, old_dropped, old_lost, written, sum] = fields;
        if magic != MAGIC || sum != checksum(&bytes[..LENGTH - 8]) {
            return None;
        }
        Some(Self {
            generation,
            layout: Layout { head, dropped, lost },
            before: Layout { head: old_head, dropped: old_dropped, lost: old_lost },
            written: (written != NONE).then_some(written),
        })
    }
}

/// The small file, open.
#[derive(Debug)]
pub(crate) struct MapFile(File);

impl MapFile {
    /// Makes it.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file = private::create(path)?;
        let map = Self(file);
        map.write(&Map::default())?;
        Ok(map)
    }

    /// Opens it to read; none where there is none.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        match File::open(path) {
            Ok(file) => Ok(Some(Self(file))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes over it.
    pub(crate) fn write(&self, map: &Map) -> io::Result<()> {
        self.0.write_all_at(&map.encode(), 0)
    }

    /// Reads it; none where it is being written this moment.
    pub(crate) fn read(&self) -> io::Result<Option<Map>> {
        let mut bytes = [0; LENGTH];
        match self.0.read_exact_at(&mut bytes, 0) {
            Ok(()) => Ok(Map::decode(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Leaves a sign of life.
    pub(crate) fn touch(&self) -> io::Result<()> {
        self.0.set_modified(std::time::SystemTime::now())
    }
}

/// Returns when a job last left a sign of life.
pub(crate) fn last_touched(path: &Path) -> Option<Timestamp> {
    let modified = std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()?;
    let since = modified.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Timestamp)
}

/// The FNV-1a sum of the bytes.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use taskyard::core::Gap;

    use super::{Layout, MARK, Map, MapFile, STRIDE, Spot, begin_of_lines};

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

    #[test]
    fn what_is_written_is_read_again() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("x.map");
        assert!(MapFile::open(&path).unwrap().is_none());
        let file = MapFile::create(&path).unwrap();
        let layout = Layout { head: 1, dropped: 2, lost: 3 };
        let map = Map { generation: 4, layout, before: Layout::default(), written: Some(9) };
        file.write(&map).unwrap();
        assert_eq!(MapFile::open(&path).unwrap().unwrap().read().unwrap(), Some(map));
    }

    #[test]
    fn a_map_that_was_not_written_in_one_piece_is_none() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("x.map");
        let file = MapFile::create(&path).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[9] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(file.read().unwrap(), None);
        std::fs::write(&path, &bytes[..20]).unwrap();
        assert_eq!(file.read().unwrap(), None);
    }
}
