use crate::test::Test;

const HOOK: &str = r#"{"hooks":{"TaskCompleted":[{"hooks":[{"type":"command","command":"echo ran >> log; echo not yet >&2; exit 2"}]}]}}"#;

fn project() -> Test {
    Test::new().list("1 pending; 2 pending; 3 pending").file("home/project/.claude/settings.json", HOOK).file(
        "home/project/taskyard.toml",
        "[checks]\ntests = \"touch checked\"\n[[hooks.TaskCreated]]\ncommand = \"true\"",
    )
}

#[test]
fn a_directorys_hook_runs_only_while_it_is_trusted() {
    project()
        .run("done 1")
        .meanwhile(|place| assert!(!place.join("home/project/log").exists()))
        .run("trust")
        .run("done 2")
        .meanwhile(|place| assert!(place.join("home/project/log").exists()))
        .run("trust --remove")
        .run("done 2")
        .run("trust --remove")
        .snapshot();
}

#[test]
fn a_directorys_check_runs_only_while_it_is_trusted() {
    project()
        .quietly("update 1 --meta 'verify=\"tests\"'")
        .run("done 1")
        .run("done 1 --json")
        .meanwhile(|place| assert!(!place.join("home/project/checked").exists()))
        .file("home/project/.claude/settings.json", "{}")
        .quietly("trust")
        .run("done 1")
        .meanwhile(|place| assert!(place.join("home/project/checked").exists()))
        .snapshot();
}

#[test]
fn trust_is_told_to_programs() {
    project().run("trust --json").run("trust --remove --json").run("trust --remove --json").snapshot();
}

#[test]
fn trust_is_for_the_folder_that_holds_the_repository() {
    Test::new()
        .list("1 pending")
        .file("home/.git/HEAD", "")
        .file("home/.claude/settings.json", "{}")
        .run("trust")
        .snapshot();
}

#[test]
fn only_the_directory_itself_is_trusted_and_not_what_is_below() {
    project()
        .file("home/project/.git/HEAD", "")
        .quietly("trust")
        .file("home/project/vendored/.git/HEAD", "")
        .file("home/project/vendored/.claude/settings.json", HOOK)
        .meanwhile(|place| std::fs::create_dir_all(place.join("home/project/vendored")).unwrap())
        .inside("vendored")
        .run("done 1 --list project")
        .meanwhile(|place| assert!(!place.join("home/project/vendored/log").exists()))
        .snapshot();
}
