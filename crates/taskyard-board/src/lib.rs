//! The board in the terminal: everything of a list, live, and everything can be done from it.
//!
//! One thread draws and listens to the keyboard; it never asks the store and never waits for another thread. What happens comes from
//! `feed`, what it asks for from `asking`, and what it wants done is done by `doing`; all of them tell it through `news`. What it
//! shows and what a key means is decided in `app`, which has no effects of its own. Why it is done so is `docs/design/board.md`.

mod app;
mod asking;
mod command_words;
mod deed;
mod doing;
mod draw;
mod feed;
mod keymap;
mod news;
mod running;
mod terminal;
#[cfg(test)]
mod tests;
mod theme;
mod todo_sources;
mod typing;

pub use app::{ClientStyle, Settings};
pub use command_words::command_words;
pub use keymap::Keymap;
pub use running::{Opening, Outside, run};
pub use theme::{Theme, ThemeChoice};
pub use todo_sources::TodoSources;
