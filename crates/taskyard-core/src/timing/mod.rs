//! Time as people say it: spans (`2h`), moments (`fri 17:00`).

mod moments;
mod spans;

pub use jiff::tz::TimeZone;
pub use moments::{BadMoment, Clock, PartOfDay, moment_in_words, parse_moment};
pub use spans::{BadSpan, parse_span, span_in_full, span_in_speech, span_in_words};
