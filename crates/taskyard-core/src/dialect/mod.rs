//! The ways a task is written down, one module each. A dialect owns its wire form; the nouns know no JSON.

pub mod hook_input;
pub mod inbox;
pub mod native;
pub mod team_file;
