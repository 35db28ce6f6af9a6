//! Whether the new owner of a task was told.

/// Whether the new owner of a task was told.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "internals"), non_exhaustive)]
pub enum OwnerTold {
    /// A message lies in its inbox.
    Sent {
        /// Who.
        to: String,
    },
    /// It could not be written.
    Failed {
        /// Who.
        to: String,
        /// Why.
        why: String,
    },
}

impl OwnerTold {
    /// Returns why it could not be told.
    pub fn failure(&self) -> Option<&str> {
        match self {
            Self::Sent { .. } => None,
            Self::Failed { why, .. } => Some(why),
        }
    }
}
