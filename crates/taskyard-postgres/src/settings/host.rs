//! One host of a server.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use super::Secret;

/// One host that may be the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// Its name, which its certificate must be for.
    pub(crate) name: String,
    /// The directory of its socket, where it is this machine's.
    pub(crate) socket: Option<PathBuf>,
    /// Its number, where that need not be looked up.
    pub(crate) address: Option<IpAddr>,
    /// Its port.
    pub(crate) port: u16,
    /// Who may read along, and how it proves who it is.
    pub(crate) tls: TlsMode,
    /// What lets us in.
    pub(crate) password: Option<Secret>,
}

/// The values of `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TlsMode {
    /// In the clear.
    Disable,
    /// In the clear where the server has no TLS.
    Prefer,
    /// No third party reads along; the server need not prove who it is.
    Require,
    /// Its certificate comes from an authority that is trusted.
    VerifyCa,
    /// And it is for the host that was named.
    VerifyFull,
}

impl TlsMode {
    /// Reads a value of `sslmode`.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "disable" => Some(Self::Disable),
            "allow" | "prefer" => Some(Self::Prefer),
            "require" => Some(Self::Require),
            "verify-ca" => Some(Self::VerifyCa),
            "verify-full" => Some(Self::VerifyFull),
            _ => None,
        }
    }

    /// Returns the mode for a host where none is given: a host must prove who it is where a third party may stand between it and us.
    pub(crate) fn usual(host: &str, is_socket: bool) -> Self {
        let is_loopback = host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        match is_socket || is_loopback || host.eq_ignore_ascii_case("localhost") {
            true => Self::Prefer,
            false => Self::VerifyFull,
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.socket {
            Some(directory) => write!(formatter, "{}, port {}", directory.display(), self.port),
            None => write!(formatter, "{}:{}", self.name, self.port),
        }
    }
}
