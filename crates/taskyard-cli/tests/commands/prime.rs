use crate::test::Test;

#[test]
fn an_agent_is_told_how_to_work_and_what_the_state_is() {
    Test::new().run("prime").list("1 completed").run("prime --list project").snapshot();
}

#[test]
fn a_list_at_work_is_told_in_few_words() {
    let open: String = (8..40).map(|id| format!("; {id} pending 'Write chapter {id}'")).collect();
    let list = format!(
        "1 completed; 2 in_progress (ana) 'Write the parser'; 3 pending 'Write the docs' <- 2; 4 in_progress 'Look \u{1b}[31m into it'; \
         5 pending (bob) 'Taken'; 6 pending 'A very long title that goes on and on about what exactly there is to be done here'; \
         7 pending 'Ship' <- 6{open}"
    );
    let mut test = Test::new().list(&list).run("prime").run("prime --json");
    // Four characters are a token or less in English.
    let text = test.json("prime --json")["text"].as_str().unwrap().to_owned();
    assert!(text.len() < 4 * 300, "{} characters", text.len());
    test.snapshot();
}
