//! Applies plans, and reports whether an agent is set up.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use taskyard::machine::Machine;

use super::planning::{behind_links, read};
use super::{Agent, Scope, SetupError, Wish};
use crate::agent::{Ours, SetupOptions, Target};
use crate::config_edit::{Added, json_entries, toml_entries, yaml_entries};
use crate::planning::{Change, Outcome, Plan};

impl Plan {
    /// Applies a plan. The record needed to undo it is first written to our data directory.
    pub fn apply(&self, data: &Path) -> Result<(), SetupError> {
        if !self.changes_anything() {
            return Ok(());
        }
        let machine = Machine::open(data)?;
        self.changes.iter().try_for_each(|change| change.apply(&machine))
    }
}

impl Change {
    fn apply(&self, machine: &Machine) -> Result<(), SetupError> {
        if read(&self.real)? != self.before {
            return Err(SetupError::ChangedMeanwhile { path: self.path.clone() });
        }
        match (self.outcome, &self.after) {
            (Outcome::Unchanged, _) if self.record.is_some() => {}
            (Outcome::Unchanged, _) => machine.forget_setup_record(&self.real)?,
            (_, None) => {
                fs::remove_file(&self.real).map_err(SetupError::io("cannot remove", &self.real))?;
                let directories = self.record.iter().flat_map(|record| record.directories.iter().rev());
                // Failing because it is no longer empty, or is gone, is harmless.
                directories.for_each(|directory| drop(fs::remove_dir(directory)));
                machine.forget_setup_record(&self.real)?;
            }
            (_, Some(text)) => {
                if let Some(record) = &self.record {
                    let record = serde_json::to_string(record).expect("a record is plain text and numbers");
                    machine.keep_setup_record(&self.real, &record)?;
                }
                replace(&self.real, text).map_err(SetupError::io("cannot write", &self.real))?;
                if self.record.is_none() {
                    machine.forget_setup_record(&self.real)?;
                }
            }
        }
        Ok(())
    }
}

/// Replaces a file atomically: a reader sees the old text or the new one. The mode is kept.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    fs::create_dir_all(directory)?;
    let temporary = temporary(path);
    let written = write(&temporary, path, text).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // Do not leave the temporary file behind; the first error is reported.
        let _ = fs::remove_file(&temporary);
    }
    written?;
    File::open(directory)?.sync_all()
}

fn write(temporary: &Path, path: &Path, text: &str) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true);
    let before = fs::metadata(path).ok();
    // A private file must not become public, not even for a moment.
    #[cfg(unix)]
    if before.is_some() {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let mut file = options.open(temporary)?;
    file.write_all(text.as_bytes())?;
    if let Some(before) = before {
        #[cfg(unix)]
        keep_owner(&file, &before);
        file.set_permissions(before.permissions())?;
    }
    file.sync_all()
}

/// Restores the owner of the file; a user other than root already owns it.
#[cfg(unix)]
fn keep_owner(file: &File, before: &fs::Metadata) {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let is_theirs = file.metadata().is_ok_and(|now| (now.uid(), now.gid()) == (before.uid(), before.gid()));
    if !is_theirs && let Err(error) = fchown(file, Some(before.uid()), Some(before.gid())) {
        tracing::debug!(%error, "the owner of a configuration file could not be kept");
    }
}

fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.taskyard-{}", std::process::id()))
}

/// Whether our server is registered with an agent in one scope.
#[derive(Debug)]
pub enum Registration {
    /// It is registered in our form.
    Registered,
    /// A server of our name is registered in a different form.
    Otherwise,
    /// It is not registered.
    Missing,
    /// The agent has no such scope.
    NoSuchScope,
    /// Its file cannot be read.
    Unreadable(SetupError),
}

impl Agent {
    /// Returns the path that shows that the agent is installed: its program, or else one of its files or directories in
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
                // Its directory may exist only because of our lists; Claude Code writes this file at its first start.
                Self::Claude => path.is_file().then_some(path),
                _ => path.parent().filter(|directory| directory.is_dir()).map(Path::to_owned),
            }
        })
    }

    /// Returns whether our server is registered with the agent.
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

/// Returns what adding our server would change in a file.
fn standing_in(target: &Target) -> Result<Added, SetupError> {
    let text = read(&behind_links(&target.path)?)?.unwrap_or_default();
    let added = match &target.ours {
        Ours::Json(entries) => entries.first().map(|entry| json_entries::add(&text, entry)),
        Ours::Toml(table) => Some(toml_entries::add(&text, table)),
        Ours::Yaml(entry) => Some(yaml_entries::add(&text, entry)),
        Ours::Whole(_) => None,
    };
    let added = added.unwrap_or(Ok(Added::AlreadyThere));
    added.map_err(|unfit| SetupError::Unfit { path: target.path.clone(), unfit })
}
