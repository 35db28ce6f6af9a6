//! JSON as text, before it is parsed and after it is printed: what JavaScript allows there and the parser does not.
//!
//! A text with half a surrogate pair is read with U+FFFD in its place, and that is what every display shows. Whoever rewrites a
//! file prints over what the file held, and the halves in all that did not change come back.

mod exact;
mod keeping;
mod lone_surrogates;
mod parsing;

pub use keeping::print_over;
pub use lone_surrogates::{has_lone_surrogates, lower_case_lone_surrogates, without_lone_surrogates};
pub use parsing::{from_slice, from_str};
