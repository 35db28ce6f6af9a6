//! The id of an event, with which a browser resumes a stream.

use std::fmt;
use std::str::FromStr;

/// The id of an event: the revision of its list, the reader that produced it, and its number there. The same reader
/// resumes with the next event; any other reader resumes with the next revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventId {
    /// The revision of the list; zero if all lists are followed.
    pub(crate) revision: u64,
    /// Identifies the reader.
    pub(crate) epoch: String,
    pub(crate) number: u64,
}

impl fmt::Display for EventId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.revision, self.epoch, self.number)
    }
}

/// The text is not an event id.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoEventId;

impl FromStr for EventId {
    type Err = NoEventId;

    fn from_str(text: &str) -> Result<Self, NoEventId> {
        let mut parts = text.trim().splitn(3, '.');
        let revision = parts.next().and_then(|part| part.parse().ok()).ok_or(NoEventId)?;
        // A revision alone is valid: a client that has it from elsewhere resumes there.
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
