//! JSON as text, before it is parsed and after it is printed: what JavaScript allows there and the parser does not.
//!
//! A text with half a surrogate pair is read with U+FFFD in its place, and a number as what it comes to; that is what
//! every display shows. A writer that rewrites a file prints over what the file held, and in all that did not change
//! the halves come back, and the numbers as they were written.

mod exact_values;
mod lone_surrogates;

pub(crate) use exact_values::{is_more_than_read, print_over, print_over_as_javascript};
pub(crate) use lone_surrogates::lower_case_lone_surrogates;
#[cfg(test)]
pub(crate) use lone_surrogates::without_lone_surrogates;
pub use lone_surrogates::{from_slice, from_str, has_lone_surrogates, parseable};
