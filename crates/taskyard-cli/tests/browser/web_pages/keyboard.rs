//! Everything with the keyboard alone.

use serde_json::json;
use taskyard_testkit::browser::Window;

use crate::web_pages::board::{Board, pick, stands_in, task};

fn focused_is(window: &Window, what: &str) {
    window.until(&format!("document.activeElement?.matches('{what}')"));
}

#[test]
fn a_list_is_worked_on_with_the_keyboard_alone() {
    let board = Board::after(&["create Wheels"]);
    let window = board.window();
    window.press("c");
    window.until("document.querySelector('#ask[open] input')");
    window.type_text("Engine");
    window.press("Enter");
    window.until("document.querySelector('#card-2') && !document.querySelector('#ask[open]')");
    focused_is(&window, "#card-2 .open");
    // An edge: it waits for the other.
    window.press("b");
    window.until("document.querySelector('#picker[open] #picker-list li')");
    window.type_text("Wheels");
    window.until("document.querySelector('#picker-list [aria-selected=true]')?.textContent.includes('Wheels')");
    window.press("Enter");
    window.until("document.querySelector('#cards-waiting #card-2') && !document.querySelector('#picker[open]')");
    assert_eq!(task(&board, "2")["blockedBy"], json!(["1"]));
    // The other is claimed, renamed, noted and done.
    window.press("k");
    focused_is(&window, "#card-1 .open");
    window.press("t");
    stands_in(&window, "1", "in_progress");
    assert_eq!(task(&board, "1")["owner"], "uma");
    window.press("e");
    focused_is(&window, "#task input");
    window.type_text("Round wheels");
    window.press("Enter");
    // The card may change before the answer has come, and until then keys go to the field.
    window.until(
        "document.querySelector('#card-1 .open').textContent === 'Round wheels' && !document.querySelector('#task [data-editing]')",
    );
    window.press("n");
    focused_is(&window, "#note");
    window.type_text("all four");
    window.press("Enter");
    window.until("document.querySelector('#task .notes .letters')?.textContent.includes('all four')");
    window.press("Escape");
    focused_is(&window, "body");
    window.press("d");
    stands_in(&window, "1", "completed");
    window.press("u");
    stands_in(&window, "1", "in_progress");
    window.press("Escape");
    window.until("document.querySelector('#task').hidden");
    assert_eq!(window.complaints(), Vec::<String>::new());
}

#[test]
fn keys_lead_to_every_view_and_the_palette_to_anything() {
    let board = Board::after(&["create Wheels", "create Engine"]);
    let window = board.window();
    let keys = window.script(
        "return [...document.querySelectorAll('#views a')].map(link => [link.title, new URL(link.href).pathname])",
        &[],
    );
    let views = keys.as_array().unwrap().clone();
    assert!(views.len() >= 7, "{views:?}");
    // Two keys belong together if the second comes soon; on a busy machine soon is late.
    window.script("const now = Date.now(); Date.now = () => now", &[]);
    for view in views {
        for key in view[0].as_str().unwrap().split(' ') {
            window.press(key);
        }
        window.until(&format!("location.pathname === {}", view[1]));
        window.until("document.querySelector('#views [aria-current]')?.pathname === location.pathname");
    }
    window.press("?");
    window.until("document.querySelector('#help[open]')");
    window.press("Escape");
    window.until("!document.querySelector('#help[open]')");
    window.press("Control+k");
    window.until("document.querySelector('#palette[open]')");
    window.type_text("engine");
    window.until(
        "[...document.querySelectorAll('#palette-list .other')].some(one => one.textContent.includes('Engine'))",
    );
    window.press("Enter");
    window.until("new URL(location.href).searchParams.get('task') === '2'");
    window.until("document.querySelector('#task h2')?.textContent.includes('Engine')");
}

#[test]
fn several_tasks_are_selected_and_moved_at_once() {
    let board = Board::after(&["create Wheels", "create Engine", "create Paint"]);
    let window = board.window();
    window.open(&board.address("/lists/L/table"));
    window.element("#row-1");
    for keys in ["j", "x", "j", "x", "d"] {
        window.press(keys);
    }
    window.until("['1', '2'].every(id => document.getElementById(`row-${id}`)?.dataset.status === 'completed')");
    assert_eq!(task(&board, "3")["status"], "pending");
    window.press("/");
    window.type_text("status:pending");
    window.until("document.querySelectorAll('tr[data-task]').length === 1");
    window.until("new URL(location.href).searchParams.get('q') === 'status:pending'");
}

#[test]
fn palette_finds_words_in_any_order_and_sets_properties() {
    let board = Board::after(&[
        "create Wheels",
        "done 1",
        "create To-be-done",
        "create Sails --list boat",
        "create Mast --list boat",
    ]);
    board.home.command("update 2 --subject").arg("To be done: (x)").output();
    let window = board.window();
    let finds = |words: &str, what: &str| {
        window.press("Control+k");
        window.until("document.querySelector('#palette[open]')");
        window.type_text(words);
        let selected = "document.querySelector('#palette-list [aria-selected=true]')?.textContent ?? ''";
        window.until(&format!("({selected}).includes({})", json!(what)));
    };
    // What is typed is never a query: `done` is a word, and a bracket nothing.
    for (words, what) in
        [("to be done", "To be done"), ("done: (x", "To be done"), ("whels", "Wheels"), ("Salis", "Sails")]
    {
        finds(words, what);
        window.press("Escape");
        window.until("!document.querySelector('#palette[open]')");
    }
    window.press("j");
    finds("hihg prioirty", "Priority high, for #2");
    window.press("Enter");
    window.wait("the priority", || (task(&board, "2")["metadata"]["priority"] == "high").then_some(()));
    finds("Sails", "boat");
    window.press("Enter");
    window.until("location.pathname === '/lists/boat' && document.querySelector('#task h2')?.textContent === 'Sails'");
    window.press("?");
    window.until("document.querySelectorAll('#help[open] section h3').length >= 5");
    assert_eq!(window.complaints(), Vec::<String>::new());
}

#[test]
fn several_tasks_get_tags_and_dates_and_are_reopened() {
    let board = Board::after(&["create Wheels", "create Engine"]);
    let window = board.window();
    window.open(&board.address("/lists/L/table?q=id:1,2"));
    window.click("checkbox", "Select all");
    let both = |what: &str, is_so: &dyn Fn(&serde_json::Value) -> bool| {
        window.wait(what, || ["1", "2"].iter().all(|id| is_so(&task(&board, id))).then_some(()));
    };
    // What was done is said for a while, and stands in the way of nothing that is done next.
    let choose = |name: &str| window.find("button", name).click();
    choose("Tags");
    pick(&window, "docs");
    both("the tag", &|task| task["metadata"]["tags"] == json!(["docs"]));
    window.press("Escape");
    window.until("!document.querySelector('#picker[open]')");
    choose("Due");
    pick(&window, "Tomorrow");
    both("the date", &|task| task["metadata"]["due"].is_string());
    choose("Done");
    both("their completion", &|task| task["status"] == "completed");
    choose("Reopen");
    both("their reopening", &|task| task["status"] == "pending");
    assert_eq!(window.complaints(), Vec::<String>::new());
}
