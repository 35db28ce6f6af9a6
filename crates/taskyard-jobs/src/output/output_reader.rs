//! Reads a job's output while it is being written, including that of jobs on other machines.

use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fmt, io};

use rustix::pipe::{PipeFlags, pipe_with};
use taskyard::core::{Gap, Job, JobId, JobOutput};
use taskyard::jobs::{JobError, JobNews, JobWatch, OutputPart, SharedJobs, SharedTail};
use taskyard::process::wait_for;
use taskyard::{private, regular_file};

use crate::JobOptions;
use crate::output::output_file::{Layout, Map, MapFile, Spot, begin_of_lines};

/// How many times a read is retried because the output was rearranged in the meantime.
const ATTEMPTS: u32 = 200;
/// The largest piece that is requested at once, in bytes.
const LONGEST_PIECE: u64 = 512 << 10;
/// How long to wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Reads the output of one job.
#[derive(Debug)]
pub struct OutputReader(Source);

#[derive(Debug)]
enum Source {
    Here(FileReader),
    Elsewhere(SharedReader),
}

impl OutputReader {
    /// Opens the output of a job of this machine. Removed output reads as empty.
    pub(crate) fn open(options: &JobOptions, job: &Job) -> Result<Self, JobError> {
        Ok(Self(Source::Here(FileReader::open(options, job)?)))
    }

    /// Opens the output of a job of another machine.
    pub(crate) fn shared(shared: Arc<dyn SharedJobs>, job: &Job) -> Self {
        Self(Source::Elsewhere(SharedReader::new(shared, job.id.clone())))
    }

    /// Returns how much the job has written so far, and what is kept of it.
    pub fn output(&self) -> Result<JobOutput, JobError> {
        match &self.0 {
            Source::Here(reader) => reader.output(),
            Source::Elsewhere(reader) => reader.output(),
        }
    }

    /// Returns at most `most` bytes of output from an offset on, ending before omitted output.
    pub fn read(&self, offset: u64, most: u64) -> Result<OutputPart, JobError> {
        match &self.0 {
            Source::Here(reader) => reader.read(offset, most),
            Source::Elsewhere(reader) => reader.read(offset, most),
        }
    }

    /// Returns the offset at which the last `count` lines begin, or at which the output after the omitted part begins
    /// if that has fewer lines.
    pub fn last_lines(&self, count: u64) -> Result<u64, JobError> {
        match &self.0 {
            Source::Here(reader) => reader.last_lines(count),
            Source::Elsewhere(reader) => reader.last_lines(count),
        }
    }
}

/// Reads the output file of a job of this machine.
#[derive(Debug)]
struct FileReader {
    path: PathBuf,
    file: Option<File>,
    map: Option<MapFile>,
    /// The length of the output, if it is final.
    written: Option<u64>,
}

impl FileReader {
    fn open(options: &JobOptions, job: &Job) -> Result<Self, JobError> {
        let path = job.output_file.clone();
        let map_path = options.map_file(&job.id);
        let map = MapFile::open(&map_path).map_err(JobError::io("cannot open", &map_path))?;
        let file = match private::open_to_read(&path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(JobError::io("cannot open", &path)(error)),
        };
        let written = job.ending().map(|_| job.output.written);
        Ok(Self { path, file, map, written })
    }

    fn output(&self) -> Result<JobOutput, JobError> {
        self.consistently(|_, layout, written| Ok(JobOutput { written, gap: layout.gap(), lost: layout.lost }))
    }

    fn read(&self, offset: u64, most: u64) -> Result<OutputPart, JobError> {
        self.consistently(|file, layout, written| {
            let (offset, gap) = match layout.find(offset) {
                Spot::At(..) => (offset, None),
                Spot::LeftOut(gap) => (gap.to, Some(Gap { from: offset, to: gap.to })),
            };
            let Spot::At(at, there) = layout.find(offset) else { return Ok(OutputPart::default()) };
            let count = most.min(there).min(written.saturating_sub(offset));
            let bytes = read_at(file, at, count)?;
            let next = offset + bytes.len() as u64;
            Ok(OutputPart { bytes, from: offset, next, gap })
        })
    }

    fn last_lines(&self, count: u64) -> Result<u64, JobError> {
        self.consistently(|file, layout, written| {
            let first = layout.gap().map_or(0, |gap| gap.to);
            begin_of_lines(written, first, count, |from, length| match layout.find(from) {
                Spot::At(at, _) => read_at(file, at, length),
                Spot::LeftOut(_) => Ok(Vec::new()),
            })
        })
    }

    /// Repeats a read until the output was not rearranged during it.
    fn consistently<T: Default>(&self, read: impl Fn(&File, &Layout, u64) -> io::Result<T>) -> Result<T, JobError> {
        let Some(file) = &self.file else { return Ok(T::default()) };
        let failed = |error| JobError::io("cannot read", &self.path)(error);
        for attempt in 0..ATTEMPTS {
            let map = self.map().map_err(failed)?;
            let Some(map) = map.filter(|map| !map.is_moving() || attempt == ATTEMPTS - 1) else {
                std::thread::sleep(Duration::from_micros(200));
                continue;
            };
            let length = file.metadata().map_err(failed)?.len();
            // The writer was killed during a rearrangement; the line about omitted output shows how far it got.
            let layout = if map.is_moving() { left_behind(file, &map) } else { map.layout };
            let written = self.written.or(map.written).unwrap_or_else(|| layout.written(length));
            let answer = read(file, &layout, written).map_err(failed)?;
            if map.is_moving() || self.map().map_err(failed)? == Some(map) {
                return Ok(answer);
            }
        }
        Ok(T::default())
    }

