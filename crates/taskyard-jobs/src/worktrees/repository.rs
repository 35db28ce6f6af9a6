//! The repository that workers share: its base branch, the directory for worktrees, and a copy of its hooks.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, thread};

use taskyard::core::rules::worktrees::record::{ChangeSize, TaskWorktree};
use taskyard::process::Cancel;
use taskyard::system::{hexadecimal, random_bytes};

use super::checkouts;
use super::checkouts::{Checkout, branch_of, commit_at};
use super::git::{Git, GitError};

/// Our directory within the common git directory. If it does not exist, no worktree was ever created.
pub const OURS: &str = "taskyard";
/// How many times to fetch if other processes update the same ref.
const FETCHES: u32 = 10;
/// How often to check whether another process has released the lock.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// A repository, with the checkout in which work began.
#[derive(Clone, Debug)]
pub struct Repository {
    /// The checkout in which work began.
    pub(super) top: PathBuf,
    /// The git directory that all checkouts share.
    pub(super) common: PathBuf,
    /// The branch into which branches are merged.
    pub(super) base: String,
    /// The remote of the base branch; `None` if the base is a local branch.
    pub(super) remote: Option<String>,
    /// The directory for worktrees.
    pub(super) directory: PathBuf,
    /// A copy of the hooks, removed with the last clone of this value.
    hooks: Option<Arc<HooksAtStart>>,
}

/// A worktree that was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Its path.
    pub path: PathBuf,
    /// Its branch.
    pub branch: String,
    /// The commit at which the branch began.
    pub from: String,
}

/// A copy of the hooks directory.
#[derive(Debug)]
struct HooksAtStart(PathBuf);

