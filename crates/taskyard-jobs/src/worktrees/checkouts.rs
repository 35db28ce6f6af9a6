//! The checkouts of a repository as git lists them, and their state.

use std::path::{Path, PathBuf};

use super::git::{Git, GitError};

/// One checkout of the repository: the main one, or a worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Checkout {
    pub(super) path: PathBuf,
    /// The commit that is checked out.
    pub(super) head: Option<String>,
    /// Its branch, without `refs/heads/`; `None` if HEAD is detached.
    pub(super) branch: Option<String>,
    /// Whether it is a bare repository, without files.
    pub(super) is_bare: bool,
    /// Why it is locked, if it is.
    pub(super) locked: Option<String>,
    /// Whether its directory no longer exists.
    pub(super) is_gone: bool,
}

/// The uncommitted files of a checkout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Uncommitted {
    /// Files that are modified, staged or in conflict.
    pub(super) tracked: Vec<String>,
    /// Files that are neither tracked nor ignored.
    pub(super) untracked: Vec<String>,
}

impl Uncommitted {
    pub(super) fn is_empty(&self) -> bool {
        self.tracked.is_empty() && self.untracked.is_empty()
    }

    pub(super) fn count(&self) -> usize {
        self.tracked.len() + self.untracked.len()
    }
}

/// The files in a checkout's git directory that show an operation in progress.
const GOING_ON: [(&str, &str); 6] = [
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("BISECT_LOG", "a bisection"),
];

/// Returns every checkout of a repository.
pub(super) fn checkouts(git: &Git) -> Result<Vec<Checkout>, GitError> {
    let mut all = parse(&git.run(&["worktree", "list", "--porcelain", "-z"])?);
    // Git does not call a locked worktree prunable.
    for checkout in all.iter_mut().filter(|checkout| checkout.locked.is_some()) {
        checkout.is_gone |= !checkout.path.exists();
    }
    Ok(all)
}

/// Returns what was found in a checkout, or `None` if finding it failed because the checkout was removed meanwhile: other
/// workers remove their worktrees at any time.
pub(super) fn unless_removed<T>(checkout: &Path, found: Result<T, GitError>) -> Result<Option<T>, GitError> {
    match found {
        Err(_) if !checkout.join(".git").exists() => Ok(None),
        found => found.map(Some),
    }
}

fn parse(listed: &str) -> Vec<Checkout> {
    let mut all: Vec<Checkout> = Vec::new();
    for line in listed.split('\0') {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        if key == "worktree" {
            all.push(Checkout { path: value.into(), ..Checkout::default() });
            continue;
        }
        let Some(checkout) = all.last_mut() else { continue };
        match key {
            "HEAD" => checkout.head = Some(value.to_owned()),
            "branch" => checkout.branch = value.strip_prefix("refs/heads/").map(str::to_owned),
            "bare" => checkout.is_bare = true,
            "locked" => checkout.locked = Some(value.to_owned()),
            "prunable" => checkout.is_gone = true,
            _ => {}
        }
    }
    all
}

/// Returns the uncommitted files of a checkout.
pub(super) fn uncommitted(git: &Git) -> Result<Uncommitted, GitError> {
    let listed = git.run(&["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"])?;
    let mut found = Uncommitted::default();
    for entry in listed.split('\0').filter(|entry| entry.len() > 3) {
        let (code, path) = (&entry[..2], entry[3..].to_owned());
        if code == "??" { found.untracked.push(path) } else { found.tracked.push(path) }
    }
    Ok(found)
}

/// Returns the operation in progress in a checkout, such as a merge or a rebase.
pub(super) fn going_on(git: &Git) -> Result<Option<&'static str>, GitError> {
    let directory = own_directory(git)?;
    let found = GOING_ON.iter().find(|(name, _)| directory.join(name).exists());
    Ok(found.map(|(_, what)| *what))
}

/// Returns the git directory of a checkout.
pub(super) fn own_directory(git: &Git) -> Result<PathBuf, GitError> {
    git.run(&["rev-parse", "--absolute-git-dir"]).map(PathBuf::from)
}

/// Returns the branch of a checkout; `None` if HEAD is detached.
pub(super) fn branch_of(git: &Git) -> Result<Option<String>, GitError> {
    let head = git.try_run(&["symbolic-ref", "-q", "HEAD"])?;
    Ok(head.and_then(|head| head.strip_prefix("refs/heads/").map(str::to_owned)))
}

/// Returns whether a commit is in the history of another one; `false` if it does not exist.
pub(super) fn contains(git: &Git, history: &str, commit: &str) -> Result<bool, GitError> {
    let exists = git.try_run(&["cat-file", "-e", &format!("{commit}^{{commit}}")])?.is_some();
    if !exists {
        return Ok(false);
    }
    git.asks(&["merge-base", "--is-ancestor", commit, history])
}

/// Returns the commit at a ref, if there is one.
pub(super) fn commit_at(git: &Git, name: &str) -> Result<Option<String>, GitError> {
    git.try_run(&["rev-parse", "-q", "--verify", &format!("{name}^{{commit}}")])
}

/// Returns whether two paths lead to the same place, after resolving links.
pub(super) fn is_same_place(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    one == other || real(one) == real(other)
}

#[cfg(test)]
mod tests {
    use super::{Checkout, parse};

    #[test]
    fn every_line_of_gits_list_is_understood() {
        let listed = "worktree /r\0HEAD a1\0branch refs/heads/main\0\0worktree /r b\nc\0HEAD b2\0detached\0locked why so\0\0worktree /gone\0HEAD c3\0branch refs/heads/x/y\0prunable gitdir file points to non-existent location\0\0worktree /bare\0bare\0\0";
        let all = parse(listed);
        let plain = |path: &str| Checkout { path: path.into(), ..Checkout::default() };
        assert_eq!(
            all,
            [
                Checkout { head: Some("a1".into()), branch: Some("main".into()), ..plain("/r") },
                Checkout { head: Some("b2".into()), locked: Some("why so".into()), ..plain("/r b\nc") },
                Checkout { head: Some("c3".into()), branch: Some("x/y".into()), is_gone: true, ..plain("/gone") },
                Checkout { is_bare: true, ..plain("/bare") },
            ]
        );
    }
}
