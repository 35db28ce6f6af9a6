use crate::test::Test;

#[test]
fn every_shell_gets_its_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let test = Test::new();
        let output = test.command(env!("CARGO_BIN_EXE_taskyard")).args(["completions", shell]).output();
        assert!(output.status.success());
        // It asks us, and has nothing of its own.
        assert!(String::from_utf8(output.stdout).unwrap().contains("TASKYARD_COMPLETE"), "{shell}");
    }
}

#[test]
fn an_unknown_shell_is_wrong_usage() {
    Test::new().run("completions tcsh").snapshot();
}
