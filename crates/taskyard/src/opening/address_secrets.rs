//! Recognises secrets in addresses, and shows addresses without them.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

/// The schemes of this crate, whose addresses contain paths and no secrets.
pub(super) const LOCAL: [&str; 5] = ["claude", "file", "document", "teaching", "memory"];

/// Substrings of the names of query parameters that contain secrets.
const SECRET_NAMES: [&str; 6] = ["password", "passwd", "secret", "token", "apikey", "api_key"];
/// Further names, which must match completely.
const SHORT_SECRET_NAMES: [&str; 2] = ["pwd", "pass"];

/// Characters that end the part of an address with user and host.
const AFTER_AUTHORITY: [char; 3] = ['/', '?', '#'];

/// Returns an address without its password, or `None` if the end of the password is ambiguous.
///
/// An unencoded `@` or `/` in a password looks like the start of a host or path. Therefore only one `@` is allowed, and
/// it must come before the path.
pub(super) fn without_password(address: &str) -> Option<String> {
    let Some((scheme, rest)) = address.split_once(':') else { return clear(address) };
    if LOCAL.contains(&scheme) {
        return Some(address.to_owned());
    }
    let Some(rest) = rest.strip_prefix("//") else {
        return clear(&format!("{scheme}:{}", without_secret_parameters(rest)));
    };
    let (authority, tail) = rest.split_at(rest.find(AFTER_AUTHORITY).unwrap_or(rest.len()));
    let (user, hosts) = match authority.split_once('@') {
        Some((user, hosts)) => (user.split_once(':').map_or(user, |(name, _)| name), hosts),
        None => ("", authority),
    };
    // This could be a host and a port, or a user and the beginning of a password.
    if !hosts.split(',').all(has_port_or_none) {
        return None;
    }
    let tail = clear(&without_secret_parameters(tail))?;
    clear(hosts)?;
    let user = if user.is_empty() { String::new() } else { format!("{user}@") };
    Some(format!("{scheme}://{user}{hosts}{tail}"))
}

/// Returns an address as shown to users, in logs and in errors.
pub(super) fn shown(address: &str) -> String {
    without_password(address).unwrap_or_else(|| match scheme_of(address) {
        Some(scheme) => format!("{scheme}:…"),
        None => "…".to_owned(),
    })
}

/// Returns the scheme of an address, if it has one.
pub(super) fn scheme_of(address: &str) -> Option<&str> {
    let (scheme, _) = address.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || ['+', '-', '.'].contains(&letter));
    is_scheme.then_some(scheme)
}

/// Returns a text with the passwords removed from all addresses in it.
pub fn hide_passwords(text: &str) -> Cow<'_, str> {
    if !text.contains(':') {
        return Cow::Borrowed(text);
    }
    let ends_word = |letter: char| letter.is_whitespace() || ['\'', '"', '`'].contains(&letter);
    let words = text.split_inclusive(ends_word).map(|word| {
        let (word, end) = word.split_at(word.trim_end_matches(ends_word).len());
        // A flag may be written together with its value: `--store=…`.
        let start = word.find(':').and_then(|colon| word[..colon].rfind('=')).map_or(0, |equals| equals + 1);
        let (flag, value) = word.split_at(start);
        let shown = if may_be_address(value) { shown(value) } else { value.to_owned() };
        format!("{flag}{shown}{end}")
    });
    Cow::Owned(words.collect())
}

fn may_be_address(word: &str) -> bool {
    word.contains("://") || word.split_once(':').is_some_and(|(_, rest)| rest.contains('@'))
}

/// Returns the text, if it cannot contain a password.
fn clear(text: &str) -> Option<String> {
    let is_clear = !text.contains('@') && !is_secret_name(text);
    is_clear.then(|| text.to_owned())
}

fn has_port_or_none(host: &str) -> bool {
    // A host may be an address with colons, in brackets.
    let after_name = host.rsplit_once(']').map_or(host, |(_, port)| port);
    after_name.split_once(':').is_none_or(|(_, port)| port.chars().all(|digit| digit.is_ascii_digit()))
}

