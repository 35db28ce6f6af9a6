//! What is needed to take back what was added to a file. It holds nothing of what other programs wrote there.

use crate::config_edit::Additions;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What was added to one file, step by step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Whether the file was not there before.
    pub(super) created: bool,
    /// The directories that were made for it, the outermost first.
    pub(super) directories: Vec<String>,
    /// The entries of ours, and how much of the way to each was there before.
    pub(super) made: Vec<Made>,
    /// Each time something was added, the oldest first.
    pub(super) steps: Vec<Step>,
}

/// An entry we made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Made {
    pub(super) name: String,
    pub(super) existing: usize,
    /// The value of a setting that other programs use as well, which is ours as long as it has this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<Value>,
}

/// What was added at one time, and how the text is recognised to which it belongs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Step {
    length: usize,
    digest: String,
    ranges: Vec<(usize, usize)>,
}

impl Step {
    /// Describes what was added to a text; the text is the one with the additions.
    pub(super) fn new(longer: &str, additions: &Additions) -> Self {
        let ranges = additions.ranges().iter().map(|range| (range.start, range.end)).collect();
        Self { length: longer.len(), digest: digest(longer), ranges }
    }

    /// Returns what of a text was added in this step; none where it is not the text that the step made.
    pub(super) fn additions_to(&self, text: &str) -> Option<Additions> {
        let is_the_one = self.length == text.len() && self.digest == digest(text);
        is_the_one.then(|| Additions::new(self.ranges.iter().map(|(start, end)| *start..*end).collect()))
    }
}

/// The 64-bit FNV-1a hash: stable for ever, which the standard library's hashes do not promise.
fn digest(text: &str) -> String {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, fold))
}
