//! A real Chromium, driven through the W3C's WebDriver protocol. Begin with `window.rs`.
//!
//! Chromium and its driver are Debian's (`chromium`, `chromium-driver`); `scripts/test` installs them.

mod driver;
mod window;

pub use window::{Browser, Element, Finding, Impact, Looking, Picture, Scheme, Screen, Window};
