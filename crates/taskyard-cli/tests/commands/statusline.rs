use crate::test::Test;

#[test]
fn the_status_line_says_what_is_going_on() {
    Test::new()
        .list("1 completed; 2 in_progress (ana) 'Write the parser'; 3 pending <- 2; 4 in_progress; 5 pending")
        .quietly("update 2 --active-form 'Writing the parser'")
        .env("NO_COLOR", "1")
        .stdin("{\"hook_event_name\":\"Status\",\"session_id\":\"x\",\"cwd\":\"/\",\"model\":{\"id\":\"m\"}}")
        .run("statusline --list project")
        .stdin("no json")
        .run("statusline")
        .run("statusline --json")
        .without("NO_COLOR")
        .run("statusline")
        .run("statusline --list empty")
        .snapshot();
}

#[test]
fn the_clients_directory_decides_which_list_it_is() {
    let test = Test::new().list("1 pending").list_named("other", "1 completed; 2 completed");
    std::fs::create_dir_all(test.path("home/other")).unwrap();
    let told = format!("{{\"workspace\":{{\"current_dir\":{:?}}},\"cwd\":\"/nowhere\"}}", test.path("home/other"));
    test.env("NO_COLOR", "1").stdin(told).run("statusline").snapshot();
}

#[test]
fn unread_messages_and_running_jobs_are_counted() {
    let test = Test::new()
        .quietly("team create alpha")
        .quietly("team join alpha --as bob")
        .quietly("create Parser --list alpha --as bob")
        .quietly("send --to bob hello")
        .env("NO_COLOR", "1");
    test.stdin("{}").run("statusline --list alpha --as bob").snapshot();
}

#[test]
fn what_others_write_shows_at_once_however_long_the_list_is() {
    let tasks: Vec<String> = (1..=200).map(|number| format!("{number} pending 'Task {number}'")).collect();
    let mut test = Test::new().list(&tasks.join("; ")).env("NO_COLOR", "1");
    let mut line = |told: &str| String::from_utf8(test.answer_to("statusline", told).stdout).unwrap();
    assert_eq!(line("{}"), "0/200 done\n");
    assert_eq!(line(""), "0/200 done\n");
    let path = test.path("home/.claude/tasks/project/77.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"pending\"", "\"in_progress\"")).unwrap();
    for _ in 0..2 {
        let told = String::from_utf8(test.answer_to("statusline", "{}").stdout).unwrap();
        assert_eq!(told, "◼ Task 77 · 0/200 done\n");
    }
}
