//! The everyday jobs, each with the mouse alone, with the keyboard alone, and by touch on a phone. Texts are typed in all three.
//!
//! Every job is done in one of the ways; with `TASKYARD_TEST_SCALE=1` it is done in all of them:
//! `TASKYARD_TEST_SCALE=1 cargo nextest run -p taskyard-cli --test browser everyday`.

use serde_json::{Value, json};
use taskyard_testkit::Scale;
use taskyard_testkit::browser::{Element, Screen, Window};

use crate::web_pages::board::{Board, stands_in, task};

/// With what a person uses the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Mouse,
    Keyboard,
    Touch,
}

/// A person before the board.
struct Person<'a> {
    board: &'a Board,
    window: &'a Window,
    way: Way,
}

impl Person<'_> {
    fn is_at_keys(&self) -> bool {
        self.way == Way::Keyboard
    }

    /// Clicks on an element or touches it.
    fn choose(&self, element: &Element) {
        match self.way {
            Way::Touch => self.window.tap(element),
            _ => element.click(),
        }
    }

    /// Clicks on what has a role and a name, or touches it.
    fn push(&self, role: &str, name: &str) {
        self.choose(&self.window.find(role, name));
    }

    /// Makes a task in a shell, and opens it.
    fn opens(&self, subject: &str) -> String {
        let id = self.has(subject);
        self.goes("/lists/L");
        match self.way {
            Way::Keyboard => {
                self.window.press("Control+k");
                self.finds(subject);
            }
            _ => self.push("link", subject),
        }
        self.window.until(&format!("document.getElementById('task').dataset.task === '{id}'"));
        id
    }

    fn has(&self, subject: &str) -> String {
        let made = self.board.home.command("create --json").arg(subject).output();
        let made: Value = serde_json::from_slice(&made.stdout).unwrap();
        made["task"]["id"].as_str().unwrap().to_owned()
    }

    fn goes(&self, path: &str) {
        self.window.open(&self.board.address(path));
    }

    /// Chooses what the open palette finds.
    fn finds(&self, words: &str) {
        self.window.until("document.querySelector('#palette[open]')");
        self.window.type_text(words);
        let first = format!(
            "(one => one && !one.hidden && one.textContent.toLowerCase().includes({}))(document.querySelector('#palette-list [aria-selected=true]'))",
            json!(words.to_lowercase())
        );
        self.window.until(&first);
        self.window.press("Enter");
        self.window.until("!document.querySelector('#palette[open]')");
    }

    /// Does something with the open task that its menu has.
    fn does(&self, name: &str, key: &str) {
        if self.is_at_keys() && !key.is_empty() {
            return self.window.press(key);
        }
        if self.is_at_keys() {
            self.window.press("m");
        } else {
            self.push("button", "Everything else");
        }
        self.picks(name);
    }

    /// Chooses one of the things that the picker offers.
    fn picks(&self, name: &str) {
        self.window.until("document.querySelector('#picker[open]')");
        if self.is_at_keys() || self.way == Way::Mouse && name.starts_with('#') {
            self.window.type_text(name);
        }
        let chosen = format!(
            "[...document.querySelectorAll('#picker-list li')].find(one => one.querySelector('.said').textContent.includes({}))",
            json!(name)
        );
        self.window.until(&chosen);
        if self.is_at_keys() {
            self.window.until(&format!("({chosen})?.getAttribute('aria-selected') === 'true'"));
            return self.window.press("Enter");
        }
        self.window.script(&format!("({chosen}).dataset.wanted = ''"), &[]);
        self.choose(&self.window.element("#picker-list [data-wanted]"));
    }

    /// Gives the open task a property.
    fn sets(&self, field: &str, menu: &str, choice: &str) {
        match self.way {
            Way::Keyboard => self.does(menu, ""),
            _ => self.choose(&self.window.element(&format!("#task [data-set={field}]"))),
        }
        self.picks(choice);
        if field == "tags" {
            self.window.press("Escape");
        }
        self.window.until("!document.querySelector('#picker[open]')");
    }

    /// Waits until the list has a task in a state.
    fn waits(&self, id: &str, what: &str, is_so: impl Fn(&Value) -> bool) {
        self.window.wait(what, || is_so(&task(self.board, id)).then_some(()));
    }
}

fn metadata<'a>(task: &'a Value, key: &str) -> &'a Value {
    &task["metadata"][key]
}

