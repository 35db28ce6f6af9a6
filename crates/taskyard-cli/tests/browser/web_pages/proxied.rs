//! The board behind a proxy, below a path of a site: with a real nginx, which takes the path away or passes it on.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;

use taskyard_testkit::browser::{Browser, Screen};
use taskyard_testkit::{Home, PATIENCE, Process, Program, Server, wait_until};

/// An nginx that shows a server below `/yard`, and ends with the test.
struct Proxy {
    _process: Process,
    address: String,
}

impl Proxy {
    /// Starts one on a port; `target` is what `proxy_pass` says, which decides whether the path is passed on.
    fn start(directory: &Path, port: u16, target: &str) -> Self {
        fs::create_dir_all(directory).unwrap();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .iter()
            .map(|kind| format!("{kind}_temp_path {}/{kind};\n", directory.display()))
            .collect();
        let configuration = format!(
            "daemon off;\nmaster_process off;\npid {0}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}\
             server {{\nlisten 127.0.0.1:{port};\nlocation /yard/ {{\nproxy_pass {target};\nproxy_http_version 1.1;\n\
             proxy_set_header Host $http_host;\n}}\n}}\n}}\n",
            directory.display()
        );
        let file = directory.join("nginx.conf");
        fs::write(&file, configuration).unwrap();
        let mut program = Program::inheriting("nginx");
        program.arg("-c").arg(&file).arg("-p").arg(directory).stdout(Stdio::null()).stderr(Stdio::inherit());
        let (process, address) = (program.start(), format!("127.0.0.1:{port}"));
        wait_until("nginx listens", || TcpStream::connect(&address).is_ok());
        Self { _process: process, address }
    }

    /// Sends a request as it is, and returns the connection.
    fn send(&self, head: &str, body: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (host, length) = (&self.address, body.len());
        let request = format!("{head}\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).unwrap();
        BufReader::new(stream)
    }

    /// Asks for something with a token, and returns the whole answer.
    fn ask(&self, method: &str, path: &str, token: &str, body: &str) -> String {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nConnection: close\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream"
        );
        let mut answer = String::new();
        self.send(&head, body).read_to_string(&mut answer).unwrap();
        answer
    }
}

/// Returns a port that nothing listens on.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn the_board_works_below_a_path_of_a_proxy() {
    for passes_on in [false, true] {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        assert_eq!(home.run("create Wheels").code, Some(0));
        let port = free_port();
        let public = format!("http://127.0.0.1:{port}/yard");
        let server = Server::start(&home, &format!("--public-url {public}"));
        assert!(server.link().starts_with(&format!("{public}/open/")), "{}", server.link());
        let target = format!("{}{}", server.url(), if passes_on { "" } else { "/" });
        let proxy = Proxy::start(&home.path().join("nginx"), port, &target);
        programs(&proxy, &home, &public);
        let browser = Browser::start();
        let window = browser.window();
        window.show_on(Screen::Laptop);
        window.open(server.link());
        window.until("location.pathname === '/yard/lists/L' && document.readyState === 'complete'");
        window.until("'ready' in document.documentElement.dataset");
        window.click("button", "New");
        window.find("textbox", "Subject").fill("Engine");
        window.click("button", "Create");
        window.until("document.getElementById('card-2')?.textContent.includes('Engine')");
        // What others do is told through the proxy.
        assert_eq!(home.run("start 1").code, Some(0));
        window.until("document.getElementById('card-1')?.closest('.column').dataset.status === 'in_progress'");
        window.click("link", "History");
        window.until("location.pathname === '/yard/lists/L/history'");
        window.click("link", "All lists");
        window.until("location.pathname === '/yard/lists'");
        window.click("button", "Log out");
        window.sees("This browser is not signed in yet");
    }
}

/// Programs use the API, the events and MCP by way of the proxy.
fn programs(proxy: &Proxy, home: &Home, public: &str) {
    let token = fs::read_to_string(home.data().join("serve-token")).unwrap().trim().to_owned();
    let described = proxy.ask("GET", "/yard/api/v1/openapi.json", &token, "");
    assert!(described.contains(&format!("\"servers\":[{{\"url\":\"{public}\"}}]")), "{described}");
    let led = proxy.ask("GET", "/yard/", &token, "");
    assert!(led.to_ascii_lowercase().contains("\r\nlocation: /yard/lists/l\r\n"), "{led}");
    let made = proxy.ask("POST", "/yard/api/v1/lists/M/tasks", &token, "{\"subject\":\"One\"}");
    assert!(made.to_ascii_lowercase().contains("location: /yard/api/v1/lists/m/tasks/1\r\n"), "{made}");
    let called = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#;
    let greeted = proxy.ask("POST", "/yard/mcp", &token, called);
    assert!(greeted.starts_with("HTTP/1.1 200") && greeted.contains("protocolVersion"), "{greeted}");
    let mut events =
        proxy.send(&format!("GET /yard/api/v1/lists/L/events HTTP/1.1\r\nAuthorization: Bearer {token}"), "");
    let mut next = |wanted: &str| loop {
        let mut line = String::new();
        assert_ne!(events.read_line(&mut line).unwrap(), 0, "the stream ended before `{wanted}`");
        if line.contains(wanted) {
            break;
        }
    };
    next("event: ready");
    assert_eq!(home.run("note 1 Round").code, Some(0));
    next("event: commit");
}
