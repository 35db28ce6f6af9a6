//! What a lease is judged by: the clocks and the processes of this machine, and waiting for either to end one.

mod alarm;
mod bell;
mod holdings;
mod warden;

pub use alarm::{Alarm, Woken};
pub use bell::Bell;
pub use warden::Warden;
