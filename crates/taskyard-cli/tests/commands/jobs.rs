use crate::test::Test;

/// Returns a home whose jobs write below it.
fn home() -> Test {
    let test = Test::new();
    let temporary = test.path("tmp");
    test.env("CLAUDE_CODE_TMPDIR", temporary).env("TASKYARD_AGENT", "ana")
}

#[test]
fn a_job_is_started_waited_for_read_and_tidied_away() {
    home()
        .run("job list")
        .run("job run --name build -- sh -c 'echo one; echo two; echo three; exit 3'")
        .run("job wait build")
        .run("job list")
        .run("job output build")
        .run("job output build --tail 2")
        .run("job output build --offset 8")
        .run("job output build --offset 99")
        .run("job output build --tail 0")
        .run("job output build --follow")
        .run("job gc")
        .run("job gc --older-than 0s --dry-run")
        .run("job gc --older-than 0s")
        .run("job list")
        .snapshot();
}

#[test]
fn programs_are_told_everything_of_a_job() {
    home()
        .strict()
        .run("job run --json --name build -d 'Build it' -- sh -c 'while [ ! -e go ]; do sleep 0.02; done; printf ab; exit 3'")
        .file("home/project/go", "")
        .run("job wait build --json")
        .run("job list --json")
        .run("job output build --json")
        .run("job output build --offset 1 --json")
        .run("job output build --offset 99 --json")
        .run("job output build --wait --timeout 1s --json")
        .run("job stop build --json")
        .run("job gc --older-than 0s --json")
        .run("job list --json")
        .snapshot();
}

#[test]
fn a_running_job_is_shown_stopped_and_refuses_a_second_stop() {
    home()
        .list("1 pending 'Serve the page'")
        .run("job run --name server --task 1 --max-output 16MB -- sleep 600")
        .run("job list --running")
        .run("job list --running --json")
        .run("show 1")
        .run("job wait server --timeout 10ms")
        .run("job wait server --timeout 10ms --json")
        .run("job stop server")
        .run("job stop server")
        .run("job list --running")
        .run("job list --task 1")
        .run("job list --json --task 1")
        .snapshot();
}

#[test]
fn only_the_id_is_wanted_in_quiet() {
    home()
        .run("job run --quiet --name one -- true")
        .run("job wait one --quiet")
        .run("job stop one --quiet")
        .run("job gc --older-than 0s --quiet")
        .snapshot();
}

#[test]
fn every_state_has_its_colour() {
    home()
        .file("home/.config/taskyard/taskyard.toml", "[jobs]\noutput_form = \"2.1.325\"\n")
        .quietly("job run --json --name done -- true")
        .quietly("job wait done")
        .quietly("job run --json --name failed -- sh -c 'kill -SEGV $$'")
        .run("job wait failed")
        .quietly("job run --json --name late --timeout 10ms -- sleep 600")
        .run("job wait late")
        .quietly("job run --json --name nowhere -- /no/such/program")
        .run("job wait nowhere")
        .quietly("job run --json --name busy -- sleep 600")
        .on_terminal(80, "job list", "")
        .quietly("job stop busy")
        .snapshot();
}

#[test]
fn what_cannot_be_meant_is_told_with_what_to_do_instead() {
    home()
        .run("job output nothing")
        .run("job output nothing --json")
        .run("job wait b00000000")
        .run("job stop ../../etc/passwd")
        .run("job run")
        .run("job run ls")
        .run("job run --task 7 -- true")
        .run("job run --reopen-on-failure -- true")
        .run("job run --type somebody -- true")
        .run("job run --max-output much -- true")
        .run("job run --timeout soon -- true")
        .run("job run --timeout soon --json -- true")
        .run("job run --name ' ' -- true")
        .run("job run --name 'two\nlines' -- true")
        .run("job output nothing --offset 1 --tail 1")
        .run("job output nothing --follow --wait")
        .run("job output nothing --timeout 1s")
        .run("job list --task 7")
        .snapshot();
}

#[test]
fn job_name_means_its_newest_job() {
    home()
        .quietly("job run --json --name twin -- sleep 600")
        .quietly("job run --json --name twin -- sh -c 'echo newest; exit 3'")
        .run("job wait twin")
        .run("job output twin")
        .run("job stop twin")
        .quietly("job run --json --name twin -- sleep 600")
        .run("job wait twin --timeout 10ms")
        .run("job stop twin")
        .run("job wait twin --json")
        .snapshot();
}

#[test]
fn waiting_ends_with_the_code_of_the_command() {
    let mut test = home();
    for (line, code) in [("exit 0", 0), ("exit 1", 1), ("exit 4", 4), ("exit 77", 77), ("kill -SEGV $$", 139)] {
        let ran = test.output_of(&format!("job run --wait --name one -- sh -c '{line}'"));
        assert_eq!(ran.status.code(), Some(code), "{ran:?}");
        for flags in ["", "--json", "--quiet"] {
            let ran = test.output_of(&format!("job wait one {flags}"));
            assert_eq!(ran.status.code(), Some(code), "{ran:?}");
        }
    }
    test.run("job run --wait -- sh -c 'exit 5'")
        .run("job run --wait --json -- sh -c 'exit 5'")
        .run("job run --wait --quiet -- sh -c 'exit 5'")
        .run("job run --wait -- /no/such/program")
        .run("job run --wait --timeout 10ms -- sleep 600")
        .run("job run --wait --task 7 -- true")
        .run("job wait nothing --json")
        .snapshot();
}

#[test]
fn an_agent_in_no_team_finds_its_jobs_in_its_inbox() {
    home()
        .run("inbox")
        .run("inbox --json")
        .quietly("job run --json --name server -- sleep 600")
        .run("inbox")
        .run("inbox --json")
        .run("inbox --as ben")
        .run("inbox --team alpha")
        .quietly("job stop server")
        .quietly("job run --json --name tests -- sh -c 'exit 3'")
        .run("job wait tests --as ben")
        .run("inbox --ack")
        .run("inbox")
        .snapshot();
}

#[test]
fn a_job_without_room_for_its_output_is_refused() {
    home()
        .file("home/.config/taskyard/taskyard.toml", "[jobs]\nquota = \"10KB\"\n")
        .run("job run -- true")
        .run("job run --json -- true")
        .snapshot();
}
