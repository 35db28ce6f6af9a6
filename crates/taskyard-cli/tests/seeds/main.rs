//! What the five seeds say, tried through the binary in their own words and with their own examples. `docs/conformance.md` has every
//! statement, with the test that shows it; what other tests show is not repeated here.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod background;
mod calling;
mod coordinating;
mod document;
mod export;
mod internals;
mod site;
#[path = "../mcp/stdio.rs"]
#[allow(dead_code, reason = "shared with the tests of the server, which do more with it")]
mod stdio;
mod storing;
mod teaching;
