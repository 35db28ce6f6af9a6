//! What people do on the pages with a mouse: each thing is done in the list, and seen.

use std::fs;

use serde_json::json;
use taskyard_testkit::StrangeFile;
use taskyard_testkit::browser::Screen;

use crate::web_pages::board::{Board, enter, stands_in, task};

#[test]
fn a_task_is_made_started_noted_done_and_taken_back_by_clicking() {
    let board = Board::after(&["create Wheels"]);
    let window = board.window();
    window.click("button", "New");
    window.find("textbox", "Subject").fill("Engine");
    window.find("textbox", "Blocked by").fill("#1");
    window.click("button", "Create");
    window.until("document.querySelector('#cards-waiting #card-2') && !document.querySelector('#ask[open]')");
    assert_eq!(task(&board, "2")["blockedBy"], json!(["1"]));
    window.click("link", "Wheels");
    window.click("button", "Start");
    stands_in(&window, "1", "in_progress");
    window.find("textbox", "Note on #1").type_in("They are round");
    window.click("button", "Note");
    window.until("document.querySelector('#task .notes .letters')?.textContent.includes('They are round')");
    window.click("button", "Done");
    stands_in(&window, "1", "completed");
    window.until("document.querySelector('#cards-ready #card-2')");
    window.click("button", "Undo");
    stands_in(&window, "1", "in_progress");
    assert_eq!(task(&board, "1")["status"], "in_progress");
    assert_eq!(window.complaints(), Vec::<String>::new());
}

#[test]
fn undo_takes_back_what_was_done_here_and_no_other_change() {
    let board = Board::after(&["create Wheels", "create Engine"]);
    let window = board.window();
    window.click("link", "Wheels");
    window.click("button", "Done");
    stands_in(&window, "1", "completed");
    board.home.ask("done 2 --as bot");
    stands_in(&window, "2", "completed");
    window.press("u");
    stands_in(&window, "1", "pending");
    assert_eq!(task(&board, "2")["status"], "completed");
    // Only what can be taken back has a button: not what is taken back already.
    window.click("link", "History");
    window.until("document.querySelector('li[data-revision=\"5\"]')");
    let buttons =
        "return [...document.querySelectorAll('li button')].map((button) => button.closest('li').dataset.revision)";
    assert_eq!(window.script(buttons, &[]), json!(["5", "4", "2", "1"]));
    window.click("button", "Undo with the 3 later changes revision 2");
    window.until("document.querySelector('li[data-revision=\"6\"]')");
    assert!(!board.home.present().contains_key("2"), "its creation was taken back");
}

#[test]
fn an_invitation_lets_another_browser_in_under_its_own_name() {
    let board = Board::after(&["create Wheels"]);
    let window = board.window();
    window.until("document.querySelector('.you b').textContent === 'uma'");
    window.click("button", "Invite");
    window.element("#ask input[name=name]").fill("xia");
    window.click("button", "Create a link");
    window.until("document.querySelector('#invited[open] #invited-link')?.value.includes('/open/')");
    let link = window.script("return document.getElementById('invited-link').value", &[]);
    enter(&window, link.as_str().unwrap());
    window.until("document.querySelector('.you b').textContent === 'xia'");
    window.click("link", "Wheels");
    window.click("button", "Start");
    stands_in(&window, "1", "in_progress");
    assert_eq!(task(&board, "1")["owner"], "xia");
    assert_eq!(window.complaints(), Vec::<String>::new());
}

#[test]
fn what_is_started_in_a_browser_is_the_persons_own() {
    let board = Board::after(&["create Wheels"]);
    let window = board.window();
    window.click("link", "Wheels");
    window.click("button", "Start");
    stands_in(&window, "1", "in_progress");
    assert_eq!(task(&board, "1")["owner"], "uma");
    assert!(board.home.ask("show 1")["lease"].is_null(), "a person's work is given back by the person");
    let refused = board.home.run("claim 1 --as bot --json");
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.stdout.contains("\"owner\":\"uma\"") && refused.stdout.contains("\"since\":"), "{refused:?}");
    window.open(&board.address("/lists/L/agents"));
    window.until("document.querySelector('main')?.textContent.includes('uma')");
    window.sees("Wheels");
}

