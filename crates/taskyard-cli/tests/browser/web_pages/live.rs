//! What comes from outside, and a server that goes and comes back.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;
use taskyard_testkit::{Server, is_once_within, write_in_place};

use crate::web_pages::board::{Board, stands_in};

/// How soon a change from outside has to be seen.
const SOON: Duration = Duration::from_millis(300);

#[test]
fn client_writes_show_up_within_a_third_of_a_second() {
    let board = Board::after(&["create Wheels", "create Engine"]);
    let window = board.window();
    stands_in(&window, "1", "pending");
    let path = board.home.task_file("1");
    let mut number = 0;
    is_once_within(SOON, "a write of the client to be seen", || {
        number += 1;
        let mut task: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        task["subject"] = json!(format!("Wheels {number}"));
        let begun = Instant::now();
        write_in_place(&path, &task);
        window.until(&format!("document.querySelector('#card-1 .open')?.textContent === 'Wheels {number}'"));
        begun.elapsed()
    });
}

#[test]
fn a_page_recovers_by_itself_when_its_server_starts_anew() {
    let board = Board::after(&["create Wheels"]);
    let window = board.window();
    stands_in(&window, "1", "pending");
    let port = board.server.port();
    let Board { browser, server, home } = board;
    assert_eq!(server.stop(), Some(143));
    window.until("!document.getElementById('gone').hidden");
    assert_eq!(home.run("start 1").code, Some(0));
    let _server = Server::start(&home, &format!("--port {port}"));
    window.until("document.getElementById('gone').hidden");
    stands_in(&window, "1", "in_progress");
    assert_eq!(home.run("done 1").code, Some(0));
    stands_in(&window, "1", "completed");
    drop(browser);
}

#[test]
fn a_lost_answer_is_asked_for_again() {
    let board = Board::after(&["create Wheels"]);
    let window = board.window();
    stands_in(&window, "1", "pending");
    // The next three answers are lost on the way.
    let lose = "const sent = fetch; let left = 3; window.fetch = (...how) => left-- > 0 ? Promise.reject(new TypeError('lost')) : sent(...how);";
    window.script(lose, &[]);
    assert_eq!(board.home.run("start 1").code, Some(0));
    window.until("document.getElementById('gone').textContent.includes('Last updated')");
    stands_in(&window, "1", "in_progress");
    window.until("document.getElementById('gone').hidden");
    // A click is honoured when the network is back, and what happened meanwhile is there.
    window.set_offline(true);
    assert_eq!(board.home.run("done 1").code, Some(0));
    window.click("link", "Wheels");
    window.until("!document.getElementById('gone').hidden");
    window.set_offline(false);
    window.until("document.querySelector('#task h2')?.textContent === 'Wheels'");
    stands_in(&window, "1", "completed");
    window.until("document.getElementById('gone').hidden");
}

#[test]
fn what_somebody_types_stays_when_the_list_changes_meanwhile() {
    let board = Board::after(&["create Wheels", "create Engine"]);
    let window = board.window();
    window.click("link", "Wheels");
    window.find("textbox", "Note on #1").type_in("half a note");
    assert_eq!(board.home.run("start 2").code, Some(0));
    stands_in(&window, "2", "in_progress");
    assert_eq!(window.find("textbox", "Note on #1").property("value"), "half a note");
    window.until("document.activeElement.id === 'note'");
}
