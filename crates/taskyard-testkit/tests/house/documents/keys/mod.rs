//! JSON keys: what programs of ours answer is written down, and everything that is written down is answered by some test.
//!
//! The answers are those of the snapshots, which the tests of commands hold against the real binary. So a key that is
//! taken out of the program disappears from the snapshots, and the page that still tells of it fails here.

mod answers;
mod error_keys;
mod holding;
mod reading;
mod samples;
mod shape;
