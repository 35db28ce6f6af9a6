use crate::test::Test;

#[test]
fn the_actor_is_told_with_where_its_name_comes_from() {
    Test::new()
        .run("whoami")
        .run("whoami --as ana --json")
        .env("TASKYARD_AGENT", "ben")
        .run("whoami --json")
        .without("TASKYARD_AGENT")
        .env("CLAUDE_CODE_SESSION_ID", "0198ffff-aaaa")
        .run("whoami")
        .without("CLAUDE_CODE_SESSION_ID")
        .without("USER")
        .run("whoami")
        .run("whoami --quiet")
        .snapshot();
}

#[cfg(unix)]
#[test]
fn a_terminal_is_a_persons_unless_the_client_runs_there() {
    Test::new().on_terminal(60, "whoami", "").env("CLAUDECODE", "1").on_terminal(60, "whoami", "").snapshot();
}