#[test]
fn blockers_of_several_tasks_are_added_to_all_or_none() {
    let board = Board::after(&["create Wheels", "create Engine", "create Paint --blocked-by 1"]);
    let window = board.window();
    window.show_on(Screen::Phone);
    for key in ["j", "x", "j", "x"] {
        window.press(key);
    }
    window.until("document.querySelectorAll('.is-selected').length === 2");
    window.until("(box => box.left >= 0 && box.right <= innerWidth)(document.getElementById('selected').getBoundingClientRect())");
    window.click("button", "Blocked by");
    window.until("document.querySelector('#picker[open] #picker-list li')");
    window.type_text("Paint");
    window.until("document.querySelector('#picker-list [aria-selected=true]')?.textContent.includes('Paint')");
    window.press("Enter");
    window.until("[...document.querySelectorAll('.refused')].some(told => told.textContent.includes('Nothing was changed. #1: '))");
    assert_eq!(task(&board, "2")["blockedBy"], json!([]));
}

#[test]
fn addresses_are_links_and_boxes_can_be_ticked() {
    let text = "- [ ] round\n- [ ] see https://a.example/b.\n";
    let board = Board::after(&["create Wheels"]);
    board.home.command("update 1 --description").arg(text).output();
    let window = board.window();
    window.click("link", "Wheels");
    window.element("#task .prose a[href='https://a.example/b']");
    window.element("#task .prose [data-number='1']").click();
    window.sees("Changed #1");
    assert_eq!(task(&board, "1")["description"], text.replace("[ ] see", "[x] see"));
}

#[test]
fn what_cannot_be_shown_is_explained_in_the_frame_of_the_board() {
    let board = Board::after(&["create Wheels"]);
    let window = board.window();
    window.open(&board.address("/nowhere"));
    window.sees("There is no page at this address.");
    window.click("link", "All lists");
    window.until("location.pathname === '/lists' && document.querySelector('ul.lists')");
    window.open(board.server.link());
    window.sees("This link has already been used.");
    window.devtools("Network.clearBrowserCookies", json!({}));
    window.open(&board.address("/lists/L"));
    window.sees("This browser is not signed in yet");
    window.until("getComputedStyle(document.querySelector('header.top')).display === 'flex'");
    // While the server runs, starting another one there tells how to get in.
    let again = board.home.run(&format!("serve --port {}", board.server.port()));
    let link =
        again.stderr.split_whitespace().find(|word| word.contains("/open/")).unwrap_or_else(|| panic!("{again:?}"));
    enter(&window, link);
    window.until("document.getElementById('card-1')");
}

#[test]
fn graph_frames_parts_folds_done_and_focuses() {
    let board = Board::after(&[
        "create Storage",
        "create Tables --parent 1",
        "create Indexes --parent 1 --blocked-by 2",
        "create Rollout --blocked-by 1",
        "create Naming",
        "create Aside",
        "done 5",
    ]);
    let window = board.window();
    window.open(&board.address("/lists/L/graph"));
    window.until("document.querySelectorAll('#picture .task').length === 5");
    // A frame stands around the parts, and one box for what is done.
    let stands_within = "const box = (what) => document.querySelector(what).getBoundingClientRect();
        const [frame, part] = [box('#picture .frame[data-id=\"1\"]'), box('#picture a[data-task=\"3\"]')];
        return frame.left < part.left && frame.right > part.right && frame.top < part.top && frame.bottom > part.bottom";
    assert_eq!(window.script(stands_within, &[]), json!(true));
    window.until("document.querySelector('#picture .folded-done')?.textContent.includes('1 done')");
    // What waits for a task waits for each of its parts: the longest chain goes through them.
    let chain =
        "return [...document.querySelectorAll('#picture .edge.critical')].map((edge) => edge.dataset.to).sort()";
    assert_eq!(window.script(chain, &[]), json!(["3", "4"]));
    // Letters have 12 pixels at least, however much is shown.
    let letters = "const svg = document.querySelector('#picture > svg');
        const scale = svg.parentElement.clientWidth / svg.viewBox.baseVal.width;
        return Math.min(...[...svg.querySelectorAll('text')].filter((text) => text.getClientRects().length).map((text) => parseFloat(getComputedStyle(text).fontSize) * scale))";
    for act in ["zoom-fit", "zoom-out", "zoom-out", "zoom-out", "zoom-out", "zoom-out"] {
        window.element(&format!("[data-act={act}]")).click();
        let smallest = window.script(letters, &[]).as_f64().unwrap();
        assert!(smallest >= 11.99, "{act}: {smallest} px");
    }
    window.click("button", "Fit");
    window.click("link", "▾ Parts of #1");
    window.until("!document.querySelector('#picture .frame') && location.search.includes('fold=1')");
    window.click("link", "Show done");
    window.until("document.querySelector('#picture a[data-task=\"5\"]')");
    window.element("#picture a[data-task='4']").click();
    window.until("document.querySelector('#picture a.is-open[data-task=\"4\"]')");
    window.press("f");
    window.until("location.search.includes('focus=4') && !document.querySelector('#picture a[data-task=\"6\"]')");
    window.until("document.querySelector('#picture a[data-task=\"2\"]')");
}

