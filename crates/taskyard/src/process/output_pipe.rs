//! The pipe that a command writes to.

use std::fs::File;
use std::io::{self, PipeWriter, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::pipe::fcntl_setpipe_size;

/// The size of the pipe of a command that writes much.
const LARGE_PIPE: usize = 1 << 20;
/// What a pipe holds that was not enlarged.
const SMALL_PIPE: usize = 64 << 10;
/// How often is read before anything else is looked at.
const READS: usize = 16;

/// Our end of a pipe that a command writes to, until it is closed at the other end.
#[derive(Debug, Default)]
pub struct OutputPipe(Option<File>);

impl OutputPipe {
    /// Makes a pipe; returns our end and the command's. Reading from ours never waits, which changes nothing at the other.
    pub fn new() -> io::Result<(Self, PipeWriter)> {
        let (ours, theirs) = io::pipe()?;
        let ours = OwnedFd::from(ours);
        fcntl_setfl(&ours, fcntl_getfl(&ours)? | OFlags::NONBLOCK)?;
        Ok((Self(Some(File::from(ours))), theirs))
    }

    /// Returns what becomes readable when something was written or the pipe was closed; none once it was.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(|pipe| pipe.as_fd())
    }

    /// Returns the number by which the pipe is known to the system.
    pub fn inode(&self) -> Option<u64> {
        fstat(self.0.as_ref()?).ok().map(|status| status.st_ino)
    }

    /// Reads what there is and passes it on; nothing more is read once the other end was closed.
    pub fn drain(&mut self, buffer: &mut [u8], mut take: impl FnMut(&[u8])) {
        for _ in 0..READS {
            let Some(pipe) = &mut self.0 else { return };
            match pipe.read(buffer) {
                Ok(0) => self.0 = None,
                Ok(count) => {
                    if count >= SMALL_PIPE {
                        // It writes more than a small pipe holds. Where the system has no more to give, so be it.
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
