//! What the client was recorded doing, done through the library in the client's rules: the same answers and, after every step,
//! the same files to the byte.

mod hooks;
mod recording;
mod replay;
mod teams;
mod todos;
mod tools;

use recording::Recording;
use replay::Replay;
use tools::{call, compare};

fn replay(contents: &str) {
    let recording = Recording::read(contents);
    let replay = Replay::new(&recording);
    let mut expected = recording.disk_before.clone();
    assert_eq!(replay.disk(), expected, "before the first step");
    for (number, step) in recording.steps.iter().enumerate() {
        let told = format!("step {number}: {} {}", step.tool, step.input);
        compare(&call(&replay.yard, step), step, &told);
        step.change(&mut expected);
        assert_eq!(replay.disk(), expected, "{told}");
    }
}

#[test]
fn every_field_and_every_refusal_of_2_1_34() {
    replay(include_str!("../fixtures/conformance/crud.2.1.34.json"));
}

#[test]
fn every_field_and_every_refusal_of_2_1_325() {
    replay(include_str!("../fixtures/conformance/crud.2.1.325.json"));
}

#[test]
fn files_of_other_programs_as_2_1_34_sees_them() {
    replay(include_str!("../fixtures/conformance/foreign.2.1.34.json"));
}

#[test]
fn files_of_other_programs_as_2_1_325_sees_them() {
    replay(include_str!("../fixtures/conformance/foreign.2.1.325.json"));
}

#[test]
fn malformed_input_as_2_1_34_refuses_it() {
    replay(include_str!("../fixtures/conformance/coerce.2.1.34.json"));
}

#[test]
fn malformed_input_as_2_1_325_repairs_or_refuses_it() {
    replay(include_str!("../fixtures/conformance/coerce.2.1.325.json"));
}

#[test]
fn blank_and_missing_fields_as_2_1_34_refuses_them() {
    replay(include_str!("../fixtures/conformance/blank.2.1.34.json"));
}

#[test]
fn blank_and_missing_fields_as_2_1_325_repairs_or_refuses_them() {
    replay(include_str!("../fixtures/conformance/blank.2.1.325.json"));
}
