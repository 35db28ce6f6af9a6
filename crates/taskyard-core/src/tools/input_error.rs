//! Input that a tool cannot take, in the client's words.

use std::fmt;

use serde_json::Value;

use super::schema::{Issue, Received, Step, Wrong};
use crate::ClientVersion;
use crate::dialect::native;
use crate::near_miss::nearest;

/// Why a tool cannot take an input. Its text is the client's, without the tag the client puts around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// The name of the tool.
    pub(crate) tool: &'static str,
    /// What the caller probably meant, and what to do instead.
    pub(crate) hint: Option<&'static str>,
    /// All that is wrong.
    pub issues: Vec<Issue>,
    /// The client whose words these are.
    pub(crate) client: ClientVersion,
}

impl InputError {
    /// Returns what the client keeps for programs: every issue as zod writes it, as one text.
    pub(crate) fn details(&self) -> String {
        format!("InputValidationError: {}", self.raw())
    }

    fn raw(&self) -> String {
        native::stringify(&self.issues.iter().map(Issue::to_json).collect::<Value>())
    }

    /// Returns a line for everything the client has words for: what is missing, then what is too much, then wrong types. If there are any
    /// of these, newer clients also list everything else, in the order in which it was found.
    fn lines(&self) -> Vec<String> {
        let mut missing = Vec::new();
        let mut unexpected = Vec::new();
        let mut types = Vec::new();
        let mut others = Vec::new();
        for issue in &self.issues {
            let place = issue.place();
            match &issue.wrong {
                Wrong::Type { received: Received::Undefined, .. } => {
                    missing.push(format!("The required parameter `{place}` is missing"));
                }
                Wrong::Type { expected, received } => types.push(format!(
                    "The parameter `{place}` type is expected as `{expected}` but provided as `{received}`"
                )),
                Wrong::UnknownKeys { keys, allowed: None } => {
                    unexpected.extend(keys.iter().map(|key| format!("An unexpected parameter `{key}` was provided")))
                }
                Wrong::UnknownKeys { keys, allowed: Some(allowed) } => {
                    unexpected.extend(keys.iter().map(|key| unexpected_key(issue, key, allowed)))
                }
                Wrong::Union(_) => others.push(format!("The parameter `{place}` matches none of the accepted forms")),
                Wrong::Value(_) | Wrong::Discriminator(_) | Wrong::TooSmall { .. } | Wrong::TooBig { .. } => {
                    others.push(format!("The parameter `{place}` is invalid: {}", issue.message()));
                }
                Wrong::Clash { .. } => {}
            }
        }
        let mut lines = [missing, unexpected, types].concat();
        if !lines.is_empty() && self.client >= ClientVersion::V2_1_325 {
            lines.append(&mut others);
        }
        lines
    }
}

/// Names a key that strict rules refuse, and the key that was probably meant.
fn unexpected_key(issue: &Issue, key: &str, allowed: &[&'static str]) -> String {
    let path = issue.path.iter().cloned().chain([Step::Key(key.to_owned())]).collect();
    let place = Issue { path, wrong: issue.wrong.clone() }.place();
    let quoted = || allowed.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let advice = match meant_by(key, allowed) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if allowed.is_empty() => "there are no parameters".to_owned(),
        None => format!("possible here: {}", quoted()),
    };
    format!("An unexpected parameter `{place}` was provided; {advice}")
}

/// Words that models use for one and the same parameter, in lower case and without separators.
const SAME_MEANING: [&[&str]; 19] = [
    &[
        "blockedby",
        "addblockedby",
        "dependencies",
        "dependson",
        "dependency",
        "deps",
        "requires",
        "prerequisites",
        "after",
    ],
    &["blocks", "addblocks", "blocking", "dependents", "before"],
    &["owner", "assignee", "assignedto", "assigned", "agent", "agentname", "agentid", "user", "teammate"],
    &["subject", "title", "name", "summary", "heading"],
    &["description", "content", "body", "text", "details", "detail", "instructions", "prompt", "spec"],
    &["note", "notes", "comment", "comments", "remark", "remarks"],
    &["taskid", "id", "task", "number", "taskids", "ids"],
    &["tags", "tag", "labels", "label", "addtags"],
    &["due", "duedate", "dueat", "dueby", "deadline"],
    &["parent", "parentid", "parenttask", "parenttaskid", "partof", "epic"],
    &["status", "state", "completed", "done"],
    &["priority", "importance", "urgency", "severity"],
    &["metadata", "meta", "custom", "customfields", "extra", "fields"],
    &["activeform", "active", "presentcontinuous"],
    &["reason", "why", "feedback", "comment"],
    &["to", "recipient", "recipients", "target"],
    &["message", "content", "text", "body", "msg"],
    &["command", "cmd", "script"],
    &["timeout", "timeoutms", "timelimit", "wait"],
];

/// Returns the allowed key that was probably meant; `None` if none is near.
fn meant_by(key: &str, allowed: &[&'static str]) -> Option<&'static str> {
    let key = bare(key);
    let mut words: Vec<(String, &'static str)> = Vec::new();
    for name in allowed {
        let bare = bare(name);
        let same = SAME_MEANING.iter().filter(|words| words.contains(&bare.as_str())).copied().flatten();
        words.extend(same.map(|word| ((*word).to_owned(), *name)));
        words.push((bare, name));
    }
    let named = |word: &str| words.iter().find(|(known, _)| known == word).map(|(_, name)| *name);
    let spelled: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
    named(&key).or_else(|| named(nearest(&key, &spelled)?))
}

/// Returns a key in lower case and without separators.
fn bare(key: &str) -> String {
    key.chars().filter(|character| !matches!(character, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

impl fmt::Display for InputError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An input that follows the schema is not malformed: strict rules refuse it, because they would have to ignore a part of it.
        if let Some(Issue { wrong: Wrong::Clash { with }, .. }) = self.issues.first() {
            let places: Vec<String> = self.issues.iter().map(|issue| format!("`{}`", issue.place())).collect();
            let places = places.join(", ");
            return write!(
                formatter,
                "{} cannot take {places} together with `{with}`. Nothing was changed. Leave one of them out.",
                self.tool
            );
        }
        formatter.write_str("InputValidationError: ")?;
        if let Some(hint) = self.hint {
            write!(formatter, "{hint}\n\n")?;
        }
        let lines = self.lines();
        if lines.is_empty() {
            return formatter.write_str(&self.raw());
        }
        let issues = if lines.len() == 1 { "issue" } else { "issues" };
        write!(formatter, "{} failed due to the following {issues}:\n{}", self.tool, lines.join("\n"))
    }
}

impl std::error::Error for InputError {}

#[cfg(test)]
mod tests {
    use super::meant_by;

    #[test]
    fn the_key_that_was_meant_is_found_by_spelling_or_meaning() {
        let allowed = ["subject", "description", "activeForm", "blockedBy", "blocks", "owner", "priority", "tags"];
        for (key, meant) in [
            ("blocked_by", "blockedBy"),
            ("depends_on", "blockedBy"),
            ("dependsOn", "blockedBy"),
            ("asignee", "owner"),
            ("assigned_to", "owner"),
            ("Prority", "priority"),
            ("labels", "tags"),
            ("subjet", "subject"),
            ("details", "description"),
        ] {
            assert_eq!(meant_by(key, &allowed), Some(meant), "{key}");
        }
        assert_eq!(meant_by("xyzzy", &allowed), None);
        assert_eq!(meant_by("comments", &["taskId", "reason"]), Some("reason"));
        assert_eq!(meant_by("status", &[]), None);
    }
}
