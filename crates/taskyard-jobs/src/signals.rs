//! The signals of a process that runs commands: ending in order when the system asks for that, and hearing how commands end.

use std::io::IsTerminal as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

use taskyard::process::{Cancel, Stop};

/// The signal that asked us to stop; zero where none did.
static STOPPED_BY: AtomicI32 = AtomicI32::new(0);

/// Whether a pager has the screen.
static IS_PAGED: AtomicBool = AtomicBool::new(false);

/// What is done before the process ends because of a signal; nothing where no command said what.
static BEFORE_THE_END: OnceLock<fn()> = OnceLock::new();

/// How long a command that attends to a cancellation has to bring things in order.
const PATIENCE: Duration = Duration::from_secs(5);

/// Leaves what the user types to interrupt to a program of the user's that has the terminal, an editor say: it decides what that means.
#[cfg(unix)]
pub fn leave_interrupts_to_others() {
    // A handler that does nothing, and not to ignore the signals: that would be passed on to the other program.
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGQUIT] {
        let _ = signal_hook::flag::register(signal, std::sync::Arc::default());
    }
}

/// Leaves what the user types to interrupt to other processes; other systems know no such signals.
#[cfg(not(unix))]
pub fn leave_interrupts_to_others() {}

/// Leaves what the user types to interrupt to the pager from now on.
pub fn leave_interrupts_to_pager() {
    IS_PAGED.store(true, Ordering::SeqCst);
    leave_interrupts_to_others();
}

/// Gives every lock back and ends with 128 plus the signal's number when the process is asked to stop.
///
/// Where a caller attends to the cancellation (hooks run, say), it is cancelled first and gets the time to leave nothing behind; a second
/// signal ends the process at once.
#[cfg(unix)]
pub fn end_in_order_when_stopped(cancel: Cancel) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    end_in_order_on(&[SIGINT, SIGTERM, SIGHUP], cancel);
}

/// Does the same for a server, to which a SIGHUP may say something else.
#[cfg(unix)]
pub fn end_server_in_order(cancel: Cancel) {
    use signal_hook::consts::{SIGINT, SIGTERM};

    match hangup_means_reload() {
        true => end_in_order_on(&[SIGINT, SIGTERM], cancel),
        false => end_in_order_when_stopped(cancel),
    }
}

/// Tells whether a SIGHUP asks a server to read its configuration anew. Where it was started in a terminal, it says that the terminal is
/// gone.
pub fn hangup_means_reload() -> bool {
    !std::io::stdin().is_terminal()
}

#[cfg(unix)]
fn end_in_order_on(these: &'static [i32], cancel: Cancel) {
    use signal_hook::consts::SIGINT;

    let Ok(mut signals) = signal_hook::iterator::Signals::new(these) else { return };
    let listening = thread("signals", move || {
        let mut signals = signals.forever();
        // What the user interrupts is the pager, as long as it has the screen.
        let is_ours = |signal: &i32| *signal != SIGINT || !IS_PAGED.load(Ordering::SeqCst);
        let Some(signal) = signals.find(is_ours) else { return };
        STOPPED_BY.store(signal, Ordering::SeqCst);
        let is_attended = cancel.is_attended();
        cancel.cancel();
        let impatient = move || {
            std::thread::sleep(PATIENCE);
            end(signal);
        };
        if is_attended && thread("impatience", impatient) {
            signals.next();
        }
        end(signal);
    });
    // Without the thread nothing would act on the signal: end from within its handler then.
    if !listening {
        for &signal in these {
            let always = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
            let _ = signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, always);
        }
    }
}

/// Gives every lock back when the process is asked to stop; other systems know no such signals.
#[cfg(not(unix))]
pub fn end_in_order_when_stopped(_cancel: Cancel) {}

/// Gives every lock back when the process is asked to stop; other systems know no such signals.
#[cfg(not(unix))]
pub fn end_server_in_order(_cancel: Cancel) {}

/// Stops what we started when the process is asked to stop: the first signal asks, the second kills, and a third ends us as we
/// are.
#[cfg(unix)]
pub fn stop_in_steps(stop: Stop) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    thread("signals", move || {
        for (number, signal) in signals.forever().enumerate() {
            STOPPED_BY.store(signal, Ordering::SeqCst);
            match number {
                0 => stop.ask(),
                1 => stop.kill(),
                _ => end(signal),
            }
        }
    });
}

/// Stops what we started when the process is asked to stop; other systems know no such signals.
#[cfg(not(unix))]
pub fn stop_in_steps(_stop: Stop) {}

/// Takes note that the process was asked to stop and tells the code that can end it in order, each time.
#[cfg(unix)]
pub fn tell_when_stopped(told: impl Fn() + Send + 'static) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    thread("signals", move || {
        for (number, signal) in signals.forever().enumerate() {
            STOPPED_BY.store(signal, Ordering::SeqCst);
            told();
            // A user who asks a third time does not want to wait any longer.
            if number >= 2 {
                end(signal);
            }
        }
    });
}

/// Tells the code that can end the process in order; other systems know no such signals.
#[cfg(not(unix))]
pub fn tell_when_stopped(_told: impl Fn() + Send + 'static) {}

/// Has something done before the process ends because of a signal: giving the terminal back, say.
pub fn before_the_end(to_do: fn()) {
    let _ = BEFORE_THE_END.set(to_do);
}

/// Takes note that the terminal is gone, as if the system had told us by the signal it has for that.
pub fn note_hangup() {
    const HANGUP: i32 = 1;
    let _ = STOPPED_BY.compare_exchange(0, HANGUP, Ordering::SeqCst, Ordering::SeqCst);
}

/// Tells whether the system asked us to stop.
pub fn was_stopped() -> bool {
    STOPPED_BY.load(Ordering::SeqCst) != 0
}

/// Returns the exit code of a process that was asked to stop and brought things in order.
pub fn exit_code() -> Option<u8> {
    let signal = STOPPED_BY.load(Ordering::SeqCst);
    u8::try_from(128 + signal).ok().filter(|_| signal != 0)
}

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
pub(crate) fn cancel_when_stopped(cancel: Cancel) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    let listening = move || signals.forever().for_each(|_| cancel.cancel());
    let _ = std::thread::Builder::new().name("signals".into()).stack_size(64 * 1024).spawn(listening);
}

/// Cancels the work when the process is asked to stop; other systems know no such signals.
#[cfg(not(unix))]
pub(crate) fn cancel_when_stopped(_cancel: Cancel) {}

fn end(signal: i32) {
    BEFORE_THE_END.get().inspect(|to_do| to_do());
    taskyard::store::release_held_locks();
    std::process::exit(128 + signal);
}

/// Starts a thread that needs little; tells whether that succeeded.
fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> bool {
    std::thread::Builder::new().name(name.into()).stack_size(64 * 1024).spawn(work).is_ok()
}
