//! Waking the thread that draws.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};

/// Wakes the thread that draws, from any other.
#[derive(Clone, Debug)]
pub(super) struct Waker(Arc<OwnedFd>);

/// What the thread that draws sleeps on.
#[derive(Debug)]
pub(super) struct Sleeper {
    reader: OwnedFd,
}

/// Returns a sleeper, and what wakes it.
pub(super) fn sleeper() -> io::Result<(Sleeper, Waker)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    Ok((Sleeper { reader }, Waker(Arc::new(writer))))
}

impl Waker {
    /// Wakes the sleeper; a pipe that is full wakes it already.
    pub(super) fn wake(&self) {
        let _ = rustix::io::write(&*self.0, b"!");
    }

    /// Returns a copy of the pipe's end, for the handler of a signal.
    pub(super) fn pipe_end(&self) -> io::Result<OwnedFd> {
        self.0.as_fd().try_clone_to_owned()
    }
}

impl Sleeper {
    /// Sleeps until something can be read from the keyboard, another thread wakes it, or the time is over. Tells whether the keyboard is
    /// still there: a terminal that was closed can be read at any moment, and never has anything to say.
    pub(super) fn sleep(&self, keyboard: BorrowedFd<'_>, at_most: Option<Duration>) -> io::Result<bool> {
        let until = at_most.and_then(|span| Timespec::try_from(span).ok());
        let mut things = [PollFd::from_borrowed_fd(keyboard, PollFlags::IN), PollFd::new(&self.reader, PollFlags::IN)];
        match poll(&mut things, until.as_ref()) {
            // A signal came; the sleeper looks what it was.
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_there = !things[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
        let mut rung = [0; 256];
        while rustix::io::read(&self.reader, &mut rung).is_ok_and(|count| count == rung.len()) {}
        Ok(is_there)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;
    use std::time::Duration;

    use rustix::pipe::pipe;

    use super::sleeper;

    #[test]
    fn a_keyboard_that_is_gone_is_noticed_at_once() {
        let (sleeper, _waker) = sleeper().unwrap();
        let (keyboard, hands) = pipe().unwrap();
        assert!(sleeper.sleep(keyboard.as_fd(), Some(Duration::ZERO)).unwrap());
        drop(hands);
        assert!(!sleeper.sleep(keyboard.as_fd(), None).unwrap());
    }

    #[test]
    fn a_thread_that_is_woken_sleeps_no_longer() {
        let (sleeper, waker) = sleeper().unwrap();
        let (keyboard, _hands) = pipe().unwrap();
        waker.wake();
        // It would last longer than any test.
        assert!(sleeper.sleep(keyboard.as_fd(), Some(Duration::from_secs(3600))).unwrap());
    }
}
