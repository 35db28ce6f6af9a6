//! What the board shows and what a key means: a state that keys, events and time change, and that returns effects
//! instead of performing them, so that tests can drive it. Begin at `state.rs`.

mod acting;
mod input;
mod moving;
mod picker;
mod picker_keys;
mod prompt;
mod state;
mod updates;

pub(super) use picker::{Choice, Picker};
pub(super) use prompt::Prompt;
pub(super) use state::{App, Effect, Hit, MessageKind, Mode, Pane, View};
pub use state::{ClientStyle, Settings};
