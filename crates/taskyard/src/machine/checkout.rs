//! The git repository that a directory belongs to, read from the files in `.git`. No git process is started, and git's
//! own files are never changed: we only add a file with a random id, which identifies a repository after it was moved.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use std::{fs, io};

use crate::regular_file;
use crate::regular_file::create_replacement;
use crate::store::new_token;

/// The file with the id, in the common directory of the repository.
const ID_FILE: &str = "taskyard-id";
/// The limit for the size of git's files read here.
const LARGEST: u64 = 64 * 1024;
/// The limit for the table of packed branches, which may be long.
const PACKED: u64 = 16 * 1024 * 1024;

/// One checkout of a git repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    /// The directory that contains `.git`, as the caller spelled it.
    pub top: PathBuf,
    /// The root of the repository with its links resolved: the main checkout, also for a worktree, or the repository
    /// itself if it is bare.
    pub root: PathBuf,
    /// The git directory of this checkout alone.
    pub(crate) git: PathBuf,
    /// The git directory that all worktrees of the repository share.
    pub common: PathBuf,
}

impl Checkout {
    /// Returns the nearest checkout that contains a directory; `None` outside git.
    pub fn around(directory: &Path) -> Option<Self> {
        let found = |top: &Path| fs::symlink_metadata(top.join(".git")).ok().map(|found| (top.to_owned(), found));
        let (top, found) = directory.ancestors().find_map(found)?;
        let dot_git = top.join(".git");
        let root = fs::canonicalize(&top).unwrap_or_else(|_| top.clone());
        let alone = |git: PathBuf| Self { top: top.clone(), root: root.clone(), common: git.clone(), git };
        if found.is_dir() {
            return Some(alone(dot_git));
        }
        if found.is_symlink() {
            // A dangling link is not a repository.
            let git = fs::canonicalize(&dot_git).ok()?;
            return Some(Self { root: root_of(&git), ..alone(git) });
        }
        let linked = read_line(&dot_git).and_then(|text| Some(top.join(text.strip_prefix("gitdir:")?.trim_start())));
        let Some(git) = linked.and_then(|git| fs::canonicalize(git).ok()) else { return Some(alone(dot_git)) };
        let Some(common) = read_line(&git.join("commondir")) else { return Some(alone(git)) };
        match fs::canonicalize(git.join(common)) {
            Ok(common) if is_linked_back(&git, &dot_git) => Some(Self { root: root_of(&common), top, git, common }),
            _ => Some(alone(dot_git)),
        }
    }

    /// Returns whether this is a linked worktree rather than the main checkout.
    pub fn is_worktree(&self) -> bool {
        self.git != self.common
    }

    /// Returns the directory of the main checkout that corresponds to a directory of this one; `None` if it is not in
    /// this one.
    pub fn in_main(&self, directory: &Path) -> Option<PathBuf> {
        directory.starts_with(&self.top).then(|| self.moved_to(directory, &self.root))
    }

    /// Returns the directory of a checkout with another top that corresponds to a directory of this one.
    pub fn moved_to(&self, directory: &Path, top: &Path) -> PathBuf {
        match directory.strip_prefix(&self.top) {
            Ok(below) if !below.as_os_str().is_empty() => top.join(below),
            _ => top.to_owned(),
        }
    }

    pub(crate) fn id(&self) -> Option<String> {
        read_line(&self.common.join(ID_FILE)).filter(|id| is_id(id))
    }

    /// Gives the repository an id: this one, or a random one. Returns the id it then has, which is another process's if
    /// that one was first.
    pub(super) fn give_id(&self, id: Option<&str>) -> io::Result<String> {
        let (id, path) = (id.map_or_else(new_token, str::to_owned), self.common.join(ID_FILE));
        let temporary = self.written_beside(&id)?;
        let linked = fs::hard_link(&temporary, &path);
        fs::remove_file(&temporary)?;
        match (linked, self.id()) {
            (Ok(()), _) => Ok(id),
            (Err(_), Some(other)) => Ok(other),
            (Err(error), None) => Err(error),
        }
    }

