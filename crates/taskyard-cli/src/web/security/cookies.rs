//! The cookie that a browser has after it was opened by a link.
//!
//! Browsers send cookies to every port of a host, so that its name and its value are of this server: another server on this machine
//! that is handed the cookie can do nothing with it that this one would count, and one it made counts for nothing here.

use std::time::Duration;

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};

use crate::tokens::{is_sealed, random_secret, seal};

/// So long a browser stays let in.
const LIFE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// What the seal is for.
const PURPOSE: &str = "cookie";

/// The cookies of a server.
#[derive(Clone, Debug)]
pub(crate) struct Cookies {
    key: String,
    name: String,
    is_encrypted: bool,
}

impl Cookies {
    /// Returns the cookies of the server on a port whose token file holds this secret.
    pub(crate) fn of(secret: &str, port: u16, is_encrypted: bool) -> Self {
        let key = seal(secret, "cookies of port", &port.to_string());
        let id = seal(&key, "name", "")[..16].to_owned();
        // With this prefix browsers take it over TLS only, and from this host only.
        let prefix = if is_encrypted { "__Host-" } else { "" };
        Self { name: format!("{prefix}taskyard-{id}"), key, is_encrypted }
    }

    /// Makes one, as the header that sets it.
    pub(crate) fn make(&self, now: Duration) -> Option<HeaderValue> {
        let (until, nonce) = ((now + LIFE).as_secs(), random_secret().ok()?);
        let sealed = format!("{until}.{nonce}");
        let seal = seal(&self.key, PURPOSE, &sealed);
        let secure = if self.is_encrypted { "; Secure" } else { "" };
        let (name, life) = (&self.name, LIFE.as_secs());
        HeaderValue::from_str(&format!(
            "{name}={sealed}.{seal}; HttpOnly; SameSite=Strict; Path=/; Max-Age={life}{secure}"
        ))
        .ok()
    }

    /// Tells whether a request carries one that counts.
    pub(crate) fn are_in(&self, headers: &HeaderMap, now: Duration) -> bool {
        let pairs = headers.get_all(COOKIE).iter().filter_map(|header| header.to_str().ok());
        let mut values = pairs.flat_map(|header| header.split(';')).filter_map(|pair| pair.trim().split_once('='));
        values.any(|(name, value)| name == self.name && self.counts(value, now))
    }

    fn counts(&self, value: &str, now: Duration) -> bool {
        let Some((sealed, seal)) = value.rsplit_once('.') else { return false };
        let until = sealed.split_once('.').and_then(|(until, _)| until.parse::<u64>().ok());
        is_sealed(&self.key, PURPOSE, sealed, seal) && until.is_some_and(|until| now.as_secs() < until)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::http::HeaderMap;
    use axum::http::header::COOKIE;

    use super::{Cookies, LIFE};

    const NOW: Duration = Duration::from_secs(1_800_000_000);

    fn sent(cookies: &Cookies) -> HeaderMap {
        let made = cookies.make(NOW).unwrap();
        let pair = made.to_str().unwrap().split(';').next().unwrap().to_owned();
        HeaderMap::from_iter([(COOKIE, format!("a=b; {pair}; c=d").parse().unwrap())])
    }

    #[test]
    fn a_cookie_counts_for_its_server_and_for_its_time() {
        let cookies = Cookies::of("secret", 8787, false);
        let headers = sent(&cookies);
        assert!(cookies.are_in(&headers, NOW) && cookies.are_in(&headers, NOW + LIFE - Duration::from_secs(1)));
        assert!(!cookies.are_in(&headers, NOW + LIFE));
        assert!(!cookies.are_in(&HeaderMap::new(), NOW));
        for other in [Cookies::of("secret", 8788, false), Cookies::of("other", 8787, false)] {
            assert!(other.name != cookies.name && !other.are_in(&headers, NOW));
            let renamed = Cookies { name: cookies.name.clone(), ..other };
            assert!(!renamed.are_in(&headers, NOW), "the value is bound as the name is");
        }
    }

    #[test]
    fn a_cookie_that_was_changed_counts_for_nothing() {
        let cookies = Cookies::of("secret", 8787, false);
        let headers = sent(&cookies);
        let text = headers[COOKIE].to_str().unwrap().to_owned();
        for changed in [text.replace("18", "19"), text.replace('.', ""), text.replace(&cookies.name, "taskyard")] {
            assert!(!cookies.are_in(&HeaderMap::from_iter([(COOKIE, changed.parse().unwrap())]), NOW), "{changed}");
        }
    }

    #[test]
    fn scripts_and_other_sites_never_see_it() {
        for is_encrypted in [false, true] {
            let made = Cookies::of("secret", 8787, is_encrypted).make(NOW).unwrap();
            let text = made.to_str().unwrap();
            assert!(text.contains("; HttpOnly; SameSite=Strict; Path=/; "));
            assert_eq!((text.contains("; Secure"), text.starts_with("__Host-")), (is_encrypted, is_encrypted));
        }
    }
}