/// A job that people do every day.
type Job = fn(&Person<'_>);

const JOBS: [(&str, Job); 12] = [
    ("create", create),
    ("properties", properties),
    ("edges and parts", edges),
    ("claim and start", claim),
    ("complete, reopen, delete, undo", complete),
    ("bulk change", bulk),
    ("filter and save it", filter),
    ("note", note),
    ("follow a job", follow),
    ("message", message),
    ("lists", lists),
    ("history", history),
];

fn create(person: &Person<'_>) {
    person.goes("/lists/L");
    match person.way {
        Way::Keyboard => person.window.press("c"),
        _ => person.push("button", "New"),
    }
    person.window.find("textbox", "Subject").type_in("Draw the map");
    match person.way {
        Way::Keyboard => person.window.press("Enter"),
        _ => person.push("button", "Create"),
    }
    person.window.until("!document.querySelector('#ask[open]')");
    person.window.sees("Draw the map");
}

fn properties(person: &Person<'_>) {
    let other = person.has("Above it");
    let id = person.opens("Has properties");
    person.sets("owner", "Owner…", "ana");
    person.waits(&id, "the owner", |task| task["owner"] == "ana");
    person.sets("priority", "Priority…", "High");
    person.waits(&id, "the priority", |task| metadata(task, "priority") == "high");
    person.sets("tags", "Tags…", "docs");
    person.waits(&id, "the tag", |task| *metadata(task, "tags") == json!(["docs"]));
    person.sets("due", "Due…", "Tomorrow");
    person.waits(&id, "the due date", |task| metadata(task, "due").is_string());
    person.sets("defer", "Not before…", "In a week");
    person.waits(&id, "the deferral", |task| metadata(task, "defer").is_string());
    person.sets("estimate", "Estimate…", "2 hours");
    person.waits(&id, "the estimate", |task| !metadata(task, "estimate").is_null());
    person.sets("kind", "Kind…", "bug");
    person.waits(&id, "the kind", |task| metadata(task, "kind") == "bug");
    person.sets("parent", "Part of…", &format!("#{other}"));
    person.waits(&id, "the parent", |task| *metadata(task, "parent") == json!(other));
    person.sets("status", "Status…", "Cancelled");
    person.waits(&id, "the status", |task| task["status"] == "completed");
}

fn edges(person: &Person<'_>) {
    let (before, behind) = (person.has("Comes before"), person.has("Comes behind"));
    let id = person.opens("In between");
    person.sets("blocked-by", "Blocked by…", &format!("#{before}"));
    person.waits(&id, "the blocker", |task| task["blockedBy"] == json!([before]));
    person.sets("blocks", "Blocks…", &format!("#{behind}"));
    person.waits(&id, "what it blocks", |task| task["blocks"] == json!([behind]));
    match person.way {
        Way::Keyboard => person.window.press("p"),
        _ => person.push("button", "part"),
    }
    person.window.find("textbox", "Subject").type_in("A part of it");
    match person.way {
        Way::Keyboard => person.window.press("Enter"),
        _ => person.push("button", "Create"),
    }
    person.window.until("!document.querySelector('#ask[open]')");
    person.window.wait("the part", || {
        let parts = person.board.home.ask(&format!("list parent:{id}"));
        (parts["tasks"][0]["subject"] == "A part of it").then_some(())
    });
}

fn claim(person: &Person<'_>) {
    let id = person.opens("To be claimed");
    person.does("Claim", "t");
    person.waits(&id, "the claim", |task| task["owner"] == "uma" && task["status"] == "in_progress");
    person.does("Release", "r");
    person.waits(&id, "the release", |task| task["status"] == "pending");
    match person.way {
        Way::Keyboard => person.window.press("s"),
        _ => person.push("button", "Start"),
    }
    person.waits(&id, "the start", |task| task["status"] == "in_progress");
}

fn complete(person: &Person<'_>) {
    let id = person.opens("To be done");
    match person.way {
        Way::Keyboard => person.window.press("d"),
        _ => person.push("button", "Done"),
    }
    person.waits(&id, "its completion", |task| task["status"] == "completed");
    match person.way {
        Way::Keyboard => person.window.press("o"),
        _ => person.push("button", "Reopen"),
    }
    person.waits(&id, "its reopening", |task| task["status"] == "pending");
    person.does("Delete", "Delete");
    let is_gone = |is_gone: bool| {
        person.window.wait("it is there or not", || {
            (person.board.home.present().contains_key(id.as_str()) != is_gone).then_some(())
        });
    };
    is_gone(true);
    match person.way {
        Way::Keyboard => person.window.press("u"),
        _ => person.push("button", "Undo"),
    }
    is_gone(false);
}

fn bulk(person: &Person<'_>) {
    let ids = [person.has("One of both"), person.has("Other of both")];
    person.goes("/lists/L/table?q=both");
    match person.way {
        Way::Keyboard => ["j", "x", "j", "x", "P"].into_iter().for_each(|key| person.window.press(key)),
        _ => {
            ids.iter().for_each(|id| person.push("checkbox", &format!("Select #{id}")));
            person.push("button", "Priority");
        }
    }
    person.picks("Low");
    for id in &ids {
        person.waits(id, "the priority", |task| metadata(task, "priority") == "low");
    }
}

fn filter(person: &Person<'_>) {
    person.has("Sought after");
    person.goes("/lists/L/table");
    match person.way {
        Way::Keyboard => person.window.press("/"),
        _ => person.choose(&person.window.element("#query")),
    }
    person.window.type_text("sought");
    person
        .window
        .until("document.querySelectorAll('tr[data-task]').length === 1 && location.search.includes('q=sought')");
    match person.way {
        Way::Keyboard => {
            person.window.press("Escape");
            person.window.press("Control+k");
            person.finds("keep this filter");
        }
        _ => person.push("button", "save this filter"),
    }
    person.window.find("textbox", "Name").type_in(" again");
    person.window.press("Enter");
    person.window.until("document.querySelector('#lists .saved a')?.textContent === 'sought again'");
}

fn note(person: &Person<'_>) {
    let id = person.opens("With a note");
    match person.way {
        Way::Keyboard => person.window.press("n"),
        _ => person.choose(&person.window.element("#note")),
    }
    person.window.type_text("It is round");
    match person.way {
        Way::Keyboard => person.window.press("Enter"),
        _ => person.push("button", "Note"),
    }
    person.waits(&id, "the note", |task| metadata(task, "notes")[0]["text"] == "It is round");
}

fn follow(person: &Person<'_>) {
    let id = person.has("With a job");
    let started = person.board.home.command(&format!("job run --wait --task {id} -- echo")).arg("it ran").output();
    assert!(started.status.success(), "{started:?}");
    person.goes("/lists/L");
    match person.way {
        Way::Keyboard => go(person, ["g", "j"]),
        _ => person.push("link", "Jobs"),
    }
    person.window.until("document.querySelector('pre.tail')?.textContent.includes('it ran')");
}

fn message(person: &Person<'_>) {
    person.goes("/lists/L/messages");
    match person.way {
        Way::Keyboard => {
            let is_at_bo = "document.activeElement.closest('.threads li')?.textContent.startsWith('bo')";
            person.window.wait("the cursor is at bo", || {
                person.window.press("j");
                (person.window.script(&format!("return Boolean({is_at_bo})"), &[]) == true).then_some(())
            });
            person.window.press("Enter");
            person.window.find("textbox", "Message to bo");
            person.window.press("n");
        }
        _ => {
            person.push("link", "bo");
            person.choose(&person.window.find("textbox", "Message to bo"));
        }
    }
    person.window.until("document.activeElement.id === 'letter'");
    let text = format!("By {:?}", person.way);
    person.window.type_text(&text);
    match person.way {
        Way::Keyboard => person.window.press("Control+Enter"),
        _ => person.push("button", "Send"),
    }
    person.window.wait("it came", || person.board.home.ask("inbox --as bo").to_string().contains(&text).then_some(()));
}

fn lists(person: &Person<'_>) {
    let name = format!("made-by-{:?}", person.way).to_lowercase();
    person.goes("/lists/L");
    match person.way {
        Way::Keyboard => {
            person.window.press("Control+k");
            person.finds("create a list");
        }
        _ => {
            person.push("button", "Actions for the list");
            person.picks("New list");
        }
    }
    person.window.find("textbox", "Name").type_in(&name);
    person.window.find("textbox", "Its first task").type_in("Begin");
    match person.way {
        Way::Keyboard => person.window.press("Enter"),
        _ => person.push("button", "Create"),
    }
    person.window.until(&format!("document.getElementById('views').dataset.list === {}", json!(name)));
    match person.way {
        Way::Keyboard => {
            go(person, ["g", "s"]);
            person.window.until("document.querySelector('#list-L')");
            person.window.press("Control+k");
            person.finds("list l");
        }
        _ => {
            person.push("link", "All lists");
            person.choose(&person.window.element("#list-L .open"));
        }
    }
    person.window.until("document.getElementById('views').dataset.list === 'L'");
}

fn history(person: &Person<'_>) {
    person.has("Told of");
    person.goes("/lists/L");
    match person.way {
        Way::Keyboard => go(person, ["g", "h"]),
        _ => person.push("link", "History"),
    }
    person.window.until("document.querySelector('li[data-revision]')?.textContent.includes('Told of')");
}

fn go(person: &Person<'_>, keys: [&str; 2]) {
    // Two keys belong together if the second comes soon; on a busy machine soon is late.
    person.window.script("const now = Date.now(); Date.now = () => now", &[]);
    keys.into_iter().for_each(|key| person.window.press(key));
}

fn do_everything(way: Way, turn: usize) {
    let board = Board::after(&[
        "create Wheels --tag docs",
        "team create L --as uma",
        "team join L --as ana",
        "team join L --as bo",
    ]);
    let window = board.window();
    if way == Way::Touch {
        window.show_on(Screen::Phone);
    }
    let person = Person { board: &board, window: &window, way };
    let is_everything = Scale::from_environment(0.1).is_full();
    for (_, (_, job)) in JOBS.iter().enumerate().filter(|(at, _)| is_everything || at % 3 == turn) {
        job(&person);
    }
    assert_eq!(window.complaints(), Vec::<String>::new());
}

#[test]
fn everyday_jobs_are_done_with_the_mouse() {
    do_everything(Way::Mouse, 0);
}

#[test]
fn everyday_jobs_are_done_with_the_keyboard() {
    do_everything(Way::Keyboard, 1);
}

#[test]
fn everyday_jobs_are_done_by_touch_on_a_phone() {
    do_everything(Way::Touch, 2);
}

#[test]
fn completing_one_after_the_other_needs_one_key() {
    let board = Board::after(&["create One", "create Two", "create Three", "create Four"]);
    let window = board.window();
    window.press("j");
    for id in ["1", "2", "3"] {
        window.press("d");
        stands_in(&window, id, "completed");
    }
    assert_eq!(task(&board, "4")["status"], "pending");
    window.until("document.querySelector('#card-4.is-cursor')");
}

#[test]
fn menu_stands_where_the_right_button_was_pressed() {
    let board = Board::after(&["create Wheels", "create Engine"]);
    let window = board.window();
    window.click_right(&window.element("#card-2"));
    window.until("document.querySelector('#picker[open] #picker-title')?.textContent === '#2'");
    window.type_text("priority");
    window.press("Enter");
    window.until("document.querySelector('#picker-title').textContent === 'Priority'");
    window.type_text("high");
    window.press("Enter");
    window.wait("the priority", || (task(&board, "2")["metadata"]["priority"] == "high").then_some(()));
    // What the mouse points at is what keys mean.
    window.hover(&window.element("#card-1"));
    window.until("document.querySelector('#card-1.is-cursor')");
    window.press("s");
    stands_in(&window, "1", "in_progress");
}

#[test]
fn columns_have_lanes_groups_and_quick_tasks() {
    let board = Board::after(&[
        "create Storage",
        "create Tables --parent 1 --tag db",
        "create Indexes --parent 1 --owner ana",
        "create Rollout --tag ops",
    ]);
    let window = board.window();
    // A task with open parts stands above them, and has no card.
    window.until("document.querySelector('.group[data-parent=\"1\"] #card-2') && !document.getElementById('card-1')");
    window.click("button", "Parts of #1");
    window.until("!document.querySelector('#card-2').getClientRects().length");
    let field = window.find("textbox", "New task");
    field.type_in("Paint it +art pri:high");
    window.press("Enter");
    window.until("document.getElementById('card-5')");
    let made = task(&board, "5");
    assert_eq!((&made["subject"], &made["metadata"]["tags"]), (&json!("Paint it"), &json!(["art"])));
    window.click("button", "Group: none");
    window.until("document.querySelector('#picker[open]')");
    window.type_text("owner");
    window.press("Enter");
    window.until("document.querySelectorAll('.lane').length === 2 && location.search.includes('group=owner')");
    window.until("document.querySelector('.columns[data-value=ana] [data-task=\"3\"]')");
    // Dropped into another lane it has what the lane has.
    window
        .drag(&window.element("[data-task='4']"), &window.element(".columns[data-value=ana] [data-status=pending] h3"));
    window.wait("the owner", || (task(&board, "4")["owner"] == "ana").then_some(()));
    window.press("/");
    window.type_text("tag:o");
    window.until("document.querySelector('#query-list li')?.textContent === 'tag:ops'");
    window.press("ArrowDown");
    window.press("Enter");
    window.until("document.querySelectorAll('.card').length === 1 && location.search.includes('tag%3Aops')");
    window.type_text("ready");
    window.until("document.querySelectorAll('.chip').length === 2");
}
