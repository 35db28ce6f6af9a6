//! What a change of fields does to a task, and which fields it changed.

use std::fmt;

use crate::{Metadata, Status};

/// A field of a task, as answers name it. The order of the variants is the order in which the client reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// The title.
    Subject,
    /// What there is to do.
    Description,
    /// What is being done, while it is being done.
    ActiveForm,
    /// Who has it.
    Owner,
    /// What else is kept with it.
    Metadata,
    /// Where in its life it is.
    Status,
    /// The tasks that wait for it.
    Blocks,
    /// The tasks it waits for.
    BlockedBy,
}

impl Field {
    /// Every field, in the order the client reports them.
    pub const ALL: [Self; 8] = [
        Self::Subject,
        Self::Description,
        Self::ActiveForm,
        Self::Owner,
        Self::Metadata,
        Self::Status,
        Self::Blocks,
        Self::BlockedBy,
    ];

    /// Returns the key of the field in task files and in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Subject => "subject",
            Self::Description => "description",
            Self::ActiveForm => "activeForm",
            Self::Owner => "owner",
            Self::Metadata => "metadata",
            Self::Status => "status",
            Self::Blocks => "blocks",
            Self::BlockedBy => "blockedBy",
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// What becomes of a task's owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnerChange {
    /// This one has it now. The client can store an empty name.
    Set(String),
    /// Nobody has it any more; the key goes from the file.
    Clear,
}

/// The fields to change; what is none stays as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patch {
    /// The new title.
    pub subject: Option<String>,
    /// The new description.
    pub description: Option<String>,
    /// The new active form.
    pub active_form: Option<String>,
    /// The new status.
    pub status: Option<Status>,
    /// The new owner, or none.
    pub owner: Option<OwnerChange>,
    /// Metadata to merge into what is there, key by key; null takes a key away.
    pub metadata: Option<Metadata>,
}
