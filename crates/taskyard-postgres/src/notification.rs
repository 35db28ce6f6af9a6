//! What processes tell each other by NOTIFY. It is never more than a hint that comes early: docs/formats/postgres.md says what is in it.

use serde_json::{Value, json};

use crate::versions::{Kind, Version};

/// A notification that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notification {
    pub(crate) channel: String,
    pub(crate) payload: String,
}

/// Returns the statements that send a notification. They are a transaction of their own that need not be safe on disk: while it commits, no
/// other notification in the whole database can.
pub(crate) fn sending(channel: &str, payload: &str) -> String {
    sending_all(&[(channel, payload.to_owned())])
}

/// Does the same for several channels, each with what is told there.
pub(crate) fn sending_all(told: &[(&str, String)]) -> String {
    let notify = |(channel, payload): &(&str, String)| {
        let payload = payload.replace('\\', "\\\\").replace('\'', "''");
        format!("NOTIFY {channel}, E'{payload}'; ")
    };
    format!("BEGIN; SET LOCAL synchronous_commit = off; {}COMMIT", told.iter().map(notify).collect::<String>())
}

/// Returns what tells that something of a kind has changed, and its count since; `None` if that is not known.
pub(crate) fn of_kind(kind: Kind, version: Option<&Version>) -> String {
    let epoch = version.map(|version| &*version.epoch);
    json!({ "kind": kind.name(), "epoch": epoch, "version": version.map(|version| version.count) }).to_string()
}

/// Reads such a payload; `None` if it is another one.
pub(crate) fn read_kind(payload: &str) -> Option<(Kind, Option<Version>)> {
    let value: Value = serde_json::from_str(payload).ok()?;
    let kind = Kind::ALL.into_iter().find(|kind| value["kind"] == kind.name())?;
    let version = value["epoch"].as_str().zip(value["version"].as_i64());
    Some((kind, version.map(|(epoch, count)| Version { epoch: epoch.into(), count })))
}

#[cfg(test)]
mod tests {
    use super::{of_kind, read_kind, sending};
    use crate::versions::{Kind, Version};

    #[test]
    fn a_version_is_read_as_it_was_sent() {
        let version = Version { epoch: "a".into(), count: 7 };
        let sent = of_kind(Kind::Teams, Some(&version));
        assert_eq!(read_kind(&sent), Some((Kind::Teams, Some(version))));
        assert_eq!(read_kind(&of_kind(Kind::Names, None)), Some((Kind::Names, None)));
        assert_eq!(read_kind(""), None);
    }

    #[test]
    fn what_a_newer_release_tells_is_passed_over() {
        assert_eq!(read_kind(r#"{"kind":"other","epoch":"a","version":1}"#), None);
        assert_eq!(read_kind(r#"{"kind":"teams","epoch":"a","version":"1"}"#), Some((Kind::Teams, None)));
    }

    #[test]
    fn quotes_and_backslashes_stay_within_the_literal() {
        assert!(sending("c", r"it's \n").contains(r"NOTIFY c, E'it''s \\n';"));
    }
}
