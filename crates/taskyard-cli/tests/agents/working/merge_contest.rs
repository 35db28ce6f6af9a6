//! Many workers that merge into one base branch and are killed: nothing is lost, and nothing is merged twice.
//!
//! Full scale, 100 kills and 30 tasks: `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-cli --test agents merge_contest:: -- --nocapture`.
#![allow(clippy::print_stdout, reason = "the counts of a contest are worth reading")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::Value;
use taskyard_testkit::{Home, Program, Ran, Random, Scale, SharedPostgres, wait_until};

use crate::working::site::{Site, Worker};
use crate::working::trees::{Trees, git_in};

/// Every task commits a file of its own, and leaves a line uncommitted in one of three files that others change, too.
const COMMAND: &str = "echo $TASKYARD_TASK_ID > own-$TASKYARD_TASK_ID; git add .; git commit -q -m own; \
                       echo $TASKYARD_TASK_ID >> shared-$((TASKYARD_TASK_ID % 3))";
/// Fails if a task is in the tree only in part, or twice.
const CHECK: &str = "for file in own-*; do test -e $file || continue; id=${file#own-}; test $(cat $file) = $id || exit 1; \
                     test $(grep -cx $id shared-$((id % 3))) = 1 || exit 1; done; ! grep -q '<<<<' shared-* 2>/dev/null";
/// The step at which a process is killed is at most this. A task has about seventy, and about fourteen on PostgreSQL, which has no files
/// to write.
const LONGEST_LIFE: usize = 80;
const LONGEST_LIFE_ON_POSTGRES: usize = 16;

/// A `work` that is killed and started again.
struct Contestant<'a> {
    trees: &'a Trees,
    name: &'a str,
    flags: &'a str,
}

impl Contestant<'_> {
    /// Works until nothing is left to do, or a plan kills it. It must not fail otherwise: its exit code is 0, or 3 if the
    /// other contestant took a task that it returned.
    fn works(&self, plan: Option<String>) -> Ran {
        let flags = format!("{} --retries 1000 --as {}", self.flags, self.name);
        let mut work = self.trees.checked(&flags, CHECK, COMMAND);
        if let Some(plan) = plan {
            work.env("TASKYARD_FAILPOINTS", plan);
        }
        let ran = Worker::of(work.start()).end();
        assert!(ran.was_killed() || matches!(ran.code, Some(0 | 3)), "{ran:?}");
        ran
    }

    fn has_open_tasks(&self) -> bool {
        let listed = self.trees.site.home.ask("list --all");
        listed["tasks"].as_array().unwrap().iter().any(|task| task["status"] != "completed")
    }
}

