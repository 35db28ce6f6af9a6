//! Input that a tool cannot take, in the client's words.

use std::fmt;

use serde_json::Value;

use super::schema::{Issue, Received, Wrong};
use crate::ClientVersion;
use crate::dialect::native;

/// Why a tool cannot take an input. Its text is the client's, without the tag the client puts around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// The name of the tool.
    pub tool: &'static str,
    /// What the caller probably meant, and what to do instead.
    pub hint: Option<&'static str>,
    /// All that is wrong.
    pub issues: Vec<Issue>,
    /// The client whose words these are.
    pub client: ClientVersion,
}

impl InputError {
    /// Returns what the client keeps for programs: every issue as zod writes it, as one text.
    pub fn details(&self) -> String {
        format!("InputValidationError: {}", self.raw())
    }

    fn raw(&self) -> String {
        native::stringify(&self.issues.iter().map(Issue::to_json).collect::<Value>())
    }

    /// Returns a line for everything the client has words for: what is missing, then what is too much, then wrong types.
    fn lines(&self) -> Vec<String> {
        let mut missing = Vec::new();
        let mut unexpected = Vec::new();
        let mut types = Vec::new();
        let mut unions = Vec::new();
        for issue in &self.issues {
            let place = issue.place();
            match &issue.wrong {
                Wrong::Type { received: Received::Undefined, .. } => {
                    missing.push(format!("The required parameter `{place}` is missing"));
                }
                Wrong::Type { expected, received } => types.push(format!(
                    "The parameter `{place}` type is expected as `{expected}` but provided as `{received}`"
                )),
                Wrong::UnknownKeys(keys) => {
                    unexpected.extend(keys.iter().map(|key| format!("An unexpected parameter `{key}` was provided")))
                }
                Wrong::Union(_) => unions.push(format!("The parameter `{place}` matches none of the accepted forms")),
                Wrong::Value(_) | Wrong::Discriminator(_) | Wrong::TooSmall { .. } | Wrong::TooBig { .. } => {}
            }
        }
        let mut lines = [missing, unexpected, types].concat();
        if !lines.is_empty() && self.client >= ClientVersion::V2_1_325 {
            lines.append(&mut unions);
        }
        lines
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
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
