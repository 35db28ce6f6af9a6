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
mod program;
mod stop;
mod waker;
mod workplace;

pub use cancel::{Attendance, Cancel, CancelOnDrop};
pub(crate) use captured::Captured;
pub use captured::Sink;
pub use input::file_of;
pub use output::Output;
pub use output_pipe::OutputPipe;
pub use program::{CommandLine, Ending, Finished, Program};
pub use stop::Stop;
pub use waker::{Waker, end_of, wait_for};
pub use workplace::{Workplace, wait_aside};
