//! Entity tags: they identify the state of a task that a caller has seen, so that it cannot overwrite a newer one.
//!
//! A tag is a digest of the task. The answer to a `GET` appends a dot and a digest of the whole answer, because
//! blockers, jobs and the lease belong to the answer but not to the task. `If-None-Match` compares the whole tag,
//! `If-Match` only the digest of the task.

use axum::http::header::{IF_MATCH, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use taskyard::Yard;
use taskyard::core::answers::answer_values::Shape;
use taskyard::core::{Task, TaskId, answers};
use taskyard::store::HistoryQuery;
use taskyard::system::hexadecimal;

/// Number of revisions searched for the state that a caller has seen.
const SEARCHED: usize = 1_000;

/// The tags in a request's header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NamedTags {
    /// `*`.
    Any,
    /// Any of these. Weak tags are omitted, since they never match `If-Match`.
    OneOf(Vec<String>),
}

impl NamedTags {
    /// Reads `If-Match`.
    pub(crate) fn to_match(headers: &HeaderMap) -> Option<Self> {
        Self::of(headers, IF_MATCH)
    }

    fn of(headers: &HeaderMap, name: HeaderName) -> Option<Self> {
        let mut tags = Vec::new();
        let mut values = headers.get_all(name).iter().peekable();
        values.peek()?;
        for text in values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).map(str::trim) {
            if text == "*" {
                return Some(Self::Any);
            }
            tags.extend(text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).map(str::to_owned));
        }
        Some(Self::OneOf(tags))
    }

    /// Returns the condition that a task must meet for a change; `None` if there is none.
    pub(crate) fn expectation(&self) -> Option<impl Fn(&Task) -> bool + Send + Sync + use<>> {
        let Self::OneOf(tags) = self.clone() else { return None };
        Some(move |task: &Task| are_of(&tags, &digest_of_task(task)))
    }

    /// Returns the state of the task that the caller has seen, if it is recent enough.
    pub(crate) fn base(&self, yard: &Yard, task: &TaskId) -> Option<Value> {
        let Self::OneOf(tags) = self else { return None };
        let query = HistoryQuery { task: Some(task.clone()), newest: Some(SEARCHED), ..HistoryQuery::default() };
        let entries = yard.history(&query).ok()?;
        let mut states = entries
            .iter()
            .rev()
            .filter_map(|entry| Some(as_shown(answers::answer_values::Entry::from(entry)).get("after")?.clone()));
        states.find(|state| state.is_object() && are_of(tags, &digest(state.to_string().as_bytes())))
    }
}

/// Returns whether one of the tags belongs to a task with this digest.
fn are_of(tags: &[String], digest: &str) -> bool {
    tags.iter().any(|tag| tag.split('.').next() == Some(digest))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntityTag(String);

impl EntityTag {
    /// Returns the tag of an answer with a task at `pointer`. For a `GET`, the tag covers the whole answer.
    pub(crate) fn of(body: &[u8], pointer: &str, is_look: bool) -> Option<Self> {
        let answer: Value = serde_json::from_slice(body).ok()?;
        let task = answer.pointer(pointer).filter(|task| task.is_object())?;
        let task = digest(task.to_string().as_bytes());
        Some(Self(if is_look { format!("{task}.{}", digest(body)) } else { task }))
    }

    /// Returns whether the caller already has this answer.
    pub(crate) fn is_known(&self, headers: &HeaderMap) -> bool {
        match NamedTags::of(headers, IF_NONE_MATCH) {
            Some(NamedTags::Any) => true,
            Some(NamedTags::OneOf(tags)) => tags.contains(&self.0),
            None => false,
        }
    }

    pub(crate) fn header(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&format!("\"{}\"", self.0)).ok()
    }
}

/// Returns the digest of a task as answers show it.
fn digest_of_task(task: &Task) -> String {
    digest(as_shown(Shape(task)).to_string().as_bytes())
}

/// Returns a value as a client would parse it, so that different spellings of a number give the same digest.
fn as_shown(shape: impl Serialize) -> Value {
    let text = serde_json::to_vec(&shape).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

fn digest(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes)[..16])
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use axum::http::header::{IF_MATCH, IF_NONE_MATCH};
    use serde_json::json;
    use taskyard::core::dialect::native::Shape;
    use taskyard::core::{Task, TaskId};

    use super::{EntityTag, NamedTags};

    fn task(subject: &str) -> Task {
        let metadata = json!({"x": 1.50, "big": 18_446_744_073_709_551_615_u64}).as_object().cloned();
        Task { metadata, ..Task::new(TaskId::number(7), subject.to_owned()) }
    }

    fn shown(subject: &str, lease: &str) -> Vec<u8> {
        let task = serde_json::to_value(Shape(&task(subject))).unwrap();
        json!({"schema": "taskyard/1", "task": task, "lease": lease}).to_string().into_bytes()
    }

    #[test]
    fn etag_of_any_answer_matches_the_task() {
        let tags = [shown("One", "a"), shown("One", "b")].map(|body| EntityTag::of(&body, "/task", true).unwrap());
        assert_ne!(tags[0], tags[1], "the answers differ");
        let changed = EntityTag::of(&shown("One", "a"), "/task", false).unwrap();
        for tag in [&tags[0], &tags[1], &changed] {
            let headers = HeaderMap::from_iter([(IF_MATCH, tag.header().unwrap())]);
            let expected = NamedTags::to_match(&headers).unwrap().expectation().unwrap();
            assert!(expected(&task("One")) && !expected(&task("Two")));
        }
    }

    #[test]
    fn weak_and_broken_tags_match_nothing_and_a_star_everything() {
        let tag = EntityTag::of(&shown("One", "a"), "/task", true).unwrap();
        let text = tag.header().unwrap().to_str().unwrap().to_owned();
        let named =
            |text: &str| NamedTags::to_match(&HeaderMap::from_iter([(IF_MATCH, text.parse().unwrap())])).unwrap();
        for wrong in ["", "x", &format!("W/{text}"), text.trim_matches('"')] {
            let expected = named(wrong).expectation().unwrap();
            assert!(!expected(&task("One")), "{wrong}");
        }
        let several = named(&format!("\"x\", {text}")).expectation().unwrap();
        assert!(several(&task("One")));
        assert_eq!(named("*"), NamedTags::Any);
        assert_eq!(NamedTags::to_match(&HeaderMap::new()), None);
    }

    #[test]
    fn an_answer_is_known_by_its_whole_tag() {
        let tag = EntityTag::of(&shown("One", "a"), "/task", true).unwrap();
        let has = |tag: &EntityTag, text: axum::http::HeaderValue| {
            tag.is_known(&HeaderMap::from_iter([(IF_NONE_MATCH, text)]))
        };
        assert!(has(&tag, tag.header().unwrap()) && has(&tag, "*".parse().unwrap()));
        assert!(!has(&tag, EntityTag::of(&shown("One", "b"), "/task", true).unwrap().header().unwrap()));
        assert!(!tag.is_known(&HeaderMap::new()));
    }
}
