//! The terminal board: everything about a list, updated live, and every command available from it.
//!
//! One thread draws and reads the keyboard; it never reads the store and never waits for another thread. The others
//! send it events (`messages`): `feed` follows the list, `reading` reads what no stream reports, `writing` runs
//! operations. `app` decides what is shown and what a key means, and performs no effects itself. The reasons are in
//! `docs/design/board.md`.

mod app;
mod draw;
mod feed;
mod keymap;
mod line;
mod messages;
mod pane;
mod reading;
mod running;
mod terminal;
#[cfg(test)]
mod tests;
mod theme;
mod writing;

pub use app::{ClientStyle, Settings};
pub use keymap::Keymap;
pub use line::command_words;
pub use reading::TodoSources;
pub use running::{External, Opening, run};
pub use theme::{Theme, ThemeChoice};
