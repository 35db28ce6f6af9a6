//! Entering the terminal, and restoring it however the board ends.

use std::io::{BufWriter, Stdout, Write as _, stdout};
use std::os::fd::BorrowedFd;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{io, panic};

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use taskyard::process::Waker;
use taskyard_jobs::processes;

/// The terminal to draw on.
pub(super) type Screen = ratatui::Terminal<CrosstermBackend<BufWriter<Stdout>>>;

/// Whether the board currently owns the terminal.
static IS_ENTERED: AtomicBool = AtomicBool::new(false);

/// Owns the terminal; restores it on drop.
#[derive(Debug)]
pub(super) struct Entered;

/// Takes the terminal: an alternate screen, raw keyboard input and the mouse.
pub(super) fn enter() -> io::Result<Entered> {
    static PREPARED: Once = Once::new();
    PREPARED.call_once(|| {
        processes::before_the_end(leave);
        processes::restore_before_core_dump(|| IS_ENTERED.load(Ordering::SeqCst));
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |what| {
            // Panics of other threads may be caught; only one that ends the board restores the terminal.
            if std::thread::current().name() == Some("main") {
                leave();
            }
            usual(what);
        }));
    });
    enable_raw_mode()?;
    IS_ENTERED.store(true, Ordering::SeqCst);
    let entered = Entered;
    execute!(stdout(), EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste)?;
    Ok(entered)
}

/// Restores the terminal; does nothing if the board does not own it.
pub(super) fn leave() {
    if IS_ENTERED.swap(false, Ordering::SeqCst) {
        let _ = execute!(stdout(), DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, Show);
        let _ = stdout().flush();
        let _ = disable_raw_mode();
    }
}

/// Waits until the user has read a command's output and presses enter.
pub(super) fn wait_for_enter() {
    let mut out = stdout();
    let _ = write!(out, "\nenter goes back to the board ");
    let _ = out.flush();
    let _ = io::stdin().read_line(&mut String::new());
}

/// Clears the screen and returns it at the current size of the terminal.
///
/// Ratatui's own way to clear the screen queries the cursor position, which a slow terminal reports late or never.
pub(super) fn screen() -> io::Result<Screen> {
    execute!(stdout(), Clear(ClearType::All))?;
    // The buffer makes a frame a single write.
    ratatui::Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(64 * 1024, stdout())))
}

impl Drop for Entered {
    fn drop(&mut self) {
        leave();
    }
}

/// Waits for keyboard input, a wake-up or the timeout. Returns whether the keyboard still exists: a closed terminal is
/// always readable, but never has input.
pub(super) fn sleep(waker: &Waker, keyboard: BorrowedFd<'_>, at_most: Option<Duration>) -> io::Result<bool> {
    let until = at_most.and_then(|span| Timespec::try_from(span).ok());
    let mut things = [keyboard, waker.fd()].map(|thing| PollFd::from_borrowed_fd(thing, PollFlags::IN));
    match poll(&mut things, until.as_ref()) {
        // After a signal, the caller checks which one it was.
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    waker.reset();
    Ok(!things[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;
    use std::time::Duration;

    use rustix::pipe::pipe;
    use taskyard::process::Waker;

    use super::sleep;

    #[test]
    fn a_keyboard_that_is_gone_is_noticed_at_once() {
        let waker = Waker::new().unwrap();
        let (keyboard, hands) = pipe().unwrap();
        assert!(sleep(&waker, keyboard.as_fd(), Some(Duration::ZERO)).unwrap());
        drop(hands);
        assert!(!sleep(&waker, keyboard.as_fd(), None).unwrap());
    }

    #[test]
    fn a_thread_that_is_woken_sleeps_no_longer() {
        let waker = Waker::new().unwrap();
        let (keyboard, _hands) = pipe().unwrap();
        waker.wake();
        // Otherwise it would outlast any test.
        assert!(sleep(&waker, keyboard.as_fd(), Some(Duration::from_secs(3600))).unwrap());
    }
}
