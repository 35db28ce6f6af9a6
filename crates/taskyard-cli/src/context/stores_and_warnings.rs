//! Openers of stores, databases of newer versions, and a command's warnings.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use taskyard::Yard;
use taskyard::config::ConfigWarning;
use taskyard::core::ListId;
use taskyard::hooks::HookWarning;
use taskyard::jobs::JobSettings;
use taskyard::machine::DatabaseError;
use taskyard::opening::{Address, Openers, WrittenAddress};
use taskyard::store::{JournalCare, JournalDamage};
use taskyard_jobs::JobOptions;

use super::Context;
use crate::exit::Problem;
use crate::output::{OtherLists, Output};
use crate::places;

impl Context {
    pub(super) fn openers(&self) -> Openers {
        let openers = Openers::default();
        #[cfg(feature = "postgres")]
        let openers = self.with_databases(openers);
        openers
    }

    /// Opens another store, with a list of this name.
    pub(crate) fn elsewhere(&self, written: &WrittenAddress, list: &ListId) -> Result<(Address, Yard), Problem> {
        let here = self.directory.as_deref().unwrap_or(Path::new(""));
        let address = Address::parse(written, here, &self.openers())?;
        let opened = taskyard::open(&address, self.places()?, &self.openers());
        let opened = opened.map_err(|error| self.not_opened(error))?;
        let yard = Yard::new(opened.store, list.clone(), self.actor()?).with_rules(self.rules()?);
        Ok((address, yard))
    }

    /// Returns the directories and settings of jobs.
    pub(crate) fn job_options(&self, settings: JobSettings) -> Result<JobOptions, Problem> {
        let environment = self.environment_of_children();
        Ok(JobOptions { environment, ..places::jobs(&self.environment, settings)? })
    }

    /// Returns the variables set for child processes. None contains the store's password.
    pub(super) fn environment_of_children(&self) -> Vec<(OsString, OsString)> {
        let variables = self.environment.for_children();
        #[cfg(feature = "postgres")]
        let variables = variables.into_iter().chain(self.emptied_password()).collect();
        variables
    }

    /// Fails if child processes could not open the store, since they get its address without the password.
    pub(crate) fn let_children_in(&self) -> Result<(), Problem> {
        let address = self.address()?;
        match address.lets_children_in(&self.openers()).map_err(|error| self.not_opened(error))? {
            true => Ok(()),
            false => Err(Problem::usage(
                "password_not_handed_on",
                format!("commands get the address `{address}` without its password, and no passfile has it"),
            )
            .hint(
                "write `HOST:PORT:DATABASE:USER:PASSWORD` into ~/.pgpass, `chmod 600` it, and leave the password out",
            )),
        }
    }
}

impl Context {
    /// Lets a command that only shows files work without databases written by a newer Taskyard.
    pub(crate) fn do_without_newer(&self) {
        self.newer.are_done_without.set(true);
    }

    /// Returns the value, or `None` if the database was written by a newer Taskyard and the command works without it.
    pub(super) fn without_newer<T, E: AboutDatabase>(&self, found: Result<T, E>) -> Result<Option<T>, E> {
        match found {
            Err(error) if self.newer.are_done_without.get() && error.is_of_newer() => {
                let (message, mut met) = (error.to_string(), self.newer.met.borrow_mut());
                if !met.contains(&message) {
                    met.push(message);
                }
                Ok(None)
            }
            found => found.map(Some),
        }
    }

    /// Returns whether the command has skipped a newer database.
    pub(super) fn does_without_newer(&self) -> bool {
        !self.newer.met.borrow().is_empty()
    }

    /// Warns on stderr about the skipped databases.
    pub(super) fn warn_of_newer(&self, output: &mut Output) -> io::Result<()> {
        for message in self.newer.met.take() {
            output.warn(&format!("{message}; files are shown without it: upgrade taskyard"))?;
        }
        Ok(())
    }
}

/// An error that may concern a database of ours.
pub(super) trait AboutDatabase: std::fmt::Display {
    /// Returns whether a newer Taskyard wrote the database.
    fn is_of_newer(&self) -> bool;
}

