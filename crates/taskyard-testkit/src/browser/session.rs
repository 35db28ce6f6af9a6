//! One browser's conversation with its driver.

use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::driver::{Driver, DriverError};
use crate::patience::PATIENCE;

/// A browser with a profile of its own.
#[derive(Debug)]
pub(super) struct Session {
    driver: Driver,
    id: String,
    /// The window that commands are carried out in.
    current: Mutex<String>,
}

impl Session {
    /// Starts a browser.
    pub(super) fn start() -> Self {
        let driver = Driver::start();
        let arguments = [
            "--headless=new",
            // Its sandbox needs rights that containers do not give; everything it shows is ours.
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            "--force-device-scale-factor=1",
            "--lang=en",
        ];
        let wish = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "acceptInsecureCerts": true,
            "timeouts": { "script": PATIENCE.as_millis(), "pageLoad": PATIENCE.as_millis(), "implicit": 0 },
            "unhandledPromptBehavior": "ignore",
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let begun =
            driver.call("POST", "/session", Some(&wish)).unwrap_or_else(|error| panic!("no browser: {error:?}"));
        let id = begun["sessionId"].as_str().unwrap().to_owned();
        let current = driver.call("GET", &format!("/session/{id}/window"), None).unwrap();
        let current = Mutex::new(current.as_str().unwrap().to_owned());
        Self { driver, id, current }
    }

    /// Returns the window that commands are carried out in.
    pub(super) fn current(&self) -> String {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes note that the window that commands are carried out in is closed.
    pub(super) fn forget_current(&self) {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Has a command carried out in a window.
    pub(super) fn call(
        &self,
        window: &str,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, DriverError> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if *current != window {
            self.driver.call("POST", &self.path("/window"), Some(&json!({ "handle": window })))?;
            window.clone_into(&mut current);
        }
        self.driver.call(method, &self.path(path), body)
    }

    /// Opens another window, and returns its handle.
    pub(super) fn another_window(&self, kind: &str) -> String {
        let made = self.driver.call("POST", &self.path("/window/new"), Some(&json!({ "type": kind }))).unwrap();
        made["handle"].as_str().unwrap().to_owned()
    }

    fn path(&self, path: &str) -> String {
        format!("/session/{}{path}", self.id)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.driver.ask("DELETE", &self.path(""), None);
    }
}
