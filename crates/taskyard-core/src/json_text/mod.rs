//! JSON as text, before it is parsed: what JavaScript allows there and the parser does not.

mod lone_surrogates;

pub use lone_surrogates::without_lone_surrogates;