impl AboutDatabase for taskyard::machine::MachineError {
    fn is_of_newer(&self) -> bool {
        matches!(self, Self::Database(DatabaseError::Newer { .. }))
    }
}

impl AboutDatabase for taskyard::teams::TeamError {
    fn is_of_newer(&self) -> bool {
        self.newer_database().is_some()
    }
}

impl Context {
    /// Warns on stderr, once per list, that tasks were read without the journal or with a new one.
    pub(crate) fn warn_of_journals(&self, output: &mut Output) -> io::Result<()> {
        let mut damaged: Vec<(ListId, JournalDamage)> = Vec::new();
        let is_told = self.damage_is_told.replace(true);
        let opened = self.opened.get().filter(|_| !is_told);
        let care = opened.and_then(|opened| opened.store.care());
        for (list, damage) in care.map(JournalCare::damaged_journals).unwrap_or_default() {
            if !damaged.iter().any(|(told, _)| *told == list) {
                damaged.push((list, damage));
            }
        }
        for (list, damage) in damaged {
            output.warn(&format!(
                "the journal of list {list} is damaged: {damage}; repair it with `taskyard doctor --fix`"
            ))?;
        }
        self.warn_of_newer(output)?;
        let newer = care.map(JournalCare::newer_journals).unwrap_or_default();
        for (list, format) in newer {
            output.warn(&format!(
                "the journal of list {list} was written by a newer taskyard (format {format}); tasks are shown without it: \
                 upgrade taskyard"
            ))?;
        }
        Ok(())
    }

    /// Leaves reporting damaged journals to the command.
    pub(crate) fn expect_damage(&self) {
        self.damage_is_told.set(true);
    }

    /// Returns the warnings about ignored settings, both ours and the client's.
    pub(crate) fn ignored_settings(&self) -> Result<Vec<ConfigWarning>, Problem> {
        Ok(self.config()?.warnings.iter().chain(&self.settings_list()?.warnings).cloned().collect())
    }

    /// Warns on stderr about ignored configuration, and about hooks that did not run as written.
    pub(crate) fn tell_warnings(&self, output: &mut Output) -> io::Result<()> {
        let is_told = self.config_is_told.replace(true);
        let of_config = self.config.get().into_iter().flat_map(|config| &config.warnings);
        let of_settings = self.settings_list.get().into_iter().flat_map(|said| &said.warnings);
        for warning in of_config.chain(of_settings).filter(|_| !is_told) {
            output.warn(&config_warning(warning))?;
        }
        for warning in self.hooks.get().map(|hooks| hooks.take_warnings()).into_iter().flatten() {
            match warning {
                HookWarning::Untrusted { .. } => output.warn(&format!("{warning}; run `taskyard trust` there"))?,
                warning => output.warn(&warning.to_string())?,
            }
        }
        Ok(())
    }
}

/// Describes an ignored setting, and what to do about it.
fn config_warning(warning: &ConfigWarning) -> String {
    match warning {
        ConfigWarning::Untrusted { .. } => format!("{warning}; run `taskyard trust` there to apply it"),
        warning => warning.to_string(),
    }
}

impl Context {
    /// Records a write that is not in the journal, such as a new lease.
    pub(crate) fn note_write(&self, list: &ListId) {
        self.written.add(list);
    }

    /// Disregards the writes so far, which were not part of the command.
    pub(crate) fn forget_writes(&self) {
        self.written.clear();
    }

    pub(crate) fn has_written(&self) -> bool {
        !self.written.all().is_empty()
    }

    pub(crate) fn has_written_to(&self, list: &ListId) -> bool {
        self.written.all().contains(list)
    }

    /// Returns the lists written to other than the directory's; `None` if there are none or the directory's list is
    /// unknown.
    pub(crate) fn other_lists_written(&self) -> Option<OtherLists> {
        let mut lists = self.written.all();
        if lists.is_empty() {
            return None;
        }
        let own = self.list_of_directory().ok()?.list;
        lists.retain(|list| *list != own);
        (!lists.is_empty()).then_some(OtherLists { lists, own })
    }
}
