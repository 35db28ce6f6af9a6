//! A store in one log file, outside of the `taskyard` crate: the example of a store that is built on the kit.
//!
//! Every commit of every list is one line of JSON at the end of the file `log`; nothing there is ever changed. What stands behind the last
//! newline was never finished, and the next writer cuts it off. Each list has a file whose flock its one writer holds.

mod line;
mod log;
mod store;
mod writer;

pub use store::LogStore;
