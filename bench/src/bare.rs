//! The limits: the same work in bare system calls, with nothing around them.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};

use crate::Failure;
use crate::corpus::{self, Document};
use crate::places::Home;
use crate::worker::Creator;

/// Reads and parses every task file of a directory and ends the process, as the limit of listing in a fresh one.
pub(crate) fn list_and_leave(directory: &Path) -> Result<std::process::ExitCode, Failure> {
    let documents = list(directory)?;
    // Freeing what was read is no part of reading it.
    std::process::exit(i32::from(std::hint::black_box(&documents).is_empty()));
}

/// Reads and parses every task file: openat on the directory, one read into a reused buffer.
fn list(directory: &Path) -> Result<Vec<Document>, Failure> {
    let handle = File::open(directory)?;
    let mut documents = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        if !name.as_encoded_bytes().ends_with(b".json") {
            continue;
        }
        let file = rustix::fs::openat(&handle, &name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let length = rustix::io::read(&file, &mut buffer)?;
        documents.push(serde_json::from_slice(&buffer[..length])?);
    }
    Ok(documents)
}

/// Creates tasks by nothing but what a durable create cannot do without: mkdir of the lock, one append to a journal and its
/// fdatasync, a temporary file, its rename, rmdir of the lock.
#[derive(Debug)]
pub(crate) struct BareCreator {
    list: OwnedFd,
    journal: File,
    created: usize,
}

impl BareCreator {
    /// Opens the list of a home to create in.
    pub(crate) fn open(home: &Home) -> Result<Self, Failure> {
        fs::create_dir_all(home.list())?;
        let journal = OpenOptions::new().create(true).append(true).open(home.root().join("journal"))?;
        Ok(Self { list: File::open(home.list())?.into(), journal, created: 0 })
    }

    fn create_task(&mut self, number: usize) -> Result<(), Failure> {
        let text = corpus::new_task(number);
        rustix::fs::mkdirat(&self.list, ".lock.lock", Mode::from_raw_mode(0o755))?;
        self.journal.write_all(&text)?;
        self.journal.sync_data()?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.list, ".new", flags, Mode::from_raw_mode(0o644))?;
        File::from(file).write_all(&text)?;
        rustix::fs::renameat(&self.list, ".new", &self.list, format!("{number}.json"))?;
        rustix::fs::unlinkat(&self.list, ".lock.lock", AtFlags::REMOVEDIR)?;
        Ok(())
    }
}

impl Creator for BareCreator {
    fn create(&mut self) -> Result<Duration, Failure> {
        self.created += 1;
        let start = Instant::now();
        self.create_task(self.created)?;
        Ok(start.elapsed())
    }
}

/// Creates tasks in that way beside other processes, queueing in the kernel for the turn.
#[derive(Debug)]
pub(crate) struct QueueingBareCreator {
    creator: BareCreator,
    /// The writer that has this file locked has the turn; it holds the highest number given out.
    queue: File,
}

impl QueueingBareCreator {
    /// Opens the list of a home to create in.
    pub(crate) fn open(home: &Home) -> Result<Self, Failure> {
        let creator = BareCreator::open(home)?;
        let path = home.root().join("queue");
        let queue = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)?;
        Ok(Self { creator, queue })
    }
}

impl Creator for QueueingBareCreator {
    fn create(&mut self) -> Result<Duration, Failure> {
        let start = Instant::now();
        rustix::fs::flock(&self.queue, FlockOperation::LockExclusive)?;
        let mut highest = [0; 8];
        // An empty file is the number zero.
        rustix::io::pread(&self.queue, &mut highest, 0)?;
        let number = usize::from_le_bytes(highest) + 1;
        self.creator.create_task(number)?;
        rustix::io::pwrite(&self.queue, &number.to_le_bytes(), 0)?;
        rustix::fs::flock(&self.queue, FlockOperation::Unlock)?;
        Ok(start.elapsed())
    }
}
