//! Scopes: what a client may do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use taskyard::core::answers::answer_words::AccessScope;

/// What somebody may do; each includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Look at everything
    #[default]
    Read,
    /// Change tasks, claim them, write messages
    Work,
    /// Everything: run commands, clear lists, give tokens
    All,
}

impl From<Scope> for taskyard::core::tools::Scope {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Read => Self::Read,
            Scope::Work => Self::Work,
            Scope::All => Self::All,
        }
    }
}

impl From<Scope> for AccessScope {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Read => Self::Read,
            Scope::Work => Self::Work,
            Scope::All => Self::All,
        }
    }
}

impl Scope {
    /// Returns the name used in files and answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Work => "work",
            Self::All => "all",
        }
    }
}
