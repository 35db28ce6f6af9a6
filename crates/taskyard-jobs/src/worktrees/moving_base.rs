//! Moving the base branch to a checked commit, together with its checkout.
//!
//! The swap is `git update-ref NEW OLD`, or a push that names the commit it replaces. Meanwhile, the checkout's
//! `index.lock` keeps other git commands out. We write a description of the move into that file, so that an
//! interrupted move is recognised and either finished or reverted.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use taskyard::failpoint::reach;

use super::checkouts::{Checkout, branch_of, commit_at, contains, going_on, own_directory};
use super::git::{Git, GitError};
use super::repository::Repository;

/// The result of moving the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Moved {
    /// The base is at the new commit.
    Done,
    /// The base was not at the expected commit.
    Elsewhere,
    /// A checkout of the base has changes, or is in use.
    Unready { checkout: PathBuf, why: String },
}

/// The contents of `index.lock` while a checkout is moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct MoveNote {
    /// An explanation for a person who finds the file.
    taskyard: String,
    base: String,
    old: String,
    new: String,
}

const EXPLANATION: &str =
    "taskyard is moving this checkout to a merged commit; if it was killed, `taskyard doctor --fix` finishes it";

impl Repository {
    /// Moves the base from one commit to another, together with its checkout.
    pub(super) fn move_base(&self, old: &str, new: &str, lock: &Arc<File>) -> Result<Moved, GitError> {
        let Some(remote) = &self.remote else { return self.move_local(old, new, lock) };
        let name = format!("refs/heads/{}", self.base);
        let (refspec, lease) = (format!("{new}:{name}"), format!("--force-with-lease={name}:{old}"));
        let pushed = self.git().holding(lock).run(&["push", "--quiet", "--no-verify", &lease, remote, &refspec]);
        match pushed {
            Ok(_) => {}
            Err(error) if self.base_commit()? == old => return Err(error),
            Err(_) => return Ok(Moved::Elsewhere),
        }
        reach("worktree: base moved");
        self.base_commit()?;
        // The merge is done; the local branch follows if possible.
        if let Some(local) = commit_at(&self.git(), &name)?
            && local != new
            && contains(&self.git(), new, &local)?
            && let Err(error) = self.move_local(&local, new, lock)
        {
            tracing::warn!(%error, "the local base stays behind");
        }
        Ok(Moved::Done)
    }

    fn move_local(&self, old: &str, new: &str, lock: &Arc<File>) -> Result<Moved, GitError> {
        // One that is locked and gone may come back, for example on a removable disk.
        let has_base = |checkout: &Checkout| {
            let may_be_used = !checkout.is_gone || checkout.locked.is_some();
            checkout.branch.as_deref() == Some(&self.base) && may_be_used && !checkout.is_bare
        };
        let having: Vec<Checkout> = self.checkouts()?.into_iter().filter(has_base).collect();
        match &having[..] {
            [] => {
                let moved = self.swap(&self.git().holding(lock), old, new)?;
                reach("worktree: base moved");
                Ok(moved)
            }
            [checkout] if checkout.is_gone => Ok(Moved::Unready {
                checkout: checkout.path.clone(),
                why: "it is locked and does not exist".to_owned(),
            }),
            [checkout] => self.move_with_checkout(&checkout.path, old, new, lock),
            [_, second, ..] => {
                Ok(Moved::Unready { checkout: second.path.clone(), why: format!("{} is checked out twice", self.base) })
            }
        }
    }

    /// Moves the branch if it is at the expected commit.
    fn swap(&self, git: &Git, old: &str, new: &str) -> Result<Moved, GitError> {
        let name = format!("refs/heads/{}", self.base);
        match git.run(&["update-ref", "-m", "taskyard: merge", &name, new, old]) {
            Ok(_) => Ok(Moved::Done),
            Err(error) => match commit_at(git, &name)? {
                Some(at) if at == old => Err(error),
                _ => Ok(Moved::Elsewhere),
            },
        }
    }

