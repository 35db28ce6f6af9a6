//! Workers in worktrees of their own, and the queue that brings their branches back, with the real git.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::Value;
use taskyard_testkit::{Program, Ran, Random, Scale, wait_until};

use crate::working::site::{Site, Worker};

/// A home with a repository in it, in which everything runs.
struct Trees {
    site: Site,
    repository: PathBuf,
}

impl Trees {
    /// Makes a repository on `main` with one commit, and tasks.
    fn with(tasks: &[&str]) -> Self {
        let site = Site::with(tasks);
        let repository = site.path("rocket");
        fs::create_dir(&repository).unwrap();
        let trees = Self { site, repository };
        trees.git("init -q -b main");
        trees.git("config user.name tester");
        trees.git("config user.email t@t");
        trees.write("README", "rocket\n");
        trees.git("add .");
        trees.git("commit -q -m One");
        trees
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.repository.join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.repository.join(name)).unwrap_or_default()
    }

    /// Runs git in the repository, and returns what it wrote.
    fn git(&self, line: &str) -> String {
        git_in(&self.repository, line)
    }

    /// Returns the subjects of the base's own line, oldest first.
    fn line(&self) -> Vec<String> {
        let subjects = self.git("log --first-parent --reverse --format=%s main");
        subjects.lines().map(str::to_owned).collect()
    }

    fn command(&self, words: &str) -> Program {
        let mut command = self.site.home.command(words);
        command.current_dir(&self.repository);
        command
    }

    fn work(&self, flags: &str, line: &str) -> Program {
        let mut command = self.site.work(&format!("--worktree {flags}"), line);
        command.current_dir(&self.repository);
        command
    }

    fn worked(&self, flags: &str, line: &str) -> Ran {
        self.work(flags, line).run()
    }

    /// Returns `work --merge` with a check.
    fn checked(&self, flags: &str, check: &str, line: &str) -> Program {
        let mut command = self.command(&format!("work --worktree --merge {flags} --check"));
        command.args([check, "--", "sh", "-c", line]);
        command
    }

    fn run(&self, words: &str) -> Ran {
        self.command(words).run()
    }

    fn done(&self, words: &str) -> String {
        let ran = self.run(words);
        assert_eq!(ran.code, Some(0), "{words}: {ran:?}");
        ran.stdout
    }

    fn tree(&self, id: &str) -> Value {
        self.site.task(id)["metadata"]["worktree"].clone()
    }

    fn state(&self, id: &str) -> String {
        self.tree(id)["state"].as_str().unwrap_or_default().to_owned()
    }

    fn is_completed(&self, id: &str) -> bool {
        self.site.task(id)["status"] == "completed"
    }

    /// Tells whether nothing is uncommitted, and no lock of git is left.
    fn is_clean(&self) -> bool {
        self.git("status --porcelain").is_empty() && !self.repository.join(".git/index.lock").exists()
    }
}

fn git_in(directory: &Path, line: &str) -> String {
    let mut git = Program::new("git");
    git.args(line.split(' ')).current_dir(directory).env("HOME", directory).env("GIT_CONFIG_NOSYSTEM", "1");
    let ran = git.run();
    assert_eq!(ran.code, Some(0), "git {line}: {ran:?}");
    ran.stdout.trim_end().to_owned()
}

#[test]
fn each_attempt_has_its_own_worktree_and_branch() {
    let trees = Trees::with(&["Write-the-parser"]);
    let line =
        "pwd > $HOME/where; git branch --show-current > $HOME/branch; echo $TASKYARD_BRANCH >> $HOME/branch; exit 1";
    let ran = trees.worked("--retries 0", line);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let path = trees.site.path("rocket.worktrees/1-write-the-parser");
    assert_eq!(trees.site.await_file("where"), path.to_str().unwrap());
    assert_eq!(trees.site.await_file("branch"), "taskyard/1-write-the-parser\ntaskyard/1-write-the-parser");
    assert_eq!((trees.state("1"), trees.tree("1")["path"].as_str()), ("failed".into(), path.to_str()));
    assert!(path.join("README").exists(), "what failed stays");
}

