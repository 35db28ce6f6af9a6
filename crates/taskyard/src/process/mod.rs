//! Running other people's commands well: in a process group of their own, with a time limit, never filling our memory, never
//! outliving a cancellation, and never keeping us waiting for what they left behind.
//!
//! This module knows nothing of hooks, checks or tasks.

mod cancel;
mod captured;
mod detached;
mod input;
mod program;
mod stop;
mod workplace;

pub use cancel::{Attendance, Cancel};
pub use captured::{Captured, Sink};
pub(crate) use input::file_of;
pub use program::{CommandLine, Ending, Finished, Program};
pub use stop::Stop;
pub use workplace::Workplace;
pub(crate) use workplace::wait_aside;