    fn move_with_checkout(&self, path: &Path, old: &str, new: &str, lock: &Arc<File>) -> Result<Moved, GitError> {
        let git = self.git_in(path).holding(lock);
        let own = own_directory(&git)?;
        let unready = |why: String| Ok(Moved::Unready { checkout: path.to_owned(), why });
        let note = MoveNote {
            taskyard: EXPLANATION.to_owned(),
            base: self.base.clone(),
            old: old.to_owned(),
            new: new.to_owned(),
        };
        let Some(locked) = LockedIndex::take(&own, &note)? else {
            return unready("another git command is at work in it".to_owned());
        };
        reach("worktree: checkout locked");
        if branch_of(&git)?.as_deref() != Some(&self.base) {
            locked.release()?;
            return Ok(Moved::Elsewhere);
        }
        if let Some(what) = going_on(&git)? {
            locked.release()?;
            return unready(format!("{what} is in progress in it"));
        }
        let staged = git.on_index(&locked.index);
        // Files whose timestamps alone have changed do not count as modified.
        let _ = staged.try_run(&["update-index", "-q", "--ignore-submodules", "--refresh"])?;
        let is_clean = staged.asks(&["diff-index", "--cached", "--quiet", "--ignore-submodules", old, "--"])?
            && staged.asks(&["diff-files", "--quiet", "--ignore-submodules"])?;
        if !is_clean {
            locked.release()?;
            return unready("it has uncommitted changes".to_owned());
        }
        if let Err(error) = staged.run(&["read-tree", "-m", "-u", old, new]) {
            // It normally refuses before it changes anything, but may fail half way, for example on a full disk.
            go_back(&git, old, new)?;
            locked.release()?;
            return match error {
                GitError::Failed { said, .. } => unready(first_lines(&said)),
                error => Err(error),
            };
        }
        reach("worktree: files moved");
        match self.swap(&git, old, new) {
            Ok(Moved::Done) => {}
            other => {
                go_back(&git, old, new)?;
                locked.release()?;
                return other;
            }
        }
        reach("worktree: base moved");
        locked.put_in_place()?;
        Ok(Moved::Done)
    }

    /// Finishes or reverts moves that killed processes left unfinished, and returns their checkouts. The caller must
    /// hold the merge lock, so that no other process is moving them.
    pub(super) fn finish_moves(&self, lock: &Arc<File>) -> Result<Vec<PathBuf>, GitError> {
        let mut finished = Vec::new();
        for Move { checkout, locked, note } in self.moves_left()? {
            let git = self.git_in(&checkout).holding(lock);
            let at = commit_at(&git, &format!("refs/heads/{}", note.base))?;
            if at.as_deref() == Some(&note.new) {
                locked.put_in_place()?;
            } else {
                go_back(&git, &note.old, &note.new)?;
                locked.release()?;
            }
            finished.push(checkout);
        }
        Ok(finished)
    }

    /// Returns the checkouts in which a move is unfinished, because its process was killed or is still working.
    pub(super) fn unfinished_moves(&self) -> Result<Vec<PathBuf>, GitError> {
        Ok(self.moves_left()?.into_iter().map(|left| left.checkout).collect())
    }

    /// Returns the unfinished moves of all checkouts that exist. Reads their git directories instead of running git in
    /// them, because other workers remove their worktrees at any time.
    fn moves_left(&self) -> Result<Vec<Move>, GitError> {
        let mut left = Vec::new();
        if let Some((locked, note)) = LockedIndex::left_in(&self.common)? {
            let main = self.checkouts()?.into_iter().next().filter(|main| !main.is_bare);
            left.extend(main.map(|main| Move { checkout: main.path, locked, note }));
        }
        let worktrees = self.common.join("worktrees");
        let entries = match fs::read_dir(&worktrees) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(left),
            entries => entries.map_err(GitError::io("cannot read", &worktrees))?,
        };
        for own in entries.flatten().map(|entry| entry.path()) {
            let Some((locked, note)) = LockedIndex::left_in(&own)? else { continue };
            // This file has the path of the worktree's `.git`.
            let link = fs::read_to_string(own.join("gitdir")).map(|link| own.join(link.trim_end()));
            let Some(link) = link.ok().filter(|link| link.exists()) else { continue };
            left.extend(link.parent().map(|checkout| Move { checkout: checkout.to_owned(), locked, note }));
        }
        Ok(left)
    }
}

/// A move that was begun.
struct Move {
    checkout: PathBuf,
    locked: LockedIndex,
    note: MoveNote,
}

/// The locked index of a checkout, which no other git command may write.
struct LockedIndex {
    /// The index of the checkout.
    place: PathBuf,
    /// Git's lock file.
    lock: PathBuf,
    /// The copy of the index that is modified.
    index: PathBuf,
}

