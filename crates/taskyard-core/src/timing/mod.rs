//! Time as people say it: spans (`2h`), moments (`fri 17:00`).

mod moments;
mod spans;

pub use jiff::tz::TimeZone;
pub use moments::{BadMoment, Clock, PartOfDay, When, parse_moment};
pub(crate) use moments::{moment_in_speech, moment_in_words, time_in_speech};
pub use spans::{BadSpan, WORKING_DAY, span_in_words, work_in_words};
pub(crate) use spans::{WorkSpan, parse_span, span_in_speech, work_in_full};
