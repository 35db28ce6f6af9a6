//! The pages: what they show, what they never let through, how large they are, and their parts.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use taskyard_testkit::{Home, wait_until};

use crate::web::served::{Line, Response, Served};

const VIEWS: [&str; 8] = ["", "/table", "/graph", "/history", "/charts", "/agents", "/jobs", "/messages"];
const PATH: &str = "/lists/L";
/// What nobody wants to run.
const BAD: &str = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'><b style=\"x\">";

fn home() -> Home {
    Home::new(env!("CARGO_BIN_EXE_taskyard"))
}

fn page(line: &mut Line, path: &str) -> String {
    let response = line.get(path);
    assert_eq!(response.status, 200, "{path}: {response:?}");
    assert_eq!(response.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
    assert_is_plain(path, &response.body);
    response.body
}

/// Holds a page to what its policy allows: scripts and styles by address only, and nothing that runs within an element.
fn assert_is_plain(path: &str, page: &str) {
    for script in page.split("<script").skip(1) {
        assert!(
            script.starts_with(" type=\"module\" src=\"/assets/"),
            "{path}: <script{}",
            &script[..script.len().min(80)]
        );
        assert!(script.split_once('>').unwrap().1.starts_with("</script>"), "{path}: a script within the page");
    }
    assert!(!page.contains("<style"), "{path}");
    for tag in page.split('<').skip(1).filter_map(|tag| tag.split_once('>')).map(|(tag, _)| tag) {
        // What is quoted may hold anything; names of attributes may not.
        let names: String = tag.split('"').step_by(2).collect::<Vec<_>>().join(" ");
        assert!(!names.contains(" style=") && !names.contains(" on"), "{path}: <{tag}>");
    }
}

fn act(line: &mut Line, path: &str, body: Value) -> Value {
    line.done(&format!("/api/v1/lists/L{path}"), body)
}

#[test]
fn every_page_shows_the_list_without_scripts() {
    let home = home();
    home.run("team create L --as uma");
    let served = Served::start(&home);
    let mut line = served.line();
    let first =
        act(&mut line, "/tasks", json!({"subject": "Write the parser", "tags": ["core"], "activeForm": "Writing it"}));
    assert_eq!(first["task"]["id"], "1");
    act(&mut line, "/tasks", json!({"subject": "Ship it", "blockedBy": ["1"], "description": "**All** of it"}));
    act(&mut line, "/tasks/1/claim", json!({}));
    act(&mut line, "/tasks/1/notes", json!({"text": "Numbers are from the first run"}));
    let columns = page(&mut line, PATH);
    for shown in [
        "Write the parser",
        "Writing it",
        "Ship it",
        "data-status=\"in_progress\"",
        "blocked by",
        "1</b> in progress",
        "uma",
    ] {
        assert!(columns.contains(shown), "{shown} in {columns}");
    }
    let table = page(&mut line, "/lists/L/table");
    assert!(table.contains("id=\"row-2\"") && table.contains("core"), "{table}");
    let graph = page(&mut line, "/lists/L/graph");
    assert!(graph.contains("data-from=\"1\" data-to=\"2\""), "{graph}");
    let history = page(&mut line, "/lists/L/history");
    assert!(history.contains("claimed") && history.contains("data-act=\"undo-revision\""), "{history}");
    assert_eq!(page(&mut line, "/lists/L/charts").matches("class=\"chart ").count(), 3);
    let agents = page(&mut line, "/lists/L/agents");
    assert!(agents.contains("uma") && agents.contains("Write the parser"), "{agents}");
    assert!(page(&mut line, "/lists/L/jobs").contains("No background commands"));
    assert!(page(&mut line, "/lists/L/messages").contains("Messages"));
    assert!(page(&mut line, "/lists").contains("1 in progress"));
    let task = page(&mut line, "/lists/L?task=2");
    for shown in ["<strong>All</strong> of it", "waits for", "href=\"/lists/L?task=1\"", "Activity"] {
        assert!(task.contains(shown), "{shown} in {task}");
    }
    assert!(page(&mut line, "/lists/L?task=1").contains("Numbers are from the first run"));
    assert!(page(&mut line, "/lists/L?task=99").contains("no task #99"));
    assert!(page(&mut line, "/lists/nowhere").contains("No tasks yet"));
    let home_page = line.get("/");
    assert_eq!((home_page.status, home_page.header("location")), (303, Some("/lists/L")));
}

#[test]
fn a_script_in_any_text_is_shown_and_never_part_of_a_page() {
    let home = home();
    let served = Served::start(&home);
    let mut line = served.line();
    let task = json!({"subject": BAD, "description": BAD, "activeForm": BAD, "owner": BAD, "tags": [BAD], "metadata": {"kind": BAD}});
    act(&mut line, "/tasks", task);
    act(&mut line, "/tasks/1/start", json!({"force": true}));
    act(&mut line, "/tasks/1/notes", json!({"text": BAD}));
    act(&mut line, "/tasks", json!({"subject": "Next", "blockedBy": ["1"]}));
    for view in VIEWS {
        let shown = page(&mut line, &format!("/lists/L{view}?task=1"));
        assert!(shown.contains("&lt;script&gt;"), "{view}: it is shown");
        let asked = form(BAD);
        page(&mut line, &format!("/lists/L{view}?q={asked}&sort={asked}&open={asked}&task={asked}&from={asked}"));
    }
    let named = line.get(&format!("/lists/{}", form(BAD)));
    assert_is_plain("a list of that name", &named.body);
}

#[test]
fn a_list_of_any_name_has_an_address() {
    let home = home();
    let served = Served::start(&home);
    let mut line = served.line();
    let name = "rocket plans & <i>more</i> 100%?#ü";
    let made = line.post(&format!("/api/v1/lists/{}/tasks", form(name)), json!({"subject": "One"}));
    assert_eq!(made.status, 201, "{made:?}");
    let lists = page(&mut line, "/lists");
    let address =
        lists.split("href=\"").filter_map(|rest| rest.split('"').next()).find(|to| to.starts_with("/lists/rocket"));
    let address = address.unwrap_or_else(|| panic!("{lists}")).replace("&amp;", "&");
    assert!(page(&mut line, &address).contains(">One</a>"), "{address}");
}

fn form(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn pages_need_cookie_or_token() {
    let home = home();
    let served = Served::start(&home);
    served.line().create("Secret");
    let host = served.address.as_str();
    for path in ["/", "/lists", PATH, "/lists/L?task=1", "/assets/x/board.js", "/favicon.ico"] {
        let refused = served.line().bare("GET", path, &[("Host", host)], b"");
        assert_eq!(refused.status, 401, "{path}");
        assert!(!refused.body.contains("Secret"));
    }
    let asked = [("Host", host), ("Accept", "text/html,application/xhtml+xml")];
    let closed = served.line().bare("GET", PATH, &asked, b"");
    assert_eq!((closed.status, closed.header("content-type")), (401, Some("text/html; charset=utf-8")));
    assert!(closed.body.contains("Open the link"), "a person is told what to do");
    let path = &served.link[served.link.find("/open/").unwrap()..];
    let opened = served.line().bare("GET", path, &[("Host", host)], b"");
    let cookie = opened.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let seen = served.line().bare("GET", PATH, &[("Host", host), ("Cookie", &cookie)], b"");
    assert_eq!(seen.status, 200);
    assert!(seen.body.contains("Secret"));
    assert_eq!(seen.header("cache-control"), Some("no-store"));
    assert!(seen.header("content-security-policy").unwrap().contains("script-src 'self'"));
}

fn parts(line: &mut Line, path: &str, parts: &str) -> String {
    let response: Response = line.ask("GET", path, &[("Taskyard-Parts", parts)], None);
    assert_eq!(response.status, 200, "{response:?}");
    response.body
}

#[test]
fn parts_of_a_page_are_those_of_the_whole() {
    let home = home();
    let served = Served::start(&home);
    let mut line = served.line();
    line.create("One");
    let ids = ["lists", "views", "truth", "view", "task", "agents"];
    let whole = page(&mut line, PATH);
    for id in ids {
        let part = parts(&mut line, PATH, id);
        assert!(part.contains(&format!("id=\"{id}\"")), "{id}: {part}");
        let others = ids.iter().filter(|other| **other != id);
        others.for_each(|other| assert!(!part.contains(&format!(" id=\"{other}\"")), "{other} in {part}"));
        assert!(whole.contains(part.split("just now").next().unwrap()), "{id} is the same in the whole page");
    }
    assert!(!parts(&mut line, PATH, "view,task").contains("<html"));
    assert_eq!(parts(&mut line, PATH, "nothing"), "");
}

#[test]
fn a_mistake_in_a_query_is_marked_and_what_was_meant_is_offered() {
    let home = home();
    let served = Served::start(&home);
    let mut line = served.line();
    line.create("Parser");
    line.create("Docs");
    let wrong = page(&mut line, "/lists/L/table?q=statsu:pending");
    assert!(wrong.contains("<mark>statsu</mark>") || wrong.contains("<mark>statsu:pending</mark>"), "{wrong}");
    assert!(wrong.contains("did you mean") && wrong.contains("q=status%3Apending"), "{wrong}");
    assert!(wrong.contains("aria-invalid=\"true\""));
    let chosen = page(&mut line, "/lists/L/table?q=parser");
    assert!(chosen.contains("row-1") && !chosen.contains("row-2"), "{chosen}");
    let sorted = page(&mut line, "/lists/L/table?sort=-id");
    assert!(sorted.find("row-2").unwrap() < sorted.find("row-1").unwrap());
    assert!(sorted.contains("aria-sort=\"descending\""));
    assert!(page(&mut line, "/lists/L/table?q=nothing-like-that").contains("No matching tasks"));
}

#[test]
fn everything_a_page_asks_for_is_there_and_kept_by_browsers() {
    let home = home();
    let served = Served::start(&home);
    let mut line = served.line();
    let whole = page(&mut line, PATH);
    let folder = whole.split("src=\"").nth(1).unwrap().split("board.js").next().unwrap().to_owned();
    let mut asked = vec!["board.js".to_owned(), "board.css".to_owned(), "icon.svg".to_owned()];
    let mut seen = Vec::new();
    while let Some(name) = asked.pop() {
        let asset = line.get(&format!("{folder}{name}"));
        assert_eq!(asset.status, 200, "{name}");
        assert_eq!(asset.header("cache-control"), Some("private, max-age=31536000, immutable"));
        let imports = asset.body.lines().filter(|line| line.starts_with("import "));
        for import in imports {
            let module = import.split("\"./").nth(1).unwrap().split('"').next().unwrap().to_owned();
            if !seen.contains(&module) && !asked.contains(&module) {
                asked.push(module);
            }
        }
        seen.push(name);
    }
    assert!(seen.len() > 10, "{seen:?}");
    assert_eq!(line.get(&format!("{folder}other.js")).status, 404);
    let old = line.get("/assets/0000/board.js");
    assert_eq!((old.status, old.header("cache-control")), (200, Some("no-store")));
}

/// Writes a list of so many tasks as the client does, a tenth of them done, some of them waiting.
fn long_list(home: &Home, tasks: usize) {
    let folder = home.list("L");
    fs::create_dir_all(&folder).unwrap();
    for id in 1..=tasks {
        let status = if id % 10 == 0 { "completed" } else { "pending" };
        let blocked: Vec<String> = if id % 3 == 0 { vec![(id - 1).to_string()] } else { Vec::new() };
        let task = json!({
            "id": id.to_string(), "subject": format!("Task number {id} of a long list"), "description": "Do it, and say that it is done.",
            "status": status, "blocks": [], "blockedBy": blocked,
        });
        fs::write(folder.join(format!("{id}.json")), task.to_string()).unwrap();
    }
}

fn time(does: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    does();
    begun.elapsed()
}

#[test]
fn page_of_ten_thousand_tasks_is_small_and_fast() {
    let home = home();
    long_list(&home, 10_000);
    let served = Served::start(&home);
    let mut line = served.line();
    assert_eq!(line.get("/api/v1/lists/L/tasks").json()["counts"]["pending"], 9_000);
    for view in VIEWS {
        let size = page(&mut line, &format!("/lists/L{view}?task=7")).len();
        assert!(size < 1_000_000, "{view}: {size} bytes");
    }
    let columns = page(&mut line, PATH);
    assert!(columns.contains(" more</a>") && columns.contains("9000</span>"), "the rest is counted and led to");
    let table = page(&mut line, "/lists/L/table");
    assert!(table.contains("+ 995 completed") && table.contains("from=100"), "the table has pages");
    let mut line = served.line();
    for view in ["", "/table"] {
        // The best of both: other programs on the machine make either longer.
        let (mut drawn, mut serialised) = (Duration::MAX, Duration::MAX);
        wait_until(&format!("the page `{view}` to take no longer than three times its JSON"), || {
            serialised = serialised.min(time(|| drop(line.get("/api/v1/lists/L/tasks"))));
            drawn = drawn.min(time(|| drop(line.get(&format!("/lists/L{view}")))));
            drawn <= serialised * 3
        });
    }
}
