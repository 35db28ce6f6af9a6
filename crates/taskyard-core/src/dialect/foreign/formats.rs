//! The names of the foreign formats, and guessing the format of a file.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::dialect::foreign::backlog::{Field, divide};
use crate::dialect::foreign::checklists;
use crate::json_text;

macro_rules! formats {
    ($(#[$doc:meta])* $name:ident { $($(#[$one:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$one])* $variant,)* }

        impl $name {
            /// Every format.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the word used on the command line.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = ();

            fn from_str(word: &str) -> Result<Self, ()> {
                Self::ALL.iter().copied().find(|format| format.as_str() == word).ok_or(())
            }
        }
    };
}

formats! {
    /// A format that tasks can be imported from.
    ImportFormat {
        /// A folder of Claude Code's task files.
        Native = "native",
        /// One `tasks.json`.
        Document = "document",
        /// An array of tasks.
        Export = "export",
        /// A folder of small task files.
        Teaching = "teaching",
        /// A folder of task files with MACF conventions.
        Macf = "macf",
        /// The JSON lines of beads.
        Beads = "beads",
        /// The `tasks.json` of Task Master.
        Taskmaster = "taskmaster",
        /// A folder of Backlog.md.
        Backlog = "backlog",
        /// The output of Taskwarrior's `task export`.
        Taskwarrior = "taskwarrior",
        /// Checklists in Markdown.
        Markdown = "markdown",
        /// A TodoWrite file of Claude Code.
        Todos = "todos",
        /// One task in the native shape per line.
        Jsonl = "jsonl",
    }
}

formats! {
    /// A format that tasks can be exported to.
    ExportFormat {
        /// A folder of Claude Code's task files.
        Native = "native",
        /// One `tasks.json`.
        Document = "document",
        /// An array of tasks.
        Export = "export",
        /// A folder of small task files.
        Teaching = "teaching",
        /// A folder of task files with MACF conventions.
        Macf = "macf",
        /// A checklist.
        Markdown = "markdown",
        /// A table.
        Csv = "csv",
        /// A dependency graph.
        Mermaid = "mermaid",
        /// One task in the native shape per line.
        Jsonl = "jsonl",
        /// The input of Taskwarrior's `task import`.
        Taskwarrior = "taskwarrior",
        /// The JSON lines of beads.
        Beads = "beads",
        /// A folder of task files of Backlog.md.
        Backlog = "backlog",
        /// The `tasks.json` of Task Master.
        Taskmaster = "taskmaster",
    }
}

impl ImportFormat {
    /// Returns whether ids of this format are globally unique, so that the same id from different files means the
    /// same task.
    pub(crate) const fn has_global_ids(self) -> bool {
        matches!(self, Self::Beads | Self::Taskwarrior)
    }

    /// Returns whether the source is a folder.
    pub const fn is_folder(self) -> bool {
        matches!(self, Self::Native | Self::Teaching | Self::Macf | Self::Backlog)
    }
}

impl ExportFormat {
    /// Returns whether the export is a folder.
    pub const fn is_folder(self) -> bool {
        matches!(self, Self::Native | Self::Teaching | Self::Macf | Self::Backlog)
    }
}

/// Returns the format of a text if it can be recognized with certainty.
pub fn guess(text: &str) -> Option<ImportFormat> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_start();
    match text.chars().next()? {
        '[' => match json_text::from_str(text).ok()? {
            Value::Array(elements) => elements.first()?.as_object().and_then(of_element),
            _ => None,
        },
        '{' => match json_text::from_str(text) {
            Ok(Value::Object(object)) => of_document(&object).or_else(|| of_line(&object)),
            // One object per line.
            _ => of_line(json_text::from_str::<Value>(text.lines().next()?).ok()?.as_object()?),
        },
        _ if divide(text).is_some_and(|(fields, _)| is_of_backlog(&fields)) => Some(ImportFormat::Backlog),
        _ => (!checklists::read(text).tasks.is_empty()).then_some(ImportFormat::Markdown),
    }
}