#[test]
fn finished_branches_are_merged_and_their_tasks_completed() {
    let trees = Trees::with(&["one", "two --blocked-by 1"]);
    let line = "test -e one || test $TASKYARD_TASK_ID = 1; echo $TASKYARD_TASK_ID > $TASKYARD_TASK_SUBJECT";
    let ran = trees.checked("-j 2", "test -e one", line).run();
    let ran = if ran.code == Some(0) { ran } else { panic!("{ran:?}\n{}", trees.git("log --oneline --graph --all")) };
    assert!(ran.stdout.contains("merging"), "{ran:?}");
    assert_eq!(trees.line(), ["One", "Merge #1: one", "Merge #2: two"]);
    assert_eq!((trees.read("one"), trees.read("two")), ("1\n".into(), "2\n".into()), "the checkout moved along");
    assert!(trees.is_clean() && trees.is_completed("1") && trees.is_completed("2"));
    let trailers = trees.git("log --format=%(trailers:key=Taskyard-Task,valueonly,separator=%x2c) main");
    assert_eq!(trailers.lines().filter(|line| *line == "L#2").count(), 2, "{trailers}");
    assert_eq!(trees.git("branch --list taskyard/*"), "");
    assert!(!trees.site.path("rocket.worktrees/1-one").exists());
}

#[test]
fn squash_and_rebase_leave_one_line_of_history() {
    for method in ["--squash", "--rebase"] {
        let trees = Trees::with(&["one", "two"]);
        let line = "echo a > $TASKYARD_TASK_SUBJECT; git add .; git commit -q -m own; echo b >> $TASKYARD_TASK_SUBJECT";
        let ran = trees.worked(&format!("--merge {method}"), line);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(trees.git("rev-list --merges --count main"), "0");
        assert_eq!((trees.read("one"), trees.read("two")), ("a\nb\n".into(), "a\nb\n".into()));
        let count = if method == "--squash" { 3 } else { 5 };
        assert_eq!(trees.line().len(), count, "{:?}", trees.line());
    }
}

#[test]
fn conflict_goes_back_with_files_and_the_other_task() {
    let trees = Trees::with(&["one", "two"]);
    let line = "printf '%s' \"$TASKYARD_BRIEFING\" > $HOME/briefing-$TASKYARD_TASK_ATTEMPT; \
                test $TASKYARD_TASK_ATTEMPT = 2 || while ! test -e $HOME/both; do sleep 0.05; \
                ls $HOME | grep -c busy- | grep -q 2 && touch $HOME/both; touch $HOME/busy-$TASKYARD_TASK_ID; done; \
                echo $TASKYARD_TASK_ID >> README";
    let ran = trees.worked("-j 2 --merge", line);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("conflicts with main in README"), "{ran:?}");
    let lines = trees.read("README");
    assert!(lines == "rocket\n1\n2\n" || lines == "rocket\n2\n1\n", "{lines}");
    let briefing = fs::read_to_string(trees.site.path("briefing-2")).unwrap();
    assert!(briefing.contains("conflicts with main in README, which #"), "{briefing}");
}

#[test]
fn failed_check_leaves_the_base_where_it_was() {
    let trees = Trees::with(&["one"]);
    let before = trees.git("rev-parse main");
    let ran = trees.checked("--retries 0", "echo broken; exit 1", "echo x > new").run();
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!((trees.git("rev-parse main"), trees.state("1")), (before, "check_failed".into()));
    assert!(trees.site.notes("1").concat().contains("broken") && trees.is_clean());
}

#[test]
fn task_without_changes_is_completed_without_a_commit() {
    let trees = Trees::with(&["one"]);
    assert_eq!(trees.worked("--merge", "true").code, Some(0));
    assert!(trees.is_completed("1") && trees.line() == ["One"]);
    assert_eq!(trees.site.notes("1"), ["completed without a commit: nothing was changed"]);
}

