//! The id of an event, by which a browser resumes.

use std::fmt;
use std::str::FromStr;

/// The id of an event: how far its list had come, which reader told of it, and its number there. The same reader goes on with the next
/// one; another, of this server or of one more, goes on with the next revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventId {
    /// The revision of the list; zero where all lists are followed.
    pub(crate) revision: u64,
    /// The reader that told of it.
    pub(crate) epoch: String,
    /// The number of the event there.
    pub(crate) number: u64,
}

impl fmt::Display for EventId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.revision, self.epoch, self.number)
    }
}

/// A text that is no id.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoEventId;

impl FromStr for EventId {
    type Err = NoEventId;

    fn from_str(text: &str) -> Result<Self, NoEventId> {
        let mut parts = text.trim().splitn(3, '.');
        let revision = parts.next().and_then(|part| part.parse().ok()).ok_or(NoEventId)?;
        // A revision alone is one, too: a reader that has it from elsewhere goes on from there.
        let epoch = parts.next().unwrap_or_default().to_owned();
        let number = parts.next().map_or(Ok(0), str::parse).map_err(|_| NoEventId)?;
        Ok(Self { revision, epoch, number })
    }
}

#[cfg(test)]
mod tests {
    use super::{EventId, NoEventId};

    #[test]
    fn an_id_comes_back_as_it_was_and_a_revision_alone_is_one() {
        let id = EventId { revision: 41, epoch: "a1b2".to_owned(), number: 7 };
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!("41".parse(), Ok(EventId { revision: 41, epoch: String::new(), number: 0 }));
        for wrong in ["", "x", "-1", "41.a.b", "1e9"] {
            assert_eq!(wrong.parse::<EventId>(), Err(NoEventId), "{wrong}");
        }
    }
}