/// Returns whether front matter is that of a task; other pages have an id, too.
fn is_of_backlog(fields: &[(String, Field)]) -> bool {
    ["id", "title", "status"].iter().all(|key| fields.iter().any(|(field, _)| field == key))
}

/// Returns the format of an array with this first element.
fn of_element(element: &Map<String, Value>) -> Option<ImportFormat> {
    let has = |key: &str| element.contains_key(key);
    if has("subject") {
        Some(ImportFormat::Export)
    } else if has("content") {
        Some(ImportFormat::Todos)
    } else if has("description") && !has("title") && (has("uuid") || has("entry")) {
        Some(ImportFormat::Taskwarrior)
    } else {
        None
    }
}

/// Returns the format of a file that consists of this object.
fn of_document(object: &Map<String, Value>) -> Option<ImportFormat> {
    let first = |held: &Value| held.get("tasks")?.as_array()?.first()?.as_object().cloned();
    let own = object.get("tasks").and_then(Value::as_array);
    let element = match own {
        Some(tasks) => tasks.first()?.as_object().cloned(),
        None => object.values().find_map(first),
    }?;
    match (element.contains_key("subject"), element.contains_key("title")) {
        (true, _) => Some(ImportFormat::Document),
        // A document may contain `title`, but states its version.
        (false, true) if own.is_some() && object.contains_key("version") => Some(ImportFormat::Document),
        (false, true) => Some(ImportFormat::Taskmaster),
        (false, false) => None,
    }
}

/// Returns the format of a file with this first line.
fn of_line(object: &Map<String, Value>) -> Option<ImportFormat> {
    let has = |key: &str| object.contains_key(key);
    if has("subject") {
        Some(ImportFormat::Jsonl)
    } else if has("title") && (has("issue_type") || has("status")) {
        Some(ImportFormat::Beads)
    } else if has("description") && has("uuid") {
        Some(ImportFormat::Taskwarrior)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::guess;
    use crate::dialect::foreign::ImportFormat;

    #[test]
    fn files_of_each_program_are_told_apart() {
        for (text, format) in [
            ("[{\"id\":\"1\",\"subject\":\"a\",\"description\":\"b\"}]", Some(ImportFormat::Export)),
            ("[{\"content\":\"a\",\"status\":\"pending\"}]", Some(ImportFormat::Todos)),
            ("[{\"uuid\":\"u\",\"description\":\"a\"}]", Some(ImportFormat::Taskwarrior)),
            ("[{\"description\":\"a\"}]", None),
            ("[]", None),
            ("{\"tasks\":[{\"id\":1,\"title\":\"a\"}]}", Some(ImportFormat::Taskmaster)),
            ("{\"master\":{\"tasks\":[{\"id\":1,\"title\":\"a\"}]}}", Some(ImportFormat::Taskmaster)),
            ("{\"tasks\":[{\"id\":\"1\",\"subject\":\"a\"}]}", Some(ImportFormat::Document)),
            (
                "{\"id\":\"a\",\"title\":\"t\",\"status\":\"open\"}\n{\"id\":\"b\",\"title\":\"t\"}",
                Some(ImportFormat::Beads),
            ),
            ("{\"version\":2,\"tasks\":[{\"id\":\"a\",\"title\":\"b\"}]}", Some(ImportFormat::Document)),
            ("{\"subject\":\"a\"}\n{\"subject\":\"b\"}", Some(ImportFormat::Jsonl)),
            ("# Plan\n\n- [ ] a\n", Some(ImportFormat::Markdown)),
            ("---\nid: task-1\ntitle: a\nstatus: To Do\n---\n- [ ] part\n", Some(ImportFormat::Backlog)),
            ("---\nid: page\ntitle: a\n---\n- [ ] a\n", Some(ImportFormat::Markdown)),
            ("just text", None),
            ("", None),
        ] {
            assert_eq!(guess(text), format, "{text}");
        }
    }
}
