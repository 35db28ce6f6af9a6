//! `taskyard.toml`: its settings, layers and trust, specified in `docs/formats/config.md`. Begin with `layers.rs`. This
//! module reads the files whose paths it is given. It does not read the environment and runs nothing: hooks and checks
//! keep the file that defines them, so that the code that runs them can check whether it is trusted.

mod layers;
mod project;
mod settings;
mod settings_text;

pub use layers::Config;
pub use project::Project;
pub(crate) use project::{Ownership, TrustError, ownership};
pub use settings::{
    BadQuantity, ConfigError, ConfigWarning, Hook, Layer, Marks, NoticeKind, Origin, RuleWord, Settings, WhenUnset,
    parse_duration, parse_lifetime, parse_size,
};
pub(crate) use settings::{
    Board, BoardKeys, Claims, Display, Gc, HookInput, Jobs, Journal, Kinds, Mcp, Merge, Notify, Time, Work,
};
