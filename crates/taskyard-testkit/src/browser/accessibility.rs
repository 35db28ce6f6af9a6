//! What axe finds wrong with a page for people who do not see, hear or point as others do.

use serde_json::{Value, json};

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Impact {
    /// A user may stumble.
    Minor,
    /// A user is slowed down.
    Moderate,
    /// A user cannot do something.
    Serious,
    /// A user can do nothing.
    Critical,
}

/// Something that is wrong with a page.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule that it breaks.
    pub rule: String,
    /// How bad it is.
    pub impact: Impact,
    /// What is asked for.
    pub help: String,
    /// Where it is, as the source of each element.
    pub elements: Vec<String>,
}

/// What axe looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looking {
    /// Everything it has a rule for, and whether what is clicked is large enough, which it leaves out unless asked.
    ForEverything,
    /// Colours alone: nothing else of a page is different to a reader who prefers other colours.
    ForColours,
}

impl Looking {
    /// Returns the options that say so.
    pub(super) fn options(self) -> Value {
        match self {
            Self::ForEverything => {
                json!({ "resultTypes": ["violations"], "rules": { "target-size": { "enabled": true } } })
            }
            Self::ForColours => {
                json!({ "resultTypes": ["violations"], "runOnly": ["color-contrast", "link-in-text-block"] })
            }
        }
    }
}

/// Tells whether the page has axe already.
pub(super) const IS_THERE: &str = "return typeof window.axe === 'object'";

/// Runs axe over the page, with options.
pub(super) const RUN: &str = "
    const [options, done] = arguments;
    axe.run(document, options).then(
        found => done(found.violations.map(({ id, impact, help, nodes }) => ({ id, impact, help, nodes: nodes.map(node => node.html + ' ' + (node.failureSummary || '')) }))),
        error => done(String(error)));";

/// Reads what it found.
pub(super) fn findings(answer: &Value) -> Vec<Finding> {
    let found = answer.as_array().unwrap_or_else(|| panic!("axe failed: {answer}"));
    found.iter().map(finding).collect()
}

fn finding(value: &Value) -> Finding {
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let impact = match text("impact").as_str() {
        "critical" => Impact::Critical,
        "serious" => Impact::Serious,
        "moderate" => Impact::Moderate,
        _ => Impact::Minor,
    };
    let elements = value["nodes"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    Finding { rule: text("id"), impact, help: text("help"), elements: elements.collect() }
}
