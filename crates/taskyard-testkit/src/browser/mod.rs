//! A real Chromium, driven by the W3C's WebDriver protocol.
//!
//! Chromium and its driver are Debian's (`chromium`, `chromium-driver`); the test command installs them.

mod accessibility;
mod base64;
mod chromium;
mod driver;
mod element;
mod keyboard;
mod screen;
mod session;
mod window;

pub use accessibility::{Finding, Impact, Looking};
pub use chromium::Browser;
pub use element::Element;
pub use screen::{Picture, Scheme, Screen};
pub use window::Window;
