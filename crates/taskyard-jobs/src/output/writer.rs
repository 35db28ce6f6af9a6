//! Writing what a job says into its file, which never grows beyond its limit.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use taskyard::core::JobOutput;
use taskyard::private;

use super::layout::{Layout, MARK, Map, MapFile};

/// The smallest limit that leaves room for a beginning, a mark and an end.
pub(crate) const SMALLEST: u64 = 16 << 10;
/// The most that is written in one go.
const BLOCK: u64 = 256 << 10;
/// The most that is kept of the newest when room is made.
const MOST_KEPT: u64 = 2 << 20;
/// What is left free for the line at the end.
const TRAILER: u64 = 128;
/// How long we wait before we try again to write to a disk that would not take anything.
const PAUSE: Duration = Duration::from_millis(100);
/// How long after the disk would not take anything the whole limit counts again.
const RECOVERY: Duration = Duration::from_secs(1);

/// The file of a job's output, open for writing.
///
/// It holds the beginning of what the job wrote; once it reaches its limit, the middle is left out: a line that says so, and
/// the newest. At every moment the file reads in order. When the disk takes no more, what there is counts as the limit; only
/// what does not fit even then is lost, and counted. Nothing here ever waits for the disk to become free.
#[derive(Debug)]
pub(crate) struct OutputWriter {
    file: File,
    map: MapFile,
    state: Map,
    /// How large the file may become.
    full_limit: u64,
    /// How large it may become while the disk takes no more.
    limit: u64,
    /// How large it is.
    length: u64,
    written: u64,
    /// Since when the limit is what the disk would take.
    starved: Option<Instant>,
    /// When the disk last would not take anything.
    refused: Option<Instant>,
    /// Whether the file is without the line it should have.
    lacks_mark: bool,
}

impl OutputWriter {
    /// Makes both files. No other user may read them, and nothing that is already there is touched.
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

    /// Returns the device and the number of the file.
    pub(crate) fn identity(&self) -> io::Result<(u64, u64)> {
        self.file.metadata().map(|metadata| (metadata.dev(), metadata.ino()))
    }

    /// Returns how large the file is.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Lets the file become no larger than this from now on.
    pub(crate) fn lower_limit(&mut self, limit: u64) {
        self.full_limit = self.full_limit.min(limit.max(SMALLEST));
        self.limit = self.limit.min(self.full_limit);
    }

    /// Returns how much was written, and what is left of it.
    pub(crate) fn output(&self) -> JobOutput {
        let layout = self.state.layout;
        JobOutput { written: self.written, gap: layout.gap(), lost: layout.lost }
    }

    /// Leaves a sign of life.
    pub(crate) fn touch(&self) {
        // On a full disk the sign is missing; that is no reason to stop.
        let _ = self.map.touch();
    }

    /// Takes what the job wrote.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let block = usize::try_from(BLOCK.min(self.limit / 8)).unwrap_or(usize::MAX).max(1);
        bytes.chunks(block).for_each(|block| self.write_block(block));
    }

    /// Adds the last line, which the job did not write, and says that nothing more will come.
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
        // What the disk holds of us now is all that it will hold: room for the newest is made among our own.
        self.starved = Some(Instant::now());
        self.limit = self.limit.min(self.length.max(SMALLEST));
        let made = self.length > SMALLEST && self.make_room().is_ok();
        if !made || self.append(bytes).is_err() {
            self.be_refused(size);
        }
    }

    /// Writes at the end, all or nothing.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.lacks_mark || self.refused.is_some() {
            self.write_mark()?;
        }
        if let Err(error) = self.file.write_all_at(bytes, self.length) {
            // Part of it may have been written.
            let _ = self.file.set_len(self.length);
            return Err(error);
        }
        self.length += bytes.len() as u64;
        self.written += bytes.len() as u64;
        self.refused = None;
        Ok(())
    }

    /// Leaves the middle out, so that there is room for more of the newest.
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
        // Cut first, then written: a reader in between finds less of it, but all in order.
        let moved = self.file.set_len(head).and_then(|()| self.file.write_all_at(&newest, head));
        self.length = head + MARK + kept;
        self.lacks_mark = false;
        if moved.is_err() {
            self.forget_tail();
        }
        self.end_move()?;
        moved
    }

    /// Counts what the disk would not take, and marks that it is missing as soon as that can be.
    fn be_refused(&mut self, size: u64) {
        let now = Instant::now();
        (self.starved, self.refused) = (Some(now), Some(now));
        let layout = self.state.layout;
        // What stands before the loss is kept, except that the mark needs a place: of what is on disk already.
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

    /// Gives up everything behind the beginning; where the mark can be written is seen later.
    fn forget_tail(&mut self) {
        let layout = &mut self.state.layout;
        let dropped = self.written - layout.head;
        layout.lost += dropped.saturating_sub(layout.dropped);
        layout.dropped = dropped;
        self.length = layout.tail_at();
        self.lacks_mark = true;
    }

    /// Writes the mark in its place, with the numbers of now.
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
    use std::fs;

    use taskyard::core::Gap;

    use super::{MARK, OutputWriter, SMALLEST};

    fn writer(limit: u64) -> (tempfile::TempDir, OutputWriter) {
        let place = tempfile::tempdir().unwrap();
        let writer = OutputWriter::create(&place.path().join("o"), &place.path().join("m"), limit).unwrap();
        (place, writer)
    }

    #[test]
    fn what_fits_is_written_as_it_is_and_the_last_line_is_not_counted() {
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
