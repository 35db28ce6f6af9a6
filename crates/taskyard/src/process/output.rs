//! What a command writes, on its way to its reader.

use std::io::{self, PipeWriter};
use std::os::fd::BorrowedFd;
use std::thread;
use std::time::{Duration, Instant};

use super::{OutputPipe, Sink, wait_for};

/// How much is read at once.
const BUFFER: usize = 64 << 10;
/// How long we wait for more after a command ended, while a process that it started keeps a pipe open.
const QUIET_AFTER_END: Duration = Duration::from_millis(200);
/// How long we wait for it at most, however much still comes.
const LONGEST_AFTER_END: Duration = Duration::from_secs(2);

/// What a command writes to stdout and stderr, and what takes it.
#[derive(Default)]
pub struct Output {
    streams: Vec<(OutputPipe, Sink)>,
    buffer: Vec<u8>,
}

impl Output {
    /// Makes the pipes that lead to the sinks; returns the ends that a command writes to.
    pub fn to(sinks: [Sink; 2]) -> io::Result<(Self, [PipeWriter; 2])> {
        let (stdout, writes) = OutputPipe::new()?;
        let (stderr, writes_errors) = OutputPipe::new()?;
        let streams = [stdout, stderr].into_iter().zip(sinks).collect();
        Ok((Self { streams, buffer: vec![0; BUFFER] }, [writes, writes_errors]))
    }

    /// Puts new pipes in the place of those that lead to the sinks; returns the ends that a command writes to.
    pub fn renew(&mut self) -> io::Result<[PipeWriter; 2]> {
        let (stdout, writes) = OutputPipe::new()?;
        let (stderr, writes_errors) = OutputPipe::new()?;
        for ((pipe, _), new) in self.streams.iter_mut().zip([stdout, stderr]) {
            *pipe = new;
        }
        Ok([writes, writes_errors])
    }

    /// Returns what becomes readable when there is something to pass on.
    pub fn fds(&self) -> [Option<BorrowedFd<'_>>; 2] {
        [0, 1].map(|number| self.streams.get(number).and_then(|(pipe, _)| pipe.fd()))
    }

    /// Returns the numbers by which those of its pipes that are open are known to the system.
    pub fn inodes(&self) -> Vec<u64> {
        self.streams.iter().filter_map(|(pipe, _)| pipe.inode()).collect()
    }

    /// Passes on what there is.
    pub fn drain(&mut self) {
        for (pipe, sink) in &mut self.streams {
            pipe.drain(&mut self.buffer, sink);
        }
    }

    /// Passes on what comes after the command has ended, until the pipes are closed or nothing more comes. Another thread passes on what
    /// comes even later.
    pub fn drain_after_end(mut self) -> io::Result<()> {
        // However slowly it is taken: a pipe holds no more than is read here.
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
