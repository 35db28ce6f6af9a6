//! Short forms: few keys for what people type all day.

use crate::test::Test;

#[test]
fn titles_need_no_quotes_and_carry_attributes() {
    Test::new()
        .env("TZ", "UTC")
        .list("1 pending; 2 pending")
        .run("add fix the login +ops due:2031-05-06 pri:H est:2h after:#1 parent:2 owner:ana")
        .run("a only +web here -t db -p low --depends-on 1")
        .run("create 'Use C++ due:fri +x'")
        .run("create say -- +1 due:fri")
        .run("add --title 'A title of its own' +ops")
        .run("add due:2031-05-06 +ops")
        .run("add x due:someday")
        .run("add x due:2031-05-06 --due 2031-05-07")
        .run("add x parent:99")
        .run("list --json")
        .snapshot();
}

#[test]
fn ids_come_before_what_is_done_with_them() {
    Test::new()
        .env("TZ", "UTC")
        .list("1 pending 'Fix login'; 2 pending; 3 pending; 4 in_progress (ana)")
        .run("1")
        .run("2 3 start --as ana")
        .run("2-4 done --as ana")
        .run("1 note it rains")
        .run("1 pri:h due:2031-05-06 +ops")
        .run("1 mod a better title")
        .run("1 after:3 owner:none --no-owner")
        .run("update 1 +web --where open")
        .run("update +web")
        .run("update 1 +db,web title")
        .run("1 rm")
        .run("99")
        .run("9 frobnicate")
        .snapshot();
}

#[test]
fn words_of_other_programs_do_what_they_do_there() {
    Test::new()
        .list("1 pending 'Fix login'; 2 pending; 3 pending; 4 pending")
        .run("ls")
        .run("do 1")
        .run("rm 2")
        .run("update 3 --status done --title 'Said differently'")
        .run("list --status done")
        .run("update 4 -t x -p medium --depends-on 3")
        .run("+x")
        .run("/differently")
        .run("blocked")
        .run("tag:x")
        .snapshot();
}

#[test]
fn dependencies_are_said_in_words() {
    Test::new()
        .list("1 pending; 2 pending; 3 pending; 4 pending; 5 pending")
        .run("depend 3 4")
        .run("depend 3 on 1,2")
        .run("5 depends on 3")
        .run("undepend 3 on 1 2")
        .run("undepend 3 4")
        .run("depend 3 on")
        .run("list")
        .snapshot();
}

#[test]
fn several_tasks_are_shown() {
    Test::new()
        .list("1 pending; 2 pending <- 1; 3 pending")
        .run("show 1 3")
        .run("show 1-3,2 --json")
        .run("show 1 9")
        .snapshot();
}

#[test]
fn yd_is_taskyard() {
    let mut test = Test::new().list("1 pending 'Fix login'");
    for line in ["1", "ls --json", "1 done", "--version", "help list"] {
        let words = || line.split(' ');
        let short = test.command(env!("CARGO_BIN_EXE_yd")).args(words()).output();
        test.note(&format!("yd {line}"), &short);
        assert!(short.status.success(), "{line}");
    }
    let page = test.command(env!("CARGO_BIN_EXE_taskyard")).args(["man", "--out", "pages"]).output();
    assert!(page.status.success());
    let page = std::fs::read_to_string(test.path("home/project/pages/yd.1")).unwrap();
    assert_eq!(page, ".so man1/taskyard.1\n");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = test.output_of(&format!("completions {shell}"));
        assert!(String::from_utf8(script.stdout).unwrap().contains(" yd"), "{shell}");
    }
}
