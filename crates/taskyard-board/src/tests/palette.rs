//! Finding anything by its name.

use taskyard::core::view::actions;

use super::samples::{app_with, deeds, press, rocket, screen};
use crate::app::{Choice, Effect, View};
use crate::deed::What;

#[test]
fn everything_that_can_be_done_is_found_there() {
    let mut app = app_with(&rocket(), View::List);
    press(&mut app, ":");
    let shown = &app.picker().unwrap().shown;
    for info in actions() {
        assert!(shown.contains(&Choice::Action(info.action)), "{}", info.name);
    }
    let commands: Vec<&Choice> = shown.iter().filter(|choice| matches!(choice, Choice::Command(..))).collect();
    assert_eq!(commands.len(), 1, "what has a key of its own is not listed twice: {commands:?}");
}

#[test]
fn what_is_chosen_there_is_done() {
    let mut app = app_with(&rocket(), View::List);
    press(&mut app, ":done\n");
    assert_eq!(deeds(&mut app).len(), 1);
    press(&mut app, ":columns\n");
    assert_eq!(app.view, View::Columns);
}

#[test]
fn any_command_can_be_typed_with_its_arguments() {
    let mut app = app_with(&rocket(), View::List);
    press(&mut app, ":done 3 --force\n");
    assert!(app.take_effects().contains(&Effect::Run("done 3 --force".into())));
    press(&mut app, ":merge\n");
    assert!(screen(&mut app, 80, 10).contains("taskyard merge"));
    press(&mut app, "moon rocket\n");
    assert!(app.take_effects().contains(&Effect::Run("merge moon rocket".into())));
}

#[test]
fn what_cannot_be_done_here_says_why() {
    let mut app = app_with(&rocket(), View::List);
    press(&mut app, ":stop-job\n");
    assert!(screen(&mut app, 80, 12).contains("there is no running job under the cursor"));
    assert_eq!(deeds(&mut app), Vec::<What>::new());
}
