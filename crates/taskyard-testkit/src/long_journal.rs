//! A list to which much has happened.

use taskyard::core::TaskId;
use taskyard::core::rules::changes::patching::Patch;
use taskyard::operations::{NewTask, Update};
use taskyard::{Outcome, Yard};

use crate::Random;

/// How many tasks the list has at first.
const TASKS: u64 = 20;

/// Makes a list of twenty tasks and changes them, one real commit after the other, until its journal has so many revisions. Every
/// description has about so many bytes.
///
/// Task 3 waits for task 2, which is deleted as soon as all are made; half of the changes are to task 1, the others to the rest in turn.
pub fn write_long_journal(yard: &Yard, revisions: usize, bytes: usize) {
    let mut random = Random::new(16);
    let texts: Vec<String> = (0..TASKS).map(|_| words(&mut random, bytes)).collect();
    for (number, text) in (1..).zip(&texts) {
        let blocked_by = if number == 3 { vec![TaskId::number(2)] } else { Vec::new() };
        let subject = format!("Task {number} of many");
        done(yard.create(NewTask { subject, description: text.clone(), blocked_by, ..NewTask::default() }));
    }
    done(yard.delete(&[TaskId::number(2)]));
    for step in texts.len() + 1..revisions {
        // Tasks 3 to 20 in turn.
        let place = if step % 2 == 0 { 0 } else { 2 + step / 2 % (texts.len() - 2) };
        let text = &texts[place];
        let middle = (step * 7 % text.len().max(1)).min(text.len());
        let description = format!("{}{step}{}", &text[..middle], &text[middle..]);
        let patch = Patch { description: Some(description), ..Patch::default() };
        done(yard.update(&TaskId::number(place as u64 + 1), Update { patch, ..Update::default() }));
    }
}

fn done<T: std::fmt::Debug>(outcome: Result<Outcome<T>, taskyard::Error>) {
    let outcome = outcome.expect("the list can be changed");
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
}

/// Returns words that say nothing.
fn words(random: &mut Random, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 12);
    while text.len() < bytes {
        let letters = 2 + random.below(9);
        text.extend((0..letters).map(|_| char::from(b'a' + u8::try_from(random.below(26)).unwrap_or(0))));
        text.push(' ');
    }
    text
}
