//! What the five seeds say, tried through the binary in their own words and with their own examples. `docs/conformance.md` has every
//! statement, with the test that shows it; what other tests show is not repeated here.
#![cfg(unix)]

mod background;
mod calling;
mod coordinating;
mod document;
mod export;
mod internals;
mod site;
mod storing;
mod teaching;
