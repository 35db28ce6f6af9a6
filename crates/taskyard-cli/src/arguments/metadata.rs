//! The flags that end up in a task's metadata.

use clap::Args;
use serde_json::Value;
use taskyard::core::forms::extras::{EstimateWord, Extras, parse_priority};
use taskyard::core::json_text;
use taskyard::core::{Priority, TaskId};

use super::times::{parse_defer, parse_due};
use super::values::parse_id;

/// The flags that end up in a task's metadata.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct MetadataFlags {
    /// How urgent it is: low, medium or high
    #[arg(long, short, value_name = "PRIORITY", value_parser = parse_priority)]
    pub(crate) priority: Option<Priority>,

    /// A tag; may be given several times
    #[arg(id = "tag", long = "tag", short = 't', value_name = "TAG", value_delimiter = ',')]
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
    #[arg(long, value_name = "DURATION")]
    pub(crate) estimate: Option<EstimateWord>,

    /// Anything else to keep with it; the value is JSON, so text needs quotes of its own: 'note="soon"'
    #[arg(long = "meta", value_name = "KEY=JSON", value_parser = parse_meta)]
    pub(crate) meta: Vec<(String, Value)>,
}

impl MetadataFlags {
    /// Returns what the flags say.
    pub(crate) fn extras(self) -> Extras {
        Extras {
            priority: self.priority,
            tags: self.tags,
            parent: self.parent,
            kind: self.kind,
            due: self.due,
            defer: self.defer,
            estimate: self.estimate,
            metadata: self.meta,
        }
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

    use super::parse_meta;

    #[test]
    fn text_without_quotes_is_refused_with_the_way_to_write_it() {
        assert_eq!(parse_meta("a={\"b\":[1]}"), Ok(("a".into(), json!({"b": [1]}))));
        assert_eq!(parse_meta("a=null"), Ok(("a".into(), json!(null))));
        assert!(parse_meta("note=soon").unwrap_err().ends_with("'note=\"soon\"'"));
        assert!(parse_meta("note").is_err());
    }
}
