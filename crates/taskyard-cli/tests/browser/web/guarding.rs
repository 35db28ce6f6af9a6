//! Who is let in, and who is not.

use serde_json::{Value, json};
use taskyard_testkit::{Home, finishes, wait_until};

use crate::web::served::{Response, Served};

const TASKS: &str = "/api/v1/lists/L/tasks";

fn home() -> Home {
    Home::new(env!("CARGO_BIN_EXE_taskyard"))
}

/// What a browser has after a link let it in.
struct Browser {
    /// What it sends to every port of the host.
    cookie: String,
    /// What the storage of our pages has.
    page: String,
}

/// Opens a link as a browser does; none where the link lets nobody in.
fn opened(served: &Served, link: &str) -> Option<Browser> {
    let path = &link[link.find("/open/").unwrap()..];
    let opened = served.line().bare("GET", path, &[("Host", &served.address), ("User-Agent", "Fox/1")], b"");
    let set = opened.header("set-cookie")?;
    assert!(set.contains("; HttpOnly; SameSite=Strict; Path=/"), "{set}");
    let page = opened.body.split("name=\"taskyard-page\" content=\"").nth(1).unwrap().split('"').next().unwrap();
    Some(Browser { cookie: set.split(';').next().unwrap().to_owned(), page: page.to_owned() })
}

fn another(served: &Served) -> Browser {
    let link = served.line().done("/api/v1/links", json!({}))["link"].as_str().unwrap().to_owned();
    opened(served, &link).unwrap()
}

#[test]
fn rebound_host_and_foreign_origin_are_refused_everywhere() {
    let home = home();
    let served = Served::with(&home, "--host yard.example");
    let (host, proof) = (served.address.as_str(), format!("Bearer {}", served.token));
    let (rebound, named) = (format!("evil.example:{}", served.port()), format!("yard.example:{}", served.port()));
    let sibling = format!("http://127.0.0.1:{}", served.port().wrapping_add(1));
    for path in ["/healthz", "/metrics", "/", "/open/x", TASKS, "/api/v1/openapi.json", "/api/v1/lists/L/events"] {
        let ask = |headers: &[(&str, &str)]| served.line().bare("GET", path, headers, b"").status;
        assert_eq!(ask(&[("Host", &rebound), ("Authorization", &proof)]), 421, "{path}");
        for origin in ["https://evil.example", "null", sibling.as_str()] {
            assert_eq!(ask(&[("Host", host), ("Authorization", &proof), ("Origin", origin)]), 403, "{path} {origin}");
        }
    }
    let misdirected = served.line().bare("GET", TASKS, &[("Host", &rebound), ("Authorization", &proof)], b"");
    served.contract().hold("GET", TASKS, &misdirected);
    let fetched = |site: &str| {
        let headers = [
            ("Host", host),
            ("Authorization", proof.as_str()),
            ("Sec-Fetch-Site", site),
            ("Sec-Fetch-Mode", "no-cors"),
        ];
        served.line().bare("GET", TASKS, &headers, b"").status
    };
    assert_eq!([fetched("same-origin"), fetched("same-site"), fetched("cross-site")], [200, 403, 403]);
    let by_name = served.line().bare("GET", TASKS, &[("Host", &named), ("Authorization", &proof)], b"");
    assert_eq!(by_name.status, 200, "it was told to answer to that name");
}

#[test]
fn nothing_but_its_health_is_told_without_a_token() {
    let home = home();
    let served = Served::start(&home);
    let host = served.address.as_str();
    let health = served.line().bare("GET", "/healthz", &[("Host", host)], b"");
    assert_eq!((health.status, health.body.as_str()), (200, "ok\n"));
    for path in ["/", "/metrics", "/mcp", TASKS, "/api/v1/openapi.json", "/api/v1/events", "/nowhere"] {
        let refused = served.line().bare("GET", path, &[("Host", host)], b"");
        assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")), "{path}");
        let wrong = served.line().bare("GET", path, &[("Host", host), ("Authorization", "Bearer ty_00")], b"");
        assert_eq!(wrong.status, 401, "{path}");
    }
    let told = served.line().bare("GET", TASKS, &[("Host", host)], b"");
    assert_eq!(told.code(), "unauthorized");
}

#[test]
fn every_answer_forbids_browsers_what_pages_of_ours_never_do() {
    let home = home();
    let served = Served::start(&home);
    let refused = served.line().bare("GET", TASKS, &[("Host", &served.address)], b"");
    let answers: [Response; 3] = [refused, served.line().get(TASKS), served.line().get("/nowhere")];
    for answer in answers {
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(answer.header(name), Some(value));
        }
        assert!(answer.header("access-control-allow-origin").is_none());
    }
}

