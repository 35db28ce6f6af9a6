//! Ending in order when the system asks us to.

/// Lets a write beyond a file-size limit fail with an error instead of ending the process.
#[cfg(unix)]
pub(crate) fn survive_file_size_limits() {
    // The handler does nothing: a signal that is handled does not end the process, and the write then fails with EFBIG.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
}

/// Lets a write beyond a file-size limit fail with an error; other systems know no such signal.
#[cfg(not(unix))]
pub(crate) fn survive_file_size_limits() {}

/// Gives every lock back and ends with 128 plus the signal's number when the process is asked to stop.
#[cfg(unix)]
pub(crate) fn release_locks_when_stopped() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    let listening = std::thread::Builder::new().name("signals".into()).stack_size(64 * 1024).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            taskyard::store::release_held_locks();
            std::process::exit(128 + signal);
        }
    });
    // Without the thread nobody would act on the signal: end from within its handler then.
    if listening.is_err() {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let always = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
            let _ = signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, always);
        }
    }
}

/// Gives every lock back when the process is asked to stop; other systems know no such signals.
#[cfg(not(unix))]
pub(crate) fn release_locks_when_stopped() {}
