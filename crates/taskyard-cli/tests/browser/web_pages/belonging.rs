//! What somebody selected or typed belongs to what it was made on, and to nothing that comes into its place.

use serde_json::json;
use taskyard_testkit::browser::Window;

use crate::web_pages::board::{Board, task};

fn shows_list(window: &Window, list: &str) {
    window.until(&format!("document.getElementById('views').dataset.list === '{list}'"));
}

#[test]
fn selection_and_cursor_stay_on_their_list() {
    let board =
        Board::after(&["create Wheels", "create Engine", "create Sails --list boat", "create Mast --list boat"]);
    let window = board.window();
    window.open(&board.address("/lists/L/table"));
    for key in ["j", "x", "j", "x"] {
        window.press(key);
    }
    window.until("document.getElementById('selected')?.textContent.startsWith('2 selected')");
    // The other list has tasks of the same numbers.
    window.element("#lists a[href='/lists/boat']").click();
    shows_list(&window, "boat");
    window.until("!document.getElementById('selected') && !document.querySelector('.is-selected, .is-cursor')");
    window.press("Delete");
    window.sees("No task is under the cursor");
    // What the cursor is on is drawn, and a click on empty ground takes it away.
    window.press("j");
    window.until("document.querySelector('#card-1.is-cursor')");
    window.element(".column[data-status=completed]").click();
    window.until("!document.querySelector('.is-cursor')");
    window.press("Delete");
    let left = |list: &str| board.home.ask(&format!("list --list {list}"))["tasks"].as_array().unwrap().len();
    assert_eq!((left("L"), left("boat")), (2, 2));
    // The row of a deleted task keeps the cursor.
    window.press("j");
    window.press("Delete");
    window.until("document.querySelector('#card-2.is-cursor') && !document.getElementById('card-1')");
    assert_eq!(left("boat"), 1);
}

#[test]
fn drafts_stay_on_their_task_and_conversation() {
    let board = Board::after(&[
        "create Wheels --description Round",
        "create Engine",
        "team create L --as uma",
        "team join L --as ana",
        "team join L --as bo",
    ]);
    let window = board.window();
    window.click("link", "Wheels");
    window.find("textbox", "Note on #1").type_in("half a note");
    window.press("Escape");
    window.click("button", "Edit");
    window.find("textbox", "Description, in Markdown").fill("Square");
    window.click("link", "Engine");
    assert_eq!(window.find("textbox", "Note on #2").property("value"), "");
    window.until("!document.querySelector('#task [data-editing]')");
    window.click("link", "Wheels");
    assert_eq!(window.find("textbox", "Note on #1").property("value"), "half a note");
    let editor = window.find("textbox", "Description, in Markdown");
    assert_eq!(editor.property("value"), "Square");
    // Esc asks first.
    editor.click();
    window.press("Escape");
    window.click("button", "Keep it");
    assert_eq!(editor.property("value"), "Square");
    window.press("Escape");
    window.click("button", "Discard");
    window.until("!document.querySelector('#task [data-editing]')");
    assert_eq!(task(&board, "1")["description"], "Round");
    window.press("c");
    window.find("textbox", "Subject").type_in("Paint");
    window.press("Escape");
    window.until("document.querySelector('#ask[open] .discard')");
    window.press("Escape");
    window.until("document.querySelector('#ask[open]') && !document.querySelector('.discard')");
    window.click("button", "Cancel");
    window.click("button", "Discard");
    window.until("!document.querySelector('#ask[open]')");
    window.open(&board.address("/lists/L/messages?open=ana"));
    window.find("textbox", "Message to ana").type_in("for ana");
    window.click("link", "bo");
    assert_eq!(window.find("textbox", "Message to bo").property("value"), "");
    window.click("link", "ana");
    assert_eq!(window.find("textbox", "Message to ana").property("value"), "for ana");
    assert_eq!(window.complaints(), Vec::<String>::new());
}

#[test]
fn page_of_all_lists_asks_for_the_list() {
    let board = Board::after(&["create Wheels"]);
    let window = board.window();
    window.open(&board.address("/lists"));
    for key in ["u", "/"] {
        window.press(key);
    }
    window.until("document.querySelector('#palette[open]')");
    window.press("Escape");
    window.click("button", "New");
    window.find("textbox", "Subject").fill("Engine");
    window.click("button", "Create");
    window.until("location.pathname === '/lists/L' && document.getElementById('card-2')");
    window.open(&board.address("/lists"));
    window.click("button", "New list");
    window.find("textbox", "Name").fill("boat");
    window.find("textbox", "Its first task").fill("Sails");
    window.click("button", "Create");
    window.until("location.pathname === '/lists/boat' && document.getElementById('card-1')");
    let lists = board.home.ask("lists").to_string();
    assert!(lists.contains("boat") && !lists.contains("undefined"), "{lists}");
    assert_eq!(window.complaints(), Vec::<String>::new());
}

#[test]
fn reading_a_conversation_marks_that_one_alone() {
    let board = Board::after(&[
        "create Wheels",
        "team create L --as uma",
        "team join L --as ana",
        "team join L --as bo",
        "send --to team-lead Anas --as ana",
        "send --to team-lead Bos --as bo",
    ]);
    let window = board.window();
    window.open(&board.address("/lists/L/messages?open=ana"));
    window.until("document.querySelector('#views .alarm')?.textContent === '1'");
    window.until("!document.querySelector('#thread-ana .alarm') && document.querySelector('#thread-bo .alarm')");
    // It is read, and still there.
    window.until("document.querySelector('.letters')?.textContent.includes('Anas')");
    let inbox = board.home.ask("inbox --as uma")["messages"].clone();
    assert_eq!(inbox.as_array().map(Vec::len), Some(1), "{inbox}");
    assert_eq!(inbox[0]["from"], json!("bo"));
}

#[test]
fn lists_keep_their_places_under_the_pointer() {
    let board = Board::after(&["create Sails --list boat", "create Wheels"]);
    let window = board.window();
    let order = "return [...document.querySelectorAll('#lists li a')].map((link) => link.pathname)";
    let before = window.script(order, &[]);
    window.hover(&window.element("#lists li:nth-child(2)"));
    board.home.ask("create Mast --list boat");
    window.until("[...document.querySelectorAll('#lists li')].some((list) => list.textContent.includes('0 of 2'))");
    assert_eq!(window.script(order, &[]), before);
}
