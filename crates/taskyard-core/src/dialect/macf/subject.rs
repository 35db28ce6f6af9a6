//! What stands before a title: the task's own number and its parent's, dim, for displays that show no numbers.

use crate::TaskId;

const DIM: &str = "\x1b[2m";
/// What ends dim letters: today, and in older files.
const DIM_ENDS: [&str; 2] = ["\x1b[22m", "\x1b[0m"];
/// Numbers stand below each other, in as many columns.
const COLUMNS: usize = 4;
/// The task that is there for the display alone; to be a part of it is to be a part of nothing.
pub(super) const SENTINEL: &str = "000";

/// A subject taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject<'a> {
    /// The task's own id, where it stands there.
    pub(crate) id: Option<&'a str>,
    /// The task it is a part of.
    pub(crate) parent: Option<&'a str>,
    /// The type of the agent it is for (`[SA:type]`). It stays in the title, too.
    pub(crate) agent_type: Option<&'a str>,
    /// The title.
    pub title: &'a str,
    /// How the task's own id is written, with what makes it dim.
    id_mark: &'a str,
    /// How its parent is written, with what makes it dim.
    parent_mark: &'a str,
}

impl<'a> Subject<'a> {
    /// Takes a subject apart.
    pub fn parse(text: &'a str) -> Self {
        let mut subject = Self { title: text, ..Self::default() };
        if let Some((word, mark, rest)) = dim(subject.title)
            && let Some(id) = word.trim_matches(' ').strip_prefix('#').filter(|id| is_id(id))
        {
            (subject.id, subject.id_mark, subject.title) = (Some(id), mark, rest);
        }
        let plain = |text: &'a str| text.split_once(' ').map(|(word, rest)| (word, word, rest));
        if let Some((word, mark, rest)) = dim(subject.title).or_else(|| plain(subject.title))
            && let Some(id) = parent_mark(word.trim_matches(' '))
        {
            (subject.parent, subject.parent_mark, subject.title) = (Some(id), mark, rest);
        }
        subject.agent_type = agent_type(subject.title);
        subject
    }

    /// Takes the subject of a task apart. A number before it that is not the task's own is no mark: somebody put it into the title.
    pub(crate) fn of(id: &TaskId, text: &'a str) -> Self {
        let subject = Self::parse(text);
        match subject.id {
            Some(stated) if stated != id.as_str() => Self { title: text, ..Self::default() },
            _ => subject,
        }
    }

    /// Puts a subject together: `#id [^#parent] title`, the marks dim.
    pub fn compose(id: &str, parent: Option<&str>, title: &str) -> String {
        Subject::default().composed(id, parent, title)
    }

    /// Does the same in the form of older tools: without columns, and dim ended by `ESC [0m`.
    pub fn compose_compact(id: &str, parent: Option<&str>, title: &str) -> String {
        Subject { id_mark: DIM_ENDS[1], ..Subject::default() }.composed(id, parent, title)
    }

    /// Puts a subject together as this one is: what it says already is written as it was, and what is new with the same ends.
    pub(crate) fn composed(&self, id: &str, parent: Option<&str>, title: &str) -> String {
        let is_old = self.id_mark.ends_with(DIM_ENDS[1]);
        let end = DIM_ENDS[usize::from(is_old)];
        let id_mark = match self.id == Some(id) {
            true => self.id_mark.to_owned(),
            false if is_old => format!("{DIM}#{id}{end}"),
            false => format!("{DIM}{:>COLUMNS$}{end}", format!("#{id}")),
        };
        let parent_mark = match parent.filter(|parent| *parent != SENTINEL) {
            None => String::new(),
            Some(parent) if self.parent == Some(parent) => format!("{} ", self.parent_mark),
            Some(parent) => format!("{DIM}[^#{parent}]{end} "),
        };
        format!("{id_mark} {parent_mark}{title}")
    }
}

/// Returns the dim word a text begins with, the same with what makes it dim, and what follows after a space.
fn dim(text: &str) -> Option<(&str, &str, &str)> {
    let inside = text.strip_prefix(DIM)?;
    let word = &inside[..inside.find('\x1b')?];
    let end = DIM_ENDS.iter().find(|end| inside[word.len()..].starts_with(**end))?;
    let (mark, rest) = text.split_at(DIM.len() + word.len() + end.len());
    Some((word, mark, rest.strip_prefix(' ')?))
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
    use super::Subject;
    use crate::TaskId;

    const STORED: &str = "\x1b[2m#89\x1b[0m \x1b[2m[^#67]\x1b[0m \u{1f4cb} Phase 4";

    #[test]
    fn a_stored_subject_is_taken_apart_and_put_together_again() {
        let subject = Subject::parse(STORED);
        assert_eq!((subject.id, subject.parent, subject.title), (Some("89"), Some("67"), "\u{1f4cb} Phase 4"));
        assert_eq!(subject.composed("89", Some("67"), subject.title), STORED);
    }

    #[test]
    fn both_ends_of_dim_are_read_and_stay() {
        let today = "\x1b[2m  #5\x1b[22m \x1b[2m[^#67]\x1b[22m \u{1f4cb} Phase 4";
        for (stored, moved) in [
            (today, "\x1b[2m  #5\x1b[22m \x1b[2m[^#1]\x1b[22m \u{1f4cb} Phase 4"),
            (
                "\x1b[2m#5\x1b[0m \x1b[2m[^#67]\x1b[0m \u{1f4cb} Phase 4",
                "\x1b[2m#5\x1b[0m \x1b[2m[^#1]\x1b[0m \u{1f4cb} Phase 4",
            ),
            (
                "\x1b[2m  #5 \x1b[22m \x1b[2m[^#67] \x1b[22m \u{1f4cb} Phase 4",
                "\x1b[2m  #5 \x1b[22m \x1b[2m[^#1]\x1b[22m \u{1f4cb} Phase 4",
            ),
        ] {
            let subject = Subject::parse(stored);
            assert_eq!((subject.id, subject.parent, subject.title), (Some("5"), Some("67"), "\u{1f4cb} Phase 4"));
            assert_eq!(subject.composed("5", Some("67"), subject.title), stored);
            assert_eq!(subject.composed("5", Some("1"), subject.title), moved);
        }
        assert_eq!(Subject::compose("5", Some("67"), "\u{1f4cb} Phase 4"), today);
        assert_eq!(Subject::compose_compact("89", Some("67"), "\u{1f4cb} Phase 4"), STORED);
        assert_eq!(Subject::compose("1234", Some("000"), "x"), "\x1b[2m#1234\x1b[22m x");
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
    fn number_of_another_task_is_part_of_the_title() {
        assert_eq!(Subject::of(&TaskId::number(89), STORED), Subject::parse(STORED));
        let other = Subject::of(&TaskId::number(8), STORED);
        assert_eq!(other, Subject { title: STORED, ..Subject::default() });
    }
}
