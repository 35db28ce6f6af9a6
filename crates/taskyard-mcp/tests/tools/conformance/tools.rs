//! The client's tools, called as the recording calls them.

use taskyard::Yard;
use taskyard::core::rules::hooks::System;
use taskyard::core::tools::Answer;
use taskyard_mcp::calls::Toolbox;

use crate::conformance::recording::Step;

/// Makes a recorded call of one of the task tools.
pub(crate) fn call(yard: &Yard, step: &Step) -> Answer {
    call_with(&Toolbox::new(yard.clone(), System::Tasks), step)
}

/// Makes a recorded call.
pub(crate) fn call_with(tools: &Toolbox, step: &Step) -> Answer {
    tools.call(&step.tool, &step.input).unwrap()
}

/// Compares an answer with the recorded one.
pub(crate) fn compare(answer: &Answer, step: &Step, told: &str) {
    assert_eq!(answer.text, step.text, "{told}");
    assert_eq!(answer.is_error, step.is_error, "{told}");
    // In a few steps the client's structure was not recorded.
    if !step.structured.is_null() {
        assert_eq!(answer.structured.as_ref(), Some(&step.structured), "{told}");
        let text = |value| serde_json::to_string(value).unwrap();
        assert_eq!(answer.structured.as_ref().map(text), Some(text(&step.structured)), "{told}: the order of the keys");
    }
}
