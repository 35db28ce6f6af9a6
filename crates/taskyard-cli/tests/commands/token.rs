use crate::test::Test;

#[test]
fn a_token_is_listed_without_its_secret_and_revoked_by_name() {
    Test::new()
        .run("token list")
        .run("token create")
        .run("token create a/b")
        .run("token create ci --scope everything")
        .run("token revoke ci")
        .run("token revoke ci --json")
        .snapshot();
}
