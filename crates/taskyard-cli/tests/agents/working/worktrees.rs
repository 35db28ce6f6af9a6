//! Workers in worktrees of their own, and the queue that brings their branches back, with the real git.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use taskyard_testkit::{Server, wait_until};

use crate::working::site::Worker;
use crate::working::trees::{Trees, git_in};

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
fn card_shows_the_branch_and_what_became_of_it() {
    let trees = Trees::with(&["one"]);
    trees.checked("--retries 0", "exit 1", "echo x > new").run();
    let server = Server::start(&trees.site.home, "");
    let (_, page) = server.request("GET", "/lists/L");
    assert!(page.contains(">check failed<") && page.contains("taskyard/1-one +1 -0"), "{page}");
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
fn missing_worktrees_of_others_stop_no_merge() {
    let trees = Trees::with(&["one"]);
    // Git calls the first one prunable, and not the second one, which may be on a disk that comes back.
    for name in ["gone", "unplugged"] {
        trees.git(&format!("worktree add -q -b {name} ../{name}"));
    }
    trees.git("worktree lock --reason portable ../unplugged");
    for name in ["gone", "unplugged"] {
        fs::remove_dir_all(trees.site.path(name)).unwrap();
    }
    let ran = trees.worked("--merge", "echo x > new");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(trees.is_completed("1") && trees.read("new") == "x\n");
    let listed = trees.done("worktrees");
    assert!(listed.contains("unplugged  moved") && listed.contains("locked portable"), "{listed}");
    assert!(trees.git("worktree list").contains("unplugged"), "it is left alone");
}

#[test]
fn merge_waits_for_a_locked_checkout_that_is_missing() {
    let trees = Trees::with(&["one"]);
    trees.done("start 1 --worktree");
    let path = trees.site.path("rocket.worktrees/1-one");
    fs::write(path.join("new"), "x\n").unwrap();
    git_in(&path, "add .");
    git_in(&path, "commit -q -m new");
    trees.git("switch -q -c mine");
    trees.git("worktree add -q ../unplugged main");
    trees.git("worktree lock ../unplugged");
    let (unplugged, away) = (trees.site.path("unplugged"), trees.site.path("away"));
    fs::rename(&unplugged, &away).unwrap();
    let merge = Worker::of(trees.command("worktrees merge 1").start());
    wait_until("the merge to wait", || trees.state("1") == "waiting");
    let reason = trees.tree("1")["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("it is locked and does not exist"), "{reason}");
    fs::rename(&away, &unplugged).unwrap();
    let ran = merge.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(fs::read_to_string(unplugged.join("new")).unwrap(), "x\n");
}

#[test]
fn moved_and_removed_worktrees_are_explained() {
    let trees = Trees::with(&["one", "two"]);
    trees.done("start 1 --worktree");
    trees.done("start 2 --worktree");
    let away = trees.site.path("away");
    fs::rename(trees.site.path("rocket.worktrees/1-one"), &away).unwrap();
    trees.git("worktree remove ../rocket.worktrees/2-two");
    let explained = trees.run("doctor --json").stdout;
    for code in ["worktree_moved", "worktree_removed"] {
        assert!(explained.contains(code), "{code}: {explained}");
    }
    trees.done("worktrees clean");
    assert!(away.join("README").exists() && trees.git("worktree list").contains("1-one"), "they are left alone");
}

#[test]
fn worktrees_of_claude_code_are_listed() {
    let trees = Trees::with(&["one"]);
    trees.git("worktree add -q .claude/worktrees/fix");
    let listed = trees.done("worktrees");
    assert!(listed.starts_with("(claude) fix"), "{listed}");
}

#[test]
fn no_commit_leaves_the_committing_to_a_person() {
    let trees = Trees::with(&["one"]);
    let ran = trees.worked("--no-commit", "echo x > new");
    assert_eq!((ran.code, trees.state("1"), trees.line()), (Some(0), "review".into(), vec!["One".into()]), "{ran:?}");
    let path = trees.site.path("rocket.worktrees/1-one");
    assert_eq!(git_in(&path, "status --porcelain"), "?? new");
    assert_eq!(trees.run("worktrees approve 1").code, Some(3), "it is not committed");
    git_in(&path, "add .");
    git_in(&path, "commit -q -m mine");
    trees.done("worktrees approve 1");
    let ran = trees.worked("--merge", "exit 9");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(trees.is_completed("1") && trees.read("new") == "x\n");
}

#[test]
fn hooks_that_a_branch_brings_do_not_run() {
    let trees = Trees::with(&["one"]);
    fs::create_dir(trees.repository.join(".husky")).unwrap();
    trees.write(".husky/pre-commit", "#!/bin/sh\ntouch $HOME/hook-of-base\n");
    let hook = trees.repository.join(".husky/pre-commit");
    fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    trees.git("add .");
    trees.git("commit -q -m hooks");
    trees.git("config core.hooksPath .husky");
    let ran = trees.worked("--merge", "echo 'touch $HOME/hook-of-branch' >> .husky/pre-commit");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(trees.site.path("hook-of-base").exists() && !trees.site.path("hook-of-branch").exists());
}

#[test]
fn changed_submodule_is_refused_with_the_reason() {
    let trees = Trees::with(&["one"]);
    let line = "git init -q sub; git -C sub -c user.name=s -c user.email=s@s commit -q --allow-empty -m sub";
    let ran = trees.worked("--merge --retries 0", line);
    assert_eq!((ran.code, trees.line()), (Some(3), vec!["One".into()]), "{ran:?}");
    let notes = trees.site.notes("1").concat();
    assert!(notes.contains("it changes the submodule sub, which has to be merged by hand"), "{notes}");
}

#[test]
fn commit_that_cannot_be_signed_goes_back_with_the_reason() {
    let trees = Trees::with(&["one"]);
    trees.git("config commit.gpgSign true");
    trees.git("config gpg.program false");
    let ran = trees.worked("--merge --retries 0", "echo x > new");
    assert_eq!((ran.code, trees.state("1")), (Some(3), "failed".into()), "{ran:?}");
    let notes = trees.site.notes("1").concat();
    assert!(notes.contains("gpg failed to sign"), "{notes}");
    assert!(trees.site.path("rocket.worktrees/1-one/new").exists(), "its work stays");
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
