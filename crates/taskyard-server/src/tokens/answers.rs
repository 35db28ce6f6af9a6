//! The answers about tokens and browsers, and the problems reported to callers.

use taskyard::core::Timestamp;
use taskyard::core::answers::maintenance_answers::{BrowserShown, TokenCreated, TokenShown, Tokens};
use taskyard::core::problem::{Problem, ProblemKind};

use super::browser_record::BrowserRecord;
use super::token_book::{TokenProblem, TokenRecord};

/// Returns the answer for a new token, with its secret.
pub fn token_created<'a>(record: &'a TokenRecord, secret: &'a str) -> TokenCreated<'a> {
    let expires_at = record.expires.map(|at| Timestamp(at).to_string());
    TokenCreated { name: &record.name, scope: record.scope.into(), expires_at, token: secret }
}

/// Returns the answer that lists tokens and browsers, without their secrets.
pub fn tokens_shown<'a>(records: &'a [TokenRecord], browsers: &'a [BrowserRecord], now: Timestamp) -> Tokens<'a> {
    let token = |record: &'a TokenRecord| TokenShown {
        name: &record.name,
        scope: record.scope.into(),
        made: Timestamp(record.made).to_string(),
        expires_at: record.expires.map(|at| Timestamp(at).to_string()),
        counts: record.counts(now),
    };
    let browser = |browser: &'a BrowserRecord| BrowserShown {
        name: &browser.name,
        made: Timestamp(browser.made).to_string(),
        used: Timestamp(browser.used).to_string(),
        agent: &browser.agent,
        actor: browser.actor.as_deref(),
        scope: browser.scope().into(),
    };
    Tokens { tokens: records.iter().map(token).collect(), browsers: browsers.iter().map(browser).collect() }
}

impl TokenProblem {
    /// Converts this into a reportable problem about the token or browser named `name`.
    pub fn about(self, name: &str) -> Problem {
        match self {
            Self::Io { path, source } => Problem::io(&format!("cannot use `{}`", path.display()), &source)
                .hint("check its owner and permissions (`ls -ld`)"),
            Self::NotOurs { path, why } => {
                Problem::new(ProblemKind::CouldNot, "token_file", format!("`{}` cannot be read: {why}", path.display()))
                    .hint("use the version of Taskyard that wrote it, or remove the file and create the tokens again")
            }
            Self::Taken => Problem::new(ProblemKind::Refused, "token_exists", format!("token `{name}` already exists"))
                .hint(format!("revoke it with `taskyard token revoke {name}`, or choose another name")),
            Self::Unknown => Problem::new(
                ProblemKind::NotFound,
                "token_not_found",
                format!("there is no token or browser `{}`", name.escape_debug()),
            )
            .hint("`taskyard token list` shows all tokens and browsers"),
            Self::BadName => Problem::usage("bad_token_name", format!("invalid token name `{}`", name.escape_debug()))
                .hint("use up to 64 letters, digits and `-_.@`"),
        }
    }
}
