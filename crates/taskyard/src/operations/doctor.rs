//! Finding what is wrong with a list, and mending it.

use taskyard_core::rules::health::FindingCode;
use taskyard_core::rules::mending::Mend;
use taskyard_core::{Revision, TaskId};

use crate::store::Litter;
use crate::{Error, Yard};

/// Something that is wrong with a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind of defect it is.
    pub code: FindingCode,
    /// The task it is about.
    pub task: Option<TaskId>,
    /// The name of the file it is about.
    pub file: Option<String>,
    /// What is wrong, in words.
    pub message: String,
    /// How it can be mended; none where only a person can.
    pub fix: Option<Fix>,
}

/// How a defect can be mended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fix {
    /// By changing tasks.
    Mend(Mend),
    /// By removing what serves nobody.
    Sweep(Litter),
}

impl Fix {
    /// Says in words what would be done.
    pub fn describe(&self) -> String {
        match self {
            Self::Mend(mend) => mend.describe(),
            Self::Sweep(Litter::StaleLock { path, .. }) => format!("remove the lock `{}`", path.display()),
            Self::Sweep(Litter::Leftover { path }) => format!("remove `{}`", path.display()),
            Self::Sweep(Litter::BadMark { path, .. }) => format!("remove `{}`", path.display()),
        }
    }
}

/// What became of findings that were to be mended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mended {
    /// What was mended.
    pub fixed: Vec<Finding>,
    /// What was left: it has no fix, or is no longer as it was found.
    pub left: Vec<Finding>,
    /// The commit that changed tasks, where any changed.
    pub revision: Option<Revision>,
}

impl Yard {
    /// Looks the list over, changing nothing.
    pub fn examine(&self) -> Result<Vec<Finding>, Error> {
        todo!()
    }

    /// Mends what was found, as far as it is still so.
    pub fn mend(&self, _findings: &[Finding]) -> Result<Mended, Error> {
        todo!()
    }
}
