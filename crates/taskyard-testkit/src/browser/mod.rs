//! A real Chromium, driven by the W3C's WebDriver protocol.
//!
//! Chromium and its driver are Debian's (`chromium`, `chromium-driver`); the test command installs them.

mod driver;
mod window;

pub use window::{Browser, Element, Finding, Impact, Looking, Picture, Scheme, Screen, Window};
