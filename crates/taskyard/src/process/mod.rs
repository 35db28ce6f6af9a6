//! Runs external commands in their own process groups, with time limits, bounded memory and cancellation, and without
//! waiting for processes they leave behind. Begin at `program.rs`. Knows nothing of hooks, checks or tasks.

mod cancel;
mod command_output;
mod program;

pub use cancel::{Attendance, Cancel, CancelOnDrop, Waker, Workplace, end_of, wait_aside, wait_for};
pub(crate) use command_output::Captured;
pub use command_output::{Output, OutputPipe, Sink};
pub use program::{CommandLine, Ending, Finished, Program, Stop, file_of};
