//! Who is let in, and who is not.

use serde_json::{Value, json};
use taskyard_testkit::Home;

use crate::served::{Response, Served};

const TASKS: &str = "/api/v1/lists/L/tasks";

fn home() -> Home {
    Home::new(env!("CARGO_BIN_EXE_taskyard"))
}

/// Opens the link as a browser does, and returns its cookie.
fn cookie_of(served: &Served, link: &str) -> Option<String> {
    let path = &link[link.find("/open/").unwrap()..];
    let opened = served.line().bare("GET", path, &[("Host", &served.address)], b"");
    let set = opened.header("set-cookie")?;
    assert!(set.contains("; HttpOnly; SameSite=Strict; Path=/"), "{set}");
    Some(set.split(';').next().unwrap().to_owned())
}

#[test]
fn a_name_that_was_pointed_at_us_and_a_page_of_another_origin_are_refused_everywhere() {
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
fn a_link_lets_one_browser_in_once_and_its_cookie_is_of_this_server() {
    let home = home();
    let served = Served::start(&home);
    let looked = served.line().bare(
        "HEAD",
        &served.link[served.link.find("/open/").unwrap()..],
        &[("Host", &served.address)],
        b"",
    );
    assert!(looked.header("set-cookie").is_none(), "a browser that looks ahead does not use it up");
    let cookie = cookie_of(&served, &served.link).unwrap();
    assert!(cookie_of(&served, &served.link).is_none());
    let with = |served: &Served, cookie: &str| {
        served.line().bare("GET", TASKS, &[("Host", &served.address), ("Cookie", cookie)], b"").status
    };
    assert_eq!(with(&served, &cookie), 200);
    assert_eq!(with(&served, &cookie.replace('.', "0.")), 401);
    // Browsers send cookies to every port of a host.
    let other = Served::start(&home);
    assert_eq!(with(&other, &cookie), 401);
    let name = |cookie: &str| cookie.split_once('=').unwrap().0.to_owned();
    assert_ne!(name(&cookie), name(&cookie_of(&other, &other.link).unwrap()));
}

#[test]
fn a_browser_changes_something_only_from_a_page_of_ours() {
    let home = home();
    let served = Served::start(&home);
    let cookie = cookie_of(&served, &served.link).unwrap();
    let own = format!("http://{}", served.address);
    let body = json!({"subject": "One"}).to_string();
    let post = |headers: &[(&str, &str)]| {
        let mut all =
            vec![("Host", served.address.as_str()), ("Cookie", cookie.as_str()), ("Content-Type", "application/json")];
        all.extend_from_slice(headers);
        served.line().bare("POST", TASKS, &all, body.as_bytes())
    };
    let refused = post(&[]);
    assert_eq!((refused.status, refused.code().as_str()), (403, "foreign_origin"), "it does not say whence it comes");
    assert_eq!(post(&[("Origin", "http://localhost:1")]).status, 403);
    assert_eq!(post(&[("Origin", &own), ("Sec-Fetch-Site", "same-site")]).status, 403);
    assert_eq!(post(&[("Origin", &own), ("Sec-Fetch-Site", "same-origin")]).status, 201);
    // What a form of another page could send is no JSON.
    let form =
        [("Host", served.address.as_str()), ("Cookie", &cookie), ("Origin", &own), ("Content-Type", "text/plain")];
    assert_eq!(served.line().bare("POST", TASKS, &form, body.as_bytes()).status, 415);
    assert_eq!(home.ask("list")["tasks"].as_array().unwrap().len(), 1);
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
fn one_line_tells_programs_where_the_server_is() {
    let home = home();
    let served = Served::start(&home);
    let told: Value = json!({"link": served.link});
    assert!(told["link"].as_str().unwrap().starts_with(&format!("http://{}/open/", served.address)));
}