/// Kills the contestants at random steps, then lets them finish. Whatever they have finished too early is followed by
/// more tasks. Returns the number of kills.
fn compete(contestants: &[Contestant<'_>], kills: usize, longest_life: usize) -> usize {
    let killed = AtomicUsize::new(0);
    thread::scope(|scope| {
        for (number, contestant) in contestants.iter().enumerate() {
            let (killed, mut random) = (&killed, Random::new(41 + number as u64));
            scope.spawn(move || {
                while killed.load(Ordering::Relaxed) < kills {
                    let ran = contestant.works(Some(format!("any*{}=kill", 1 + random.below(longest_life))));
                    if ran.was_killed() {
                        killed.fetch_add(1, Ordering::Relaxed);
                    } else {
                        contestant.trees.site.home.ask("create another");
                    }
                }
            });
        }
    });
    wait_until("all tasks to be completed", || {
        thread::scope(|scope| contestants.iter().for_each(|contestant| drop(scope.spawn(|| contestant.works(None)))));
        !contestants[0].has_open_tasks()
    });
    killed.into_inner()
}

/// Returns the number of tasks and of kills.
fn scale() -> (usize, usize) {
    let scale = Scale::from_environment(0.06);
    (scale.of(30).max(6), scale.of(100))
}

/// Creates tasks that wait for one or two others each.
fn create(site: &Site, tasks: usize) {
    for number in 1..=tasks {
        let blockers: BTreeSet<String> =
            [number / 2, number / 3].iter().filter(|id| **id > 0).map(ToString::to_string).collect();
        let blockers = blockers.into_iter().collect::<Vec<_>>().join(",");
        let edges = if blockers.is_empty() { String::new() } else { format!(" --blocked-by {blockers}") };
        site.home.ask(&format!("create task-{number}{edges}"));
    }
}

/// Judges a checkout of the base after a contest, and prints what was counted.
fn judge(about: &str, checkout: &Path, site: &Site, kills: usize) {
    let tasks = site.home.ask("list --all")["tasks"].as_array().unwrap().clone();
    let line = git_in(checkout, "log --first-parent --reverse --format=%s main");
    let merged: Vec<&str> = line.lines().skip(1).collect();
    let place = |id: &str| {
        let is_of = |subject: &&str| subject.starts_with(&format!("Merge #{id}: "));
        let places: Vec<usize> = (0..merged.len()).filter(|place| is_of(&merged[*place])).collect();
        assert_eq!(places.len(), 1, "#{id} is merged once: {merged:?}");
        places[0]
    };
    for id in tasks.iter().map(|task| task["id"].as_str().unwrap()) {
        let task = site.task(id);
        assert_eq!(task["status"], "completed", "#{id}");
        for blocker in task["blockedBy"].as_array().unwrap().iter().filter_map(Value::as_str) {
            assert!(place(blocker) < place(id), "#{id} waited for #{blocker}: {merged:?}");
        }
        let added = git_in(checkout, &format!("log --no-merges --diff-filter=A --format=%h main -- own-{id}"));
        assert_eq!(added.lines().count(), 1, "#{id} has one commit in the base: {added}");
    }
    assert_eq!(merged.len(), tasks.len(), "{merged:?}");
    let commits = git_in(checkout, "rev-list --first-parent --reverse main");
    for (commit, subject) in commits.lines().skip(1).zip(&merged) {
        let id = subject.trim_start_matches("Merge #").split(':').next().unwrap();
        let changed = git_in(checkout, &format!("diff --numstat {commit}^1 {commit}"));
        let shared = id.parse::<usize>().unwrap() % 3;
        assert_eq!(changed, format!("1\t0\town-{id}\n1\t0\tshared-{shared}"), "what {subject} changes");
        git_in(checkout, &format!("checkout -q --detach {commit}"));
        let mut check = Program::new("sh");
        let ran = check.args(["-c", CHECK]).current_dir(checkout).run();
        assert_eq!(ran.code, Some(0), "the check at {subject}: {ran:?}");
    }
    git_in(checkout, "checkout -q main");
    assert_eq!(git_in(checkout, "status --porcelain"), "");
    assert_eq!(fs::read_to_string(checkout.join("README")).unwrap(), "rocket\n");
    let conflicts =
        tasks.iter().map(|task| notes_of_conflicts(&site.task(task["id"].as_str().unwrap()))).sum::<usize>();
    println!("{about}: {kills} kills, {} tasks, {} merges, {conflicts} conflicts", tasks.len(), merged.len());
}

/// Returns how often the branch of a task conflicted.
fn notes_of_conflicts(task: &Value) -> usize {
    let notes = task["metadata"]["notes"].as_array().map_or(&[][..], Vec::as_slice);
    notes.iter().filter(|note| note["text"].as_str().is_some_and(|text| text.contains("conflicts with main"))).count()
}

#[test]
fn killed_workers_lose_and_double_nothing() {
    let (tasks, kills) = scale();
    let trees = Trees::with(&[]);
    create(&trees.site, tasks);
    let killed = compete(&[Contestant { trees: &trees, name: "ana", flags: "-j 4" }], kills, LONGEST_LIFE);
    assert!(trees.is_clean(), "{}", trees.git("status --porcelain"));
    judge("one work", &trees.repository, &trees.site, killed);
}

#[test]
fn killed_works_of_one_repository_share_the_queue() {
    let (tasks, kills) = scale();
    let trees = Trees::with(&[]);
    create(&trees.site, tasks);
    let contestants = ["ana", "ben"].map(|name| Contestant { trees: &trees, name, flags: "-j 2" });
    let killed = compete(&contestants, kills, LONGEST_LIFE);
    assert!(trees.is_clean(), "{}", trees.git("status --porcelain"));
    judge("two works", &trees.repository, &trees.site, killed);
}

/// Makes two clones of a bare repository, in two homes that share a list on PostgreSQL. Returns them and the repository.
fn clones() -> ([Trees; 2], PathBuf) {
    let store = SharedPostgres::get().fresh_address();
    let site = || Site::on(Home::new(env!("CARGO_BIN_EXE_taskyard")).on_store(&store), &[]);
    let seed = Trees::on(site());
    let bare = seed.site.path("shared.git");
    seed.git("clone -q --bare . ../shared.git");
    seed.git("remote add origin ../shared.git");
    let other = Trees::clone_of(&bare, site());
    ([seed, other], bare)
}

#[test]
fn two_clones_share_a_queue_by_pushing_to_a_remote() {
    let ([one, other], bare) = clones();
    create(&one.site, 6);
    let contestants = [(&one, "ana"), (&other, "ben")];
    let contestants = contestants.map(|(trees, name)| Contestant { trees, name, flags: "-j 2 --push origin" });
    compete(&contestants, 0, 0);
    assert_eq!(git_in(&bare, "branch --list taskyard/*"), "");
    git_in(&other.repository, "pull -q --ff-only");
    judge("two clones, not killed", &other.repository, &one.site, 0);
}

#[test]
fn killed_works_of_two_clones_share_the_queue() {
    let (tasks, kills) = scale();
    let ([one, other], bare) = clones();
    create(&one.site, tasks);
    let contestants = [(&one, "ana"), (&other, "ben")];
    let contestants = contestants.map(|(trees, name)| Contestant { trees, name, flags: "-j 2 --push origin" });
    let killed = compete(&contestants, kills, LONGEST_LIFE_ON_POSTGRES);
    git_in(one.site.home.path(), &format!("clone -q {} judge", bare.display()));
    judge("two clones", &one.site.path("judge"), &one.site, killed);
}