#[test]
fn merge_waits_for_a_checkout_with_uncommitted_changes() {
    let trees = Trees::with(&["one"]);
    trees.write("README", "mine\n");
    let work = Worker::of(trees.work("--merge", "echo x > new").start());
    wait_until("the merge to wait", || trees.state("1") == "waiting");
    assert_eq!((trees.read("README"), trees.line().len()), ("mine\n".into(), 1));
    let reason = trees.tree("1")["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("uncommitted changes"), "{reason}");
    trees.git("commit -q -a -m mine");
    let ran = work.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!((trees.read("README"), trees.read("new")), ("mine\n".into(), "x\n".into()));
    assert!(trees.is_clean());
}

#[test]
fn agent_cannot_complete_its_task_before_the_merge() {
    let trees = Trees::with(&["one"]);
    let ran = trees.worked("--merge", "echo x > new; $TASKYARD done 1 --json > $HOME/answer; true");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let answer: Value = serde_json::from_str(&trees.site.await_file("answer")).unwrap();
    assert_eq!(answer["error"]["code"], "not_merged", "{answer}");
    assert!(trees.is_completed("1") && trees.read("new") == "x\n");
}

#[test]
fn task_completed_by_another_program_is_merged_all_the_same() {
    let trees = Trees::with(&["one"]);
    // As the client's own tools do, which know nothing of worktrees.
    let line =
        "echo x > new; sed -i 's/\"status\": *\"in_progress\"/\"status\":\"completed\"/' $HOME/.claude/tasks/L/1.json";
    let ran = trees.worked("--merge", line);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(trees.is_completed("1") && trees.read("new") == "x\n");
    assert_eq!(trees.state("1"), "merged");
}

#[test]
fn workers_get_untracked_files_copied_and_linked() {
    let trees = Trees::with(&["one"]);
    fs::create_dir_all(trees.repository.join("node_modules/x")).unwrap();
    trees.write("node_modules/x/y", "dep\n");
    trees.write(".gitignore", ".env\nnode_modules/\nsecret\n");
    trees.write(".env", "KEY=1\n");
    trees.write("secret", "s\n");
    trees.write(".worktreeinclude", "secret\n");
    trees.git("add .gitignore .worktreeinclude");
    trees.git("commit -q -m ignore");
    trees.site.configure("[work]\ncopy = [\".env\"]\nlink = [\"node_modules\"]\nsetup = \"echo ready > .env.setup\"\n");
    let ran = trees.worked("--merge", "cat .env secret node_modules/x/y > seen; git status --porcelain >> seen");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(trees.read("seen"), "KEY=1\ns\ndep\n?? .env.setup\n?? seen\n");
    assert_eq!(trees.git("ls-files"), ".env.setup\n.gitignore\n.worktreeinclude\nREADME\nseen");
}

#[test]
fn review_comes_before_the_merge() {
    let trees = Trees::with(&["one"]);
    trees.site.configure("[work]\nreview = true\n");
    let line =
        "echo $TASKYARD_TASK_ATTEMPT >> new; printf '%s' \"$TASKYARD_BRIEFING\" > $HOME/briefing; pwd >> $HOME/where";
    let ran = trees.worked("--merge --json", line);
    let report: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((ran.code, &report["inReview"]), (Some(0), &serde_json::json!(["1"])));
    assert_eq!((trees.state("1"), trees.line().len()), ("review".into(), 1));
    let nothing = trees.worked("--merge", line);
    assert!(nothing.stdout.contains("nothing was ready"), "{nothing:?}");
    assert!(trees.done("diff 1").contains("+1"), "{}", trees.done("diff 1"));
    trees.done("worktrees request-changes 1 new:1:twice");
    assert_eq!(trees.worked("--merge", line).code, Some(0));
    assert!(trees.site.await_file("where").lines().count() == 2);
    let places = trees.site.await_file("where");
    assert_eq!(places.lines().next(), places.lines().nth(1), "the same worktree");
    assert!(fs::read_to_string(trees.site.path("briefing")).unwrap().contains("new:1:twice"));
    trees.done("worktrees approve 1");
    let ran = trees.worked("--merge", "exit 9");
    assert_eq!(ran.code, Some(0), "no command runs for what is finished: {ran:?}");
    assert!(trees.is_completed("1") && trees.read("new") == "1\n1\n");
}

#[test]
fn branch_switched_by_hand_is_told_and_left_alone() {
    let trees = Trees::with(&["one"]);
    let ran = trees.worked("--merge --retries 0", "echo x > new; git switch -q -c elsewhere");
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(trees.site.notes("1").concat().contains("elsewhere checked out"), "{:?}", trees.site.notes("1"));
    assert_eq!(fs::read_to_string(trees.site.path("rocket.worktrees/1-one/new")).unwrap(), "x\n");
    assert!(trees.done("worktrees").contains("switched"));
}

#[test]
fn retry_can_continue_in_the_old_worktree() {
    let trees = Trees::with(&["one"]);
    trees.worked("--merge --retries 0", "echo x > new; exit 1");
    trees.done("retry 1 --continue");
    let ran = trees.worked("--merge --retries 0", "cat new");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(trees.is_completed("1") && trees.read("new") == "x\n");
}

#[test]
fn started_task_gets_a_worktree_that_is_merged_more_than_once() {
    let trees = Trees::with(&["one"]);
    let started = trees.done("start 1 --worktree");
    let path = trees.site.path("rocket.worktrees/1-one");
    assert!(started.contains(path.to_str().unwrap()), "{started}");
    for round in ["a", "b"] {
        fs::write(path.join(round), "x\n").unwrap();
        assert_eq!(trees.run("worktrees merge 1").code, Some(3), "uncommitted");
        git_in(&path, "add .");
        git_in(&path, &format!("commit -q -m {round}"));
        trees.done("worktrees merge 1");
        assert_eq!(trees.read(round), "x\n");
        assert!(!trees.is_completed("1"));
    }
    assert!(trees.done("worktrees").contains("#1 taskyard/1-one"));
    trees.done("done 1");
    let tidied: Value = serde_json::from_str(&trees.done("gc --dry-run --json")).unwrap();
    assert_eq!(tidied["worktrees"].as_array().map(Vec::len), Some(1), "{tidied}");
    trees.done("worktrees clean");
    assert!(!path.exists() && trees.git("branch --list taskyard/*").is_empty());
}

#[test]
fn two_clones_share_a_queue_by_pushing_to_a_remote() {
    let trees = Trees::with(&["one", "two", "three", "four"]);
    trees.git("clone -q --bare . ../shared.git");
    trees.git("remote add origin ../shared.git");
    git_in(trees.site.home.path(), "clone -q shared.git other");
    let other = trees.site.path("other");
    for (key, value) in [("user.name", "o"), ("user.email", "o@o")] {
        git_in(&other, &format!("config {key} {value}"));
    }
    let line = "echo $TASKYARD_TASK_ID >> all-$TASKYARD_TASK_ID";
    let here = Worker::of(trees.work("-j 2 --merge --push origin --as ana", line).start());
    let there = Worker::of(trees.work("-j 2 --merge --push origin --as ben", line).current_dir(&other).start());
    for ran in [here.end(), there.end()] {
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let bare = trees.site.path("shared.git");
    let merged = git_in(&bare, "log --first-parent --format=%s main");
    for (id, subject) in [("1", "one"), ("2", "two"), ("3", "three"), ("4", "four")] {
        assert!(trees.is_completed(id));
        assert_eq!(merged.lines().filter(|line| *line == format!("Merge #{id}: {subject}")).count(), 1, "{merged}");
    }
    assert_eq!(git_in(&bare, "branch --list taskyard/*"), "");
}

#[test]
fn claimed_worktree_goes_back_with_the_claim() {
    let trees = Trees::with(&["one"]);
    trees.done("claim --next --worktree --as ana");
    fs::write(trees.site.path("rocket.worktrees/1-one/new"), "x\n").unwrap();
    trees.done("release 1 --as ana");
    let again = trees.done("claim --next --worktree --as ben");
    assert!(again.contains("rocket.worktrees/1-one\n"), "{again}");
    assert_eq!(fs::read_to_string(trees.site.path("rocket.worktrees/1-one/new")).unwrap(), "x\n");
}

/// The steps at which `work` is killed, and whether the command runs again after it.
const STEPS: [(&str, bool); 14] = [
    ("named", true),
    ("added", true),
    ("provided", true),
    ("staged", true),
    ("committed", true),
    ("queued", false),
    ("turn taken", false),
    ("candidate made", false),
    ("candidate noted", false),
    ("checkout locked", false),
    ("files moved", false),
    ("base moved", false),
    ("index moved", false),
    ("merged", false),
];

#[test]
fn a_kill_at_every_step_is_finished_by_the_next_work() {
    for (step, runs_again) in STEPS {
        let trees = Trees::with(&["one"]);
        let line = "echo x > new; echo run >> $HOME/runs";
        let killed = trees.work("--merge", line).env("TASKYARD_FAILPOINTS", format!("worktree: {step}=kill")).run();
        assert!(killed.was_killed(), "{step}: {killed:?}");
        assert!(!trees.is_completed("1"), "{step}");
        let runs = || fs::read_to_string(trees.site.path("runs")).unwrap_or_default().lines().count();
        let before = runs();
        let ran = trees.worked("--merge", line);
        assert_eq!(ran.code, Some(0), "{step}: {ran:?}");
        assert!(trees.is_completed("1") && trees.read("new") == "x\n", "{step}");
        assert_eq!(trees.line(), ["One", "Merge #1: one"], "{step}");
        assert!(trees.is_clean(), "{step}: {}", trees.git("status --porcelain"));
        assert_eq!(runs() > before, runs_again, "{step}");
    }
}

#[test]
fn contest_of_killed_workers_loses_and_doubles_nothing() {
    // Full scale: `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-cli --test agents contest_of_killed`.
    let scale = Scale::from_environment(0.06);
    let (kills, tasks) = (scale.of(100), scale.of(30).max(6));
    let trees = Trees::with(&[]);
    trees.write("shared", "0\n");
    trees.git("add .");
    trees.git("commit -q -m shared");
    for number in 1..=tasks {
        let blockers: Vec<String> =
            [number / 2, number / 3].iter().filter(|id| **id > 0).map(ToString::to_string).collect();
        let edges = if blockers.is_empty() { String::new() } else { format!(" --blocked-by {}", blockers.join(",")) };
        trees.site.home.ask(&format!("create task-{number}{edges}"));
    }
    // Every task writes a file of its own and one of three that others write, too.
    let line = "echo $TASKYARD_TASK_ID > own-$TASKYARD_TASK_ID; git add .; git commit -q -m own; \
                echo $TASKYARD_TASK_ID >> shared-$((TASKYARD_TASK_ID % 3))";
    let check = "ls own-* | while read file; do test own-$(cat $file) = $file || exit 1; done; ! grep -q '<<<<' shared-* 2>/dev/null";
    let start =
        |name: &str| Worker::of(trees.checked(&format!("-j 2 --retries 1000 --as {name}"), check, line).start());
    let mut random = Random::new(41);
    let mut done = 0;
    let completed = |trees: &Trees| {
        let listed = trees.site.home.ask("list --all");
        listed["counts"]["completed"].as_u64().unwrap_or(0) as usize
    };
    let mut workers = vec![Some(start("ana")), Some(start("ben"))];
    while done < kills && completed(&trees) < tasks {
        let pause = 50 + random.below(400) as u64;
        let until = std::time::Instant::now() + std::time::Duration::from_millis(pause);
        wait_until("a moment", || std::time::Instant::now() >= until);
        let which = random.below(2);
        if let Some(worker) = workers[which].take() {
            worker.send(Signal::KILL);
            worker.end();
        }
        workers[which] = Some(start(["ana", "ben"][which]));
        done += 1;
    }
    for worker in workers.into_iter().flatten() {
        worker.end();
    }
    let last = trees.checked("-j 2 --retries 1000 --as cara", check, line).run();
    assert!(last.code == Some(0), "{last:?}");
    is_right(&trees, tasks, check);
}

/// Looks at what a contest left.
fn is_right(trees: &Trees, tasks: usize, check: &str) {
    let merged: Vec<String> = trees.line().into_iter().filter(|subject| subject.starts_with("Merge #")).collect();
    let place = |id: usize| {
        let wanted = format!("Merge #{id}: task-{id}");
        let places: Vec<usize> = (0..merged.len()).filter(|place| merged[*place] == wanted).collect();
        assert_eq!(places.len(), 1, "#{id} is merged once: {merged:?}");
        places[0]
    };
    for id in 1..=tasks {
        assert!(trees.is_completed(&id.to_string()), "#{id}");
        for blocker in [id / 2, id / 3].into_iter().filter(|blocker| *blocker > 0) {
            assert!(place(blocker) < place(id), "#{id} waited for #{blocker}: {merged:?}");
        }
    }
    assert_eq!(merged.len(), tasks);
    assert!(trees.is_clean(), "{}", trees.git("status --porcelain"));
    let commits = trees.git("rev-list --first-parent main");
    for commit in commits.lines() {
        trees.git(&format!("checkout -q --detach {commit}"));
        let mut passes = Program::new("sh");
        passes.args(["-c", check]).current_dir(&trees.repository);
        assert_eq!(passes.run().code, Some(0), "{commit}");
    }
    trees.git("checkout -q main");
    let lines = (0..3).flat_map(|which| {
        let text = trees.read(&format!("shared-{which}"));
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    let mut lines: Vec<usize> = lines.map(|line| line.parse().unwrap()).collect();
    lines.sort_unstable();
    assert_eq!(lines, (1..=tasks).collect::<Vec<_>>(), "every line is there once");
}
