use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Output;
use std::time::{Duration, SystemTime};

use crate::test::Test;

/// Returns a test whose editor is a script; `$1` is the file, and `taskyard` is ours.
fn with_editor(test: Test, script: &str) -> Test {
    let path = test.path("home/editor");
    let ours = env!("CARGO_BIN_EXE_taskyard");
    std::fs::write(&path, format!("#!/bin/sh\ntaskyard() {{ {ours} \"$@\"; }}\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    test.env("EDITOR", path)
}

fn parser() -> Test {
    Test::new()
        .quietly("create Design --as ana")
        .quietly("create Parser -d 'one\ntwo\nthree' --priority high --tag core --blocked-by 1 --as ana")
}

/// Returns the one text that is kept of edits.
fn kept(test: &Test) -> (PathBuf, String) {
    let found = std::fs::read_dir(test.path("data/edits")).unwrap().map(|entry| entry.unwrap().path());
    let texts: Vec<PathBuf> = found.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
    (texts[0].clone(), std::fs::read_to_string(&texts[0]).unwrap())
}

/// Tells whether nothing is left of edits.
fn is_tidy(test: &Test) -> bool {
    std::fs::read_dir(test.path("data/edits")).is_ok_and(|mut entries| entries.next().is_none())
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

#[test]
fn fields_stand_on_top_and_the_description_below() {
    with_editor(parser(), "cat \"$1\"").run("edit 2").snapshot();
}

#[test]
fn what_is_saved_is_one_revision() {
    let script = "sed -i -e 's/^subject: .*/subject: The parser/' -e 's/^tags: .*/tags: core, new/' \
                  -e 's/^priority: .*/priority:/' -e 's/^blockedBy: .*/blockedBy:/' -e 's/^two$/TWO/' \"$1\"";
    let mut test = with_editor(parser(), script).run("edit 2 --as ben").run("show 2").run("history 2");
    assert!(is_tidy(&test));
    // The same again changes nothing.
    let answer = test.json("edit 2 --json");
    assert_eq!(answer["updated"], serde_json::json!([]));
    test.snapshot();
}

#[test]
fn several_tasks_are_one_text_and_one_revision() {
    let script = "cp \"$1\" ../seen\nsed -i -e 's/\\[ \\] #1/[x] #1/' -e '/^  priority:/d' -e 's/^  tags: core/  tags: core, new/' \"$1\"\n\
                  printf -- '- [ ] Ship after: #2\\n  due: 2036-01-01\\n  - [ ] Tell people\\n' >> \"$1\"";
    let mut test = with_editor(parser(), script).run("edit 1 2 --as ben").run("history --since 2").run("list --all");
    let seen = std::fs::read_to_string(test.path("home/seen")).unwrap();
    assert!(
        seen.ends_with(
            "- [ ] #1 Design\n- [ ] #2 Parser (after #1)\n  priority: high\n  tags: core\n  one\n  two\n  three\n"
        ),
        "{seen}"
    );
    assert!(is_tidy(&test));
    let tasks = test.json("list --all --json")["tasks"].clone();
    assert_eq!(tasks.as_array().unwrap().len(), 4);
    let test = test.run("undo --as ben");
    let mut test = test;
    assert_eq!(test.json("list --all --json")["tasks"].as_array().unwrap().len(), 2);
    test.snapshot();
}

#[test]
fn query_chooses_the_plan_and_nothing_typed_changes_nothing() {
    with_editor(parser(), "cat \"$1\"")
        .run("edit --where priority:high")
        .run("edit --where tag:none")
        .run("edit 1 7")
        .snapshot();
}

#[test]
fn wrong_value_in_a_plan_reopens_the_editor_at_its_line() {
    let test = parser();
    let vim = test.path("home/vim");
    let script = "#!/bin/sh\nif [ -e ../second ]; then echo \"$1\" > ../second; sed -n \"${1#+}p\" \"$2\" >> ../second; sed -i 's/hihg/low/' \"$2\"; exit; fi\n\
                  touch ../second\nsed -i 's/priority: high/priority: hihg/' \"$1\"\n";
    std::fs::write(&vim, script).unwrap();
    std::fs::set_permissions(&vim, Permissions::from_mode(0o755)).unwrap();
    let mut test = test.env("EDITOR", vim).run("edit 1 2");
    let second = std::fs::read_to_string(test.path("home/second")).unwrap();
    let (line, shown) = second.split_once('\n').unwrap();
    assert!(line.starts_with('+') && shown == "  priority: hihg\n", "{second}");
    assert_eq!(test.json("show 2 --json")["task"]["metadata"]["priority"], "low");
    assert!(is_tidy(&test));
    test.snapshot();
}

#[test]
fn plan_that_stays_wrong_is_kept_and_can_be_resumed() {
    let mut test = with_editor(parser(), "sed -i 's/priority: high/priority: hihg/' \"$1\"");
    let ended = test.output_of("edit 1 2");
    assert_eq!(ended.status.code(), Some(2), "{}", said(&ended));
    assert!(kept(&test).1.contains("#! invalid priority `hihg`"));
    let mut test = with_editor(test, "sed -i 's/hihg/low/' \"$1\"").quietly("edit 1 2 --resume");
    assert_eq!(test.json("show 2 --json")["task"]["metadata"]["priority"], "low");
}

#[test]
fn plan_keeps_what_others_change_and_tells_of_conflicts() {
    let script = "if [ -e ../second ]; then cp \"$1\" ../seen; exit; fi\ntouch ../second\n\
                  taskyard update 2 --subject Theirs --owner bob --as bob >/dev/null\n\
                  sed -i -e 's/#2 Parser/#2 Mine/' -e 's/#1 Design/#1 Plan/' \"$1\"";
    let mut test = with_editor(parser(), script).quietly("edit 1 2");
    let seen = std::fs::read_to_string(test.path("home/seen")).unwrap();
    assert!(
        seen.contains(
            "#! changed in the meantime: subject is `Theirs` now; your version will replace it\n- [ ] #2 Mine"
        ),
        "{seen}"
    );
    let two = test.json("show 2 --json")["task"].clone();
    assert_eq!((&two["subject"], &two["owner"]), (&"Mine".into(), &"bob".into()));
    assert_eq!(test.json("show 1 --json")["task"]["subject"], "Plan");
}

#[test]
fn no_id_means_a_new_task() {
    let script = "sed -i -e 's/^subject:.*/subject: Ship/' -e 's/^blockedBy:.*/blockedBy: 1, 2/' \"$1\"\n\
                  echo 'to everybody' >> \"$1\"";
    with_editor(parser(), script)
        .run("edit")
        .run("show 3")
        .meanwhile(|place| std::fs::write(place.join("home/editor"), "#!/bin/sh\n").unwrap())
        .run("edit")
        .run("edit 3")
        .snapshot();
}

#[test]
fn text_left_as_it_was_makes_no_task() {
    let answer = with_editor(parser(), "true").json("edit --json");
    assert_eq!(answer.get("task"), Some(&serde_json::Value::Null));
}

#[test]
fn what_others_changed_meanwhile_is_merged() {
    let script = "taskyard update 2 -d 'one\ntwo\nthree and more' --owner bob --as bob >/dev/null\n\
                  taskyard update 2 --tag core --tag theirs --as bob >/dev/null\n\
                  sed -i -e 's/^one$/ONE/' -e 's/^tags: .*/tags: core, mine/' -e 's/^subject: .*/subject: Mine/' \"$1\"";
    let mut test = with_editor(parser(), script).run("edit 2");
    let task = test.json("show 2 --json")["task"].clone();
    assert_eq!(task["description"], "ONE\ntwo\nthree and more");
    assert_eq!((&task["subject"], &task["owner"]), (&"Mine".into(), &"bob".into()));
    let mut tags: Vec<&str> =
        task["metadata"]["tags"].as_array().unwrap().iter().map(|tag| tag.as_str().unwrap()).collect();
    tags.sort_unstable();
    assert_eq!(tags, ["core", "mine", "theirs"]);
    assert!(is_tidy(&test));
    test.snapshot();
}

#[test]
fn conflicting_edits_reopen_with_both_versions() {
    let script = "if [ -e ../second ]; then cp \"$1\" ../seen; sed -i -e '/^<<<<<<< /d' -e '/^=======$/,/^>>>>>>> /d' \"$1\"; exit; fi\n\
                  touch ../second\n\
                  taskyard update 2 -d 'one\ntheirs\nthree' --subject Theirs --as bob >/dev/null\n\
                  sed -i -e 's/^two$/mine/' -e 's/^subject: .*/subject: Mine/' \"$1\"";
    let mut test = with_editor(parser(), script).run("edit 2");
    let seen = std::fs::read_to_string(test.path("home/seen")).unwrap();
    assert!(seen.contains("\nsubject: Mine\n# changed in the meantime to: Theirs\n"), "{seen}");
    assert!(
        seen.ends_with("one\n<<<<<<< yours\nmine\n=======\ntheirs\n>>>>>>> changed in the meantime\nthree\n"),
        "{seen}"
    );
    let task = test.json("show 2 --json")["task"].clone();
    assert_eq!((&task["description"], &task["subject"]), (&"one\nmine\nthree".into(), &"Mine".into()));
    assert!(is_tidy(&test));
    test.snapshot();
}

#[test]
fn a_user_who_does_not_decide_keeps_both_and_can_go_on() {
    let script = "if [ -e ../second ]; then exit; fi\ntouch ../second\n\
                  taskyard update 2 -d theirs --as bob >/dev/null\nsed -i 's/^two$/mine/' \"$1\"";
    let mut test = with_editor(parser(), script);
    let ended = test.output_of("edit 2");
    assert_eq!(ended.status.code(), Some(3), "{}", said(&ended));
    let (path, text) = kept(&test);
    assert!(said(&ended).contains(path.to_str().unwrap()), "{}", said(&ended));
    assert!(text.contains("mine") && text.contains("theirs"), "{text}");
    let mut test = with_editor(test, "sed -i -e '/^[<>=]\\{7\\}/d' \"$1\"").quietly("edit 2 --resume");
    assert_eq!(test.json("show 2 --json")["task"]["description"], "one\nmine\nthree\ntheirs");
    assert!(is_tidy(&test));
}

#[test]
fn an_editor_that_fails_or_is_killed_loses_nothing() {
    for (end, code) in [("exit 3", "ended with exit code 3"), ("kill -9 $$", "was ended by signal 9")] {
        let mut test = with_editor(parser(), &format!("echo 'a long text' >> \"$1\"; {end}"));
        let ended = test.output_of("edit 2");
        assert_eq!(ended.status.code(), Some(1));
        let (path, text) = kept(&test);
        assert!(text.ends_with("three\na long text\n"), "{text}");
        assert!(said(&ended).contains(code) && said(&ended).contains(path.to_str().unwrap()), "{}", said(&ended));
        assert_eq!(test.json("show 2 --json")["task"]["description"], "one\ntwo\nthree");
        // The next edit tells of it, and --resume goes on with it, merged with what happened since.
        let mut test = with_editor(test, "true").quietly("update 2 --owner bob");
        assert!(said(&test.output_of("edit 2")).contains("the unsaved text of an earlier edit"));
        let mut test = with_editor(test, "true").quietly("edit 2 --resume");
        let task = test.json("show 2 --json")["task"].clone();
        assert_eq!((&task["description"], &task["owner"]), (&"one\ntwo\nthree\na long text".into(), &"bob".into()));
        assert!(is_tidy(&test));
    }
}

#[test]
fn failing_editor_before_typing_leaves_nothing() {
    let mut test = with_editor(parser(), "exit 1");
    assert_eq!(test.output_of("edit 2").status.code(), Some(1));
    assert!(is_tidy(&test));
    let mut test = test.env("EDITOR", "no-such-editor --wait");
    let ended = test.output_of("edit 2");
    assert_eq!(ended.status.code(), Some(1));
    assert!(said(&ended).contains("was not found"), "{}", said(&ended));
}

#[test]
fn a_refusal_loses_nothing() {
    let typed = |change: &str| format!("sed -i -e 's/^two$/typed/' -e '{change}' \"$1\"");
    for (script, code) in [
        (typed("s/^priority: .*/priority: urgent/"), 2),
        (typed("s/^subject: /subjet: /"), 2),
        (typed("s/^subject: .*/subject:/"), 2),
        (typed("s/^---$//"), 2),
        (typed("s/^status: .*/status: in_progress/"), 3),
        (typed("s/^blocks:.*/blocks: 1/"), 3),
        (format!("{}\ntaskyard delete 2 --as bob >/dev/null", typed("")), 4),
        (
            format!(
                "{}\ntaskyard claim 2 --reserve --force --as bob >/dev/null || taskyard undepend 2 --on 1 --as bob >/dev/null; \
                  taskyard claim 2 --as bob >/dev/null",
                typed("")
            ),
            3,
        ),
        ("printf '\\377' >> \"$1\"".into(), 1),
    ] {
        let mut test = with_editor(parser(), &script);
        let ended = test.output_of("edit 2 --as ana");
        assert_eq!(ended.status.code(), Some(code), "{script}\n{}", said(&ended));
        let found: Vec<_> =
            std::fs::read_dir(test.path("data/edits")).unwrap().map(|entry| entry.unwrap().path()).collect();
        let path = found.iter().find(|path| path.extension().is_some_and(|end| end == "md")).unwrap();
        assert!(said(&ended).contains(path.to_str().unwrap()), "{}", said(&ended));
        let bytes = std::fs::read(path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains("typed") || text.contains('\u{fffd}'), "{text}");
        if code != 4 {
            assert_eq!(test.json("show 2 --json")["task"]["description"], "one\ntwo\nthree", "{script}");
        }
    }
}

#[test]
fn a_full_disk_loses_nothing() {
    // No file may grow beyond 64 kilobytes, which stands for a full disk: the editor can save, and we cannot.
    let test = with_editor(parser(), "head -c 60000 /dev/zero | tr '\\0' x >> \"$1\"");
    let script = format!("ulimit -f 128; exec {} edit 2", env!("CARGO_BIN_EXE_taskyard"));
    let mut test = test.quietly("update 2 --meta large=1");
    let large = "y".repeat(60_000);
    for _ in 0..3 {
        let _ = test.answer_to("update 2 -d -", &large);
    }
    let ended = test.command("/bin/sh").args(["-c", &script]).output();
    assert_eq!(ended.status.code(), Some(1), "{}", said(&ended));
    let (path, text) = kept(&test);
    assert!(said(&ended).contains(path.to_str().unwrap()), "{}", said(&ended));
    assert!(text.contains("yyy"), "the text is kept");
    // Nothing can be laid out on such a disk at all: it is told before the editor opens.
    let script = format!("ulimit -f 0; exec {} edit 2", env!("CARGO_BIN_EXE_taskyard"));
    let ended = test.command("/bin/sh").args(["-c", &script]).output();
    assert_eq!(ended.status.code(), Some(1), "{}", said(&ended));
}

#[test]
fn our_own_death_loses_nothing() {
    let script = "echo typed >> \"$1\"; kill -9 $(sed -n 's/^PPid:\\s*//p' /proc/$PPID/status)";
    let mut test = with_editor(parser(), script);
    assert_eq!(test.output_of("edit 2").status.code(), None);
    let mut test = with_editor(test, "true").quietly("edit 2 --resume");
    assert_eq!(test.json("show 2 --json")["task"]["description"], "one\ntwo\nthree\ntyped");
    assert!(is_tidy(&test));
}

#[test]
fn an_interrupt_is_for_the_editor() {
    // What the user types goes to everybody at the terminal.
    let script = "trap : INT; ours=$(sed -n 's/^PPid:\\s*//p' /proc/$PPID/status); kill -INT $ours $PPID $$; echo typed >> \"$1\"";
    let mut test = with_editor(parser(), script).quietly("edit 2");
    assert_eq!(test.json("show 2 --json")["task"]["description"], "one\ntwo\nthree\ntyped");
}

#[test]
fn what_was_left_for_a_year_goes_with_gc_and_nothing_younger() {
    let mut test = with_editor(parser(), "echo typed >> \"$1\"; exit 1");
    let _ = (test.output_of("edit 1"), test.output_of("edit 2"));
    let long_ago = SystemTime::now() - Duration::from_secs(400 * 24 * 60 * 60);
    for name in ["project-1.md", "project-1.md.base"] {
        let file = File::options().append(true).open(test.path("data/edits").join(name)).unwrap();
        file.set_modified(long_ago).unwrap();
    }
    let mut test = test.run("gc --dry-run");
    assert_eq!(test.json("gc --json")["edits"].as_array().unwrap().len(), 2);
    assert!(kept(&test).0.ends_with("project-2.md"));
    test.snapshot();
}

#[test]
fn times_stand_in_the_editors_zone_and_are_read_in_its_words() {
    let script = "cp \"$1\" ../seen; sed -i -e 's/^due:.*/due: 2030-01-03/' -e 's/^defer:.*/defer: none/' -e 's/^estimate:.*/estimate: 2h/' \"$1\"";
    let mut test = with_editor(parser(), script)
        .env("TZ", "Europe/Berlin")
        .quietly("update 2 --due '2030-01-02 17:00' --defer 2030-01-01")
        .quietly("edit 2");
    let seen = std::fs::read_to_string(test.path("home/seen")).unwrap();
    assert!(seen.contains("\ndue: 2030-01-02 17:00\ndefer: 2030-01-01\nestimate:\n"), "{seen}");
    let metadata = test.json("show 2 --json")["task"]["metadata"].clone();
    assert_eq!(metadata["due"], "2030-01-03T22:59:59.999Z");
    assert_eq!((&metadata["defer"], &metadata["estimate"]), (&serde_json::Value::Null, &7200.into()));
    // What is left as it stands is left as it is.
    let mut test = with_editor(test, "sed -i 's/^subject:.*/subject: New/' \"$1\"").quietly("edit 2");
    assert_eq!(test.json("show 2 --json")["task"]["metadata"], metadata);
    let ended = with_editor(test, "sed -i 's/^due:.*/due: soonish/' \"$1\"").output_of("edit 2");
    assert_eq!(ended.status.code(), Some(2));
    assert!(said(&ended).contains("invalid time `soonish`"), "{}", said(&ended));
}

#[test]
fn ranges_name_tasks_and_missing_ones_are_told_first() {
    let mut test = with_editor(parser().quietly("create Third"), "echo x >> ../edited");
    assert_eq!(test.output_of("edit 1-2 4").status.code(), Some(4));
    assert!(!test.path("home/edited").exists());
    let test = test.quietly("edit 1-3 2,3");
    assert_eq!(std::fs::read_to_string(test.path("home/edited")).unwrap(), "x\n", "all in one text");
}
