//! One merge: a candidate is created and checked in a separate worktree, then the base moves to it.

use std::fs;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use taskyard::core::rules::worktrees::record::TaskWorktree;
use taskyard::failpoint::reach;

use super::checkouts::{contains, is_same_place, own_directory};
use super::committing::{Message, TRAILER};
use super::git::{Git, GitError};
use super::moving_base::Moved;
use super::repository::Repository;

/// How many times a merge is restarted because the base moved during its check.
const ATTEMPTS: u32 = 100;

/// How a branch is merged into the base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// With a merge commit.
    #[default]
    Merge,
    /// Squashed into one commit.
    Squash,
    /// Rebased onto the base.
    Rebase,
}

/// The result of one merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Merge {
    /// The base contains it; this is the commit.
    Merged(String),
    /// The branch changes nothing.
    Nothing,
    /// It has conflicts.
    Conflict {
        /// The conflicting files.
        files: Vec<String>,
        /// The tasks, as `LIST#ID`, whose merges changed them.
        with: Vec<String>,
    },
    /// The check failed with this output.
    CheckFailed(String),
    /// A checkout of the base has changes, or is in use.
    Waiting {
        /// The checkout.
        checkout: PathBuf,
        /// Why it cannot be moved.
        why: String,
    },
    /// It was not merged, for this reason.
    Refused(String),
}

/// Checks a candidate; returns what is wrong with it, or `None` if it passed.
pub(super) type Check<'a> = dyn FnMut(&Path) -> Result<Option<String>, GitError> + 'a;

/// A candidate that passed the check.
#[derive(Clone, Debug, Default)]
pub(super) struct Checked {
    base: String,
    tip: String,
    candidate: String,
}

/// The parameters of a merge.
pub(super) struct Order<'a> {
    pub(super) method: Method,
    pub(super) message: &'a Message,
    pub(super) lock: &'a Arc<File>,
    /// Prepares the merge worktree for checks.
    pub(super) prepare: &'a mut Check<'a>,
    pub(super) check: &'a mut Check<'a>,
    /// Records which commit may become the merge; returns `false` if the task is no longer ours.
    pub(super) note: &'a mut dyn FnMut(&str) -> Result<bool, GitError>,
}

impl Repository {
    /// Merges a finished branch. `checked` is the candidate of the last attempt, which is not checked again.
    pub(super) fn merge(
        &self,
        tree: &TaskWorktree,
        order: Order<'_>,
        checked: &mut Option<Checked>,
    ) -> Result<Merge, GitError> {
        let Order { method, message, lock, prepare, check, note } = order;
        self.finish_moves(lock)?;
        let Some(tip) = tree.tip.clone() else { return Ok(Merge::Refused("its branch is not finished".to_owned())) };
        for _ in 0..ATTEMPTS {
            let base = self.base_commit()?;
            for candidate in tree.candidates.iter().chain(checked.as_ref().map(|checked| &checked.candidate)) {
                if contains(&self.git(), &base, candidate)? {
                    return Ok(Merge::Merged(candidate.clone()));
                }
            }
            if contains(&self.git(), &base, &tip)? {
                // Someone merged it by hand, or it has no commits of its own.
                return Ok(if tree.from.as_ref() == Some(&tip) { Merge::Nothing } else { Merge::Merged(tip) });
            }
            if let Some(path) = self.changed_submodule(&base, &tip)? {
                return Ok(Merge::Refused(format!("it changes the submodule {path}, which has to be merged by hand")));
            }
            let known = checked.as_ref().filter(|known| known.base == base && known.tip == tip);
            let candidate = match known {
                Some(known) => known.candidate.clone(),
                None => {
                    let place = self.merge_worktree(&base, lock, prepare)?;
                    let git = Git::in_directory(&place).holding(lock);
                    let candidate = match self.candidate(&git, method, &base, &tip, message)? {
                        Ok(candidate) => candidate,
                        Err(merge) => return Ok(merge),
                    };
                    reach("worktree: candidate made");
                    if let Some(said) = check(&place)? {
                        return Ok(Merge::CheckFailed(said));
                    }
                    *checked = Some(Checked { base: base.clone(), tip: tip.clone(), candidate: candidate.clone() });
                    candidate
                }
            };
            if !note(&candidate)? {
                return Ok(Merge::Refused("the task now belongs to another agent".to_owned()));
            }
            reach("worktree: candidate noted");
            match self.move_base(&base, &candidate, lock)? {
                Moved::Done => return Ok(Merge::Merged(candidate)),
                Moved::Elsewhere => {}
                Moved::Unready { checkout, why } => return Ok(Merge::Waiting { checkout, why }),
            }
        }
        Ok(Merge::Refused(format!("{} moved {ATTEMPTS} times while it was merged", self.base)))
    }

