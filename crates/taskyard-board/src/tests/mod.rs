//! Tests of the board without a terminal: keys and events go in, the drawn screen comes out. Begin with `samples.rs`.

mod keys;
mod samples;
mod updates;
mod views;
