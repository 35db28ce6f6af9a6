//! Where hooks are found, and what they are told of the place they run in.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use taskyard_core::Rules;
use taskyard_core::dialect::hook_input::{Common, Teammate};

use crate::config::Config;
use crate::project_slug::slug;

/// Where hooks are found, and what they are told of the place they run in.
#[derive(Clone, Debug)]
pub struct HookSetup {
    /// The client's directory, which holds the user's `settings.json`.
    pub client_config: Option<PathBuf>,
    /// The root of the project: the folder that holds `.git`, else the working directory.
    pub project: PathBuf,
    /// The working directory.
    pub directory: PathBuf,
    /// What `taskyard.toml` says.
    pub config: Config,
    /// Our data directory, which remembers the directories the user trusts.
    pub data: Option<PathBuf>,
    /// The variables that hooks and checks get in place of ours.
    pub environment: Vec<(OsString, OsString)>,
    /// The client's session.
    pub session: Option<String>,
    /// Who acts, where that is a member of a team.
    pub teammate: Option<Teammate>,
    /// The rules in force.
    pub rules: Rules,
    /// The turn of the hook that started us, where one did ([`super::HOOK_TURN`]).
    pub turn: Option<String>,
}

/// The texts that every event begins with.
pub(crate) struct CommonTexts {
    session: String,
    transcript: String,
    directory: String,
}

impl HookSetup {
    pub(super) fn common(&self) -> CommonTexts {
        let session = self.session.clone().unwrap_or_default();
        let transcript = self.client_config.as_deref().filter(|_| !session.is_empty());
        CommonTexts {
            transcript: transcript.map(|config| transcript_path(config, &self.directory, &session)).unwrap_or_default(),
            directory: self.directory.to_string_lossy().into_owned(),
            session,
        }
    }
}

impl CommonTexts {
    pub(crate) fn shape(&self) -> Common<'_> {
        Common { session_id: &self.session, transcript_path: &self.transcript, cwd: &self.directory }
    }
}

/// Returns where the client writes a session down.
fn transcript_path(config: &Path, directory: &Path, session: &str) -> String {
    let path = config.join("projects").join(slug(directory)).join(format!("{session}.jsonl"));
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::transcript_path;

    #[test]
    fn the_transcript_is_found_by_directory_and_session() {
        let path = transcript_path(Path::new("/home/ana/.claude"), Path::new("/home/ana/my_work.é"), "s-1");
        assert_eq!(path, "/home/ana/.claude/projects/-home-ana-my-work--/s-1.jsonl");
    }
}
