//! What axe finds wrong with a page for people who do not see, hear or point as others do.

use serde_json::Value;

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Impact {
    /// Somebody may stumble.
    Minor,
    /// Somebody is slowed down.
    Moderate,
    /// Somebody cannot do something.
    Serious,
    /// Somebody can do nothing.
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

/// Runs axe over the page; its source comes before this.
pub(super) const RUN: &str = "
    const done = arguments[arguments.length - 1];
    axe.run(document, { resultTypes: ['violations'] }).then(
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