impl Drop for HooksAtStart {
    fn drop(&mut self) {
        // `gc` removes what a killed process left.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Repository {
    /// Opens the repository of a directory. The base is the branch that is checked out there.
    pub fn around(directory: &Path) -> Result<Self, GitError> {
        let git = Git::in_directory(directory);
        let Some(top) = git.try_run(&["rev-parse", "--show-toplevel"])?.filter(|top| !top.is_empty()) else {
            return Err(GitError::Unfit(format!("`{}` is not in a checkout of a git repository", directory.display())));
        };
        let git = Git::in_directory(Path::new(&top));
        let common = PathBuf::from(git.run(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?);
        let Some(base) = branch_of(&git)? else {
            return Err(GitError::Unfit(format!(
                "no branch is checked out in `{top}`, so there is no base; check one out"
            )));
        };
        let main = checkouts::checkouts(&git)?.first().map_or_else(|| PathBuf::from(&top), |first| first.path.clone());
        let directory = beside(&main);
        Ok(Self { top: top.into(), common, base, remote: None, directory, hooks: None })
    }

    /// Sets the directory for worktrees; a relative path is resolved against the checkout.
    #[must_use]
    pub fn with_directory(self, directory: Option<&Path>) -> Self {
        let directory = directory.map_or_else(|| self.directory.clone(), |directory| self.top.join(directory));
        Self { directory, ..self }
    }

    /// Uses the base branch of a remote instead of the local one.
    #[must_use]
    pub fn with_remote(self, remote: Option<String>) -> Self {
        Self { remote, ..self }
    }

    /// Sets the base branch.
    #[must_use]
    pub fn with_base(self, base: String) -> Self {
        Self { base, ..self }
    }

    /// Copies the current hooks. From then on, only these run for commits that are made for workers.
    pub fn with_hooks_as_they_are(mut self) -> Result<Self, GitError> {
        let git = self.git();
        let named = git.try_run(&["config", "--type=path", "--get-all", "core.hooksPath"])?.unwrap_or_default();
        // The last value is the one that we pass to git to run no hooks.
        let named = named.lines().rev().nth(1).filter(|path| !path.is_empty());
        let from = named.map_or_else(|| self.common.join("hooks"), |path| self.top.join(path));
        if !from.is_dir() {
            return Ok(self);
        }
        let ours = self.own_directory()?;
        let name = random_bytes::<8>().map_err(GitError::io("cannot name a directory in", &ours))?;
        let to = ours.join(format!("hooks-{}", hexadecimal(&name)));
        copy_directory(&from, &to, 4).map_err(GitError::io("cannot copy the hooks to", &to))?;
        self.hooks = Some(Arc::new(HooksAtStart(to)));
        Ok(self)
    }

    /// Returns the name of the base branch.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Returns the directory for worktrees.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the checkout in which work began.
    pub fn top(&self) -> &Path {
        &self.top
    }

    pub(super) fn git(&self) -> Git {
        Git::in_directory(&self.top)
    }

    pub(super) fn git_in(&self, directory: &Path) -> Git {
        Git::in_directory(directory)
    }

    /// Returns git in a worktree, with the copied hooks.
    pub(super) fn git_with_hooks(&self, directory: &Path) -> Git {
        Git::in_directory(directory).with_hooks(self.hooks.as_deref().map(|hooks| hooks.0.as_path()))
    }

    /// Returns every checkout, the main one first.
    pub(super) fn checkouts(&self) -> Result<Vec<Checkout>, GitError> {
        checkouts::checkouts(&self.git())
    }

    /// Returns the full name of the base's ref.
    pub(super) fn base_ref(&self) -> String {
        match &self.remote {
            Some(remote) => format!("refs/remotes/{remote}/{}", self.base),
            None => format!("refs/heads/{}", self.base),
        }
    }

    /// Returns the commit of the base; if it is on a remote, after fetching it.
    pub(super) fn base_commit(&self) -> Result<String, GitError> {
        if let Some(remote) = &self.remote {
            self.fetch(remote, &format!("+refs/heads/{0}:refs/remotes/{remote}/{0}", self.base))?;
        }
        let at = commit_at(&self.git(), &self.base_ref())?;
        at.ok_or_else(|| GitError::Unfit(format!("the base branch {} has no commit yet", self.base)))
    }

    /// Returns the last commit of a branch, fetched from the remote if necessary; `None` if there is no such branch.
    pub(super) fn tip(&self, branch: &str) -> Result<Option<String>, GitError> {
        let name = format!("refs/heads/{branch}");
        if let Some(tip) = commit_at(&self.git(), &name)? {
            return Ok(Some(tip));
        }
        match &self.remote {
            Some(remote) if self.fetch(remote, &format!("{name}:{name}")).is_ok() => commit_at(&self.git(), &name),
            _ => Ok(None),
        }
    }

    /// Returns whether another machine published the commit at which a branch was finished, and fetches it. A local
    /// branch of the same name is another attempt's.
    pub(super) fn is_published(&self, tree: &TaskWorktree) -> Result<bool, GitError> {
        let (Some(remote), Some(tip)) = (&self.remote, &tree.tip) else { return Ok(false) };
        let is_fetched = self.fetch(remote, &format!("refs/heads/{}", tree.branch)).is_ok();
        Ok(is_fetched && commit_at(&self.git(), tip)?.is_some())
    }

    /// Fetches from a remote.
    fn fetch(&self, remote: &str, refspec: &str) -> Result<(), GitError> {
        let words = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", remote, refspec];
        for _ in 1..FETCHES {
            match self.git().run(&words) {
                // Another worker of this clone updated the ref at the same moment.
                Err(GitError::Failed { said, .. }) if said.contains("cannot lock ref") => {}
                fetched => return fetched.map(drop),
            }
        }
        self.git().run(&words).map(drop)
    }

    /// Returns the size of a branch's changes since it left the base.
    pub fn change_size(&self, branch: &str) -> Result<ChangeSize, GitError> {
        let range = format!("{}...refs/heads/{branch}", self.base_ref());
        let listed = self.git().run(&["diff", "--numstat", "--no-ext-diff", "--no-textconv", &range])?;
        let mut size = ChangeSize { files: 0, added: 0, removed: 0 };
        for line in listed.lines() {
            let mut columns = line.split('\t').map(|count| count.parse::<u64>().unwrap_or(0));
            size.files += 1;
            size.added += columns.next().unwrap_or(0);
            size.removed += columns.next().unwrap_or(0);
        }
        Ok(size)
    }

    /// Returns the changes of a branch since it left the base, as a patch. If `worktree` is given, uncommitted changes
    /// are included.
    pub fn diff(&self, branch: &str, worktree: Option<&Path>, colored: bool) -> Result<String, GitError> {
        let color = if colored { "--color=always" } else { "--color=never" };
        let options = ["diff", "--no-ext-diff", "--stat", "--patch", color];
        let name = format!("refs/heads/{branch}");
        let from = self.git().run(&["merge-base", &self.base_ref(), &name])?;
        match worktree {
            Some(worktree) => self.git_in(worktree).run(&[&options[..], &[&from]].concat()),
            None => self.git().run(&[&options[..], &[&from, &name]].concat()),
        }
    }

    /// Returns our directory within the common git directory, creating it if necessary.
    pub(super) fn own_directory(&self) -> Result<PathBuf, GitError> {
        let ours = self.common.join(OURS);
        fs::create_dir_all(&ours).map_err(GitError::io("cannot make", &ours))?;
        Ok(ours)
    }

    /// Locks merging in this clone, waiting for other processes; `None` if `cancel` was cancelled. The lock is held
    /// while the file is open, in this process or in a command that inherited it.
    pub(super) fn lock_merging(&self, cancel: &Cancel) -> Result<Option<Arc<File>>, GitError> {
        let path = self.own_directory()?.join("merge.lock");
        let file = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(GitError::io("cannot open", &path))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Arc::new(file))),
                Err(fs::TryLockError::WouldBlock) if cancel.is_cancelled() => return Ok(None),
                Err(fs::TryLockError::WouldBlock) => thread::sleep(BETWEEN_LOOKS),
                Err(fs::TryLockError::Error(source)) => return Err(GitError::io("cannot lock", &path)(source)),
            }
        }
    }
}

/// Returns the directory for worktrees next to a checkout.
fn beside(main: &Path) -> PathBuf {
    let mut name = main.file_name().unwrap_or_default().to_owned();
    name.push(".worktrees");
    main.with_file_name(name)
}

/// Copies the files of a directory recursively, up to `depth` levels. Links, special files and `.sample` files are
/// skipped.
fn copy_directory(from: &Path, to: &Path, depth: u32) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() && depth > 0 {
            copy_directory(&entry.path(), &target, depth - 1)?;
        } else if kind.is_file() && entry.path().extension().is_none_or(|extension| extension != "sample") {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
