//! The list that the client's settings files name, for people and programs that the client does not tell: its own tools get the variable from
//! there.

use std::path::{Path, PathBuf};

use taskyard::config::{ConfigWarning, Origin};
use taskyard::core::ListId;
use taskyard::hooks::task_list_in;
use taskyard::machine::{Checkout, Machine};

use super::list_sources::SettingsList;
use super::{Context, once};
use crate::places;
use crate::problem::Problem;

/// What the settings files say, as warnings name it.
const KEY: &str = "env.CLAUDE_CODE_TASK_LIST_ID";

impl Context {
    /// Returns what the client's settings files say of the list.
    pub(super) fn settings_list(&self) -> Result<&SettingsList, Problem> {
        once(&self.settings_list, || self.look_into_settings())
    }

    /// Looks in the client's order: the project's local file, the project's, the user's. A worktree without such a file has those of the main
    /// checkout.
    fn look_into_settings(&self) -> Result<SettingsList, Problem> {
        let client = places::client_config(&self.environment).ok();
        let mut said = SettingsList::default();
        let mut folders: Vec<PathBuf> = self.project().into_iter().map(|top| top.join(".claude")).collect();
        folders.extend(self.checkout().filter(|checkout| checkout.is_worktree()).map(|main| main.root.join(".claude")));
        // In the home directory these are the user's own.
        folders.retain(|folder| Some(folder) != client.as_ref());
        for name in ["settings.local.json", "settings.json"] {
            for path in folders.iter().map(|folder| folder.join(name)) {
                match task_list_in(&path, Origin::Project) {
                    Ok(None) => {}
                    Ok(Some(list)) if self.may_be_named(&list)? => {
                        return Ok(SettingsList { list: Some(list), ..said });
                    }
                    Ok(Some(_)) => said.warnings.push(ConfigWarning::Untrusted { path, keys: vec![KEY] }),
                    Err(doubt) => said.warnings.push(ConfigWarning::NotCounted { path, doubt }),
                }
            }
        }
        let of_user = client.map(|client| client.join("settings.json"));
        match of_user.as_ref().map(|path| task_list_in(path, Origin::User)) {
            Some(Ok(list)) => said.list = list,
            Some(Err(doubt)) => {
                said.warnings.extend(of_user.map(|path| ConfigWarning::NotCounted { path, doubt }));
            }
            None => {}
        }
        Ok(said)
    }

    /// Tells whether a file that came with the project may name a list: the user trusts the project, or no other directory uses the list. A clone
    /// of the same repository is no other: its files have the same source.
    fn may_be_named(&self, list: &str) -> Result<bool, Problem> {
        let (Ok(list), Some(here)) = (ListId::new(list), self.project()) else { return Ok(false) };
        let Some(machine) = self.machine()? else { return Ok(true) };
        let Some(used) = self.if_known(machine.directories_of(&list, None))? else { return Ok(false) };
        let is_other = |directory: &PathBuf| match (self.checkout(), Checkout::around(directory)) {
            (Some(own), Some(other)) => own.common != other.common && !own.has_origin_of(&other),
            _ => directory != here,
        };
        let is_free = !used.iter().any(is_other) && !self.is_list_of_other_team(&list, here);
        Ok(is_free || self.trusts(machine, here)?)
    }

    fn trusts(&self, machine: &Machine, here: &Path) -> Result<bool, Problem> {
        let main = self.checkout().map_or(here, |checkout| &checkout.root);
        Ok(machine.is_trusted(here)? || machine.is_trusted(main)?)
    }

    /// Tells whether a team that was made or joined elsewhere has the list.
    fn is_list_of_other_team(&self, list: &ListId, here: &Path) -> bool {
        let team =
            self.teams().ok().filter(|teams| teams.are_any()).and_then(|teams| teams.team_of(list).ok().flatten());
        let is_elsewhere = |cwd: &String| !Path::new(cwd).starts_with(here);
        team.is_some_and(|team| team.members.iter().filter_map(|member| member.cwd.as_ref()).any(is_elsewhere))
    }
}
