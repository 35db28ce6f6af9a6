//! The signals that a process which looks after commands has to hear.

use super::Cancel;

/// Lets a write beyond a file-size limit fail with an error instead of ending the process.
#[cfg(unix)]
pub fn survive_file_size_limits() {
    // The handler does nothing: a signal that is handled does not end the process, and the write then fails with EFBIG.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
}

/// Lets a write beyond a file-size limit fail with an error; other systems know no such signal.
#[cfg(not(unix))]
pub fn survive_file_size_limits() {}

/// Lets us learn how the commands end that we start, even where the process that started us ignores such news and
/// passed that on.
#[cfg(unix)]
pub fn hear_of_children() {
    // While the signal is ignored, the system throws exit codes away, and a hook that blocks would count as passed.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGCHLD, std::sync::Arc::default());
}

/// Lets us learn how the commands end that we start; other systems know no such signal.
#[cfg(not(unix))]
pub fn hear_of_children() {}

/// Cancels the work when the process is asked to stop, and goes on until it has ended in order.
#[cfg(unix)]
pub fn cancel_when_stopped(cancel: Cancel) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    let listening = move || signals.forever().for_each(|_| cancel.cancel());
    let _ = std::thread::Builder::new().name("signals".into()).stack_size(64 * 1024).spawn(listening);
}

/// Cancels the work when the process is asked to stop; other systems know no such signals.
#[cfg(not(unix))]
pub fn cancel_when_stopped(_cancel: Cancel) {}
