//! When, in the writer's words.

use serde_json::Value;
use taskyard::core::Timestamp;
use taskyard::core::forms::extras;
use taskyard::core::timing::Clock;

use crate::output::local_zone;

/// Returns the clock by which times are meant that the user types: this machine's, in the zone of `TZ` or of the system.
pub(crate) fn writers_clock() -> Clock {
    Clock::new(Timestamp(jiff::Timestamp::now().as_millisecond()), local_zone().clone())
}

/// Reads when a task is due.
pub(super) fn parse_due(text: &str) -> Result<Value, String> {
    extras::parse_due(text, &writers_clock())
}

/// Reads when a task may start.
pub(super) fn parse_defer(text: &str) -> Result<Value, String> {
    extras::parse_defer(text, &writers_clock())
}
