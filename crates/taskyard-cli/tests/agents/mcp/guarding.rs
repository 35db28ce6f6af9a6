//! Who is not let in over HTTP.

use taskyard_testkit::Home;

use crate::mcp::http::Served;

const LIST: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;

#[test]
fn wrong_token_foreign_origin_and_rebound_host_are_refused() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let (host, token) = (served.address.as_str(), format!("Bearer {}", served.token));
    let own_page = format!("http://{host}");
    let rebound = format!("evil.example:{}", host.rsplit_once(':').unwrap().1);
    let post = |headers: &[(&str, &str)]| served.line("x").post_as(headers, LIST).status;
    assert_eq!(post(&[("Host", host)]), 401);
    assert_eq!(post(&[("Host", host), ("Authorization", "Bearer 0000")]), 401);
    assert_eq!(post(&[("Host", host), ("Authorization", &token), ("Origin", "https://evil.example")]), 403);
    assert_eq!(post(&[("Host", host), ("Authorization", &token), ("Origin", "null")]), 403);
    assert_eq!(post(&[("Host", &rebound), ("Authorization", &token)]), 421);
    // A client that is let in is told what is wrong with the message instead: it names no version and no session.
    for headers in [
        &[("Host", host), ("Authorization", &token)][..],
        &[("Host", host), ("Authorization", &token), ("Origin", &own_page)],
    ] {
        assert!(![401, 403, 421].contains(&post(headers)));
    }
    assert!(served.line("x").call("TaskList", serde_json::json!({}))["isError"] == false);
}

#[test]
fn host_in_request_line_is_checked_like_the_header() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let (host, token) = (served.address.as_str(), format!("Bearer {}", served.token));
    let ask = |line: &str, hosts: &[&str]| {
        let mut headers = vec![("Authorization", token.as_str()), ("Accept", "text/event-stream")];
        headers.extend(hosts.iter().map(|host| ("Host", *host)));
        served.line("x").ask_for(line, &headers).status
    };
    let own = format!("GET http://{host}/mcp HTTP/1.1");
    // Let in, and told that it names no session.
    assert!([400, 404, 422].contains(&ask(&own, &[host])), "{}", ask(&own, &[host]));
    for (line, hosts) in [
        ("GET http://evil.example/mcp HTTP/1.1", &[host][..]),
        (own.as_str(), &["evil.example"]),
        (own.as_str(), &[host, "evil.example"]),
        (own.as_str(), &[]),
        ("GET /mcp HTTP/1.0", &[]),
        ("CONNECT evil.example:80 HTTP/1.1", &[host]),
    ] {
        assert!([400, 421].contains(&ask(line, hosts)), "{line} {hosts:?}");
    }
}

#[test]
fn a_server_that_is_asked_to_stop_does_so_at_once() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let _open = served.session("ana");
    let pid = rustix::process::Pid::from_raw(i32::try_from(served.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(taskyard_testkit::finishes(move || served.end()), Some(130));
}
