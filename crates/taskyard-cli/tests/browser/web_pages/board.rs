//! A server with a browser before it.

use serde_json::json;
use taskyard_testkit::browser::{Browser, Screen, Window};
use taskyard_testkit::{Home, Server};

/// A home, the server of its list `L`, and a browser that was let in.
pub(crate) struct Board {
    // The browser ends first, so that it does not complain of a server that is gone.
    pub(crate) browser: Browser,
    pub(crate) server: Server,
    pub(crate) home: Home,
}

impl Board {
    /// Starts a server and a browser after some commands were run.
    pub(crate) fn after(commands: &[&str]) -> Self {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        for command in commands {
            let ran = home.run(command);
            assert_eq!(ran.code, Some(0), "{command}: {ran:?}");
        }
        let server = Server::start(&home, "");
        Self { browser: Browser::start(), server, home }
    }

    /// Returns the first window, let in by the link, at the list.
    pub(crate) fn window(&self) -> Window {
        let window = self.browser.window();
        enter(&window, self.server.link());
        window
    }

    /// Returns a tab at a path.
    pub(crate) fn tab(&self, path: &str) -> Window {
        let tab = self.browser.tab();
        tab.open(&self.address(path));
        tab
    }

    /// Returns the whole address of a path.
    pub(crate) fn address(&self, path: &str) -> String {
        format!("{}{path}", self.server.url())
    }
}

/// Lets a browser in by a link, and waits until the list is shown.
pub(crate) fn enter(window: &Window, link: &str) {
    window.show_on(Screen::Laptop);
    window.open(link);
    window.until("location.pathname.startsWith('/lists')");
}

/// Returns a task as the list has it.
pub(crate) fn task(board: &Board, id: &str) -> serde_json::Value {
    board.home.ask(&format!("show {id}"))["task"].clone()
}

/// Waits until a card stands in a column.
pub(crate) fn stands_in(window: &Window, id: &str, status: &str) {
    window.until(&format!("document.getElementById('card-{id}')?.closest('.column').dataset.status === '{status}'"));
}

/// Drags a card into a column.
pub(crate) fn drag_into(window: &Window, id: &str, status: &str) {
    let (card, column) = (format!("#card-{id}"), format!(".column[data-status={status}] h2"));
    window.drag(&window.element(&card), &window.element(&column));
}

/// Types what the open picker is to find, and chooses it.
pub(crate) fn pick(window: &Window, name: &str) {
    window.until("document.querySelector('#picker[open]')");
    window.type_text(name);
    let selected = "document.querySelector('#picker-list [aria-selected=true] .said')";
    window.until(&format!("{selected}?.textContent.includes({})", json!(name)));
    window.press("Enter");
}
