//! A recorded run of the client.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use taskyard::core::ClientVersion;

/// Every file under the client's configuration directory with its contents; directories end in `/`.
pub(crate) type Disk = BTreeMap<String, String>;

pub(crate) struct Recording {
    pub(crate) client: ClientVersion,
    pub(crate) disk_before: Disk,
    pub(crate) steps: Vec<Step>,
}

/// A call of one of the client's tools, what it answered, and what had changed on disk by then.
pub(crate) struct Step {
    /// Who made the call: the client itself, or an agent it had started.
    pub(crate) agent: String,
    pub(crate) tool: String,
    pub(crate) input: Value,
    pub(crate) is_error: bool,
    pub(crate) text: String,
    pub(crate) structured: Value,
    pub(crate) disk: Map<String, Value>,
}

impl Recording {
    pub(crate) fn read(contents: &str) -> Self {
        let recording: Value = serde_json::from_str(contents).unwrap();
        let before = recording.get("disk_before").and_then(Value::as_object).cloned().unwrap_or_default();
        let mut disk_before = Disk::new();
        apply(&before, &mut disk_before);
        Self {
            client: recording["client"].as_str().unwrap().parse().unwrap(),
            disk_before,
            steps: recording["steps"].as_array().unwrap().iter().map(Step::read).collect(),
        }
    }

    /// Returns the name of the one list the recording is about.
    pub(crate) fn list(&self) -> &str {
        let paths = self.disk_before.keys().chain(self.steps.iter().flat_map(|step| step.disk.keys()));
        let mut names = paths.filter_map(|path| path.strip_prefix("tasks/")?.split('/').next());
        names.next().unwrap_or("L1")
    }
}

impl Step {
    fn read(step: &Value) -> Self {
        Self {
            agent: step["agent"].as_str().unwrap_or("main").to_owned(),
            tool: step["tool"].as_str().unwrap().to_owned(),
            input: step["input"].clone(),
            is_error: step["is_error"].as_bool().unwrap(),
            // Where the client had no answer yet, the recording says null.
            text: unwrapped(step["text"].as_str().unwrap_or_default()).to_owned(),
            structured: step["structured"].clone(),
            disk: step.get("disk").and_then(Value::as_object).cloned().unwrap_or_default(),
        }
    }

    /// Makes the changes of this step to what is expected on disk.
    pub(crate) fn change(&self, disk: &mut Disk) {
        apply(&self.disk, disk);
    }
}

/// Returns a text without the tag that the client puts around what a tool refuses.
fn unwrapped(text: &str) -> &str {
    let inner = text.strip_prefix("<tool_use_error>").and_then(|text| text.strip_suffix("</tool_use_error>"));
    inner.unwrap_or(text)
}

fn apply(changes: &Map<String, Value>, disk: &mut Disk) {
    for (path, contents) in changes {
        match contents.as_str() {
            Some("<dir>") => drop(disk.insert(path.clone(), String::new())),
            Some(contents) => drop(disk.insert(path.clone(), contents.to_owned())),
            None => drop(disk.remove(path)),
        }
    }
}