    /// Returns the layout; without a map file, the default one.
    fn map(&self) -> io::Result<Option<Map>> {
        match &self.map {
            Some(file) => file.read(),
            None => Ok(Some(Map::default())),
        }
    }
}

/// Returns the layout of an output whose writer was killed during a rearrangement.
fn left_behind(file: &File, map: &Map) -> Layout {
    let has_mark = |layout: &Layout| {
        let mark = layout.mark();
        read_at(file, layout.head, mark.len() as u64).is_ok_and(|found| found == mark)
    };
    let is_untouched = map.before.dropped == 0 || has_mark(&map.before);
    let is_cut = file.metadata().is_ok_and(|metadata| metadata.len() <= map.layout.tail_at());
    if !has_mark(&map.layout) && is_untouched && !is_cut { map.before } else { map.layout }
}

/// Reads up to `count` bytes, or as many as there are.
fn read_at(file: &File, at: u64, count: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(count).unwrap_or(usize::MAX)];
    let count = regular_file::read_at(file, &mut bytes, at)?;
    bytes.truncate(count);
    Ok(bytes)
}

/// Reads the output of a job of another machine.
#[derive(Debug)]
struct SharedReader {
    shared: Arc<dyn SharedJobs>,
    job: JobId,
}

impl SharedReader {
    fn new(shared: Arc<dyn SharedJobs>, job: JobId) -> Self {
        Self { shared, job }
    }

    /// Returns how much the job had written at its last report, and what is kept of it.
    fn output(&self) -> Result<JobOutput, JobError> {
        Ok(self.tail(u64::MAX)?.job.output)
    }

    /// Returns at most `most` bytes of output from an offset on. If the job has ended, only the tail can be read.
    fn read(&self, offset: u64, most: u64) -> Result<OutputPart, JobError> {
        loop {
            let SharedTail { job, from, mut bytes } = self.tail(offset)?;
            if from <= offset || job.state().is_over() {
                bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
                let gap = (from > offset).then_some(Gap { from: offset, to: from });
                let from = from.max(offset);
                return Ok(OutputPart { from, next: from + bytes.len() as u64, gap, bytes });
            }
            if let Some(part) = self.ask(offset, most.min(LONGEST_PIECE))? {
                return Ok(part);
            }
        }
    }

    /// Returns the offset at which the last `count` lines begin, as far back as can be read.
    fn last_lines(&self, count: u64) -> Result<u64, JobError> {
        let SharedTail { job, from, .. } = self.tail(0)?;
        let first = if job.state().is_over() { from } else { job.output.gap.map_or(0, |gap| gap.to) };
        begin_of_lines(job.output.written, first, count, |from, length| Ok(self.read(from, length)?.bytes))
    }

    fn tail(&self, offset: u64) -> Result<SharedTail, JobError> {
        let missing = || JobError::NoSuchJob { name: self.job.as_str().to_owned() };
        self.shared.tail(&self.job, offset)?.ok_or_else(missing)
    }

    /// Requests a piece of output from the supervisor; `None` if the job has ended instead.
    fn ask(&self, offset: u64, length: u64) -> Result<Option<OutputPart>, JobError> {
        let news = SharedNews::of(&*self.shared, &self.job)?;
        let request = self.shared.request_output(&self.job, offset, length)?;
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(mut part) = self.shared.take_output(request)? {
                part.gap = (part.from > offset).then_some(Gap { from: offset, to: part.from });
                return Ok(Some(part));
            }
            let job = self.tail(u64::MAX)?.job;
            if job.state().is_over() {
                return Ok(None);
            }
            if Instant::now() >= until {
                return Err(JobError::NoAnswer { job: job.id, machine: job.machine.unwrap_or_default() });
            }
            news.wait(None, Some(until))?;
        }
    }
}

const OWN_FILES: &str = "/proc/self/fd";

/// Waits for reports of a job's supervisor.
pub(crate) struct SharedNews {
    heard: OwnedFd,
    watch: Box<dyn JobWatch>,
}

impl SharedNews {
    /// Starts watching.
    pub(crate) fn of(shared: &dyn SharedJobs, job: &JobId) -> Result<Self, JobError> {
        let pipe = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK);
        let (heard, other) = pipe.map_err(|error| JobError::io("cannot open a pipe in", OWN_FILES)(error.into()))?;
        let tell = move || {
            // One byte is enough; a full pipe needs no more.
            let _ = rustix::io::write(&other, b"!");
        };
        Ok(Self { heard, watch: shared.follow(job, JobNews::Reports, Arc::new(tell)) })
    }

    /// Waits until there may be news, `other` is readable, `until` is reached, or it is time to poll.
    pub(crate) fn wait(&self, other: Option<BorrowedFd<'_>>, until: Option<Instant>) -> Result<(), JobError> {
        let look = Instant::now() + self.watch.interval();
        let until = until.map_or(look, |until| until.min(look));
        let heard = wait_for([Some(self.heard.as_fd()), other], Some(until));
        let [has_news, _] = heard.map_err(JobError::io("cannot wait for files in", OWN_FILES))?;
        if has_news {
            let mut bytes = [0; 64];
            while rustix::io::read(&self.heard, &mut bytes).is_ok_and(|count| count == bytes.len()) {}
        }
        Ok(())
    }
}

impl fmt::Debug for SharedNews {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SharedNews")
    }
}
