//! When, and how long, in the writer's words.

use jiff::tz::TimeZone;
use serde_json::Value;
use taskyard::core::Timestamp;
use taskyard::core::timing::{Clock, PartOfDay, parse_moment, parse_span};

/// The word that takes a time away.
const NONE: &str = "none";

/// Returns the clock by which times are meant that the user types: this machine's, in the zone of `TZ` or of the system.
pub(crate) fn writers_clock() -> Clock {
    Clock { now: Timestamp(jiff::Timestamp::now().as_millisecond()), zone: TimeZone::system() }
}

/// Reads when a task is due: a bare day is its end.
pub(crate) fn parse_due(text: &str) -> Result<Value, String> {
    moment(text, PartOfDay::End)
}

/// Reads when a task may start: a bare day is its beginning.
pub(crate) fn parse_defer(text: &str) -> Result<Value, String> {
    moment(text, PartOfDay::Start)
}

/// Reads how long a task is expected to take, in seconds.
pub(crate) fn parse_estimate(text: &str) -> Result<Value, String> {
    if text.trim().eq_ignore_ascii_case(NONE) {
        return Ok(Value::Null);
    }
    parse_span(text).map(|span| Value::from(span.as_secs())).map_err(|error| error.to_string())
}

fn moment(text: &str, part: PartOfDay) -> Result<Value, String> {
    if text.trim().eq_ignore_ascii_case(NONE) {
        return Ok(Value::Null);
    }
    let moment = parse_moment(text, part, &writers_clock()).map_err(|error| error.to_string())?;
    Ok(Value::String(moment.to_string()))
}