#[test]
fn a_finger_moves_the_graph_and_two_enlarge_it() {
    let board = Board::after(&["create Wheels", "create Engine --blocked-by 1"]);
    let window = board.window();
    window.show_on(Screen::Phone);
    window.open(&board.address("/lists/L/graph"));
    let touch = |kind: &str, points: &[(f64, f64)]| {
        let points: Vec<_> = (0..).zip(points).map(|(id, (x, y))| json!({ "id": id, "x": x, "y": y })).collect();
        window.devtools("Input.dispatchTouchEvent", json!({ "type": kind, "touchPoints": points }));
    };
    let view = || {
        let script =
            "const { x, y, width } = document.querySelector('#picture > svg').viewBox.baseVal; return [x, y, width]";
        let view = window.script(script, &[]);
        [0, 1, 2].map(|at| view[at].as_f64().unwrap())
    };
    let middle = || {
        let script = "const { left, top, width, height } = document.querySelector('#picture a[data-task=\"1\"] .card').getBoundingClientRect();
            return [left + width / 2, top + height / 2]";
        let middle = window.script(script, &[]);
        (middle[0].as_f64().unwrap(), middle[1].as_f64().unwrap())
    };
    let ((x, y), [left, _, width]) = (middle(), view());
    touch("touchStart", &[(x, y)]);
    touch("touchMove", &[(x + 30.0, y)]);
    touch("touchEnd", &[]);
    assert!(view()[0] < left, "it went along");
    // Two fingers that go apart make it larger.
    touch("touchStart", &[(x, y)]);
    touch("touchStart", &[(x, y), (x + 40.0, y)]);
    touch("touchMove", &[(x, y), (x + 60.0, y)]);
    touch("touchEnd", &[]);
    assert!(view()[2] < width * 0.75, "{} was {width}", view()[2]);
    window.until("location.search === ''");
    assert_eq!(window.complaints(), Vec::<String>::new());
}

#[test]
fn history_takes_any_revision_back() {
    let board = Board::after(&["create Wheels", "create Engine", "start 1"]);
    let window = board.window();
    window.click("link", "History");
    window.until("document.querySelector('li[data-revision=\"2\"]')");
    window.click("button", "Undo revision 2");
    window.until("document.querySelector('li[data-revision=\"4\"]')");
    assert!(!board.home.present().contains_key("2"), "its creation was taken back");
}

#[test]
fn what_a_job_writes_appears_while_it_runs() {
    let board = Board::after(&["create Wheels"]);
    let gate = board.home.path().join("gate");
    StrangeFile::Pipe.put(&gate, &gate);
    let line = format!("echo first line; cat {} >/dev/null; echo second line", gate.display());
    let started = board.home.command("job run --task 1 --").args(["sh", "-c", &line]).output();
    assert!(started.status.success(), "{started:?}");
    let window = board.window();
    window.click("link", "Wheels");
    window.until("document.querySelector('#task pre.tail')?.textContent.includes('first line')");
    window.open(&board.address("/lists/L/jobs"));
    window.until("document.querySelector('pre.tail')?.textContent.includes('first line')");
    let tail = || window.script("return document.querySelector('pre.tail').textContent", &[]);
    assert_eq!(tail(), "first line\n");
    fs::write(&gate, "go on").unwrap();
    window.until("document.querySelector('pre.tail').textContent.includes('\\nsecond line')");
    window.until("document.querySelector('ul.jobs .done')");
}

#[test]
fn a_message_is_sent_and_one_that_comes_is_seen() {
    let board = Board::after(&["create Wheels", "team create L --as uma", "team join L --as bo"]);
    let window = board.window();
    window.click("link", "Messages");
    window.click("link", "bo");
    window.find("textbox", "Message to bo").type_in("Are they round?");
    window.click("button", "Send");
    window.until("document.querySelector('.letters')?.textContent.includes('Are they round?')");
    let inbox = board.home.ask("inbox --as bo");
    assert!(inbox.to_string().contains("Are they round?"), "{inbox}");
    let sent = board.home.run("send --to team-lead Very --as bo");
    assert_eq!(sent.code, Some(0), "{sent:?}");
    window.until("document.querySelector('.letters').textContent.includes('Very')");
    // It is on the screen, so it is read.
    window.until("!document.querySelector('#views .alarm')");
    assert_eq!(board.home.ask("inbox --as uma")["messages"], json!([]));
}

