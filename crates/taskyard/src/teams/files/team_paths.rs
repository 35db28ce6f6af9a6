//! Where everything of a team is.
//!
//! The client keeps a team's file in a directory whose name is lower-cased, and inboxes in one whose name is not. For a name
//! with capitals or underscores that is two directories, and a message may lie in either. We look in both, and write where an
//! inbox already is.

use std::path::{Path, PathBuf};

use taskyard_core::{TeamName, Timestamp, inbox_name};

/// The directory of all teams.
#[derive(Clone, Debug)]
pub(super) struct TeamPaths {
    pub(super) root: PathBuf,
}

impl TeamPaths {
    /// Returns the directory that holds a team's file.
    pub(super) fn team(&self, team: &TeamName) -> PathBuf {
        self.root.join(team.directory())
    }

    /// Returns the file of a team.
    pub(super) fn file(&self, team: &TeamName) -> PathBuf {
        self.team(team).join("config.json")
    }

    /// Returns the directories that inboxes may be in, the likelier first.
    pub(super) fn inbox_directories(&self, team: &TeamName) -> Vec<PathBuf> {
        let mut directories = vec![self.root.join(team.inbox_directory()).join("inboxes")];
        let other = self.team(team).join("inboxes");
        if !directories.contains(&other) {
            directories.push(other);
        }
        directories
    }

    /// Returns the inboxes of an agent, where there are any.
    pub(super) fn inboxes(&self, team: &TeamName, agent: &str) -> Vec<PathBuf> {
        let file = format!("{}.json", inbox_name(agent));
        self.inbox_directories(team)
            .into_iter()
            .map(|directory| directory.join(&file))
            .filter(|path| path.symlink_metadata().is_ok())
            .collect()
    }

    /// Returns the inbox to write to: the one there is, else one in a directory there is, else beside the team's file.
    pub(super) fn inbox_to_write(&self, team: &TeamName, agent: &str) -> PathBuf {
        if let Some(inbox) = self.inboxes(team, agent).into_iter().next() {
            return inbox;
        }
        let directories = self.inbox_directories(team);
        let directory = directories.iter().find(|directory| directory.is_dir());
        let directory = directory.cloned().unwrap_or_else(|| self.team(team).join("inboxes"));
        directory.join(format!("{}.json", inbox_name(agent)))
    }

    /// Returns the inbox in a directory of a given name, whatever there is: what the client does with the names it has.
    pub(super) fn inbox_in(&self, directory: &str, agent: &str) -> PathBuf {
        self.root.join(directory).join("inboxes").join(format!("{}.json", inbox_name(agent)))
    }
}

/// Returns the key under which our memory knows a team: where it is, and which one of those that were there.
pub(super) fn key(directory: &Path, made: Timestamp) -> String {
    format!("{}#{}", directory.display(), made.0)
}

/// Returns where a team is, or was, and when it was made.
pub(super) fn parse_key(key: &str) -> Option<(&Path, Timestamp)> {
    let (place, made) = key.rsplit_once('#')?;
    Some((Path::new(place), Timestamp(made.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use taskyard_core::TeamName;

    use super::TeamPaths;

    #[test]
    fn an_inbox_is_written_where_it_is_and_else_beside_the_team() {
        let root = tempfile::tempdir().unwrap();
        let paths = TeamPaths { root: root.path().to_owned() };
        let team = TeamName::new("My_Team").unwrap();
        let relative = |agent: &str| {
            let path = paths.inbox_to_write(&team, agent);
            path.strip_prefix(root.path()).unwrap().to_str().unwrap().to_owned()
        };
        fs::create_dir_all(root.path().join("my-team")).unwrap();
        assert_eq!(relative("bob"), "my-team/inboxes/bob.json");
        fs::create_dir_all(root.path().join("My_Team/inboxes")).unwrap();
        assert_eq!(relative("bob"), "My_Team/inboxes/bob.json");
        fs::create_dir_all(root.path().join("my-team/inboxes")).unwrap();
        fs::write(root.path().join("my-team/inboxes/bob.json"), "[]").unwrap();
        assert_eq!(relative("bob"), "my-team/inboxes/bob.json");
        assert_eq!(relative("../eve"), "My_Team/inboxes/---eve.json");
    }
}
