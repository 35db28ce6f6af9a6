//! Watching the directories of teams and inboxes.

use std::fs;
use std::path::{Path, PathBuf};

use taskyard_core::TeamName;

use super::team_paths::TeamPaths;
use crate::store::Moved;
use crate::teams::TeamWatch;
use crate::watching::WatchedDirectories;

/// Watches the directories in which something moves when an agent is written to or joins a team.
#[derive(Debug)]
pub(super) struct FileWatch {
    paths: TeamPaths,
    watched: WatchedDirectories,
}

impl FileWatch {
    pub(super) fn new(paths: TeamPaths, moved: Moved) -> Self {
        Self { paths, watched: WatchedDirectories::new(move || moved()) }
    }

    fn directories(&self, teams: &[TeamName]) -> Vec<PathBuf> {
        let mut places = vec![self.paths.root.clone()];
        let directories = fs::read_dir(&self.paths.root).into_iter().flatten().flatten();
        let is_team = |entry: &fs::DirEntry| !entry.file_name().to_string_lossy().starts_with('.');
        places.extend(directories.filter(is_team).map(|entry| entry.path()).filter(|path| path.is_dir()));
        places.sort();
        for inbox in teams.iter().flat_map(|team| self.paths.inbox_directories(team)) {
            if !places.contains(&inbox) {
                places.push(inbox);
            }
        }
        places
    }
}

impl TeamWatch for FileWatch {
    fn keep_up(&mut self, teams: &[TeamName]) -> bool {
        let mut wanted = self.directories(teams);
        loop {
            let paths: Vec<&Path> = wanted.iter().map(PathBuf::as_path).collect();
            if !self.watched.keep_up(&paths) {
                return false;
            }
            // What comes while the watching begins is watched, too.
            let now = self.directories(teams);
            if now == wanted {
                return true;
            }
            wanted = now;
        }
    }
}
