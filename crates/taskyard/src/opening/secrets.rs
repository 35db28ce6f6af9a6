//! What in an address is secret, and how it is shown without.

use std::borrow::Cow;

use super::percent::percent_decoded;

/// The schemes of this crate, whose addresses hold paths and nothing secret.
pub(super) const LOCAL: [&str; 5] = ["claude", "file", "document", "teaching", "memory"];

/// What the name of a query parameter that holds a secret contains.
const SECRET_NAMES: [&str; 6] = ["password", "passwd", "secret", "token", "apikey", "api_key"];
/// The whole names of others.
const SHORT_SECRET_NAMES: [&str; 2] = ["pwd", "pass"];

/// What ends the part of an address that names a user and a host.
const AFTER_AUTHORITY: [char; 3] = ['/', '?', '#'];

/// Returns an address without its password; none where it cannot be told where the password ends.
///
/// A password with an `@` or a `/` in it that is not percent-encoded reads like the beginning of a host or a path. So there is one
/// `@` at most, before the path.
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
    // A host and a port, or a user and the beginning of a password?
    if !hosts.split(',').all(has_port_or_none) {
        return None;
    }
    let tail = clear(&without_secret_parameters(tail))?;
    clear(hosts)?;
    let user = if user.is_empty() { String::new() } else { format!("{user}@") };
    Some(format!("{scheme}://{user}{hosts}{tail}"))
}

/// Returns an address as it is shown to people, in logs and in errors.
pub(super) fn shown(address: &str) -> String {
    without_password(address).unwrap_or_else(|| match scheme_of(address) {
        Some(scheme) => format!("{scheme}:…"),
        None => "…".to_owned(),
    })
}

/// Returns the scheme of an address, where it has one.
pub(super) fn scheme_of(address: &str) -> Option<&str> {
    let (scheme, _) = address.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || ['+', '-', '.'].contains(&letter));
    is_scheme.then_some(scheme)
}

/// Returns a text in which every address is shown without its password.
pub fn hide_passwords(text: &str) -> Cow<'_, str> {
    if !text.contains(':') {
        return Cow::Borrowed(text);
    }
    let ends_word = |letter: char| letter.is_whitespace() || ['\'', '"', '`'].contains(&letter);
    let words = text.split_inclusive(ends_word).map(|word| {
        let (word, end) = word.split_at(word.trim_end_matches(ends_word).len());
        // A flag may come with its value: `--store=…`.
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

/// Returns a text that cannot hold a password.
fn clear(text: &str) -> Option<String> {
    let is_clear = !text.contains('@') && !is_secret_name(text);
    is_clear.then(|| text.to_owned())
}

fn has_port_or_none(host: &str) -> bool {
    // The address of a host may have colons of its own, in brackets.
    let after_name = host.rsplit_once(']').map_or(host, |(_, port)| port);
    after_name.split_once(':').is_none_or(|(_, port)| port.chars().all(|digit| digit.is_ascii_digit()))
}

/// Takes the parameters out of a query that hold secrets.
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
    fn where_it_is_not_clear_what_the_password_is_only_the_scheme_is_shown() {
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
