//! The small file beside a job's output that says how it is laid out.
//!
//! It has a fixed length and is written over in one go, so that it can be written when the disk is full. Its generation
//! is odd while the output is being rearranged; a reader that read an odd one, or one generation before and another
//! after, reads again. Its time of change is the job's sign of life.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

use taskyard::core::Timestamp;
use taskyard::private;

use super::output_layout::Layout;

const MAGIC: u64 = u64::from_le_bytes(*b"tyjobmap");
const FIELDS: usize = 10;
const LENGTH: usize = FIELDS * 8;
/// What stands for a number that is not known.
const NONE: u64 = u64::MAX;

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

    /// Reads what was written; none where it was not written in one piece.
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
    use super::{Layout, Map, MapFile};

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
