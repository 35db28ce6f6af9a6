//! Times as people write them: moments (`fri 17:00`), durations (`2h`) and recurrence rules (`first mon`). Begin with
//! `moments.rs`. The current time is always passed in.

mod moments;
mod recurrence;
pub(crate) mod timestamp;

pub use jiff::tz::TimeZone;
pub use moments::{BadMoment, Clock, PartOfDay, When, parse_moment};
pub(crate) use moments::{moment_in_days_after, moment_in_speech, moment_in_words, time_in_speech};
pub(crate) use recurrence::Deadlines;
pub use recurrence::{BadRecurrence, Recurrence};
pub use timestamp::{BadSpan, WORKING_DAY, span_in_words, work_in_words};
pub(crate) use timestamp::{WorkSpan, parse_span, span_in_speech, work_in_full};
