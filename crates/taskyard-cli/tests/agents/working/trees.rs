//! A repository in which workers get worktrees.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use taskyard_testkit::{Program, Ran};

use crate::working::site::Site;

/// A home with a repository in it, in which everything runs.
pub(crate) struct Trees {
    pub(crate) site: Site,
    pub(crate) repository: PathBuf,
}

impl Trees {
    /// Makes a repository on `main` with one commit, and tasks.
    pub(crate) fn with(tasks: &[&str]) -> Self {
        Self::on(Site::with(tasks))
    }

    /// Makes a repository on `main` with one commit.
    pub(crate) fn on(site: Site) -> Self {
        let repository = site.path("rocket");
        fs::create_dir(&repository).unwrap();
        let trees = Self { site, repository };
        trees.git("init -q -b main");
        trees.name_author();
        trees.write("README", "rocket\n");
        trees.git("add .");
        trees.git("commit -q -m One");
        trees
    }

    /// Clones a repository.
    pub(crate) fn clone_of(remote: &Path, site: Site) -> Self {
        let repository = site.path("rocket");
        git_in(site.home.path(), &format!("clone -q {} rocket", remote.display()));
        let trees = Self { site, repository };
        trees.name_author();
        trees
    }

    fn name_author(&self) {
        self.git("config user.name tester");
        self.git("config user.email t@t");
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.repository.join(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.repository.join(name)).unwrap_or_default()
    }

    /// Runs git in the repository, and returns what it wrote.
    pub(crate) fn git(&self, line: &str) -> String {
        git_in(&self.repository, line)
    }

    /// Returns the subjects of the base's own line, oldest first.
    pub(crate) fn line(&self) -> Vec<String> {
        let subjects = self.git("log --first-parent --reverse --format=%s main");
        subjects.lines().map(str::to_owned).collect()
    }

    pub(crate) fn command(&self, words: &str) -> Program {
        let mut command = self.site.home.command(words);
        command.current_dir(&self.repository);
        command
    }

    pub(crate) fn work(&self, flags: &str, line: &str) -> Program {
        let mut command = self.site.work(&format!("--worktree {flags}"), line);
        command.current_dir(&self.repository);
        command
    }

    pub(crate) fn worked(&self, flags: &str, line: &str) -> Ran {
        self.work(flags, line).run()
    }

    /// Returns `work --merge` with a check.
    pub(crate) fn checked(&self, flags: &str, check: &str, line: &str) -> Program {
        let mut command = self.command(&format!("work --worktree --merge {flags} --check"));
        command.args([check, "--", "sh", "-c", line]);
        command
    }

    pub(crate) fn run(&self, words: &str) -> Ran {
        self.command(words).run()
    }

    pub(crate) fn done(&self, words: &str) -> String {
        let ran = self.run(words);
        assert_eq!(ran.code, Some(0), "{words}: {ran:?}");
        ran.stdout
    }

    pub(crate) fn tree(&self, id: &str) -> Value {
        self.site.task(id)["metadata"]["worktree"].clone()
    }

    pub(crate) fn state(&self, id: &str) -> String {
        self.tree(id)["state"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn is_completed(&self, id: &str) -> bool {
        self.site.task(id)["status"] == "completed"
    }

    /// Tells whether nothing is uncommitted, and no lock of git is left.
    pub(crate) fn is_clean(&self) -> bool {
        self.git("status --porcelain").is_empty() && !self.repository.join(".git/index.lock").exists()
    }
}

/// Runs git in a directory, and returns what it wrote.
pub(crate) fn git_in(directory: &Path, line: &str) -> String {
    let mut git = Program::new("git");
    git.args(line.split(' ')).current_dir(directory).env("HOME", directory).env("GIT_CONFIG_NOSYSTEM", "1");
    let ran = git.run();
    assert_eq!(ran.code, Some(0), "git {line}: {ran:?}");
    ran.stdout.trim_end().to_owned()
}