#[test]
fn a_dialog_writes_over_nothing_that_others_changed_meanwhile() {
    let board = Board::after(&["create Wheels --description Round --priority low"]);
    let window = board.window();
    let edit = |subject: &str| {
        window.element("#card-1 .open").click();
        window.until("!document.getElementById('task').hidden");
        window.press("E");
        window.until("document.querySelector('#ask[open] [name=subject]')");
        window.element("#ask [name=subject]").fill(subject);
    };
    // Another field: both changes stay.
    edit("Four wheels");
    board.home.ask("update 1 --description Square --priority high");
    window.click("button", "Save");
    window.until("!document.querySelector('#ask[open]')");
    let both = task(&board, "1");
    assert_eq!((&both["subject"], &both["description"]), (&json!("Four wheels"), &json!("Square")));
    assert_eq!(both["metadata"]["priority"], "high");
    // The same field: both texts are there to choose from, and other fields follow.
    edit("Five wheels");
    board.home.ask("update 1 --subject Six-wheels --description Oval");
    window.click("button", "Save");
    window.until("document.querySelector('#ask[open] .theirs q')?.textContent === 'Six-wheels'");
    let value = |name: &str| window.element(&format!("#ask [name={name}]")).property("value");
    assert_eq!((value("subject"), value("description")), (json!("Five wheels"), json!("Oval")));
    assert_eq!(task(&board, "1")["subject"], "Six-wheels", "nothing was saved");
    window.click("button", "Take theirs");
    assert_eq!(value("subject"), "Six-wheels");
    window.element("#ask [name=subject]").fill("Seven wheels");
    window.click("button", "Save");
    window.until("!document.querySelector('#ask[open]')");
    let chosen = task(&board, "1");
    assert_eq!((&chosen["subject"], &chosen["description"]), (&json!("Seven wheels"), &json!("Oval")));
}

#[test]
fn titles_and_descriptions_are_edited_without_what_is_not_shown() {
    let board = Board::after(&["create Wheels --kind bug"]);
    let stored = task(&board, "1");
    let (mark, description) = (stored["subject"].as_str().unwrap(), stored["description"].as_str().unwrap());
    assert!(mark.starts_with("\u{1b}[2m  #1\u{1b}[22m ") && description.contains("<macf_task_metadata"));
    let coloured = format!("{mark} \u{1b}[31mred");
    board.home.command("update 1 --subject").arg(&coloured).output();
    let window = board.window();
    let open = || {
        window.element("#card-1 .open").click();
        window.until("!document.getElementById('task').hidden");
    };
    open();
    window.sees("created_by");
    assert!(!window.element("#task").text().contains("macf_task_metadata"));
    window.press("E");
    window.until("document.querySelector('#ask[open] [name=subject]')");
    let value = |name: &str| window.element(&format!("#ask [name={name}]")).property("value");
    let shown = "\u{1f41b} BUG: Wheels \\x1b[31mred";
    assert_eq!((value("subject"), value("description")), (json!(shown), json!("")));
    window.element("#ask [name=subject]").fill(&shown.replace("Wheels", "Tyres"));
    window.element("#ask [name=description]").fill("Flat");
    window.click("button", "Save");
    window.until("!document.querySelector('#ask[open]')");
    let saved = task(&board, "1");
    assert_eq!(saved["subject"], coloured.replace("Wheels", "Tyres"));
    assert_eq!(saved["description"], format!("Flat\n\n{description}"));
}

#[test]
fn a_page_that_lost_its_secret_says_so_and_only_reads() {
    let board = Board::after(&["create Wheels"]);
    let window = board.window();
    window.script("localStorage.removeItem('taskyard-page')", &[]);
    window.element("#card-1 .open").click();
    window.until("!document.getElementById('task').hidden");
    window.click("button", "Start");
    window.sees("This browser may only look");
    assert_eq!(task(&board, "1")["status"], "pending");
    window.open(&board.server.another_link());
    window.until("location.pathname === '/lists/L' && document.readyState === 'complete'");
    window.click("link", "Wheels");
    window.click("button", "Start");
    stands_in(&window, "1", "in_progress");
}