/// Removes the query parameters that contain secrets.
fn without_secret_parameters(tail: &str) -> String {
    let Some((path, query)) = tail.split_once('?') else { return tail.to_owned() };
    let holds_secret = |parameter: &&str| {
        parameter
            .split(';')
            .any(|part| is_secret_name(&decoded_name(part.split_once('=').map_or(part, |(name, _)| name))))
    };
    let kept: Vec<&str> = query.split('&').filter(|parameter| !holds_secret(parameter)).collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|secret| name.contains(secret)) || SHORT_SECRET_NAMES.contains(&name.trim())
}

fn decoded_name(name: &str) -> String {
    String::from_utf8_lossy(&percent_decoded(name)).into_owned()
}

/// The address of a store as written by a user in a flag, a variable or a file. It may contain a password, which
/// `Display` omits.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct WrittenAddress(String);

impl WrittenAddress {
    /// Wraps an address as written.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the address including its secrets.
    pub(crate) fn as_written(&self) -> &str {
        &self.0
    }

    /// Returns whether the address contains anything that is not shown.
    pub fn holds_secrets(&self) -> bool {
        self.to_string() != self.0
    }
}

impl FromStr for WrittenAddress {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::new(text))
    }
}

impl fmt::Display for WrittenAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&shown(&self.0))
    }
}

impl fmt::Debug for WrittenAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", shown(&self.0))
    }
}

/// Decodes percent-encoded bytes; invalid escapes are kept as they are.
pub fn percent_decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::{hide_passwords, shown, without_password};

    #[test]
    fn a_password_is_taken_out_and_the_rest_stays_an_address() {
        for (written, without) in [
            ("postgres://ana:s3cret@host/db", "postgres://ana@host/db"),
            ("postgres://ana:s3%40cr%2Fet@host/db", "postgres://ana@host/db"),
            ("postgres://an:a:s3cret@host/db", "postgres://an@host/db"),
            ("postgres://:s3cret@host/db", "postgres://host/db"),
            ("postgres://ana@host:5432/db", "postgres://ana@host:5432/db"),
            ("postgres://host:5432,[::1]:5433/db", "postgres://host:5432,[::1]:5433/db"),
            ("postgres://ana:s3cret@h1:1,h2/db?sslmode=require", "postgres://ana@h1:1,h2/db?sslmode=require"),
            (
                "postgres://host/db?user=ana&password=s3cret&sslmode=require",
                "postgres://host/db?user=ana&sslmode=require",
            ),
            ("postgres://host/db?PASSWORD=s3cret", "postgres://host/db"),
            ("postgres://host/db?pass%77ord=s3cret#x&a=b", "postgres://host/db?a=b"),
            ("postgres://host/db?sslpassword=s3cret?&a=b;password=s3cret", "postgres://host/db"),
            ("postgres://host/db?passfile=/x/.pgpass", "postgres://host/db?passfile=/x/.pgpass"),
            ("board://host/7?access_token=s3cret", "board://host/7"),
            ("board:owner/name", "board:owner/name"),
            ("file:/home/a@b:c/password", "file:/home/a@b:c/password"),
            ("nope", "nope"),
        ] {
            assert_eq!(without_password(written).as_deref(), Some(without), "{written}");
        }
    }

    #[test]
    fn unclear_password_hides_all_but_the_scheme() {
        for written in [
            "postgres://ana:s3c@ret@host/db",
            "postgres://ana:s3/cret@host/db",
            "postgres://ana:s3?cret@host/db",
            "postgres://ana:s3#cret@host/db",
            "postgres://ana:s3@cr/et@host/db",
            "postgres://ana:s3cret",
            "postgres://ana:12/s3cret@host/db",
            "postgres://host/db?password=s3cr@et&x=s3@cret",
            "postgres:ana:s3cret@host/db",
            "postgres:host=h password=s3cret",
        ] {
            assert_eq!(shown(written), "postgres:…", "{written}");
        }
        assert_eq!(shown("ana_x:s3cret@host"), "…");
        assert_eq!(shown("s3cret@host"), "…");
    }

    #[test]
    fn addresses_are_found_in_a_text() {
        let text =
            "unexpected '--store=postgres://ana:s3cret@host/db' and postgres://ana:s3/cret@h\nhttp://x/y: ana:s3cret@h";
        let hidden = "unexpected '--store=postgres://ana@host/db' and postgres:…\nhttp://x/y: ana:…";
        assert_eq!(hide_passwords(text), hidden);
    }
}
