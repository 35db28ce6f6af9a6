//! Running other people's commands well: in a process group of their own, with a time limit, never filling our memory, never
//! outliving a cancellation, and never keeping us waiting for what they left behind.
//!
//! This module knows nothing of hooks, checks or tasks.

mod cancel;
mod captured;
mod detached;
mod input;
mod output;
mod output_pipe;
#[cfg(feature = "jobs")]
mod own_signals;
mod program;
#[cfg(feature = "jobs")]
pub mod signals;
mod stop;
mod wakeup;
mod workplace;

pub use cancel::{Attendance, Cancel, CancelOnDrop};
pub use captured::{Captured, Sink};
pub(crate) use input::file_of;
pub(crate) use output::Output;
pub(crate) use output_pipe::OutputPipe;
#[cfg(feature = "jobs")]
pub use own_signals::{cancel_when_stopped, hear_of_children, survive_file_size_limits};
pub use program::{CommandLine, Ending, Finished, Program};
pub use stop::Stop;
pub(crate) use wakeup::{Wakeup, end_of, wait_for};
pub use workplace::{Workplace, wait_aside};
