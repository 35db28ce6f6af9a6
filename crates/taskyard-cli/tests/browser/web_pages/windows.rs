//! Several windows show the same board.

use taskyard_testkit::browser::Browser;

use crate::web_pages::board::{Board, drag_into, enter, stands_in, task};

#[test]
fn a_task_dragged_in_one_window_moves_in_the_other() {
    let board = Board::after(&["create Wheels", "create Engine"]);
    let one = board.window();
    let other_browser = Browser::start();
    let two = other_browser.window();
    enter(&two, &board.server.another_link());
    stands_in(&two, "1", "pending");
    drag_into(&one, "1", "in_progress");
    stands_in(&one, "1", "in_progress");
    stands_in(&two, "1", "in_progress");
    drag_into(&two, "1", "completed");
    stands_in(&one, "1", "completed");
    stands_in(&one, "2", "pending");
    assert_eq!(task(&board, "1")["status"], "completed");
    assert_eq!((one.complaints(), two.complaints()), (Vec::new(), Vec::new()));
}

#[test]
fn a_card_moves_where_it_is_dropped_and_waits_by_its_handle() {
    let board = Board::after(&["create Wheels", "create Engine", "create Paint", "done 3"]);
    let window = board.window();
    // A card lies where it is dropped.
    window.drag(&window.element("#card-2"), &window.element("#card-3"));
    stands_in(&window, "2", "completed");
    assert_eq!(task(&board, "2")["blockedBy"], serde_json::json!([]));
    drag_into(&window, "2", "pending");
    stands_in(&window, "2", "pending");
    window.hover(&window.element("#card-1"));
    window.drag(&window.element("#card-1 .handle"), &window.element("#card-2"));
    window.until("document.querySelector('#cards-waiting #card-1 .waits')?.textContent.includes('#2')");
    assert_eq!(task(&board, "1")["blockedBy"], serde_json::json!(["2"]));
    drag_into(&window, "1", "in_progress");
    window.sees("#2");
    window.until("document.querySelector('#card-1 .refused')");
    stands_in(&window, "1", "pending");
}

#[test]
fn browser_tabs_share_one_stream_and_hand_it_over() {
    let board = Board::after(&["create Wheels"]);
    let first = board.window();
    let tabs = [board.tab("/lists/L"), board.tab("/lists/L/table"), board.tab("/lists/L/history")];
    board.home.run("start 1");
    tabs[0].until("document.querySelector('#card-1')?.dataset.status === 'in_progress'");
    tabs[1].until("document.querySelector('#row-1')?.dataset.status === 'in_progress'");
    assert_eq!(streams(&board), 1, "four tabs, one stream");
    first.close();
    tabs[0].wait("another tab has the stream", || (streams(&board) == 1).then_some(()));
    board.home.run("done 1");
    tabs[0].until("document.querySelector('#card-1')?.dataset.status === 'completed'");
    tabs[2].until("document.querySelector('#view').textContent.includes('completed')");
    assert_eq!(streams(&board), 1);
}

/// Returns how many streams of events are open, as the server counts them.
fn streams(board: &Board) -> usize {
    let (_, metrics) = board.server.request("GET", "/metrics");
    let line =
        metrics.lines().find(|line| line.starts_with("taskyard_event_streams ")).unwrap_or_else(|| panic!("{metrics}"));
    line.rsplit_once(' ').unwrap().1.parse().unwrap()
}