impl LockedIndex {
    fn of(own: &Path) -> Self {
        Self { place: own.join("index"), lock: own.join("index.lock"), index: own.join("taskyard-index") }
    }

    /// Locks the index of a checkout; `None` if another command holds the lock.
    fn take(own: &Path, note: &MoveNote) -> Result<Option<Self>, GitError> {
        let locked = Self::of(own);
        let named = own.join("taskyard-moving");
        let text = serde_json::to_vec(note).expect("text can be written as JSON");
        fs::write(&named, text).map_err(GitError::io("cannot write", &named))?;
        // A hard link, so that the lock has its complete contents from the start.
        let linked = fs::hard_link(&named, &locked.lock);
        fs::remove_file(&named).map_err(GitError::io("cannot remove", &named))?;
        match linked {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            Err(source) => return Err(GitError::io("cannot lock", &locked.place)(source)),
        }
        if let Err(source) = fs::copy(&locked.place, &locked.index) {
            let error = GitError::io("cannot copy", &locked.place)(source);
            locked.release()?;
            return Err(error);
        }
        Ok(Some(locked))
    }

    /// Returns the lock that one of our processes left in a checkout, with its note; `None` if there is none.
    fn left_in(own: &Path) -> Result<Option<(Self, MoveNote)>, GitError> {
        let locked = Self::of(own);
        let note = match fs::read(&locked.lock) {
            Ok(text) => serde_json::from_slice(&text).ok(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(GitError::io("cannot read", &locked.lock)(source)),
        };
        Ok(note.map(|note| (locked, note)))
    }

    /// Releases the lock; the index is unchanged.
    fn release(self) -> Result<(), GitError> {
        remove(&self.index)?;
        remove(&self.lock)
    }

    /// Installs the modified index and releases the lock. If the index was already installed, only releases the lock.
    fn put_in_place(self) -> Result<(), GitError> {
        match fs::rename(&self.index, &self.place) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(GitError::io("cannot write", &self.place)(source)),
        }
        reach("worktree: index moved");
        remove(&self.lock)
    }
}

fn remove(path: &Path) -> Result<(), GitError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(GitError::io("cannot remove", path)(error)),
        _ => Ok(()),
    }
}

/// Reverts the files of a checkout from a new commit to the old one, which its index still describes. A file that
/// matches neither commit is someone's work, and is kept.
fn go_back(git: &Git, old: &str, new: &str) -> Result<(), GitError> {
    let changed = git.run(&["diff-tree", "-r", "-z", "--no-renames", old, new])?;
    let mut fields = changed.split('\0');
    while let (Some(facts), Some(path)) = (fields.next(), fields.next()) {
        let facts: Vec<&str> = facts.trim_start_matches(':').split(' ').collect();
        let [_, _, before, after, status] = facts[..] else { continue };
        let file = git.directory().join(path);
        let is_there = fs::symlink_metadata(&file).is_ok();
        let is_new = match status {
            "D" => !is_there,
            _ if !is_there => false,
            _ => hash(git, path, &file)?.as_deref() == Some(after),
        };
        let is_old = status != "A" && is_there && hash(git, path, &file)?.as_deref() == Some(before);
        match status {
            _ if is_old || !is_new => {}
            "A" => remove(&file)?,
            _ => drop(git.run(&["checkout-index", "--force", "--quiet", "--", path])?),
        }
    }
    Ok(())
}

/// Returns the object id that git would give to the contents of a file.
fn hash(git: &Git, path: &str, file: &Path) -> Result<Option<String>, GitError> {
    if fs::symlink_metadata(file).is_ok_and(|found| found.is_symlink()) {
        let target = fs::read_link(file).map_err(GitError::io("cannot read", file))?;
        let bytes = std::os::unix::ffi::OsStrExt::as_bytes(target.as_os_str());
        let name = git.run_with_input(&["hash-object", "--stdin", "--no-filters"], bytes)?;
        return Ok(Some(String::from_utf8_lossy(&name).trim().to_owned()));
    }
    git.try_run(&["hash-object", "--", path])
}

fn first_lines(said: &str) -> String {
    said.trim_start_matches("error: ").lines().take(3).map(str::trim).collect::<Vec<_>>().join("; ")
}
