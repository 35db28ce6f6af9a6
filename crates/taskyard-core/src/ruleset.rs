//! Which rules apply: ours, or a recorded client's.

use std::fmt;
use std::str::FromStr;

/// A release of the client whose behaviour was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ClientVersion {
    /// 2.1.34, the release the seed documents describe.
    V2_1_34,
    /// 2.1.325, the newest recorded release.
    #[default]
    V2_1_325,
}

impl ClientVersion {
    /// Every recorded release, oldest first.
    pub const ALL: [Self; 2] = [Self::V2_1_34, Self::V2_1_325];

    /// Returns the version number as the client prints it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2_1_34 => "2.1.34",
            Self::V2_1_325 => "2.1.325",
        }
    }
}

impl fmt::Display for ClientVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A client version whose behaviour was not recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("client version `{version}` is not recorded; use 2.1.34 or 2.1.325")]
pub struct UnknownClientVersion {
    /// What was given.
    pub(crate) version: String,
}

impl FromStr for ClientVersion {
    type Err = UnknownClientVersion;

    fn from_str(version: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|known| known.as_str() == version)
            .ok_or_else(|| UnknownClientVersion { version: version.to_owned() })
    }
}

/// The rule set in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rules {
    /// Reading tolerates, writing is strict: Taskyard's own rules.
    #[default]
    Strict,
    /// What the recorded client does, text for text and byte for byte.
    Client(ClientVersion),
}

impl Rules {
    /// Tells whether these are the client's rules.
    pub const fn is_client(self) -> bool {
        matches!(self, Self::Client(_))
    }

    /// Returns the client whose forms and words are used: in our own rules the newest one's.
    pub fn client_version(self) -> ClientVersion {
        match self {
            Self::Strict => ClientVersion::default(),
            Self::Client(version) => version,
        }
    }
}
