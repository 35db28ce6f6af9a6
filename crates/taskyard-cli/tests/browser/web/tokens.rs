//! Tokens by name, through the command and over HTTP.

use serde_json::json;
use taskyard_testkit::{Home, finishes};

use crate::web::served::{Line, Response, Served};

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
    assert_eq!(asked("POST", "/api/v1/links", Some(json!({}))), [403, 201, 201]);
    assert_eq!(asked("POST", "/api/v1/links", Some(json!({"scope": "all"}))), [403, 403, 201]);
    assert_eq!(asked("POST", "/api/v1/links", Some(json!({"name": "w"}))), [403, 201, 201]);
    assert_eq!(asked("POST", "/api/v1/links", Some(json!({"name": "uma"}))), [403, 403, 201]);
    assert_eq!(asked("GET", "/api/v1/tokens", None), [403, 403, 200]);
    let reset = |name: &str| asked("POST", "/api/v1/teams", Some(json!({"name": name, "reset": true})));
    assert_eq!(reset("L"), [403, 403, 201], "it would empty the list");
    assert_eq!(asked("POST", "/api/v1/teams", Some(json!({"name": "M"}))), [403, 201, 409]);
    assert_eq!(served.line_with(&tokens[0]).get("/metrics").status, 200);
}

/// A browser that a link let in: its cookie, and the secret of its page.
struct LetIn {
    cookie: String,
    page: String,
}

impl LetIn {
    fn by(served: &Served, link: &str) -> Self {
        let path = &link[link.find("/open/").unwrap()..];
        let opened = served.line().bare("GET", path, &[("Host", &served.address)], b"");
        let cookie = opened.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        let page = opened.body.split("name=\"taskyard-page\" content=\"").nth(1).unwrap();
        Self { cookie, page: page.split('"').next().unwrap().to_owned() }
    }

    fn ask(&self, served: &Served, method: &str, path: &str, body: &str) -> Response {
        let origin = format!("http://{}", served.address);
        let headers = [
            ("Host", served.address.as_str()),
            ("Origin", &origin),
            ("Cookie", &self.cookie),
            ("Taskyard-Page", &self.page),
            ("Content-Type", "application/json"),
        ];
        served.line().bare(method, path, &headers, body.as_bytes())
    }
}

