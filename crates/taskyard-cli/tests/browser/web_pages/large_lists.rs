//! A list of thousands of tasks: what is loaded, what is drawn, and what is chosen from it.

use std::fs;

use serde_json::json;
use taskyard_testkit::browser::{Browser, Window};
use taskyard_testkit::{Home, Server};

use crate::web_pages::board::{Board, enter, stands_in};

/// Writes a list as the client does, and serves it.
fn board_of(tasks: usize) -> Board {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let folder = home.list("L");
    fs::create_dir_all(&folder).unwrap();
    for id in 1..=tasks {
        let blocked: Vec<String> = if id % 3 == 0 { vec![(id - 1).to_string()] } else { Vec::new() };
        let task = json!({
            "id": id.to_string(), "subject": format!("Task {id}: see that the {} part works", id * 7919 % 1009), "description": "Do it.",
            "status": "pending", "blocks": [], "blockedBy": blocked,
        });
        fs::write(folder.join(format!("{id}.json")), task.to_string()).unwrap();
    }
    let server = Server::start(&home, "");
    Board { browser: Browser::start(), server, home }
}

/// Returns how many bytes came over the wire for the page and what belongs to it.
fn transferred(window: &Window) -> u64 {
    let script = "return performance.getEntriesByType('navigation').concat(performance.getEntriesByType('resource'))
        .filter(({ initiatorType }) => initiatorType !== 'fetch').reduce((sum, { transferSize }) => sum + transferSize, 0)";
    window.script(script, &[]).as_u64().unwrap()
}

fn fetches(window: &Window) -> u64 {
    let script = "return performance.getEntriesByType('resource').filter(({ initiatorType }) => initiatorType === 'fetch').length";
    window.script(script, &[]).as_u64().unwrap()
}

/// Types twenty letters into the filter of a view, each once the one before is answered, and returns how many bytes came over the wire until all
/// that they choose is shown.
fn bytes_of_twenty_letters(board: &Board, window: &Window, view: &str) -> u64 {
    let answers = "performance.getEntriesByType('resource')";
    let is_complete = format!("({answers}.at(-1)?.name ?? 'rows=').includes('rows=') === false");
    window.open(&board.address(&format!("/lists/L{view}")));
    // No time passes for what is looked at every so often.
    window.script("const now = Date.now(); Date.now = () => now; performance.clearResourceTimings()", &[]);
    window.press("/");
    window.type_text("x");
    window.until(&is_complete);
    window.script("performance.clearResourceTimings()", &[]);
    window.press("Control+a");
    let wanted = "see that the 17 part";
    for end in 1..=wanted.len() {
        window.type_text(&wanted[end - 1..end]);
        window.until(&format!("new URL(location.href).searchParams.get('q') === {}", json!(wanted[..end].trim())));
    }
    window.until(&is_complete);
    let script = format!("return {answers}.reduce((sum, {{ transferSize }}) => sum + transferSize, 0)");
    window.script(&script, &[]).as_u64().unwrap()
}

#[test]
fn five_thousand_tasks_are_light_to_load_and_to_filter() {
    let board = board_of(5_000);
    let window = board.browser.window();
    enter(&window, board.server.link());
    window.until("document.getElementById('card-1')");
    // Nothing is asked for twice: the page says from which event on it has to be told.
    assert_eq!(board.home.run("start 1").code, Some(0));
    stands_in(&window, "1", "in_progress");
    assert!(fetches(&window) <= 2, "one request for the change, one for the lists");
    for view in ["", "?group=tag", "?group=parent", "/table", "/graph", "/history", "/agents", "/charts"] {
        window.open(&board.address(&format!("/lists/L{view}")));
        let nodes = window.script("return document.querySelectorAll('*').length", &[]);
        assert!(nodes.as_u64().unwrap() <= 2_000, "`{view}` has {nodes} elements");
    }
    // Without what the browser has already.
    window.devtools("Network.clearBrowserCache", json!({}));
    window.reload();
    let loaded = transferred(&window);
    assert!((1_000..=100_000).contains(&loaded), "{loaded} bytes for a first load");
    // A query that is not complete yet leaves what is shown and is explained later.
    window.open(&board.address("/lists/L/table"));
    let place = "const { top, left } = document.getElementById('query').getBoundingClientRect(); return [top, left]";
    let before = window.script(place, &[]);
    window.press("/");
    window.type_text("\"part 2 ");
    window.until("document.querySelector('#chosen .mistake')");
    assert_eq!(window.script(place, &[]), before, "the field stays where it is");
    assert!(!window.address().contains("q="), "the address is that of what is shown");
    window.element("#query").fill("status:pending");
    window.until("!document.querySelector('.mistake') && new URL(location.href).searchParams.get('q')");
    for view in ["", "/table"] {
        let typed = bytes_of_twenty_letters(&board, &window, view);
        assert!((1_000..=30_000).contains(&typed), "`{view}`: {typed} bytes for twenty letters");
    }
    window.element("#query").fill("status:pending");
    window.until("new URL(location.href).searchParams.get('q') === 'status:pending'");
    window.until("document.querySelectorAll('tr[data-task]').length === 100");
    // The tasks of further pages are offered, too.
    window.press("Escape");
    window.element("[data-act=select-all]").click();
    window.click("button", "All 4999");
    window.until("document.getElementById('selected').textContent.startsWith('4999 selected, 4899 not shown')");
}
