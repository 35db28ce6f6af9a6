//! A command's output: passing it on and capturing it.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{PipeWriter, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io, thread};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::pipe::fcntl_setpipe_size;

use super::wait_for;

/// Receives output as it arrives.
pub type Sink = Box<dyn FnMut(&[u8]) + Send>;

/// The beginning or the end of some output, up to a limit. Clones share the captured bytes.
#[derive(Clone)]
pub(crate) struct Captured(Arc<Mutex<Kept>>);

struct Kept {
    bytes: VecDeque<u8>,
    limit: usize,
    which: Which,
}

#[derive(Clone, Copy)]
enum Which {
    Beginning,
    End,
}

impl Captured {
    /// Captures the first bytes.
    pub(crate) fn beginning(limit: usize) -> Self {
        Self::new(limit, Which::Beginning)
    }

    /// Captures the last bytes.
    pub(crate) fn end(limit: usize) -> Self {
        Self::new(limit, Which::End)
    }

    /// Returns a sink that captures.
    pub(crate) fn sink(&self) -> Sink {
        let captured = self.clone();
        Box::new(move |bytes| captured.add(bytes))
    }

    /// Returns the bytes captured so far.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).bytes.iter().copied().collect()
    }

    /// Returns the bytes captured so far as text; invalid UTF-8 is replaced.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    fn new(limit: usize, which: Which) -> Self {
        Self(Arc::new(Mutex::new(Kept { bytes: VecDeque::new(), limit, which })))
    }

    fn add(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.which {
            Which::Beginning => {
                let room = kept.limit.saturating_sub(kept.bytes.len()).min(bytes.len());
                kept.bytes.extend(&bytes[..room]);
            }
            Which::End => {
                let newest = &bytes[bytes.len().saturating_sub(kept.limit)..];
                let surplus = (kept.bytes.len() + newest.len()).saturating_sub(kept.limit);
                kept.bytes.drain(..surplus);
                kept.bytes.extend(newest);
            }
        }
    }
}

impl fmt::Debug for Captured {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Captured")
    }
}

/// The size of a read.
const BUFFER: usize = 64 << 10;
/// How long to wait for more output after the command ended while a process that it started keeps a pipe open.
const QUIET_AFTER_END: Duration = Duration::from_millis(200);
/// The maximum total time of that wait.
const LONGEST_AFTER_END: Duration = Duration::from_secs(2);

/// The stdout and stderr of a command, with their sinks.
#[derive(Default)]
pub struct Output {
    streams: Vec<(OutputPipe, Sink)>,
    buffer: Vec<u8>,
}

impl Output {
    /// Creates pipes to the sinks; returns the write ends for a command.
    pub fn to(sinks: [Sink; 2]) -> io::Result<(Self, [PipeWriter; 2])> {
        let (stdout, writes) = OutputPipe::new()?;
        let (stderr, writes_errors) = OutputPipe::new()?;
        let streams = [stdout, stderr].into_iter().zip(sinks).collect();
        Ok((Self { streams, buffer: vec![0; BUFFER] }, [writes, writes_errors]))
    }

    /// Replaces the pipes to the sinks; returns the new write ends.
    pub fn renew(&mut self) -> io::Result<[PipeWriter; 2]> {
        let (stdout, writes) = OutputPipe::new()?;
        let (stderr, writes_errors) = OutputPipe::new()?;
        for ((pipe, _), new) in self.streams.iter_mut().zip([stdout, stderr]) {
            *pipe = new;
        }
        Ok([writes, writes_errors])
    }

    /// Returns the descriptors that become readable when there is output.
    pub fn fds(&self) -> [Option<BorrowedFd<'_>>; 2] {
        [0, 1].map(|number| self.streams.get(number).and_then(|(pipe, _)| pipe.fd()))
    }

    /// Returns the inodes of the open pipes.
    pub fn inodes(&self) -> Vec<u64> {
        self.streams.iter().filter_map(|(pipe, _)| pipe.inode()).collect()
    }

    /// Passes on the output that is available.
    pub fn drain(&mut self) {
        for (pipe, sink) in &mut self.streams {
            pipe.drain(&mut self.buffer, sink);
        }
    }

    /// Passes on output after the command has ended, until the pipes are closed or no more arrives. Later output is
    /// passed on by another thread.
    pub fn drain_after_end(mut self) -> io::Result<()> {
        // Even if the sink is slow, this is bounded: a pipe holds no more than one drain reads.
        self.drain();
        let deadline = Instant::now() + LONGEST_AFTER_END;
        let mut until = deadline.min(Instant::now() + QUIET_AFTER_END);
        while self.fds().iter().any(Option::is_some) && Instant::now() < until {
            if wait_for(self.fds(), Some(until))?.contains(&true) {
                until = deadline.min(Instant::now() + QUIET_AFTER_END);
                self.drain();
            }
        }
        for (mut pipe, mut sink) in self.streams.into_iter().filter(|(pipe, _)| pipe.fd().is_some()) {
            let go_on = move || {
                while pipe.fd().is_some() && wait_for([pipe.fd()], None).is_ok() {
                    pipe.drain(&mut [0; 4096], &mut sink);
                }
            };
            thread::Builder::new().name("output".to_owned()).stack_size(256 << 10).spawn(go_on)?;
        }
        Ok(())
    }
}

/// The pipe size for a command with much output.
const LARGE_PIPE: usize = 1 << 20;
/// The default pipe size.
const SMALL_PIPE: usize = 64 << 10;
/// How many reads to make before anything else is handled.
const READS: usize = 16;

/// The read end of a command's output pipe, until the other end is closed.
#[derive(Debug, Default)]
pub struct OutputPipe(Option<File>);

impl OutputPipe {
    /// Creates a pipe; returns the read end and the command's write end. Only the read end is non-blocking.
    pub fn new() -> io::Result<(Self, PipeWriter)> {
        let (ours, theirs) = io::pipe()?;
        let ours = OwnedFd::from(ours);
        fcntl_setfl(&ours, fcntl_getfl(&ours)? | OFlags::NONBLOCK)?;
        Ok((Self(Some(File::from(ours))), theirs))
    }

    /// Returns a descriptor that becomes readable when there is output or the pipe was closed; `None` once that was
    /// noticed.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(|pipe| pipe.as_fd())
    }

    /// Returns the inode of the pipe.
    pub fn inode(&self) -> Option<u64> {
        fstat(self.0.as_ref()?).ok().map(|status| status.st_ino)
    }

    /// Reads the available output and passes it on. Reads nothing more once the other end was closed.
    pub fn drain(&mut self, buffer: &mut [u8], mut take: impl FnMut(&[u8])) {
        for _ in 0..READS {
            let Some(pipe) = &mut self.0 else { return };
            match pipe.read(buffer) {
                Ok(0) => self.0 = None,
                Ok(count) => {
                    if count >= SMALL_PIPE {
                        // The output exceeds a small pipe. A failure to enlarge it is harmless.
                        let _ = fcntl_setpipe_size(&*pipe, LARGE_PIPE);
                    }
                    take(&buffer[..count]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.0 = None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Captured;

    #[test]
    fn the_beginning_or_the_end_is_kept() {
        let (beginning, end) = (Captured::beginning(4), Captured::end(4));
        for captured in [&beginning, &end] {
            let mut sink = captured.sink();
            for part in ["ab", "", "cde", "fghijk"] {
                sink(part.as_bytes());
            }
        }
        assert_eq!((beginning.text().as_str(), end.text().as_str()), ("abcd", "hijk"));
    }
}
