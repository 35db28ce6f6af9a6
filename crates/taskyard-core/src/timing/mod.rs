//! Time as people say it: spans (`2h`), moments (`fri 17:00`).

mod moments;
mod spans;

pub use jiff::tz::TimeZone;
pub use moments::{BadMoment, Clock, PartOfDay, When, moment_in_speech, moment_in_words, parse_moment, time_in_speech};
pub use spans::{
    BadSpan, WORKING_DAY, WorkSpan, parse_span, span_in_speech, span_in_words, work_in_full, work_in_words,
};
