//! JSON texts that JavaScript accepts and the parser does not. Begin with `lone_surrogates.rs`;
//! `docs/design/lone-surrogates.md` has the reasons.
//!
//! Half a surrogate pair is read as U+FFFD, and a number as the nearest float; every display shows these. When a file
//! is rewritten, `print_over` restores the original spelling of everything that has not changed.

mod exact_values;
mod lone_surrogates;

pub(crate) use exact_values::{is_more_than_read, print_over, print_over_as_javascript};
pub(crate) use lone_surrogates::lower_case_lone_surrogates;
#[cfg(test)]
pub(crate) use lone_surrogates::without_lone_surrogates;
pub use lone_surrogates::{from_slice, from_str, has_lone_surrogates, parseable};
