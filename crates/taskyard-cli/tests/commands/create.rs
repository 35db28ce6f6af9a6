use crate::test::Test;

#[test]
fn a_task_gets_the_next_number() {
    Test::new().run("create 'Write the parser'").run("create 'Write the docs'").run("list").snapshot();
}

#[test]
fn every_field_can_be_given() {
    Test::new()
        .list("1 pending; 2 pending; 3 pending; 4 pending")
        .run(
            "create 'Deploy' -d 'To production' --active-form Deploying --blocked-by 1,#2 --blocks 3 --owner ana \
             --priority high --tag ops --tag urgent,web --parent 4 --kind chore --meta 'cost={\"hours\": 2.50}' --json",
        )
        .run("show 5")
        .snapshot();
}

#[test]
fn repeated_flags_and_commas_mean_the_same() {
    Test::new().list("1 pending; 2 pending").run("create a --blocked-by 1 --blocked-by 2 --json").snapshot();
}

#[test]
fn the_description_can_come_from_stdin() {
    Test::new().stdin("two\nlines\n").run("create 'From a pipe' -d - --json").snapshot();
}

#[test]
fn a_description_that_is_no_text_is_refused() {
    Test::new().stdin(b"\xff\xfe").run("create 'From a pipe' -d -").run("list").snapshot();
}

#[test]
fn quiet_prints_the_bare_number() {
    Test::new().list("7 pending").run("create next --quiet").snapshot();
}

#[test]
fn metadata_that_is_no_json_is_refused_with_the_way_to_write_it() {
    Test::new().run("create x --meta note=soon").run("create x --meta note=soon --json").run("list").snapshot();
}

#[test]
fn an_empty_title_is_refused() {
    Test::new().run("create ''").run("create ' ' --json").snapshot();
}

#[test]
fn an_edge_to_no_task_is_refused_and_nothing_is_created() {
    Test::new()
        .list("1 pending")
        .run("create x --blocked-by 9")
        .run("create x --blocked-by 9 --json")
        .run("list")
        .snapshot();
}

#[test]
fn control_characters_are_shown_and_never_sent() {
    Test::new()
        .run("create 'bell\u{7} \u{1b}]0;title\u{7} \u{1b}[31mred \u{9b}2J \u{202e}cod' --owner '\u{1b}[1mana'")
        .run("list")
        .run("list --style tree")
        .run("show 1")
        .run("search bell")
        .run("graph")
        .run("history")
        .run("show '\u{1b}[31m'")
        .run("list --list '\u{1b}[31mred' --style tree")
        .run("list --json")
        .run("list --store '\u{1b}[31mred'")
        .snapshot();
}

const JSON_LINES: &str = r#"{"name":"api","subject":"Design the API","priority":"high","tags":["db"],"estimate":"2h"}
{"name":"build","subject":"Build it","blockedBy":["api","1"]}
{"subject":"Ship it","blockedBy":["build"],"blocks":[2],"parent":3}
"#;

const MARKDOWN: &str = "# The release

- Release name: rel
  priority: high
  Everything that belongs to it.

  - Build the site
    tags: web, ops
  - Test after: Build the site
- Announce after: rel
  owner: ana
";

#[test]
fn many_tasks_are_made_from_json_lines_in_one_revision() {
    Test::new()
        .list("1 pending; 2 pending; 3 pending")
        .stdin(JSON_LINES)
        .run("create --batch - --dry-run")
        .run("list")
        .stdin(JSON_LINES)
        .run("create --batch - --json")
        .run("graph")
        .run("history")
        .run("undo")
        .run("list")
        .snapshot();
}

#[test]
fn many_tasks_are_made_from_a_markdown_list() {
    Test::new()
        .file("home/project/plan.md", MARKDOWN)
        .run("create --batch plan.md --dry-run")
        .run("create --batch plan.md --dry-run --json")
        .run("create --batch plan.md")
        .run("list --style tree")
        .run("show 1")
        .snapshot();
}

#[test]
fn a_batch_that_makes_no_sense_makes_nothing() {
    Test::new()
        .list("1 pending")
        .stdin("- a after: b\n- b after: a\n")
        .run("create --batch -")
        .stdin("- a after: biuld\n- build\n")
        .run("create --batch - --json")
        .stdin("- a after: #9\n")
        .run("create --batch -")
        .stdin("")
        .run("create --batch -")
        .run("create --batch nowhere.md")
        .run("create Title --batch nowhere.md")
        .run("create --batch nowhere.md --tag x")
        .run("create --dry-run Title")
        .run("create")
        .run("list")
        .snapshot();
}

#[test]
fn what_a_hook_forbids_takes_the_whole_batch_back() {
    Test::new()
        .file(
            "home/.config/taskyard/taskyard.toml",
            "[[hooks.TaskCreated]]\ncommand = \"grep -q forbidden && exit 2 || exit 0\"\n",
        )
        .stdin("- fine\n- forbidden\n")
        .run("create --batch -")
        .run("list")
        .stdin("- fine\n- good\n")
        .run("create --batch - --quiet")
        .snapshot();
}

#[test]
fn times_are_said_in_the_writers_zone_and_kept_in_utc() {
    Test::new()
        .env("TZ", "AAA-2")
        .quietly("create one --due 2026-11-20 --defer 2026-11-18 --estimate 1h30m")
        .quietly("create two --due '2026-11-20 17:00' --estimate 2d")
        .run("show 1 --json")
        .run("update 2 --due 2026-11-21 --defer none --estimate none")
        .run("update 2 --due none --json")
        .run("create 'With times' --due '2026-11-20 17:00' --defer '18 nov 2026' --estimate 1w")
        .on_terminal(100, "update 2 --due '20 Nov 2020, 17:00'", "")
        .run("create three --due soon")
        .run("create three --estimate 5")
        .snapshot();
}
