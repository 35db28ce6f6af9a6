use crate::test::Test;

#[test]
fn an_edge_is_taken_away_on_both_sides() {
    Test::new()
        .list("1 pending; 2 pending <- 1")
        .run("undepend 2 --on 1")
        .run("list --json")
        .run("undepend 2 --on 1")
        .snapshot();
}
