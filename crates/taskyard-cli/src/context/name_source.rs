//! Where the name comes from that commands act under.

/// Where the name of the actor comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameSource {
    /// `--as`.
    Flag,
    /// `TASKYARD_AGENT`.
    Variable,
    /// A request over HTTP: its link, its token, or its header.
    Request,
    /// A session of the client.
    Session,
    /// The login.
    Login,
    /// Nothing gives a name.
    Nobody,
}

impl NameSource {
    /// Returns the word in JSON.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Variable => "variable",
            Self::Request => "request",
            Self::Session => "session",
            Self::Login => "login",
            Self::Nobody => "nobody",
        }
    }
    /// Explains it to a person.
    pub(crate) const fn in_words(self) -> &'static str {
        match self {
            Self::Flag => "named by --as",
            Self::Variable => "named by TASKYARD_AGENT",
            Self::Request => "named by the link, the token or the request",
            Self::Session => "named after the client's session",
            Self::Login => "your login",
            Self::Nobody => "no name was given",
        }
    }
}
