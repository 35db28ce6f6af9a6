//! How a job is named.

use std::fmt;
use std::str::FromStr;

use crate::{ClientVersion, JobKind};

/// The name of a job: the letter of its kind and a random part.
///
/// Both recorded releases of the client make such names, of different lengths; every one of them is accepted. A name is safe
/// as a file name, whatever it was read from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(String);

/// Text that cannot name a job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no job id; one is a letter and six or more letters and digits, as `b3f7a2c`", .text.escape_debug())]
pub struct BadJobId {
    /// What was given.
    pub(crate) text: String,
}

/// The digits of the newer client's names.
const BASE_36: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

impl JobId {
    /// The longest name there is: that of a teammate who has a name of his own.
    pub(crate) const LONGEST: usize = 128;

    /// Makes a name as a release of the client makes it, from random bytes.
    pub fn from_random(kind: JobKind, version: ClientVersion, random: [u8; 16]) -> Self {
        let letter = kind.letter();
        let hex = |count: usize| random[..count].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        Self(match (version, kind) {
            (ClientVersion::V2_1_34, _) => format!("{letter}{}", hex(3)),
            (ClientVersion::V2_1_325, JobKind::LocalAgent) => format!("{letter}{}", hex(8)),
            (ClientVersion::V2_1_325, _) => {
                let digits = random[..8].iter().map(|byte| char::from(BASE_36[usize::from(*byte) % BASE_36.len()]));
                format!("{letter}{}", digits.collect::<String>())
            }
        })
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for JobId {
    type Err = BadJobId;

    fn from_str(text: &str) -> Result<Self, BadJobId> {
        let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let starts = text.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
        let fits = (7..=Self::LONGEST).contains(&text.len());
        if starts && fits && text.bytes().all(is_fine) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadJobId { text: text.to_owned() })
        }
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::JobId;
    use crate::{ClientVersion, JobKind};

    #[test]
    fn names_are_made_as_each_release_makes_them() {
        let random = [0xde, 0x1b, 0xa1, 35, 36, 0, 7, 255, 0, 0, 0, 0, 0, 0, 0, 0];
        let made = |kind, version| JobId::from_random(kind, version, random).to_string();
        assert_eq!(made(JobKind::LocalBash, ClientVersion::V2_1_34), "bde1ba1");
        assert_eq!(made(JobKind::InProcessTeammate, ClientVersion::V2_1_34), "tde1ba1");
        assert_eq!(made(JobKind::LocalBash, ClientVersion::V2_1_325), "b6rhz0073");
        assert_eq!(made(JobKind::LocalAgent, ClientVersion::V2_1_325), "ade1ba123240007ff");
    }

    #[test]
    fn the_names_of_every_release_are_accepted() {
        for name in ["b3f7a2c", "bicd1inz5", "a0123456789abcdef", "aresearcher-0123456789abcdef", "x3f7a2c"] {
            assert_eq!(name.parse::<JobId>().unwrap().as_str(), name);
        }
    }

    #[test]
    fn what_is_no_safe_file_name_names_no_job() {
        for text in ["", "b", "../../etc", "b/../../x", "b3f7a2c\n", "B3f7a2c", "nope", &"b".repeat(200)] {
            assert!(text.parse::<JobId>().is_err(), "{text}");
        }
    }
}
