//! A browser, and its windows.

use std::sync::Arc;

use super::session::Session;
use super::window::Window;

/// A running Chromium with a profile of its own, which ends with it.
#[derive(Debug)]
pub struct Browser {
    session: Arc<Session>,
}

impl Browser {
    /// Starts a browser.
    pub fn start() -> Self {
        Self { session: Arc::new(Session::start()) }
    }

    /// Returns the window that a browser starts with.
    pub fn window(&self) -> Window {
        Window::new(Arc::clone(&self.session), self.session.current())
    }

    /// Opens a tab beside it, which shares its cookies.
    pub fn tab(&self) -> Window {
        Window::new(Arc::clone(&self.session), self.session.another_window("tab"))
    }
}
