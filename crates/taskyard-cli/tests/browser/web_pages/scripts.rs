//! Scripts: those that others put into texts never run, and without any the pages can be read.

use std::fs;

use serde_json::json;
use taskyard_testkit::browser::Window;

use crate::web_pages::board::Board;

/// Runs where it is taken for markup, in any of the usual ways.
const BAD: &str =
    "<script>window.pwned=1</script><img src=x onerror=window.pwned=1><svg onload=window.pwned=1>\"'><b style=\"x\">";

/// Returns the paths of all pages.
pub(crate) fn pages(window: &Window) -> Vec<String> {
    let script =
        "return [...document.querySelectorAll('#views a')].map(link => new URL(link.href).pathname).concat('/lists')";
    let paths = window.script(script, &[]);
    paths.as_array().unwrap().iter().map(|path| path.as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_script_in_any_text_is_shown_and_never_runs() {
    let board = Board::after(&["create Wheels", "team create L --as uma", "team join L --as bo"]);
    let home = &board.home;
    let task = json!({
        "id": "1", "subject": BAD, "description": BAD, "activeForm": BAD, "owner": BAD, "status": "in_progress", "blocks": ["2"],
        "blockedBy": [], "metadata": { "tags": [BAD], "kind": BAD, "notes": [BAD] },
    });
    fs::write(home.task_file("1"), task.to_string()).unwrap();
    let run = |words: &str, text: &str| {
        let ran = home.command(words).arg(text).output();
        assert!(ran.status.success(), "{words}: {ran:?}");
    };
    run("create", BAD);
    run("note 1", BAD);
    run("note 1", "**bold** [link](javascript:window.pwned=1) <iframe src=javascript:window.pwned=1></iframe>");
    run("send --to team-lead --as bo", BAD);
    run("job run --wait --task 1 -- printf %s", BAD);
    let list = home.command("create there").env("TASKYARD_LIST", BAD.replace('/', "")).output();
    assert!(list.status.success(), "{list:?}");
    let window = board.window();
    for path in pages(&window) {
        window.open(&board.address(&format!("{path}?task=1")));
        window.until("document.querySelector('script[type=module]') && document.readyState === 'complete'");
        window.sees("<script>window.pwned=1");
        assert!(window.script("return window.pwned === undefined", &[]) == json!(true), "{path}: it ran");
        let markup = "return document.querySelectorAll('[onerror], [onload], [style=x], iframe, a[href^=javascript], main script').length";
        assert_eq!(window.script(markup, &[]), json!(0), "{path}");
        // A script that the policy had to stop would have been markup, too.
        assert_eq!(window.complaints(), Vec::<String>::new(), "{path}");
    }
    for query in ["task", "q", "sort", "open", "from"] {
        window.open(&board.address(&format!("/lists/L/table?{query}=%3Cscript%3Ewindow.pwned=1%3C/script%3E")));
        assert!(window.script("return window.pwned === undefined", &[]) == json!(true), "{query}: it ran");
        assert_eq!(window.complaints(), Vec::<String>::new(), "{query}");
    }
}

#[test]
fn every_page_can_be_read_without_scripts() {
    let board = Board::after(&["create Wheels", "create Engine --blocked-by 1", "start 1", "note 1 round"]);
    let window = board.browser.window();
    window.forbid_scripts();
    window.open(board.server.link());
    window.sees("Wheels");
    let paths = pages(&window);
    assert!(paths.len() >= 8, "{paths:?}");
    for path in paths {
        window.open(&board.address(&path));
        let title = window.title();
        assert!(title.contains("Taskyard"), "{path}: {title}");
        assert!(window.text().len() > 40, "{path}: {}", window.text());
    }
    // Tasks are opened by links, and chosen by a form.
    window.open(&board.address("/lists/L"));
    window.click("link", "Wheels");
    window.sees("round");
    assert!(window.address().contains("task=1"));
    window.open(&board.address("/lists/L/table"));
    window.find("searchbox", "Choose tasks").type_in("status:pending\u{e007}");
    window.wait("the query is asked", || window.address().contains("q=status").then_some(()));
    window.sees("Engine");
    assert!(!window.elements("#row-2").is_empty() && window.elements("#row-1").is_empty());
}
