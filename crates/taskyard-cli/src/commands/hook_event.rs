//! The event that a hook of the client is told of.

use std::io::Read as _;

use serde_json::{Map, Value};
use taskyard::core::dialect::native::LARGEST;
use taskyard::core::json_text;

use crate::exit::Exit;
use crate::problem::Problem;

/// Reads the event from stdin.
pub(super) fn read_event() -> Result<Map<String, Value>, Problem> {
    let mut bytes = Vec::new();
    let failed = |error| Problem::io("cannot read the event from stdin", &error);
    std::io::stdin().lock().take(LARGEST).read_to_end(&mut bytes).map_err(failed)?;
    let wrong = |why: String| {
        Problem::new(Exit::CouldNot, "bad_event", format!("what came on stdin is no event: {why}"))
            .hint("this command is for the client's hooks, which write one JSON object")
    };
    match json_text::from_slice(&bytes) {
        Ok(Value::Object(event)) => Ok(event),
        Ok(_) => Err(wrong("it is no JSON object".to_owned())),
        Err(error) => Err(wrong(error.to_string())),
    }
}
