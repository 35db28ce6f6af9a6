use crate::test::Test;

#[test]
fn the_manual_is_a_page_for_man() {
    let test = Test::new();
    let output = test.command(env!("CARGO_BIN_EXE_taskyard")).arg("man").output();
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.contains(".TH taskyard 1"), "{page}");
}

#[test]
fn a_directory_gets_a_page_for_every_command() {
    let test = Test::new().quietly("man --out pages");
    for page in ["taskyard.1", "taskyard-create.1", "taskyard-undepend.1"] {
        assert!(test.path("home/project/pages").join(page).exists(), "{page}");
    }
}

#[test]
fn a_command_has_a_page_of_its_own() {
    let mut test = Test::new();
    let output = test.output_of("man note");
    assert!(String::from_utf8(output.stdout).unwrap().contains(".TH taskyard-note 1"));
    assert_eq!(test.output_of("man frobnicate").status.code(), Some(2));
}
