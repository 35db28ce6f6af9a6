//! What a command tells on stderr besides its answer: journals that are damaged, and what of the configuration does not count.

use std::io;

use taskyard::config::ConfigWarning;
use taskyard::core::ListId;
use taskyard::hooks::HookWarning;
use taskyard::store::{JournalCare, JournalDamage};

use super::Context;
use crate::output::Output;
use crate::problem::Problem;

impl Context {
    /// Tells on stderr, once for each list, that tasks were read without the journal or with a new one.
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
                "the journal of list {list} is damaged: {damage}; mend it with `taskyard doctor --fix`"
            ))?;
        }
        self.warn_of_newer(output)?;
        let newer = care.map(JournalCare::newer_journals).unwrap_or_default();
        for (list, format) in newer {
            output.warn(&format!(
                "the journal of list {list} was written by a newer taskyard (format {format}); tasks are shown without it: use the newer taskyard"
            ))?;
        }
        Ok(())
    }

    /// Leaves it to the command to tell what is wrong with journals.
    pub(crate) fn expect_damage(&self) {
        self.damage_is_told.set(true);
    }

    /// Returns what of the configuration and of the client's settings does not count.
    pub(crate) fn ignored_settings(&self) -> Result<Vec<ConfigWarning>, Problem> {
        Ok(self.config()?.warnings.iter().chain(&self.settings_list()?.warnings).cloned().collect())
    }

    /// Tells on stderr what of the configuration does not count, and which hooks did not run as written.
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

/// Says what of the configuration does not count, and what to do about it.
fn config_warning(warning: &ConfigWarning) -> String {
    match warning {
        ConfigWarning::Untrusted { .. } => format!("{warning}; run `taskyard trust` there to let it count"),
        warning => warning.to_string(),
    }
}
