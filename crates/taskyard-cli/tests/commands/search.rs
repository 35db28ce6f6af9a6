use crate::test::Test;

#[test]
fn every_word_must_occur_somewhere() {
    Test::new()
        .quietly("create 'Write the parser' -d 'With tests for UTF-8'")
        .quietly("create 'Write the docs' --tag parser")
        .quietly("create 'Ship'")
        .run("search PARSER")
        .run("search parser utf-8")
        .run("search parser --json")
        .run("search nothing")
        .run("search ' '")
        .snapshot();
}

#[test]
fn typos_find_the_intended_task_and_queries_narrow_results() {
    Test::new()
        .quietly("create 'Deploy the website' --tag ops")
        .quietly("create 'Write the parser' -d 'A parser for deployments'")
        .run("search deplyo websiet")
        .run("search deploy")
        .run("search deploy tag:ops")
        .run("search deploy not tag:ops")
        .run("search 'the parser'")
        .run(r#"search '"the parser"'"#)
        .run("search tag:ops --json")
        .run("search deploy tga:ops")
        .snapshot();
}

#[test]
fn all_lists_can_be_searched() {
    Test::new()
        .quietly("create 'Deploy here'")
        .quietly("create 'Deploy there' --list other")
        .quietly("create 'Test there' --list other")
        .run("search deploy --everywhere")
        .run("search depolyed --everywhere")
        .run("search deplyo --everywhere --json")
        .run("search deplyo")
        .snapshot();
}
