//! One file of settings that was read.

use std::path::PathBuf;

use super::settings::Settings;

/// Whose file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The user's own.
    User,
    /// One that came with a directory; what it wants run needs the user's trust.
    Project,
}

/// One file that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// The file.
    pub path: PathBuf,
    /// Whose file it is: the user's, or that of a project.
    pub origin: Origin,
    /// What it says.
    pub settings: Settings,
    /// The keys in it that mean nothing to us.
    pub(crate) unknown: Vec<String>,
    /// The keys in it that count only where its directory is trusted.
    pub needs_trust: Vec<&'static str>,
}
