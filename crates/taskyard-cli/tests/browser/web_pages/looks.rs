//! How every page looks: to axe, and in the pictures of the documentation.

use std::fs;
use std::path::{Path, PathBuf};

use taskyard_testkit::browser::{Browser, Looking, Scheme, Screen, Window};
use taskyard_testkit::{Home, Server};

use crate::web_pages::board::Board;
use crate::web_pages::scripts::pages;

/// Where the pictures are.
fn pictures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/captures")
}

/// A list with something of everything.
fn rocket() -> Board {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let text = "Reads **every** dialect.\n\n- keeps unknown keys\n- never rewrites what it cannot read\n\n```\nparse(text)?\n```";
    for (words, texts) in [
        ("team create rocket --as uma", &[] as &[&str]),
        ("team join rocket --as ana", &[]),
        ("team join rocket --as bo", &[]),
        ("create --tag db", &["Agree on the schema"]),
        ("create --blocked-by 1 --priority high", &["Write the parser"]),
        ("create --blocked-by 1 --tag ui", &["Draw the first screen"]),
        ("create --blocked-by 2 --blocked-by 3 --due 3d", &["Explain it in the handbook"]),
        ("create --blocked-by 4", &["Ship it"]),
        ("create --tag ui", &["A logo that works in one colour"]),
        ("create --parent 5", &["Tell the testers"]),
        ("create", &["Name the rocket"]),
        ("create --due 2026-01-05", &["Answer the auditors"]),
        ("claim 1 --as ana", &[]),
        ("done 1 --as ana", &[]),
        ("claim 8 --as ana", &[]),
        ("done 8 --as ana", &[]),
        ("claim 2 --as bo", &[]),
        ("update 2 --as bo --active-form", &["Writing the tests", "--description", text]),
        ("claim 3 --as ana", &[]),
        ("note 2 --as bo", &["Numbers are from the first run; the second is under way."]),
        ("note 2 --as ana", &["Then the screen can wait for them."]),
        ("send --to team-lead --as bo", &["The parser needs a decision: keep comments?"]),
        ("job run --wait --task 2 --", &["sh", "-c", "echo compiling; echo '12 tests passed'"]),
    ] {
        let ran = home.command(words).env("TASKYARD_LIST", "rocket").args(texts).output();
        assert!(ran.status.success(), "{words}: {ran:?}");
    }
    let server = Server::start(&home, "--list rocket");
    Board { browser: Browser::start(), server, home }
}

/// Returns what a page is called in the names of files.
fn name_of(path: &str) -> String {
    match path {
        "/lists" => "lists".to_owned(),
        "/lists/rocket" => "columns".to_owned(),
        path => path.rsplit('/').next().unwrap().to_owned(),
    }
}

fn show(window: &Window, board: &Board, path: &str) {
    window.open(&board.address(path));
    window.until("document.readyState === 'complete' && [...document.styleSheets].length > 0");
}

#[test]
fn axe_finds_nothing_on_any_page_in_either_scheme_or_size() {
    let board = rocket();
    let window = board.window();
    let mut found = Vec::new();
    let mut paths = pages(&window);
    paths.extend(
        [
            "/lists/rocket?task=2",
            "/lists/nowhere",
            "/nowhere",
            "/lists/rocket/table?q=nonsense:",
            "/lists/rocket?needs=1",
            "/lists/rocket?group=owner",
        ]
        .map(str::to_owned),
    );
    for path in &paths {
        show(&window, &board, path);
        for (screen, scheme, looking) in [
            (Screen::Laptop, Scheme::Light, Looking::ForEverything),
            (Screen::Laptop, Scheme::Dark, Looking::ForColours),
            (Screen::Phone, Scheme::Light, Looking::ForEverything),
            (Screen::Phone, Scheme::Dark, Looking::ForColours),
        ] {
            window.show_on(screen);
            window.prefer(scheme);
            found.extend(
                window
                    .axe(looking)
                    .into_iter()
                    .map(|finding| format!("{path} {} {}: {finding:?}", screen.as_str(), scheme.as_str())),
            );
        }
    }
    for (keys, dialog) in [("?", "#help[open]"), ("c", "#ask[open]"), ("Control+k", "#palette[open]")] {
        show(&window, &board, "/lists/rocket");
        window.press(keys);
        window.element(dialog);
        found.extend(window.axe(Looking::ForEverything).into_iter().map(|finding| format!("{dialog}: {finding:?}")));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// With `TASKYARD_WRITE_PICTURES=1` the pictures of the documentation are taken anew.
#[test]
fn every_page_has_pictures_in_both_schemes_and_all_sizes() {
    let board = rocket();
    let window = board.window();
    let is_written = std::env::var_os("TASKYARD_WRITE_PICTURES").is_some();
    let mut paths = pages(&window);
    paths.push("/lists/rocket?task=2".to_owned());
    for path in paths {
        show(&window, &board, &path);
        let name = if path.contains("task=") { "task".to_owned() } else { name_of(&path) };
        for scheme in Scheme::ALL {
            for screen in Screen::ALL {
                window.show_on(screen);
                window.prefer(scheme);
                // Nothing may stick out to the side: a page is read by scrolling down.
                window.until("document.documentElement.scrollWidth <= innerWidth");
                window.until("(view => view.scrollWidth <= view.clientWidth)(document.getElementById('view'))");
                if screen != Screen::Phone {
                    window.until(
                        "(views => views.scrollWidth <= views.clientWidth)(document.querySelector('#views nav'))",
                    );
                }
                let picture = window.picture();
                assert_eq!(picture.size(), screen.size(), "{path}");
                // The others have the same pages; their pictures would only be large.
                if ![Screen::Phone, Screen::Laptop].contains(&screen) {
                    continue;
                }
                let file = pictures().join(format!("web-{name}-{}-{}.png", screen.as_str(), scheme.as_str()));
                if is_written {
                    fs::write(&file, &picture.png).unwrap();
                }
                assert!(file.exists(), "{} is missing: TASKYARD_WRITE_PICTURES=1 takes it", file.display());
            }
        }
    }
    assert_eq!(window.complaints(), Vec::<String>::new());
}
