//! The flags that end up in a task's metadata.

use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use taskyard::core::json_text;
use taskyard::core::{DEFER, DUE, ESTIMATE, Metadata, Priority, TaskId};

use super::times::{Estimate, parse_defer, parse_due, parse_estimate};
use super::values::parse_id;

/// The flags that end up in a task's metadata.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct MetadataFlags {
    /// How urgent it is: low, medium or high
    #[arg(long, value_name = "PRIORITY")]
    pub(crate) priority: Option<Priority>,

    /// A tag; may be given several times
    #[arg(id = "tag", long = "tag", value_name = "TAG", value_delimiter = ',')]
    pub(crate) tags: Vec<String>,

    /// The task it is a part of
    #[arg(long, value_name = "ID", value_parser = parse_id)]
    pub(crate) parent: Option<TaskId>,

    /// What kind of task it is, in a word of your own; mission, experiment, phase, bug, detour and task put their mark before
    /// the title
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,

    /// When it is due: `tomorrow 9:00`, `fri`, `20 nov`, `eow`, `next week`, `2h`, `1mo`, `2026-11-20` (its end); `none` takes it away
    #[arg(long, value_name = "TIME", value_parser = parse_due)]
    pub(crate) due: Option<Value>,

    /// The task is not ready before this moment: `mon`, `2h`, `next week`, `2026-11-20` (its beginning); `none` takes it away
    #[arg(long, value_name = "TIME", value_parser = parse_defer)]
    pub(crate) defer: Option<Value>,

    /// How long it should take: `30m`, `2h`, `1d` (a working day, 8 h by default); `none` takes it away
    #[arg(long, value_name = "DURATION", value_parser = parse_estimate)]
    pub(crate) estimate: Option<Estimate>,

    /// Anything else to keep with it; the value is JSON, so text needs quotes of its own: 'note="soon"'
    #[arg(long = "meta", value_name = "KEY=JSON", value_parser = parse_meta)]
    pub(crate) meta: Vec<(String, Value)>,
}

impl MetadataFlags {
    /// Tells whether how long a working day is makes a difference.
    pub(crate) const fn has_estimate(&self) -> bool {
        self.estimate.is_some()
    }

    /// Returns the metadata, if any was given, with working days of this length. What `--meta` says comes last and counts.
    pub(crate) fn metadata(self, working_day: Duration) -> Option<Metadata> {
        let mut metadata = Metadata::new();
        if let Some(priority) = self.priority {
            metadata.insert("priority".into(), json!(priority.as_str()));
        }
        if !self.tags.is_empty() {
            metadata.insert("tags".into(), json!(self.tags));
        }
        if let Some(parent) = self.parent {
            metadata.insert("parent".into(), json!(parent.as_str()));
        }
        if let Some(kind) = self.kind {
            metadata.insert("kind".into(), json!(kind));
        }
        let estimate = self.estimate.map(|estimate| estimate.value(working_day));
        for (key, value) in [(DUE, self.due), (DEFER, self.defer), (ESTIMATE, estimate)] {
            metadata.extend(value.map(|value| (key.to_owned(), value)));
        }
        metadata.extend(self.meta);
        (!metadata.is_empty()).then_some(metadata)
    }
}

fn parse_meta(text: &str) -> Result<(String, Value), String> {
    let Some((key, value)) = text.split_once('=') else {
        return Err("there is no `=` between key and value".to_owned());
    };
    if key.is_empty() {
        return Err("there is no key before the `=`".to_owned());
    }
    match json_text::from_str(value) {
        Ok(value) => Ok((key.to_owned(), value)),
        Err(_) => Err(format!(
            "`{}` is no JSON; text needs quotes of its own, kept from the shell: '{key}={}'",
            value.escape_debug(),
            Value::from(value)
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use taskyard::core::timing::WORKING_DAY;

    use super::{MetadataFlags, parse_meta};

    #[test]
    fn text_without_quotes_is_refused_with_the_way_to_write_it() {
        assert_eq!(parse_meta("a={\"b\":[1]}"), Ok(("a".into(), json!({"b": [1]}))));
        assert_eq!(parse_meta("a=null"), Ok(("a".into(), json!(null))));
        assert!(parse_meta("note=soon").unwrap_err().ends_with("'note=\"soon\"'"));
        assert!(parse_meta("note").is_err());
    }

    #[test]
    fn no_flags_are_no_metadata() {
        assert_eq!(MetadataFlags::default().metadata(WORKING_DAY), None);
        let flags =
            MetadataFlags { tags: vec!["a".into()], meta: vec![("tags".into(), json!([]))], ..Default::default() };
        assert_eq!(flags.metadata(WORKING_DAY), json!({"tags": []}).as_object().cloned());
    }
}
