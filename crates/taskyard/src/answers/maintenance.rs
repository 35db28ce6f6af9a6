//! What is wrong with a list, and what was mended.

use std::collections::BTreeSet;
use std::path::PathBuf;

use taskyard_core::ListId;
use taskyard_core::answers::maintenance::Finding;
use taskyard_core::answers::values::losses;
use taskyard_core::answers::words::Severity;

use crate::config::Config;
use crate::operations::{self, Fix};

impl From<&operations::Finding> for Finding {
    fn from(finding: &operations::Finding) -> Self {
        Self {
            code: finding.code.as_str(),
            task: finding.task.as_ref().map(ToString::to_string),
            file: finding.file.clone(),
            message: finding.message.clone(),
            means: finding.code.meaning(),
            fix: finding.fix.as_ref().map(Fix::describe),
            severity: finding.code.is_warning().then_some(Severity::Warning),
            lost: match &finding.fix {
                Some(Fix::PutBack(lost)) => Some(losses(&lost.entry, &lost.losses)),
                _ => None,
            },
        }
    }
}

/// Returns the keys of configuration files that mean nothing, as findings.
pub fn unknown_settings(config: &Config) -> Vec<Finding> {
    let unknown = config.layers.iter().flat_map(|layer| layer.unknown.iter().map(|key| (&layer.path, key)));
    unknown
        .map(|(path, key)| {
            let path = path.display().to_string();
            let message = format!("`{key}` in {path} means nothing to this version");
            let means = "it changes nothing; it may be misspelt";
            Finding { file: Some(path), ..not_of_a_task("unknown_setting", message, means) }
        })
        .collect()
}

/// Returns the finding that several repositories have one list, if more than one root is given.
pub fn shared_list(list: &ListId, roots: &BTreeSet<PathBuf>) -> Option<Finding> {
    if roots.len() < 2 {
        return None;
    }
    let roots: Vec<String> = roots.iter().map(|root| root.display().to_string()).collect();
    let message = format!(
        "{} share list {list}; `taskyard use LIST` in one of them gives it a list of its own",
        roots.join(" and ")
    );
    let means = "several repositories have one list, from before each had its own";
    Some(Finding { severity: Some(Severity::Warning), ..not_of_a_task("shared_list", message, means) })
}

fn not_of_a_task(code: &'static str, message: String, means: &'static str) -> Finding {
    Finding { code, task: None, file: None, message, means, fix: None, severity: None, lost: None }
}
