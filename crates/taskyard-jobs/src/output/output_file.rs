//! The file with a job's output: its layout, and writing to it within a size limit.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::time::{Duration, Instant, UNIX_EPOCH};

use taskyard::core::{Gap, JobOutput, Timestamp};
use taskyard::private;

/// The block size when scanning for line ends.
const STRIDE: u64 = 64 << 10;
/// The length of the line that replaces omitted output. It is fixed, so that the line can be rewritten in place.
pub(crate) const MARK: u64 = 104;
const MAGIC: u64 = u64::from_le_bytes(*b"tyjobmap");
const FIELDS: usize = 10;
const LENGTH: usize = FIELDS * 8;
/// Encodes an unknown number.
const NONE: u64 = u64::MAX;

/// Where the output is in a job's file: the beginning and, once something was omitted, a line that says so and the
/// newest output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// How many bytes of the beginning are kept. Only meaningful if something was omitted.
    pub(crate) head: u64,
    /// How many bytes after the beginning are omitted.
    pub(crate) dropped: u64,
    /// How many of those could not be written.
    pub(crate) lost: u64,
}

/// Where a byte of the output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    /// At this position in the file, followed by up to this many bytes of the output.
    At(u64, u64),
    /// It was omitted.
    LeftOut(Gap),
}

impl Layout {
    pub(crate) fn gap(&self) -> Option<Gap> {
        (self.dropped > 0).then(|| Gap { from: self.head, to: self.head + self.dropped })
    }

    /// Returns the position in the file at which the newest output begins, after the line.
    pub(crate) fn tail_at(&self) -> u64 {
        self.head + MARK
    }

    /// Returns the length of the whole output if the file has this length.
    pub(crate) fn written(&self, length: u64) -> u64 {
        match self.gap() {
            None => length,
            Some(gap) => gap.to + length.saturating_sub(self.tail_at()),
        }
    }

    pub(crate) fn find(&self, offset: u64) -> Spot {
        match self.gap() {
            None => Spot::At(offset, u64::MAX),
            Some(gap) if offset < gap.from => Spot::At(offset, gap.from - offset),
            Some(gap) if offset < gap.to => Spot::LeftOut(gap),
            Some(gap) => Spot::At(self.tail_at() + (offset - gap.to), u64::MAX),
        }
    }

    /// Returns the line that replaces omitted output.
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

/// Returns the offset at which the last `count` lines begin, or `first` if there are fewer lines between `first` and
/// `written`. Everything from `first` to `written` must be readable. `read` returns the bytes at an offset, or nothing
/// if they are not available.
pub(crate) fn begin_of_lines<E>(
    written: u64,
    first: u64,
    count: u64,
    mut read: impl FnMut(u64, u64) -> Result<Vec<u8>, E>,
) -> Result<u64, E> {
    let (mut at, mut missing) = (written, count);
    // The line end of the last line begins no further line.
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

/// The contents of the map file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Map {
    /// Incremented when a rearrangement of the output begins and when it ends; odd while one is in progress.
    pub(crate) generation: u64,
    /// The layout; during a rearrangement, the new layout.
    pub(crate) layout: Layout,
    /// The previous layout.
    pub(crate) before: Layout,
    /// The length of the whole output, once the job has ended.
    pub(crate) written: Option<u64>,
}

impl Map {
    /// Returns whether the output is being rearranged.
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

    /// Decodes a map; `None` if the checksum does not match, because the write was incomplete.
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

/// The open map file.
#[derive(Debug)]
pub(crate) struct MapFile(File);

impl MapFile {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file = private::create(path)?;
        let map = Self(file);
        map.write(&Map::default())?;
        Ok(map)
    }

