//! Tokens by name, through the command and over HTTP.

use serde_json::json;
use taskyard_testkit::Home;

use crate::served::Served;

const TASKS: &str = "/api/v1/lists/L/tasks";

fn token(home: &Home, words: &str) -> String {
    home.ask(&format!("token create {words}"))["token"].as_str().unwrap().to_owned()
}

#[test]
fn a_token_goes_as_far_as_its_scope() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let contract = served.contract();
    let scopes = [("r", "read"), ("w", "work"), ("a", "all")];
    let tokens: Vec<String> =
        scopes.iter().map(|(name, scope)| token(&home, &format!("{name} --scope {scope}"))).collect();
    let asked = |method: &str, path: &str, body: Option<serde_json::Value>| {
        let mut ask = |token: &String| {
            let response = served.line_with(token).ask(method, path, &[], body.clone());
            contract.hold(method, path, &response);
            response.status
        };
        tokens.iter().map(&mut ask).collect::<Vec<u16>>()
    };
    assert_eq!(asked("GET", TASKS, None), [200, 200, 200]);
    assert_eq!(asked("POST", TASKS, Some(json!({"subject": "One"}))), [403, 201, 201]);
    assert_eq!(asked("POST", "/api/v1/lists/L/clear", Some(json!({}))), [403, 403, 200]);
    assert_eq!(asked("POST", "/api/v1/links", Some(json!({}))), [403, 403, 201]);
    assert_eq!(asked("GET", "/api/v1/tokens", None), [403, 403, 200]);
    let mcp = |token: &String| served.line_with(token).ask("POST", "/mcp", &[], Some(json!({}))).status;
    assert_eq!(tokens.iter().map(mcp).map(|status| status == 403).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(served.line_with(&tokens[0]).get("/metrics").status, 200);
}

#[test]
fn a_token_counts_until_it_is_revoked_or_its_time_is_over() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let (long, short) = (token(&home, "long"), token(&home, "short --expires 1s"));
    let mut line = served.line_with(&long);
    assert_eq!(line.get(TASKS).status, 200);
    home.ask("token revoke long");
    assert_eq!(line.get(TASKS).status, 401, "on a connection that was open, too");
    let mut line = served.line_with(&short);
    while line.get(TASKS).status == 200 {}
    assert_eq!(line.get(TASKS).code(), "unauthorized");
    let listed = home.ask("token list")["tokens"].clone();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["counts"]), (1, &json!(false)));
}

#[test]
fn no_file_of_ours_holds_a_token_that_was_shown() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let token = token(&home, "ci --scope work");
    let files = std::fs::read_dir(home.data()).unwrap().map(|entry| entry.unwrap().path());
    for file in files.filter(|path| path.is_file()) {
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        assert!(!text.contains(&token[3..]), "{}", file.display());
    }
}
