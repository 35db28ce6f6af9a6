//! What the board shows and what a key means: a state that is moved on by keys, news and time, and says what is to be done. It has no
//! effects of its own, so a test can play anything on it.

mod acting;
mod agents;
mod graph;
mod keys;
mod mouse;
mod moving;
mod news;
mod picker;
mod picking;
mod prompt;
mod prompting;
mod selection;
mod state;
mod time;
mod view;

pub(super) use picker::{Choice, Picker};
pub(super) use prompt::Prompt;
pub(super) use state::{App, Effect, Hit, Mode, SaidKind};
pub use state::{ClientStyle, Settings};
pub(super) use view::View;
