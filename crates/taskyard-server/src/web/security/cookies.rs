//! The two secrets of a browser that signed in by a link.
//!
//! Browsers send cookies to every port of a host, so another server on this machine sees ours and could replay it.
//! Therefore a cookie alone only permits reading. The second secret is in the storage of our own pages, which belongs
//! to one origin, port included; the pages' script sends it in a header. Cookie names and digests are specific to
//! this server and are not valid at any other.

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};

use crate::public_url::PublicUrl;
use crate::tokens::{BrowserDigests, random_secret, seal};

/// The header with the second secret.
const PAGE: &str = "taskyard-page";
/// The maximum lifetime browsers allow. The server expires the cookie by its own record.
const LIFE: u64 = 400 * 24 * 60 * 60;

/// The cookies of a server.
#[derive(Clone, Debug)]
pub(crate) struct Cookies {
    key: String,
    name: String,
    /// The path that the cookie is limited to.
    path: String,
    is_encrypted: bool,
}

/// The secrets of a new browser.
#[derive(Debug)]
pub(crate) struct BrowserSecrets {
    pub(crate) cookie: HeaderValue,
    /// The secret for the pages' storage.
    pub(crate) page: String,
    /// The digests stored by the server.
    pub(crate) digests: BrowserDigests,
}

impl Cookies {
    /// Returns the cookies of the server on a port. `secret` is the content of its token file.
    pub(crate) fn of_port(secret: &str, port: u16, is_encrypted: bool) -> Self {
        Self::of(seal(secret, "cookies of port", &port.to_string()), "/", is_encrypted)
    }

    /// Returns the cookies of a server behind a proxy.
    pub(crate) fn of_public(secret: &str, public: &PublicUrl) -> Self {
        let path = if public.base().is_empty() { "/" } else { public.base() };
        Self::of(seal(secret, "cookies of address", &public.to_string()), path, public.is_encrypted())
    }

    fn of(key: String, path: &str, is_encrypted: bool) -> Self {
        let id = seal(&key, "name", "")[..16].to_owned();
        // Browsers accept cookies with these prefixes over TLS only, and the first one only for this host and all its
        // paths.
        let prefix = match (is_encrypted, path) {
            (false, _) => "",
            (true, "/") => "__Host-",
            (true, _) => "__Secure-",
        };
        Self { name: format!("{prefix}taskyard-{id}"), key, path: path.to_owned(), is_encrypted }
    }

    /// Creates the secrets of a browser. Returns `None` if no random bytes are available.
    pub(crate) fn make(&self) -> Option<BrowserSecrets> {
        let (cookie, page) = (random_secret().ok()?, random_secret().ok()?);
        let digests = BrowserDigests { cookie: self.digest("cookie", &cookie), page: self.digest(PAGE, &page) };
        Some(BrowserSecrets { cookie: self.header(&cookie, LIFE)?, page, digests })
    }

    /// Returns the header that deletes the cookie.
    pub(crate) fn forget(&self) -> Option<HeaderValue> {
        self.header("", 0)
    }

    /// Returns the digests of our cookies in a request.
    pub(crate) fn in_cookies<'a>(&'a self, headers: &'a HeaderMap) -> impl Iterator<Item = String> + 'a {
        let pairs = headers.get_all(COOKIE).iter().filter_map(|header| header.to_str().ok());
        let values = pairs.flat_map(|header| header.split(';')).filter_map(|pair| pair.trim().split_once('='));
        values.filter(|(name, _)| *name == self.name).map(|(_, value)| self.digest("cookie", value))
    }

    /// Returns the digest of the second secret in a request.
    pub(crate) fn in_page(&self, headers: &HeaderMap) -> Option<String> {
        Some(self.digest(PAGE, headers.get(PAGE)?.to_str().ok()?))
    }

    fn digest(&self, purpose: &str, secret: &str) -> String {
        seal(&self.key, purpose, secret)
    }

    fn header(&self, value: &str, life: u64) -> Option<HeaderValue> {
        let Self { name, path, .. } = self;
        let secure = if self.is_encrypted { "; Secure" } else { "" };
        let header = format!("{name}={value}; HttpOnly; SameSite=Strict; Path={path}; Max-Age={life}{secure}");
        HeaderValue::from_str(&header).ok()
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use axum::http::header::COOKIE;

    use super::{BrowserSecrets, Cookies};

    fn sent(secrets: &BrowserSecrets) -> HeaderMap {
        let pair = secrets.cookie.to_str().unwrap().split(';').next().unwrap().to_owned();
        let mut headers = HeaderMap::from_iter([(COOKIE, format!("a=b; {pair}; c=d").parse().unwrap())]);
        headers.insert(super::PAGE, secrets.page.parse().unwrap());
        headers
    }

    #[test]
    fn secrets_have_their_digests_at_their_own_server_only() {
        let cookies = Cookies::of_port("secret", 8787, false);
        let secrets = cookies.make().unwrap();
        let headers = sent(&secrets);
        assert_eq!(cookies.in_cookies(&headers).collect::<Vec<_>>(), [secrets.digests.cookie.as_str()]);
        assert_eq!(cookies.in_page(&headers).as_ref(), Some(&secrets.digests.page));
        assert_ne!(secrets.digests.cookie, secrets.digests.page);
        for other in [Cookies::of_port("secret", 8788, false), Cookies::of_port("other", 8787, false)] {
            assert_eq!(other.in_cookies(&headers).count(), 0);
            let renamed = Cookies { name: cookies.name.clone(), ..other };
            assert_ne!(renamed.in_cookies(&headers).next().unwrap(), secrets.digests.cookie);
            assert_ne!(renamed.in_page(&headers).unwrap(), secrets.digests.page);
        }
        assert_eq!(cookies.in_page(&HeaderMap::new()), None);
    }

    #[test]
    fn scripts_and_other_sites_never_see_the_cookie() {
        for is_encrypted in [false, true] {
            let made = Cookies::of_port("secret", 8787, is_encrypted).make().unwrap().cookie;
            let text = made.to_str().unwrap();
            assert!(text.contains("; HttpOnly; SameSite=Strict; Path=/; "));
            assert_eq!((text.contains("; Secure"), text.starts_with("__Host-")), (is_encrypted, is_encrypted));
        }
    }

    #[test]
    fn behind_a_proxy_it_is_for_the_path_of_the_board() {
        let made = |url: &str| Cookies::of_public("secret", &url.parse().unwrap()).make().unwrap().cookie;
        for (url, path, prefix) in [
            ("https://board.example/yard", "; Path=/yard; ", "__Secure-"),
            ("https://board.example", "; Path=/; ", "__Host-"),
            ("http://board.example/yard", "; Path=/yard; ", "taskyard-"),
        ] {
            let text = made(url).to_str().unwrap().to_owned();
            assert!(text.contains(path) && text.starts_with(prefix), "{text}");
            assert_eq!(text.contains("; Secure"), url.starts_with("https"));
        }
    }
}
