//! JSON keys: the page has the keys of the types that are answered, and every key of them is answered by some test.
//!
//! The answers are those of the snapshots, which the tests of commands hold against the real binary. So a key that is
//! taken out of the program disappears from the snapshots, and the type that still has it fails here.

mod answers;
mod catalogue;
mod error_keys;
mod holding;
mod samples;
mod writing;
