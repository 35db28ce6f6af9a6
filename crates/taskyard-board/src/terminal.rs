//! Entering the terminal and leaving it as it was, however we leave.

use std::io::{self, BufWriter, Stdout, Write as _, stdout};
use std::os::fd::BorrowedFd;
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use taskyard::process::Waker;
use taskyard_jobs::signals;

/// The terminal that is drawn on.
pub(super) type Screen = ratatui::Terminal<CrosstermBackend<BufWriter<Stdout>>>;

/// Whether the terminal is ours at the moment.
static IS_ENTERED: AtomicBool = AtomicBool::new(false);

/// The terminal while it is ours; dropped, it is as it was before.
#[derive(Debug)]
pub(super) struct Entered;

/// Takes the terminal: a screen of its own, every key, and the mouse.
pub(super) fn enter() -> io::Result<Entered> {
    static PREPARED: Once = Once::new();
    PREPARED.call_once(|| {
        signals::before_the_end(leave);
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |what| {
            // Other threads may panic and be caught; only what ends the board gives the terminal back.
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

/// Gives the terminal back as it was; does nothing where it is not ours.
pub(super) fn leave() {
    if IS_ENTERED.swap(false, Ordering::SeqCst) {
        let _ = execute!(stdout(), DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, Show);
        let _ = stdout().flush();
        let _ = disable_raw_mode();
    }
}

/// Waits until the user has read what a command wrote and presses enter.
pub(super) fn wait_for_enter() {
    let mut out = stdout();
    let _ = write!(out, "\nenter goes back to the board ");
    let _ = out.flush();
    let _ = io::stdin().read_line(&mut String::new());
}

/// Empties the screen and returns what is drawn on, as large as the terminal is now.
///
/// Ratatui's own way to empty it asks the terminal where the cursor is and waits for the answer, which a slow one gives late or never.
pub(super) fn screen() -> io::Result<Screen> {
    execute!(stdout(), Clear(ClearType::All))?;
    // A frame goes out in one piece.
    ratatui::Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(64 * 1024, stdout())))
}

impl Drop for Entered {
    fn drop(&mut self) {
        leave();
    }
}

/// Sleeps until something can be read from the keyboard, another thread wakes us, or the time is over. Tells whether the keyboard is still
/// there: a terminal that was closed can be read at any moment, and never has anything to say.
pub(super) fn sleep(waker: &Waker, keyboard: BorrowedFd<'_>, at_most: Option<Duration>) -> io::Result<bool> {
    let until = at_most.and_then(|span| Timespec::try_from(span).ok());
    let mut things = [keyboard, waker.fd()].map(|thing| PollFd::from_borrowed_fd(thing, PollFlags::IN));
    match poll(&mut things, until.as_ref()) {
        // A signal came; the caller looks which it was.
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
        // It would last longer than any test.
        assert!(sleep(&waker, keyboard.as_fd(), Some(Duration::from_secs(3600))).unwrap());
    }
}
