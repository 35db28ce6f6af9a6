//! What a lease is judged by: the clocks and the processes of this machine, and waiting for either to end one.

mod alarm;
mod holdings;
mod sleeper;
mod warden;

pub use alarm::{Alarm, AlarmHandle, Woken};
pub use warden::Warden;
