//! When, and how long, in the writer's words.

use std::time::Duration;

use serde_json::Value;
use taskyard::core::Timestamp;
use taskyard::core::timing::{Clock, PartOfDay, WorkSpan, parse_moment};

use crate::output::local_zone;

/// The word that takes a time away.
const NONE: &str = "none";

/// Returns the clock by which times are meant that the user types: this machine's, in the zone of `TZ` or of the system.
pub(crate) fn writers_clock() -> Clock {
    Clock::new(Timestamp(jiff::Timestamp::now().as_millisecond()), local_zone().clone())
}

/// Reads when a task is due: a bare day is its end.
pub(crate) fn parse_due(text: &str) -> Result<Value, String> {
    moment(text, PartOfDay::End)
}

/// Reads when a task may start: a bare day is its beginning.
pub(crate) fn parse_defer(text: &str) -> Result<Value, String> {
    moment(text, PartOfDay::Start)
}

/// How long a task is expected to take; `None` takes the estimate away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Estimate(Option<WorkSpan>);

impl Estimate {
    /// Returns it in seconds, with working days of this length.
    pub(crate) fn value(self, working_day: Duration) -> Value {
        self.0.map_or(Value::Null, |span| span.with_days_of(working_day).as_secs().into())
    }
}

/// Reads how long a task is expected to take.
pub(crate) fn parse_estimate(text: &str) -> Result<Estimate, String> {
    if text.trim().eq_ignore_ascii_case(NONE) {
        return Ok(Estimate(None));
    }
    WorkSpan::parse(text).map(|span| Estimate(Some(span))).map_err(|error| error.to_string())
}

fn moment(text: &str, part: PartOfDay) -> Result<Value, String> {
    if text.trim().eq_ignore_ascii_case(NONE) {
        return Ok(Value::Null);
    }
    let moment = parse_moment(text, part, &writers_clock()).map_err(|error| error.to_string())?;
    Ok(Value::String(moment.to_string()))
}