    /// Replaces the id that a copy of a repository inherited. Fails unless the git directory is inside the checkout,
    /// since otherwise it is not the checkout's own.
    pub(super) fn give_another_id(&self) -> io::Result<String> {
        if !self.common.starts_with(&self.top) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let id = new_token();
        fs::rename(self.written_beside(&id)?, self.common.join(ID_FILE))?;
        Ok(id)
    }

    fn written_beside(&self, id: &str) -> io::Result<PathBuf> {
        let temporary = self.common.join(format!("{ID_FILE}.{id}"));
        let mut file = create_replacement(&temporary, &self.common.join(ID_FILE))?;
        file.write_all(format!("{id}\n").as_bytes())?;
        file.sync_all()?;
        Ok(temporary)
    }

    /// Returns the branch of this checkout if it is not the default branch; `None` also if no branch is checked out.
    /// During a rebase this is the branch being rebased.
    pub fn side_branch(&self) -> Option<String> {
        let branch_of = |line: String| line.strip_prefix("refs/heads/").map(str::to_owned);
        let rebased = || {
            let states = ["rebase-merge", "rebase-apply"].into_iter();
            states.map(|state| self.git.join(state).join("head-name")).find_map(|path| read_line(&path))
        };
        let head = read_line(&self.git.join("HEAD"))?;
        let branch = match head.strip_prefix("ref:") {
            Some(name) => branch_of(name.trim_start().to_owned())?,
            None => branch_of(rebased()?)?,
        };
        // With the reftable format, HEAD names no branch.
        (branch != ".invalid" && branch != self.default_branch()?).then_some(branch)
    }

    /// Returns the default branch: the remote's; otherwise `main` or `master`, whichever exists; otherwise that of the
    /// main checkout.
    fn default_branch(&self) -> Option<String> {
        let remote = read_line(&self.common.join("refs/remotes/origin/HEAD"));
        if let Some(branch) = remote.as_deref().and_then(|line| line.strip_prefix("ref: refs/remotes/origin/")) {
            return Some(branch.to_owned());
        }
        let packed = regular_file::read(&self.common.join("packed-refs"), PACKED).unwrap_or_default();
        let packed = String::from_utf8_lossy(&packed);
        let is_there = |branch: &&&str| {
            let name = format!("refs/heads/{branch}");
            self.common.join(&name).is_file() || packed.lines().any(|line| line.ends_with(&format!(" {name}")))
        };
        if let Some(branch) = ["main", "master"].iter().find(is_there) {
            return Some((*branch).to_owned());
        }
        let head = read_line(&self.common.join("HEAD"))?;
        head.strip_prefix("ref: refs/heads/").map(str::to_owned)
    }

    /// Returns whether two repositories were cloned from the same source, or one from the other. This is read from
    /// git's configuration on this machine, which is not part of a clone.
    pub fn has_origin_of(&self, other: &Self) -> bool {
        let (own, others) = (self.origin(), other.origin());
        let is = |origin: &Option<PathBuf>, of: &Self| {
            origin.as_ref().is_some_and(|path| *path == of.root || *path == of.common)
        };
        (own.is_some() && own == others) || is(&own, other) || is(&others, self)
    }

    /// Returns where the repository was cloned from: a URL as written, or a path with its links resolved.
    fn origin(&self) -> Option<PathBuf> {
        let config = String::from_utf8(regular_file::read(&self.common.join("config"), LARGEST).ok()?).ok()?;
        let section = config.lines().map(str::trim).skip_while(|line| *line != "[remote \"origin\"]").skip(1);
        let mut values = section.take_while(|line| !line.starts_with('[')).filter_map(|line| line.split_once('='));
        let (_, url) = values.find(|(key, _)| key.trim() == "url")?;
        let url = url.trim().trim_end_matches('/');
        Some(fs::canonicalize(self.root.join(url)).unwrap_or_else(|_| url.trim_end_matches(".git").into()))
    }