#[test]
fn a_link_acts_under_the_name_of_the_token_that_made_it() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let own = LetIn::by(&served, &served.link);
    assert!(own.ask(&served, "GET", "/lists/L", "").body.contains("you are <b>uma</b>"));
    let xia = token(&home, "xia --scope work");
    let made = served.line_with(&xia).done("/api/v1/links", json!({"scope": "work"}));
    assert_eq!((&made["agent"], &made["scope"]), (&json!("xia"), &json!("work")));
    let browser = LetIn::by(&served, made["link"].as_str().unwrap());
    assert_eq!(browser.ask(&served, "POST", TASKS, r#"{"subject":"Wheels"}"#).status, 201);
    assert_eq!(home.ask("history")["entries"][0]["actor"], "xia");
    let who = browser.ask(&served, "GET", "/api/v1/whoami", "").json();
    assert_eq!((&who["agent"], &who["person"]), (&json!("xia"), &json!(true)));
    let started = browser.ask(&served, "POST", &format!("{TASKS}/1/start"), "{}").json();
    assert_eq!((&started["task"]["owner"], &started["token"]), (&json!("xia"), &serde_json::Value::Null));
    assert_eq!(browser.ask(&served, "POST", "/api/v1/lists/L/clear", "{}").code(), "scope");
    home.ask("token revoke xia");
    assert_eq!(browser.ask(&served, "GET", "/lists/L", "").status, 401, "it goes with its token");
}

#[test]
fn a_browser_that_only_reads_has_a_page_without_controls() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    served.line().create("Wheels");
    let link = served.line().done("/api/v1/links", json!({"scope": "read", "name": "guest"}))["link"].clone();
    let guest = LetIn::by(&served, link.as_str().unwrap());
    for path in ["/lists/L?task=1", "/lists/L/table", "/lists/L/history", "/lists/L/agents", "/lists/L/messages"] {
        let page = guest.ask(&served, "GET", path, "").body;
        assert!(page.contains("you are <b>guest</b> (read only)"), "{path}");
        for control in
            ["create", "invite", "start", "done", "undo-revision", "describe", "assign", "select-all", "restore"]
        {
            assert!(!page.contains(&format!("data-act=\"{control}\"")), "{control} on {path}");
        }
        assert!(!page.contains("data-form="), "{path}");
    }
    let refused = guest.ask(&served, "POST", TASKS, r#"{"subject":"Engine"}"#);
    assert_eq!((refused.status, refused.code().as_str()), (403, "scope"));
    assert_eq!(guest.ask(&served, "POST", "/api/v1/logout", "{}").status, 200);
}

/// The operations that need the scope `all`: they destroy, run commands or let others in.
const ONLY_FOR_ALL: [&str; 13] = [
    "renameList",
    "removeList",
    "clearList",
    "mergeLists",
    "mendList",
    "startJob",
    "stopJob",
    "tidyJobs",
    "deleteTeam",
    "importTasks",
    "listTokens",
    "createToken",
    "revokeToken",
];

#[test]
fn every_operation_refuses_tokens_of_a_narrower_scope() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::with(&home, "--allow-exec");
    let scopes = ["read", "work", "all"];
    let tokens = scopes.map(|scope| token(&home, &format!("{scope} --scope {scope}")));
    let document = served.line().get("/api/v1/openapi.json").json();
    let mut only_for_all = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, described) in methods.as_object().unwrap() {
            let id = described["operationId"].as_str().unwrap();
            let needed = match method.as_str() {
                _ if ONLY_FOR_ALL.contains(&id) => "all",
                // A browser that only reads logs out, too.
                "get" => "read",
                _ if id == "logOut" => "read",
                _ => "work",
            };
            only_for_all.extend((needed == "all").then_some(id));
            let path = path.replace('{', "x-").replace('}', "");
            for (scope, token) in scopes.into_iter().zip(&tokens) {
                let is_beyond = scopes.iter().position(|it| *it == scope) < scopes.iter().position(|it| *it == needed);
                let mut line = served.line_with(token);
                let headers = [("Host", served.address.as_str()), ("Authorization", &format!("Bearer {token}"))];
                // What is no JSON is refused by every operation that the caller may call; a stream is left at once.
                line.send(&method.to_ascii_uppercase(), &path, &headers, b"{");
                let status = line.head().0;
                assert_eq!(status == 403, is_beyond, "{id} with {scope}: {status}");
            }
        }
    }
    assert_eq!(only_for_all.len(), ONLY_FOR_ALL.len(), "{only_for_all:?}");
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

/// Reads a stream to its end, which is a chunk without bytes.
fn read_to_the_end(mut line: Line) {
    finishes(move || while line.text_line() != "0" {});
}

#[test]
fn what_a_token_began_ends_with_it() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let long = token(&home, "long --scope work");
    let short = token(&home, "short --expires 2s");
    let begin = |token: &str, method: &str, path: &str, body: &[u8]| {
        let mut line = served.line();
        let proof = format!("Bearer {token}");
        let headers =
            [("Host", served.address.as_str()), ("Authorization", &proof), ("Content-Type", "application/json")];
        line.send(method, path, &headers, body);
        line
    };
    let mut streams: Vec<Line> =
        [&long, &short].map(|token| begin(token, "GET", "/api/v1/lists/L/events", b"")).into_iter().collect();
    streams.push(begin(&long, "GET", "/api/v1/events", b""));
    streams.iter_mut().for_each(|line| assert_eq!(line.head().0, 200));
    let mut waiting = begin(&long, "POST", "/api/v1/lists/L/claim-next", br#"{"wait":"60s"}"#);
    home.ask("token revoke long");
    assert_eq!(waiting.response().code(), "unauthorized");
    streams.into_iter().for_each(read_to_the_end);
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
