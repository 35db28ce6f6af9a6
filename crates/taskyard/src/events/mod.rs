//! Telling listeners in this process what was committed.

mod bus;

pub use bus::EventBus;
