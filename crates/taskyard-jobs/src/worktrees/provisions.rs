//! Provisions of worktrees: untracked files that workers need, copied or linked from the checkout in which work began.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Component, Path};

use super::git::{Git, GitError};
use super::repository::Repository;

/// The file that tells Claude Code what to copy into its worktrees.
const INCLUDE: &str = ".worktreeinclude";

/// What each new worktree gets in addition to the files of its branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provisions {
    /// Patterns, as in `.gitignore`, of untracked files to copy.
    pub copy: Vec<String>,
    /// Paths to link to.
    pub link: Vec<String>,
    /// A shell command to run in each new worktree.
    pub setup: Option<String>,
}

impl Repository {
    /// Copies and links the provisions of a worktree. Existing files are kept.
    pub(super) fn provide(&self, provisions: &Provisions, worktree: &Path) -> Result<(), GitError> {
        let mut given = BTreeSet::new();
        for path in self.files_to_copy(provisions)? {
            let (from, to) = (self.top.join(&path), worktree.join(&path));
            if fs::symlink_metadata(&to).is_ok() {
                continue;
            }
            copy(&from, &to).map_err(GitError::io("cannot copy", &from))?;
            given.insert(path);
        }
        for path in &provisions.link {
            let path = safe(path)?;
            let (from, to) = (self.top.join(path), worktree.join(path));
            if fs::symlink_metadata(&from).is_err() || fs::symlink_metadata(&to).is_ok() {
                continue;
            }
            link(&from, &to).map_err(GitError::io("cannot link", &to))?;
            given.insert(path.to_string_lossy().into_owned());
        }
        self.have_ignored(worktree, &given)
    }

    /// Returns the untracked files that match the patterns. As with Claude Code, patterns in `.worktreeinclude` match
    /// only ignored files.
    fn files_to_copy(&self, provisions: &Provisions) -> Result<Vec<String>, GitError> {
        let git = self.git();
        let mut files = Vec::new();
        if !provisions.copy.is_empty() {
            let patterns = provisions.copy.iter().map(|pattern| format!("--exclude={pattern}"));
            let words = ["ls-files", "-z", "--others", "--ignored"].map(str::to_owned).into_iter().chain(patterns);
            files = git.paths(&words.collect::<Vec<_>>())?;
        }
        let include = self.top.join(INCLUDE);
        if fs::symlink_metadata(&include).is_ok_and(|found| found.is_file()) {
            let from = format!("--exclude-from={INCLUDE}");
            let chosen = git.paths(&["ls-files", "-z", "--others", "--ignored", &from])?;
            let ignored: BTreeSet<String> = ignored(&git, &chosen)?.into_iter().collect();
            files.extend(chosen.into_iter().filter(|path| ignored.contains(path)));
        }
        Ok(files)
    }

    /// Makes git ignore the provisions of a worktree, so that they are not committed: a pattern with a trailing slash,
    /// such as `node_modules/`, does not match a link.
    fn have_ignored(&self, worktree: &Path, given: &BTreeSet<String>) -> Result<(), GitError> {
        let given: Vec<String> = given.iter().cloned().collect();
        let ignored: BTreeSet<String> = ignored(&self.git_in(worktree), &given)?.into_iter().collect();
        let missing: Vec<&String> = given.iter().filter(|path| !ignored.contains(*path)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let path = self.common.join("info").join("exclude");
        let lines: String = missing.iter().map(|path| format!("/{}\n", escaped(path))).collect();
        let write = || {
            fs::create_dir_all(self.common.join("info"))?;
            let before = fs::read_to_string(&path).unwrap_or_default();
            let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
            OpenOptions::new().create(true).append(true).open(&path)?.write_all(format!("{gap}{lines}").as_bytes())
        };
        write().map_err(GitError::io("cannot write", &path))
    }
}

/// Returns which of these paths git ignores.
fn ignored(git: &Git, paths: &[String]) -> Result<Vec<String>, GitError> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let input = paths.join("\0").into_bytes();
    // Git exits with 1 if it ignores none of them.
    match git.run_with_input(&["check-ignore", "-z", "--stdin"], &input) {
        Ok(listed) => {
            let listed = String::from_utf8_lossy(&listed);
            Ok(listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
        }
        Err(GitError::Failed { said, .. }) if said.contains("exit status: 1") => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Returns the path if it stays within its base directory.
fn safe(path: &str) -> Result<&Path, GitError> {
    let path = Path::new(path.trim_end_matches('/'));
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(name) if name != ".git");
    if path.as_os_str().is_empty() || !path.components().all(is_plain) {
        return Err(GitError::Unfit(format!("`{}` cannot be linked: name a path in the checkout", path.display())));
    }
    Ok(path)
}

fn escaped(path: &str) -> String {
    path.chars()
        .flat_map(|character| {
            matches!(character, '*' | '?' | '[' | '\\' | ' ').then_some('\\').into_iter().chain([character])
        })
        .collect()
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    make_parent(to)?;
    let found = fs::symlink_metadata(from)?;
    if found.is_symlink() {
        return link(&fs::read_link(from)?, to);
    }
    // Pipes and sockets are not copied.
    if found.is_file() { fs::copy(from, to).map(drop) } else { Ok(()) }
}

fn link(from: &Path, to: &Path) -> io::Result<()> {
    make_parent(to)?;
    std::os::unix::fs::symlink(from, to)
}

fn make_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

#[cfg(test)]
mod tests {
    use super::{escaped, safe};

    #[test]
    fn links_stay_within_the_checkout() {
        for good in ["node_modules", "a/b/", "target"] {
            assert!(safe(good).is_ok(), "{good}");
        }
        for bad in ["", "/etc", "..", "a/../../b", ".git", ".git/hooks", "."] {
            assert!(safe(bad).is_err(), "{bad}");
        }
        assert_eq!(escaped("a b*[c]"), "a\\ b\\*\\[c]");
    }
}
