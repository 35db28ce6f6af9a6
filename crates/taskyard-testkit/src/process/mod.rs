//! Processes that tests start. Every program a test runs is started here: in an environment of its own, with its output in the test's
//! hands, and killed and reaped when the test lets go of it. Nothing that one of them started outlives the test process, however that ends.
//! Homes, servers, rivals and browsers are thin layers over it; `house_rules` looks that no test goes past it.

mod program;
mod running;
mod strays;

pub use program::{NOBODY, Program, is_root};
pub use running::Process;
pub(crate) use running::is_stopped;
pub use strays::kill_all_with;
