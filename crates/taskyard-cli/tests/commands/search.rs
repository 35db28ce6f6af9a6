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
