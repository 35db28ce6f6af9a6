//! Learning that the reader of our output is gone.

/// Calls `tell` once the other end of stdout is closed. A file never closes, and where nothing can be learned the next write
/// will tell.
///
/// A thread sleeps in the kernel until then, and costs nothing. It is left behind when the process ends.
#[cfg(unix)]
pub(crate) fn when_reader_leaves(tell: impl FnOnce() + Send + 'static) {
    let watching = std::thread::Builder::new().name("reader".into()).stack_size(64 * 1024).spawn(move || {
        if wait_for_end() {
            tell();
        }
    });
    if let Err(error) = watching {
        tracing::debug!(%error, "the end of the reader will be noticed by the next write");
    }
}

/// Learns nothing; the next write will tell.
#[cfg(not(unix))]
pub(crate) fn when_reader_leaves(_tell: impl FnOnce() + Send + 'static) {}

/// Waits until the other end of stdout is closed; false where that cannot be waited for.
#[cfg(unix)]
fn wait_for_end() -> bool {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;

    let stdout = std::io::stdout();
    loop {
        // Nothing is asked for: what ends the waiting is what is told unasked, that the other end is gone.
        let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
        match poll(&mut polled, None) {
            Ok(_) => return true,
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => return false,
        }
    }
}
