//! How things stand with an agent: whether it is installed, and whether it knows us. Nothing is written here.

use std::path::{Path, PathBuf};

use crate::config_edit::{Added, json, toml, yaml};

use super::planning::{behind_links, read};
use super::setup_options::SetupOptions;
use super::target::{Ours, Target};
use super::{Agent, Scope, SetupError, Wish};

/// Whether an agent knows our server, in one scope.
#[derive(Debug)]
pub enum Registration {
    /// It does, as we would have it.
    Registered,
    /// It has a server of our name, registered in another way than ours.
    Otherwise,
    /// It does not.
    Missing,
    /// The agent has no such scope.
    NoSuchScope,
    /// Its file cannot be read.
    Unreadable(SetupError),
}

impl Agent {
    /// Returns what shows that the agent is installed: its program in one of the directories for programs, else a file or directory of its own in
    /// the user's home.
    pub fn found(self, options: &SetupOptions) -> Option<PathBuf> {
        let named = |directory: &PathBuf| {
            let programs =
                self.programs().iter().map(|name| directory.join(format!("{name}{}", std::env::consts::EXE_SUFFIX)));
            programs.into_iter().find(|program| program.is_file())
        };
        let program = options.programs.iter().find_map(named);
        program.or_else(|| {
            let path = self.targets(options, Scope::User, Wish::Register).ok()?.into_iter().next()?.path;
            match self {
                // Its directory may be there for our lists alone; this file it writes at its first start.
                Self::Claude => path.is_file().then_some(path),
                _ => path.parent().filter(|directory| directory.is_dir()).map(Path::to_owned),
            }
        })
    }

    /// Tells whether the agent knows our server.
    pub fn registration(self, scope: Scope, options: &SetupOptions) -> Registration {
        let first = self.targets(options, scope, Wish::Register).map(|targets| targets.into_iter().next());
        match first.and_then(|target| target.as_ref().map(standing_in).transpose()) {
            Ok(Some(Added::AlreadyThere)) => Registration::Registered,
            Ok(Some(Added::ThereOtherwise)) => Registration::Otherwise,
            Ok(Some(Added::Now { .. }) | None) => Registration::Missing,
            Err(SetupError::OnlyForUser { .. }) => Registration::NoSuchScope,
            Err(error) => Registration::Unreadable(error),
        }
    }
}

/// Returns what adding our server to a file would do.
fn standing_in(target: &Target) -> Result<Added, SetupError> {
    let text = read(&behind_links(&target.path)?)?.unwrap_or_default();
    let added = match &target.ours {
        Ours::Json(entries) => entries.first().map(|entry| json::add(&text, entry)),
        Ours::Toml(table) => Some(toml::add(&text, table)),
        Ours::Yaml(entry) => Some(yaml::add(&text, entry)),
        Ours::Whole(_) => None,
    };
    let added = added.unwrap_or(Ok(Added::AlreadyThere));
    added.map_err(|unfit| SetupError::Unfit { path: target.path.clone(), unfit })
}