#[test]
fn link_signs_in_one_browser_and_cookie_is_for_this_server() {
    let home = home();
    let served = Served::start(&home);
    let looked = served.line().bare(
        "HEAD",
        &served.link[served.link.find("/open/").unwrap()..],
        &[("Host", &served.address)],
        b"",
    );
    assert!(looked.header("set-cookie").is_none(), "a browser that looks ahead does not use it up");
    let cookie = opened(&served, &served.link).unwrap().cookie;
    assert!(opened(&served, &served.link).is_none());
    let with = |served: &Served, cookie: &str| {
        served.line().bare("GET", TASKS, &[("Host", &served.address), ("Cookie", cookie)], b"").status
    };
    assert_eq!(with(&served, &cookie), 200);
    assert_eq!(with(&served, &cookie[..cookie.len() - 1]), 401);
    // Browsers send cookies to every port of a host.
    let other = Served::start(&home);
    assert_eq!(with(&other, &cookie), 401);
    let name = |cookie: &str| cookie.split_once('=').unwrap().0.to_owned();
    assert_ne!(name(&cookie), name(&opened(&other, &other.link).unwrap().cookie));
}

#[test]
fn a_browser_changes_something_only_from_a_page_of_ours() {
    let home = home();
    let served = Served::start(&home);
    let Browser { cookie, page } = opened(&served, &served.link).unwrap();
    let own = format!("http://{}", served.address);
    let body = json!({"subject": "One"}).to_string();
    let post = |headers: &[(&str, &str)]| {
        let mut all =
            vec![("Host", served.address.as_str()), ("Cookie", cookie.as_str()), ("Content-Type", "application/json")];
        all.push(("Taskyard-Page", page.as_str()));
        all.extend_from_slice(headers);
        served.line().bare("POST", TASKS, &all, body.as_bytes())
    };
    let refused = post(&[]);
    assert_eq!((refused.status, refused.code().as_str()), (403, "foreign_origin"), "it does not say whence it comes");
    assert_eq!(post(&[("Origin", "http://localhost:1")]).status, 403);
    assert_eq!(post(&[("Origin", &own), ("Sec-Fetch-Site", "same-site")]).status, 403);
    assert_eq!(post(&[("Origin", &own), ("Sec-Fetch-Site", "same-origin")]).status, 201);
    // What a form of another page could send is no JSON.
    let form = [
        ("Host", served.address.as_str()),
        ("Cookie", &cookie),
        ("Taskyard-Page", &page),
        ("Origin", &own),
        ("Content-Type", "text/plain"),
    ];
    assert_eq!(served.line().bare("POST", TASKS, &form, body.as_bytes()).status, 415);
    assert_eq!(home.ask("list")["tasks"].as_array().unwrap().len(), 1);
}

/// What another server of this host gets, whenever the browser asks it for something: the cookie. It can send that here, with any header.
#[test]
fn a_replayed_cookie_changes_nothing() {
    let home = home();
    let served = Served::with(&home, "--allow-exec");
    served.line().create("One");
    let Browser { cookie, page } = opened(&served, &served.link).unwrap();
    let (other, own) = (another(&served).page, format!("http://{}", served.address));
    let guesses = [None, Some(""), Some(other.as_str()), Some(&page[..63]), Some(cookie.split_once('=').unwrap().1)];
    let contract = served.contract();
    let before = (home.ask("history")["entries"].clone(), home.ask("token list"));
    let document = served.line().get("/api/v1/openapi.json").json();
    let mut tried = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys().map(|method| method.to_uppercase()) {
            let is_secret = path == "/api/v1/tokens";
            if method == "GET" && !is_secret {
                continue;
            }
            let path = path.replace("{list}", "L").replace("{id}", "1").replace(['{', '}'], "");
            for guess in guesses {
                let mut headers =
                    vec![("Host", served.address.as_str()), ("Cookie", cookie.as_str()), ("Origin", &own)];
                headers.extend([("Sec-Fetch-Site", "same-origin"), ("Content-Type", "application/json")]);
                headers.extend(guess.map(|guess| ("Taskyard-Page", guess)));
                let refused = served.line().bare(&method, &path, &headers, b"{}");
                assert_eq!(
                    (refused.status, refused.code().as_str()),
                    (403, "page_unproved"),
                    "{method} {path} {guess:?}"
                );
                assert!(refused.json()["error"]["hint"].as_str().unwrap().contains("serve --open"));
                contract.hold(&method, &path, &refused);
                tried += 1;
            }
        }
    }
    assert!(tried > 150, "{tried}");
    let headers = [("Host", served.address.as_str()), ("Cookie", &cookie), ("Origin", &own)];
    assert_eq!(served.line().bare("POST", "/mcp", &headers, b"{}").status, 403);
    assert_eq!((home.ask("history")["entries"].clone(), home.ask("token list")), before);
    assert_eq!(served.line().bare("GET", TASKS, &headers[..2], b"").status, 200, "pages are read by the cookie");
}

