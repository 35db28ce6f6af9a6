//! What stands before a title: the task's own number and its parent's, dim, for displays that show no numbers.

use std::borrow::Cow;

const DIM: &str = "\x1b[2m";
const RESET: &str = "\x1b[0m";

/// A subject taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject<'a> {
    /// The task's own id, where it stands there.
    pub id: Option<&'a str>,
    /// The task it is a part of.
    pub parent: Option<&'a str>,
    /// The type of the agent it is for (`[SA:type]`). It stays in the title, too.
    pub agent_type: Option<&'a str>,
    /// The title.
    pub title: &'a str,
}

impl<'a> Subject<'a> {
    /// Takes a subject apart.
    pub fn parse(text: &'a str) -> Self {
        let mut subject = Self { title: text, ..Self::default() };
        if let Some((id, rest)) = dim(subject.title).and_then(|(word, rest)| Some((word.strip_prefix('#')?, rest)))
            && is_id(id)
        {
            subject.id = Some(id);
            subject.title = rest;
        }
        let marked = dim(subject.title).or_else(|| subject.title.split_once(' '));
        if let Some((id, rest)) = marked.and_then(|(word, rest)| Some((parent_mark(word)?, rest))) {
            subject.parent = Some(id);
            subject.title = rest;
        }
        subject.agent_type = agent_type(subject.title);
        subject
    }

    /// Puts a subject together: `#id [^#parent] title`, the marks dim.
    pub fn compose(id: &str, parent: Option<&str>, title: &str) -> String {
        let parent = parent.map(|parent| format!("{DIM}[^#{parent}]{RESET} ")).unwrap_or_default();
        format!("{DIM}#{id}{RESET} {parent}{title}")
    }
}

/// Returns a subject as one searches for it: without the task's own number and without anything that steers a terminal.
pub fn plain(text: &str) -> Cow<'_, str> {
    let subject = Subject::parse(text);
    let text = if subject.id.is_some() { after_own_id(text) } else { text };
    if !text.contains('\x1b') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(DIM, "").replace(RESET, ""))
}

fn after_own_id(text: &str) -> &str {
    dim(text).map_or(text, |(_, rest)| rest)
}

/// Returns the dim word a text begins with, and what follows after a space.
fn dim(text: &str) -> Option<(&str, &str)> {
    let (word, rest) = text.strip_prefix(DIM)?.split_once(RESET)?;
    Some((word, rest.strip_prefix(' ')?))
}

fn parent_mark(word: &str) -> Option<&str> {
    word.strip_prefix("[^#")?.strip_suffix(']').filter(|id| is_id(id))
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(crate::list::is_safe_byte)
}

fn agent_type(title: &str) -> Option<&str> {
    let (agent, _) = title.strip_prefix("[SA:")?.split_once("] ")?;
    Some(agent).filter(|agent| !agent.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{Subject, plain};

    const STORED: &str = "\x1b[2m#89\x1b[0m \x1b[2m[^#67]\x1b[0m \u{1f4cb} Phase 4";

    #[test]
    fn a_stored_subject_is_taken_apart_and_put_together_again() {
        let subject = Subject::parse(STORED);
        assert_eq!((subject.id, subject.parent, subject.title), (Some("89"), Some("67"), "\u{1f4cb} Phase 4"));
        assert_eq!(Subject::compose("89", Some("67"), subject.title), STORED);
    }

    #[test]
    fn a_parent_is_also_understood_without_colour() {
        let subject = Subject::parse("[^#67] \u{1f4cb} Phase 1");
        assert_eq!((subject.id, subject.parent, subject.title), (None, Some("67"), "\u{1f4cb} Phase 1"));
    }

    #[test]
    fn what_only_looks_like_it_is_a_title() {
        for title in ["#12 is broken", "[^#] x", "\x1b[2mfaint\x1b[0m words", "[SA:] x", ""] {
            assert_eq!(Subject::parse(title), Subject { title, ..Subject::default() });
        }
    }

    #[test]
    fn the_type_of_an_agent_is_told() {
        assert_eq!(Subject::parse("[SA:DevOpsEng] Implement CLI command").agent_type, Some("DevOpsEng"));
    }

    #[test]
    fn one_searches_for_words_and_not_for_colours() {
        assert_eq!(plain(STORED), "[^#67] \u{1f4cb} Phase 4");
        assert_eq!(plain("plain"), "plain");
    }
}
