//! Whole lists, their histories, teams and commands: what the command line can do, done on the pages.

use serde_json::json;
use taskyard_testkit::browser::{Browser, Window};
use taskyard_testkit::{Home, Server};

use crate::web_pages::board::{Board, pick, task};

/// Opens the menu of a list on the page of all lists, and chooses something to do with it.
fn do_with(board: &Board, window: &Window, list: &str, name: &str) {
    window.open(&board.address("/lists"));
    window.element(&format!("#list-{list} .more-button")).click();
    pick(window, name);
}

fn says(window: &Window, words: &str) {
    window.until(&format!("document.getElementById('said').textContent.includes({})", json!(words)));
}

/// Returns the subjects of a list.
fn subjects(board: &Board, list: &str) -> Vec<String> {
    let tasks = board.home.ask(&format!("list --all --list {list}"))["tasks"].clone();
    let subject = |task: &serde_json::Value| task["subject"].as_str().unwrap().to_owned();
    tasks.as_array().unwrap().iter().map(subject).collect()
}

#[test]
fn whole_lists_are_worked_on_from_their_menu() {
    let board = Board::after(&["create Wheels", "done 1", "create Sails --list boat", "create Mast --list infra"]);
    let window = board.window();
    window.open(&board.address("/lists"));
    // A card shows how the list went on.
    window.until("document.querySelector('#list-L svg.spark .done')?.points.numberOfItems > 2");
    do_with(&board, &window, "boat", "Rename");
    window.element("#ask [name=name]").fill("ship");
    window.click("button", "Rename");
    window.until("location.pathname === '/lists/ship' && document.getElementById('card-1')");
    do_with(&board, &window, "L", "Merge another list into this one");
    pick(&window, "ship");
    window.until("location.pathname === '/lists/L' && document.getElementById('card-2')");
    // Undone here alone it would leave the tasks in no list.
    says(&window, "The tasks of ship are in L now");
    assert!(window.find_now("button", "Undo").is_none());
    assert_eq!((subjects(&board, "L").len(), subjects(&board, "ship").len()), (2, 0));
    do_with(&board, &window, "L", "Export");
    pick(&window, "CSV");
    says(&window, "2 tasks of L as L.csv");
    do_with(&board, &window, "L", "Clear");
    window.click("button", "Clear it");
    says(&window, "Cleared L");
    assert_eq!(subjects(&board, "L"), [""; 0]);
    // The page shows all lists, and what is undone is undone in the one that was cleared.
    window.click("button", "Undo");
    says(&window, "Undid");
    assert_eq!(subjects(&board, "L").len(), 2);
    do_with(&board, &window, "infra", "Remove");
    window.element("#ask [name=name]").fill("something");
    window.click("button", "Remove it");
    window.until("document.getElementById('ask-refused').textContent.includes('does not match')");
    window.element("#ask [name=name]").fill("infra");
    window.click("button", "Remove it");
    window.until("!document.querySelector('#ask[open]') && !document.getElementById('list-infra')");
    assert_eq!(window.complaints(), Vec::<String>::new());
}

#[test]
fn history_is_chosen_and_several_revisions_taken_back() {
    let board = Board::after(&["create Wheels", "create Engine --as ana", "create Paint --as ana", "start 1"]);
    let window = board.window();
    window.click("link", "History");
    let shows = |revisions: &str| {
        let shown = "[...document.querySelectorAll('li[data-revision]')].map((one) => one.dataset.revision).join(' ')";
        window.until(&format!("{shown} === '{revisions}'"));
    };
    for (of, revisions) in [("ana", "3 2"), ("#1", "4 1"), ("Everybody", "4 3 2 1")] {
        window.element("[data-act=history-of]").click();
        pick(&window, of);
        shows(revisions);
    }
    window.click("button", "Undo several");
    window.element("#ask [name=first]").fill("r2");
    window.element("#ask [name=last]").fill("3");
    window.click("button", "Undo");
    says(&window, "Undid r3, r2");
    shows("5 4 3 2 1");
    assert_eq!(subjects(&board, "L"), ["Wheels"]);
    assert_eq!(window.complaints(), Vec::<String>::new());
}

#[test]
fn a_team_is_made_and_its_plans_are_answered() {
    let board = Board::after(&[
        "create Wheels",
        "create Sails --list boat",
        "team create L --as uma",
        "team join L --as cyd --plan-mode",
        "team join L --as eli --plan-mode",
        "send --to team-lead --as cyd --request plan Wheels",
        "send --to team-lead --as eli --request plan Engine",
    ]);
    let window = board.window();
    window.open(&board.address("/lists/boat/messages"));
    window.click("button", "Create a team");
    window.element("#ask [name=description]").fill("To sail");
    window.click("button", "Create");
    window.until("document.querySelector('.threads')");
    // From now on the person leads two teams, and the answers go to the team of the list.
    window.open(&board.address("/lists/L/agents"));
    window.element("[data-act=approve][data-agent=cyd]").click();
    window.until("!document.querySelector('[data-act=approve][data-agent=cyd]')");
    window.element("[data-act=reject][data-agent=eli]").click();
    window.element("#ask [name=why]").fill("First the wheels");
    window.click("button", "Reject");
    says(&window, "Sent to eli");
    for (name, answer) in [("cyd", "\"approved\":true"), ("eli", "First the wheels")] {
        let inbox = board.home.ask(&format!("inbox --as {name}")).to_string();
        assert!(inbox.replace('\\', "").contains(answer), "{name}: {inbox}");
    }
    assert_eq!(window.complaints(), Vec::<String>::new());
}

#[test]
fn commands_are_started_and_metadata_is_written() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("create Wheels");
    let server = Server::start(&home, "--allow-exec");
    let board = Board { browser: Browser::start(), server, home };
    let window = board.window();
    window.click("link", "Wheels");
    window.click("button", "Everything else");
    pick(&window, "Metadata");
    window.element("#ask [name=key]").fill("sizes");
    window.element("#ask [name=value]").fill("large");
    window.click("button", "Save");
    window.until("document.getElementById('ask-refused').textContent.includes('not JSON')");
    window.element("#ask [name=value]").fill("[1, 2]");
    window.click("button", "Save");
    window.until("!document.querySelector('#ask[open]')");
    assert_eq!(task(&board, "1")["metadata"]["sizes"], json!([1, 2]));
    window.click("button", "Everything else");
    pick(&window, "Run a command");
    window.element("#ask [name=command]").fill("printf '\\033[31mflat\\033[0m tyre\\n'; exit 3");
    window.click("button", "Run");
    // The colours of the program stay.
    window.until("document.querySelector('#task pre.tail .in-red')?.textContent === 'flat'");
    window.open(&board.address("/lists/L/jobs"));
    window.click("button", "Run a command");
    window.element("#ask [name=command]").fill("echo round");
    window.click("button", "Run");
    // One that failed stands before one that did not.
    let rows =
        "[...document.querySelectorAll('ul.jobs li .mark')].map((mark) => mark.getAttribute('aria-label')).join(' ')";
    window.until(&format!("{rows} === 'failed completed'"));
    window.until("document.querySelector('pre.tail').getBoundingClientRect().bottom > innerHeight - 120");
    assert_eq!(window.complaints(), Vec::<String>::new());
}