    /// Opens it for reading; `None` if it does not exist.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        match File::open(path) {
            Ok(file) => Ok(Some(Self(file))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn write(&self, map: &Map) -> io::Result<()> {
        self.0.write_all_at(&map.encode(), 0)
    }

    /// Reads it; `None` if it is being written at the moment.
    pub(crate) fn read(&self) -> io::Result<Option<Map>> {
        let mut bytes = [0; LENGTH];
        match self.0.read_exact_at(&mut bytes, 0) {
            Ok(()) => Ok(Map::decode(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Updates the modification time as a heartbeat.
    pub(crate) fn touch(&self) -> io::Result<()> {
        self.0.set_modified(std::time::SystemTime::now())
    }
}

/// Returns the time of a job's last heartbeat.
pub(crate) fn last_touched(path: &Path) -> Option<Timestamp> {
    let modified = std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()?;
    let since = modified.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Timestamp)
}

/// Computes the FNV-1a hash.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The smallest limit that leaves room for a beginning, the line and an end.
pub(crate) const SMALLEST: u64 = 16 << 10;
/// The largest single write.
const BLOCK: u64 = 256 << 10;
/// How much of the newest output is kept at most when room is made.
const MOST_KEPT: u64 = 2 << 20;
/// How much is kept free for the last line.
const TRAILER: u64 = 128;
/// How long to wait before writing again after the disk refused a write.
const PAUSE: Duration = Duration::from_millis(100);
/// How long after the disk refused a write the full limit applies again.
const RECOVERY: Duration = Duration::from_secs(1);

/// The file with a job's output, open for writing.
///
/// Once the output reaches its limit, the middle is omitted: the file holds the beginning, a line that says so, and the
/// newest output. The file is in order at every moment. When the disk is full, the current size becomes the limit; only
/// what does not fit even then is lost, and counted. Nothing here waits for free disk space.
#[derive(Debug)]
pub(crate) struct OutputWriter {
    file: File,
    map: MapFile,
    state: Map,
    /// The configured limit of the file.
    full_limit: u64,
    /// The current limit, which is lower while the disk is full.
    limit: u64,
    /// The current size.
    length: u64,
    written: u64,
    /// Since when the limit is lowered because the disk is full.
    starved: Option<Instant>,
    /// When the disk last refused a write.
    refused: Option<Instant>,
    /// Whether the line about omitted output could not be written.
    lacks_mark: bool,
}

impl OutputWriter {
    /// Creates both files, inaccessible to other users. Fails without touching anything if the output file exists.
    pub(crate) fn create(path: &Path, map: &Path, limit: u64) -> io::Result<Self> {
        let file = private::create_new(path)?;
        Ok(Self {
            file,
            map: MapFile::create(map)?,
            state: Map::default(),
            full_limit: limit.max(SMALLEST),
            limit: limit.max(SMALLEST),
            length: 0,
            written: 0,
            starved: None,
            refused: None,
            lacks_mark: false,
        })
    }

    /// Returns the device and inode of the file.
    pub(crate) fn identity(&self) -> io::Result<(u64, u64)> {
        self.file.metadata().map(|metadata| (metadata.dev(), metadata.ino()))
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Limits the size of the file from now on.
    pub(crate) fn lower_limit(&mut self, limit: u64) {
        self.full_limit = self.full_limit.min(limit.max(SMALLEST));
        self.limit = self.limit.min(self.full_limit);
    }

    /// Returns how much was written, and what is kept of it.
    pub(crate) fn output(&self) -> JobOutput {
        let layout = self.state.layout;
        JobOutput { written: self.written, gap: layout.gap(), lost: layout.lost }
    }

    /// Updates the heartbeat.
    pub(crate) fn touch(&self) {
        // If the disk is full, the heartbeat is missing; that is no reason to stop.
        let _ = self.map.touch();
    }

    /// Appends output of the job.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let block = usize::try_from(BLOCK.min(self.limit / 8)).unwrap_or(usize::MAX).max(1);
        bytes.chunks(block).for_each(|block| self.write_block(block));
    }

    /// Appends the trailer, which is not output of the job, and marks the output as complete.
    pub(crate) fn finish(&mut self, trailer: &[u8]) {
        if self.lacks_mark || self.refused.is_some() {
            let _ = self.write_mark();
        }
        self.state.written = Some(self.written);
        let _ = self.map.write(&self.state);
        if !self.lacks_mark && self.file.write_all_at(trailer, self.length).is_ok() {
            self.length += trailer.len() as u64;
        }
    }

    fn write_block(&mut self, bytes: &[u8]) {
        let size = bytes.len() as u64;
        if self.refused.is_some_and(|refused| refused.elapsed() < PAUSE) {
            self.lose(size);
            return;
        }
        if self.starved.is_some_and(|since| since.elapsed() > RECOVERY) {
            self.starved = None;
            self.limit = self.full_limit;
        }
        if self.length + size + TRAILER > self.limit && self.make_room().is_err() {
            return self.be_refused(size);
        }
        if self.append(bytes).is_ok() {
            return;
        }
        // The disk is full, so room for the newest output has to come from the file itself.
        self.starved = Some(Instant::now());
        self.limit = self.limit.min(self.length.max(SMALLEST));
        let made = self.length > SMALLEST && self.make_room().is_ok();
        if !made || self.append(bytes).is_err() {
            self.be_refused(size);
        }
    }

    /// Appends all bytes or none.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.lacks_mark || self.refused.is_some() {
            self.write_mark()?;
        }
        if let Err(error) = self.file.write_all_at(bytes, self.length) {
            // A part may have been written.
            let _ = self.file.set_len(self.length);
            return Err(error);
        }
        self.length += bytes.len() as u64;
        self.written += bytes.len() as u64;
        self.refused = None;
        Ok(())
    }

    /// Omits the middle to make room for new output.
    fn make_room(&mut self) -> io::Result<()> {
        let layout = self.state.layout;
        let head = if layout.dropped > 0 { layout.head } else { (self.limit / 4).min(self.length) };
        let tail_at = if layout.dropped > 0 { layout.tail_at() } else { head };
        let kept = (self.limit / 8).min(MOST_KEPT).min(self.length.saturating_sub(tail_at));
        let mut newest = Layout::default().mark();
        let mark = newest.len();
        newest.resize(mark + usize::try_from(kept).unwrap_or(0), 0);
        self.file.read_exact_at(&mut newest[mark..], self.length - kept)?;
        let dropped = self.written - kept - head;
        let more = dropped - layout.dropped;
        let lost = layout.lost + if self.starved.is_some() { more } else { 0 };
        let after = Layout { head, dropped, lost };
        newest[..mark].copy_from_slice(&after.mark());
        self.begin_to_move(after)?;
        // Truncate before writing: a reader in between sees less output, but in order.
        let moved = self.file.set_len(head).and_then(|()| self.file.write_all_at(&newest, head));
        self.length = head + MARK + kept;
        self.lacks_mark = false;
        if moved.is_err() {
            self.forget_tail();
        }
        self.end_move()?;
        moved
    }

    /// Counts output that the disk refused, and writes the line that says so as soon as possible.
    fn be_refused(&mut self, size: u64) {
        let now = Instant::now();
        (self.starved, self.refused) = (Some(now), Some(now));
        let layout = self.state.layout;
        // The output before the loss is kept, except that the line has to fit into space already on disk.
        let head = if layout.dropped > 0 { layout.head } else { self.length.saturating_sub(MARK) };
        if self.begin_to_move(Layout { head, ..layout }).is_err() {
            self.state.layout.head = head;
        }
        self.forget_tail();
        self.lose(size);
        let _ = self.write_mark();
        let _ = self.end_move();
    }

    /// Counts bytes that are not kept.
    fn lose(&mut self, size: u64) {
        self.written += size;
        let layout = &mut self.state.layout;
        layout.lost += size;
        layout.dropped = self.written - layout.head;
    }

    /// Drops everything after the beginning. Whether the line can be written is determined later.
    fn forget_tail(&mut self) {
        let layout = &mut self.state.layout;
        let dropped = self.written - layout.head;
        layout.lost += dropped.saturating_sub(layout.dropped);
        layout.dropped = dropped;
        self.length = layout.tail_at();
        self.lacks_mark = true;
    }

    /// Writes the line in its place, with the current numbers.
    fn write_mark(&mut self) -> io::Result<()> {
        let layout = self.state.layout;
        let written = self.file.write_all_at(&layout.mark(), layout.head);
        let cut = self.file.set_len(if written.is_ok() { layout.tail_at() } else { layout.head });
        self.lacks_mark = written.is_err();
        self.length = layout.tail_at();
        let _ = self.map.write(&self.state);
        written.and(cut)
    }

    fn begin_to_move(&mut self, after: Layout) -> io::Result<()> {
        let moving =
            Map { generation: self.state.generation + 1, layout: after, before: self.state.layout, written: None };
        self.map.write(&moving)?;
        self.state = moving;
        Ok(())
    }

    fn end_move(&mut self) -> io::Result<()> {
        self.state.generation += self.state.generation % 2;
        self.map.write(&self.state)
    }
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

#[cfg(test)]
mod writer_tests {
    use std::fs;

    use taskyard::core::Gap;

    use super::{MARK, OutputWriter, SMALLEST};

    fn writer(limit: u64) -> (tempfile::TempDir, OutputWriter) {
        let place = tempfile::tempdir().unwrap();
        let writer = OutputWriter::create(&place.path().join("o"), &place.path().join("m"), limit).unwrap();
        (place, writer)
    }

    #[test]
    fn fitting_text_is_unchanged_and_last_line_not_counted() {
        let (place, mut writer) = writer(SMALLEST);
        writer.write(b"one\n\xff\0");
        writer.finish(b"\n[exited with code 0]\n");
        assert_eq!(fs::read(place.path().join("o")).unwrap(), b"one\n\xff\0\n[exited with code 0]\n");
        assert_eq!((writer.output().written, writer.output().gap), (6, None));
    }

    #[test]
    fn beyond_the_limit_the_beginning_and_the_newest_are_kept() {
        let (place, mut writer) = writer(SMALLEST);
        let mut all = Vec::new();
        for number in 0..20_000 {
            let line = format!("line {number}\n");
            writer.write(line.as_bytes());
            all.extend_from_slice(line.as_bytes());
            assert!(fs::metadata(place.path().join("o")).unwrap().len() <= SMALLEST);
        }
        writer.finish(b"");
        let file = fs::read(place.path().join("o")).unwrap();
        let Gap { from, to } = writer.output().gap.unwrap();
        let (from, to) = (usize::try_from(from).unwrap(), usize::try_from(to).unwrap());
        assert_eq!(from as u64, SMALLEST / 4);
        assert_eq!(file[..from], all[..from]);
        let tail_at = from + usize::try_from(MARK).unwrap();
        assert_eq!(file[tail_at..], all[to..]);
        assert!((all.len() - to) as u64 >= SMALLEST / 8);
        let mark = String::from_utf8(file[from..tail_at].to_vec()).unwrap();
        assert_eq!(mark.trim(), format!("[taskyard: {} bytes left out here]", to - from));
        assert_eq!(writer.output().lost, 0);
    }
}