    /// Returns the worktree for merges, reset to the base; ignored files are kept.
    fn merge_worktree(&self, base: &str, lock: &Arc<File>, prepare: &mut Check<'_>) -> Result<PathBuf, GitError> {
        let path = self.directory.join("merge");
        let is_listed =
            |checkout: &super::checkouts::Checkout| is_same_place(&checkout.path, &path) && !checkout.is_gone;
        if !self.checkouts()?.iter().any(is_listed) {
            fs::create_dir_all(&self.directory).map_err(GitError::io("cannot make", &self.directory))?;
            let shown = path.to_string_lossy();
            let git = self.git().holding(lock);
            git.run(&["worktree", "add", "--quiet", "--force", "--detach", &shown, base])?;
            if let Some(said) = prepare(&path)? {
                git.try_run(&["worktree", "remove", "--force", &shown])?;
                return Err(GitError::Unfit(said));
            }
        }
        let git = Git::in_directory(&path).holding(lock);
        // Only we use this worktree, one process at a time, so what a killed merge left can be discarded.
        let left = own_directory(&git)?.join("index.lock");
        if left.exists() {
            fs::remove_file(&left).map_err(GitError::io("cannot remove", &left))?;
        }
        git.try_run(&["rebase", "--quit"])?;
        git.run(&["reset", "--quiet", "--hard"])?;
        git.run(&["checkout", "--quiet", "--force", "--detach", base])?;
        git.run(&["clean", "--quiet", "-d", "--force"])?;
        Ok(path)
    }

    /// Creates the candidate commit, or returns why there is none.
    fn candidate(
        &self,
        git: &Git,
        method: Method,
        base: &str,
        tip: &str,
        message: &Message,
    ) -> Result<Result<String, Merge>, GitError> {
        let run = |words: &[&str]| {
            let words = [message.identity(git)?, words.iter().map(|word| (*word).to_owned()).collect()].concat();
            git.run(&words)
        };
        let made = match method {
            Method::Merge => {
                let text = message.text(&format!("Merge #{}: {}", message.task, message.subject));
                run(&["merge", "--quiet", "--no-ff", "--no-verify", "-m", &text, tip])
            }
            Method::Squash => run(&["merge", "--quiet", "--squash", "--no-verify", tip]),
            Method::Rebase => {
                git.run(&["checkout", "--quiet", "--detach", tip])?;
                run(&["rebase", "--quiet", "--no-verify", base])
            }
        };
        if let Err(error) = made {
            let files = git.paths(&["diff", "--name-only", "--diff-filter=U", "-z"])?;
            if files.is_empty() {
                return Err(error);
            }
            let with = self.changed_by(base, tip, &files)?;
            return Ok(Err(Merge::Conflict { files, with }));
        }
        if method == Method::Squash {
            if git.asks(&["diff", "--cached", "--quiet", "HEAD"])? {
                return Ok(Err(Merge::Nothing));
            }
            let author = git.run(&["log", "-1", "--format=%an <%ae>", tip])?;
            let (text, author) = (message.text(&message.subject), format!("--author={author}"));
            run(&["commit", "--quiet", "--no-verify", &author, "-m", &text])?;
        }
        let head = git.run(&["rev-parse", "HEAD"])?;
        let is_empty = git.asks(&["diff", "--quiet", base, &head])?;
        Ok(if is_empty { Err(Merge::Nothing) } else { Ok(head) })
    }

    /// Returns the tasks whose commits changed these files in the base since a branch left it.
    fn changed_by(&self, base: &str, tip: &str, files: &[String]) -> Result<Vec<String>, GitError> {
        let git = self.git();
        let Some(left) = git.try_run(&["merge-base", base, tip])? else { return Ok(Vec::new()) };
        let (format, range) = (format!("--format=%(trailers:key={TRAILER},valueonly)"), format!("{left}..{base}"));
        let words = ["log", "--first-parent", &format, &range, "--"].map(str::to_owned);
        let listed = git.run(&[&words[..], files].concat())?;
        let mut tasks: Vec<String> = listed.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
        tasks.sort();
        tasks.dedup();
        Ok(tasks)
    }

    /// Returns the first submodule that a branch changes, if any.
    fn changed_submodule(&self, base: &str, tip: &str) -> Result<Option<String>, GitError> {
        let git = self.git();
        let Some(left) = git.try_run(&["merge-base", base, tip])? else {
            return Err(GitError::Unfit("its branch has no commit in common with the base".to_owned()));
        };
        let changed = git.run(&["diff-tree", "-r", "--no-renames", &left, tip])?;
        let is_link = |line: &&str| line.starts_with(":160000") || line.get(8..14) == Some("160000");
        Ok(changed.lines().find(is_link).and_then(|line| line.split('\t').nth(1)).map(str::to_owned))
    }
}