    /// Returns when the repository was created on this machine, in milliseconds since 1970; `None` if the file system
    /// does not record it.
    pub(super) fn born(&self) -> Option<i64> {
        let born = fs::metadata(&self.common).and_then(|found| found.created()).ok()?;
        i64::try_from(born.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
    }
}

/// Returns the id of the repository at a path, if there is one.
pub(super) fn id_at(root: &Path) -> Option<String> {
    let inside = |git: PathBuf| read_line(&git.join(ID_FILE)).filter(|id| is_id(id));
    inside(root.join(".git")).or_else(|| Checkout::around(root).filter(|found| found.root == root)?.id()).or_else(
        || {
            // A bare repository.
            inside(root.to_owned())
        },
    )
}

fn is_id(text: &str) -> bool {
    (16..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Returns the root of the repository with this common directory.
fn root_of(common: &Path) -> PathBuf {
    let Some(parent) = common.parent() else { return common.to_owned() };
    let is_inside = common.file_name().is_some_and(|name| name == ".git");
    let leads_here = || {
        let linked = read_line(&parent.join(".git"))?;
        let linked = parent.join(linked.strip_prefix("gitdir:")?.trim_start());
        fs::canonicalize(linked).ok().filter(|linked| linked == common)
    };
    if is_inside || leads_here().is_some() { parent.to_owned() } else { common.to_owned() }
}

/// Returns whether a worktree's git directory refers back to the checkout that names it; otherwise any file could claim
/// to belong to another repository. If that checkout is gone, it was moved and git has not noticed yet.
fn is_linked_back(git: &Path, dot_git: &Path) -> bool {
    let Some(back) = read_line(&git.join("gitdir")).map(|back| git.join(back)) else { return false };
    if back == dot_git {
        return true;
    }
    match fs::canonicalize(&back) {
        Ok(back) => fs::canonicalize(dot_git).is_ok_and(|here| here == back),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Returns the first line of a small regular file.
fn read_line(path: &Path) -> Option<String> {
    let text = String::from_utf8(regular_file::read(path, LARGEST).ok()?).ok()?;
    text.lines().next().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::Checkout;

    /// A repository `rocket` with a worktree beside it, as git writes them.
    fn repository() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().canonicalize().unwrap();
        fs::create_dir_all(place.join("rocket/.git/worktrees/feature")).unwrap();
        fs::create_dir_all(place.join("rocket/src")).unwrap();
        add_worktree(&place, "feature", "../../../../feature/.git");
        (folder, place)
    }

    fn add_worktree(place: &Path, name: &str, back: &str) {
        let git = place.join("rocket/.git/worktrees").join(name);
        fs::create_dir_all(place.join(name).join("src")).unwrap();
        fs::create_dir_all(&git).unwrap();
        fs::write(place.join(name).join(".git"), format!("gitdir: {}\n", git.display())).unwrap();
        fs::write(git.join("commondir"), "../..\n").unwrap();
        fs::write(git.join("gitdir"), format!("{back}\n")).unwrap();
    }

    #[test]
    fn worktrees_and_subdirectories_have_the_root_of_the_repository() {
        let (_folder, place) = repository();
        let absolute = place.join("other/.git").display().to_string();
        add_worktree(&place, "other", &absolute);
        add_worktree(&place, "moved", "/nowhere/at/all/.git");
        let main = Checkout::around(&place.join("rocket/src")).unwrap();
        assert_eq!((&main.root, main.is_worktree()), (&place.join("rocket"), false));
        for name in ["feature", "other", "moved"] {
            let here = place.join(name).join("src");
            let found = Checkout::around(&here).unwrap();
            assert_eq!((&found.root, &found.common), (&main.root, &main.common), "{name}");
            assert_eq!((found.is_worktree(), found.in_main(&here)), (true, Some(place.join("rocket/src"))), "{name}");
        }
        assert_eq!(Checkout::around(&place), None);
    }

    #[test]
    fn a_file_that_claims_to_be_a_worktree_is_believed_by_git_alone() {
        let (_folder, place) = repository();
        let git = place.join("rocket/.git/worktrees/feature");
        fs::create_dir(place.join("thief")).unwrap();
        fs::write(place.join("thief/.git"), format!("gitdir: {}", git.display())).unwrap();
        let thief = Checkout::around(&place.join("thief")).unwrap();
        assert_eq!((thief.root.as_path(), thief.is_worktree()), (place.join("thief").as_path(), false));
        // The repository of a submodule, or of another directory: its id is not replaced.
        fs::write(place.join("thief/.git"), "gitdir: ../rocket/.git").unwrap();
        let thief = Checkout::around(&place.join("thief")).unwrap();
        assert_eq!(thief.root, place.join("thief"));
        assert!(thief.give_another_id().is_err());
    }

    #[test]
    fn bare_repositories_and_links_have_a_root() {
        let (_folder, place) = repository();
        let project = place.join("project");
        fs::create_dir_all(project.join(".bare")).unwrap();
        fs::write(project.join(".git"), "gitdir: ./.bare\n").unwrap();
        assert_eq!(super::root_of(&project.join(".bare")), project);
        assert_eq!(super::root_of(&place.join("rocket.git")), place.join("rocket.git"));
        fs::create_dir(place.join("linked")).unwrap();
        std::os::unix::fs::symlink(place.join("rocket/.git"), place.join("linked/.git")).unwrap();
        assert_eq!(Checkout::around(&place.join("linked")).unwrap().root, place.join("rocket"));
    }

    #[test]
    fn only_other_branches_than_the_default_one_are_named() {
        let (_folder, place) = repository();
        let git = place.join("rocket/.git");
        let side = |path: &str| Checkout::around(&place.join(path)).unwrap().side_branch();
        fs::write(git.join("HEAD"), "ref: refs/heads/trunk\n").unwrap();
        fs::write(git.join("worktrees/feature/HEAD"), "ref: refs/heads/fix/one\n").unwrap();
        assert_eq!((side("rocket"), side("feature")), (None, Some("fix/one".to_owned())));
        fs::write(git.join("packed-refs"), "# pack-refs\n0123 refs/heads/main\n").unwrap();
        assert_eq!(side("rocket").as_deref(), Some("trunk"));
        fs::create_dir_all(git.join("refs/remotes/origin")).unwrap();
        fs::write(git.join("refs/remotes/origin/HEAD"), "ref: refs/remotes/origin/trunk\n").unwrap();
        assert_eq!(side("rocket"), None);
        // No branch is checked out, or one is being rebased.
        fs::write(git.join("worktrees/feature/HEAD"), "0123456789\n").unwrap();
        assert_eq!(side("feature"), None);
        fs::create_dir(git.join("worktrees/feature/rebase-merge")).unwrap();
        fs::write(git.join("worktrees/feature/rebase-merge/head-name"), "refs/heads/fix/one\n").unwrap();
        assert_eq!(side("feature").as_deref(), Some("fix/one"));
    }

    #[test]
    fn an_id_is_given_once_and_replaced_in_a_copy() {
        let (_folder, place) = repository();
        let main = Checkout::around(&place.join("rocket")).unwrap();
        assert_eq!(main.id(), None);
        let id = main.give_id(None).unwrap();
        assert_eq!((main.give_id(None).unwrap(), main.id()), (id.clone(), Some(id.clone())));
        assert_eq!(Checkout::around(&place.join("feature")).unwrap().id(), Some(id.clone()));
        let other = main.give_another_id().unwrap();
        assert_ne!(other, id);
        assert_eq!(super::id_at(&place.join("rocket")), Some(other));
        assert_eq!(fs::read_dir(place.join("rocket/.git")).unwrap().count(), 2, "a temporary file is left");
    }
}