#[test]
fn a_browser_is_listed_logged_out_and_revoked() {
    let home = home();
    let served = Served::start(&home);
    let contract = served.contract();
    let (one, two) = (opened(&served, &served.link).unwrap(), another(&served));
    let own = format!("http://{}", served.address);
    let ask = |browser: &Browser, method: &str, path: &str| {
        let (cookie, page) = (browser.cookie.as_str(), browser.page.as_str());
        let headers =
            [("Host", served.address.as_str()), ("Cookie", cookie), ("Taskyard-Page", page), ("Origin", &own)];
        let response = served.line().bare(method, path, &headers, b"");
        contract.hold(method, path, &response);
        response
    };
    let names = || -> Vec<Value> {
        let listed = home.ask("token list")["browsers"].clone();
        listed.as_array().unwrap().iter().map(|browser| browser["name"].clone()).collect()
    };
    let listed = ask(&one, "GET", "/api/v1/tokens").json()["browsers"].clone();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["agent"]), (2, &json!("Fox/1")));
    let gone = ask(&one, "POST", "/api/v1/logout");
    assert!(gone.status == 200 && gone.header("set-cookie").unwrap().contains("; Max-Age=0"), "{gone:?}");
    assert_eq!(ask(&one, "GET", TASKS).status, 401);
    assert_eq!(names(), [listed[1]["name"].clone()]);
    assert_eq!(ask(&two, "GET", TASKS).status, 200);
    home.ask(&format!("token revoke {}", listed[1]["name"].as_str().unwrap()));
    assert_eq!(ask(&two, "GET", TASKS).status, 401);
    assert_eq!(names(), [json!(null); 0]);
    let program = served.line().post("/api/v1/logout", json!({}));
    assert_eq!((program.status, program.code().as_str()), (409, "no_browser"));
    let files = std::fs::read_dir(home.data()).unwrap().map(|entry| entry.unwrap().path());
    for file in files.filter(|path| path.is_file()) {
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        assert!(!text.contains(&two.page) && !text.contains(two.cookie.split_once('=').unwrap().1), "{file:?}");
    }
}

#[test]
fn a_browser_that_is_revoked_hears_no_more() {
    let home = home();
    let served = Served::start(&home);
    let cookie = opened(&served, &served.link).unwrap().cookie;
    let mut line = served.line();
    line.send("GET", "/api/v1/events", &[("Host", &served.address), ("Cookie", &cookie)], b"");
    assert_eq!(line.head().0, 200);
    let name = home.ask("token list")["browsers"][0]["name"].as_str().unwrap().to_owned();
    home.ask(&format!("token revoke {name}"));
    // The end of the stream is a chunk without bytes.
    finishes(move || while line.text_line() != "0" {});
}

#[test]
fn nothing_is_changed_by_looking() {
    let home = home();
    let served = Served::start(&home);
    served.line().create("One");
    let document = served.line().get("/api/v1/openapi.json").json();
    let before = home.ask("history")["entries"].clone();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let is_stream = path.ends_with("events");
        if methods.get("get").is_none() || is_stream {
            continue;
        }
        let path = path.replace("{list}", "L").replace("{id}", "1").replace("{job}", "x").replace("{team}", "x");
        served.line().get(&format!("{path}?query=x&to=jsonl"));
        served.line().get(&path);
    }
    assert_eq!(home.ask("history")["entries"], before);
}

#[test]
fn a_client_that_guesses_tokens_has_to_wait() {
    let home = home();
    let served = Served::start(&home);
    let mut line = served.line();
    let statuses: Vec<u16> = (0..80)
        .map(|_| line.bare("GET", TASKS, &[("Host", &served.address), ("Authorization", "Bearer x")], b"").status)
        .collect();
    assert!(statuses.starts_with(&[401; 20]) && statuses.contains(&429), "{statuses:?}");
    assert_eq!(served.line().bare("GET", "/healthz", &[("Host", &served.address)], b"").status, 200);
}

#[test]
fn wrong_tokens_lock_out_no_right_one() {
    let home = home();
    let served = Served::start(&home);
    let named = home.ask("token create ci --scope read")["token"].as_str().unwrap().to_owned();
    let cookie = opened(&served, &served.link).unwrap().cookie;
    let mut guessing = served.line();
    let mut guess =
        |wrong: &str| guessing.bare("GET", TASKS, &[("Host", &served.address), ("Authorization", wrong)], b"").status;
    let (unknown, malformed) = (format!("Bearer ty_{}", "0".repeat(64)), "Bearer x".to_owned());
    while guess(&unknown) != 429 {}
    let mut line = served.line();
    let right = [
        ("Authorization", format!("Bearer {}", served.token)),
        ("Authorization", format!("Bearer {named}")),
        ("Cookie", cookie),
    ];
    for _ in 0..40 {
        for wrong in [&unknown, &malformed, &unknown, &malformed] {
            guess(wrong);
        }
        for (header, proof) in &right {
            let answer = line.bare("GET", TASKS, &[("Host", &served.address), (header, proof)], b"");
            assert_eq!(answer.status, 200, "{header}");
        }
    }
    another(&served);
    // A token that is new is known soon.
    let new = home.ask("token create new --scope read")["token"].as_str().unwrap().to_owned();
    wait_until("the new token", || guess(&unknown) > 0 && served.line_with(&new).get(TASKS).status == 200);
}

#[test]
fn one_line_tells_programs_where_the_server_is() {
    let home = home();
    let served = Served::start(&home);
    let told: Value = json!({"link": served.link});
    assert!(told["link"].as_str().unwrap().starts_with(&format!("http://{}/open/", served.address)));
}
