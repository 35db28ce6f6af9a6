//! The browser that tests of pages use does what people do, and sees what they see.

use taskyard_testkit::browser::{Browser, Impact, Looking, Scheme, Screen};

/// A page that says what was done to it.
const PAGE: &str = "data:text/html;charset=utf-8,<!doctype html><html lang=en><title>Yard</title>\
    <style>body{background:white}@media (prefers-color-scheme:dark){body{background:black}}div{padding:20px;margin:20px;width:80px}</style>\
    <h1>Yard</h1><label>Subject <input></label><button onclick=\"said.textContent='made '+document.querySelector('input').value\">Create</button>\
    <div id=one draggable=true>one</div><div id=two ondragover=\"event.preventDefault()\" ondrop=\"said.textContent='dropped'\">two</div>\
    <p id=said></p><noscript>no scripts here</noscript>\
    <script>addEventListener('keydown', event => { if (event.ctrlKey %26%26 event.key === 'k') said.textContent = 'palette' })</script>";

#[test]
fn a_hand_clicks_types_presses_and_drags() {
    let browser = Browser::start();
    let window = browser.window();
    window.open(PAGE);
    assert_eq!(window.title(), "Yard");
    window.find("textbox", "Subject").fill("Wheels");
    window.click("button", "Create");
    window.sees("made Wheels");
    window.press("Control+k");
    window.sees("palette");
    window.drag(&window.element("#one"), &window.element("#two"));
    window.sees("dropped");
    window.sees_no_more("palette");
    assert!(window.find_now("button", "Delete").is_none());
}

#[test]
fn two_tabs_are_looked_at_in_turn() {
    let browser = Browser::start();
    let (one, two) = (browser.window(), browser.tab());
    one.open("data:text/html,<title>one</title>");
    two.open("data:text/html,<title>two</title>");
    assert_eq!((one.title(), two.title(), one.title()), ("one".to_owned(), "two".to_owned(), "one".to_owned()));
}

#[test]
fn a_page_is_seen_in_every_size_and_both_schemes() {
    let browser = Browser::start();
    let window = browser.window();
    window.open(PAGE);
    for screen in Screen::ALL {
        window.show_on(screen);
        assert_eq!(window.picture().size(), screen.size());
    }
    let background = || window.script("return getComputedStyle(document.body).backgroundColor", &[]);
    for (scheme, expected) in [(Scheme::Dark, "rgb(0, 0, 0)"), (Scheme::Light, "rgb(255, 255, 255)")] {
        window.prefer(scheme);
        assert_eq!(background(), expected);
    }
}

#[test]
fn a_page_without_scripts_is_read_all_the_same() {
    let browser = Browser::start();
    let window = browser.window();
    window.forbid_scripts();
    window.open(PAGE);
    window.sees("no scripts here");
    window.press("Control+k");
    assert!(!window.text().contains("palette"));
}

#[test]
fn axe_tells_what_is_wrong_and_the_console_what_failed() {
    let browser = Browser::start();
    let window = browser.window();
    window.open("data:text/html,<!doctype html><html lang=en><title>x</title><main><h1>x</h1><img src=x></main><script>throw Error('lost')</script>");
    let found = window.axe(Looking::ForEverything);
    assert!(found.iter().any(|finding| finding.rule == "image-alt" && finding.impact >= Impact::Serious), "{found:?}");
    assert!(window.complaints().iter().any(|line| line.contains("lost")));
    window.open("data:text/html,<!doctype html><html lang=en><title>x</title><main><h1>x</h1></main>");
    assert!(window.axe(Looking::ForEverything).is_empty());
    window.open("data:text/html,<!doctype html><html lang=en><title>x</title><main><h1>x</h1><img src=x><p style='color:%23eee;background:%23fff'>pale</main>");
    let rules: Vec<String> = window.axe(Looking::ForColours).into_iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, ["color-contrast"]);
    window.complaints();
    window.open("data:text/html,<!doctype html><html lang=en><title>x</title><main><h1>x</h1></main>");
    assert_eq!(window.complaints(), Vec::<String>::new());
}
