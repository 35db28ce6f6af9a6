//! Checks that a request is meant for this server and comes from a program or from our own pages.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};

use crate::public_url::PublicUrl;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

/// Checks the host and the origin of requests.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    address: SocketAddr,
    scheme: Scheme,
    /// Additional host names it accepts.
    names: Vec<String>,
    /// The public address, if behind a proxy.
    public: Option<PublicUrl>,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The request was meant for another host: the name of a foreign site may have been pointed at us (DNS
    /// rebinding).
    Host,
    /// The request comes from a foreign page.
    Origin,
    /// A browser's request that changes something does not name its page.
    NoOrigin,
    Token,
    /// The token is valid, but its scope is too narrow.
    Scope,
    /// The cookie is valid, but the second secret, which only our own pages have, is missing.
    Page,
    /// Too many invalid tokens came from the address.
    TooMany,
}

impl Scheme {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    const fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl Guard {
    /// Returns the guard of a server with these host names and public address.
    pub(crate) fn new(address: SocketAddr, scheme: Scheme, names: Vec<String>, public: Option<PublicUrl>) -> Self {
        Self { address, scheme, names, public }
    }

    /// Checks for whom a request is meant and where it comes from.
    pub(crate) fn judge(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Refused> {
        let mut hosts = headers.get_all(HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().ok().and_then(|host| host.parse().ok()),
            (None, _) | (Some(_), Some(_)) => None,
        };
        // The request line may name a host, too (`GET http://host/ HTTP/1.1`), and some programs use that one.
        let is_target_ours = uri.authority().is_none_or(|host| self.is_ours(host))
            && uri.scheme_str().is_none_or(|scheme| scheme == self.scheme.as_str());
        if !is_target_ours || !host.is_some_and(|host: Authority| self.is_ours(&host)) {
            return Err(Refused::Host);
        }
        let is_own = headers.get_all(ORIGIN).iter().all(|origin| self.is_our_page(origin));
        if !is_own || comes_from_elsewhere(method, headers) {
            return Err(Refused::Origin);
        }
        Ok(())
    }

    /// Returns whether a host is this server: one of its addresses or configured names. Any other name may have been
    /// pointed at us by a stranger.
    fn is_ours(&self, host: &Authority) -> bool {
        // A `Host` header contains no user name.
        if host.as_str().contains('@') {
            return false;
        }
        if self.public.as_ref().is_some_and(|public| public.is_host(host.host(), host.port_u16())) {
            return true;
        }
        if host.port_u16().unwrap_or(self.scheme.port()) != self.address.port() {
            return false;
        }
        let name = host.host().trim_start_matches('[').trim_end_matches(']');
        match name.parse::<IpAddr>() {
            Ok(address) => {
                let (address, own) = (address.to_canonical(), self.address.ip().to_canonical());
                address == own || address.is_loopback() || own.is_unspecified()
            }
            Err(_) => {
                name.eq_ignore_ascii_case("localhost") || self.names.iter().any(|own| own.eq_ignore_ascii_case(name))
            }
        }
    }

    fn is_our_page(&self, origin: &HeaderValue) -> bool {
        let origin: Option<Uri> = origin.to_str().ok().and_then(|origin| origin.parse().ok());
        let Some((scheme, host)) = origin.as_ref().and_then(|origin| Some((origin.scheme_str()?, origin.authority()?)))
        else {
            return false;
        };
        match &self.public {
            // Its pages are reachable through the proxy only.
            Some(public) => !host.as_str().contains('@') && public.is_origin(scheme, host.host(), host.port_u16()),
            None => scheme == self.scheme.as_str() && self.is_ours(host),
        }
    }
}

/// Returns whether a browser reports that a foreign page, including one on another port of this host, makes the
/// request. Following a link to our page is allowed, since that changes nothing.
fn comes_from_elsewhere(method: &Method, headers: &HeaderMap) -> bool {
    let said = |name: &str| headers.get(name).map(HeaderValue::as_bytes);
    let is_elsewhere = said("sec-fetch-site").is_some_and(|site| site != b"same-origin" && site != b"none");
    let is_followed = *method == Method::GET
        && said("sec-fetch-mode") == Some(b"navigate")
        && said("sec-fetch-dest") == Some(b"document");
    is_elsewhere && !is_followed
}

impl Refused {
    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::Origin | Self::NoOrigin | Self::Scope | Self::Page => StatusCode::FORBIDDEN,
            Self::Token => StatusCode::UNAUTHORIZED,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
        }
    }

    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::Host => "foreign_host",
            Self::Origin | Self::NoOrigin => "foreign_origin",
            Self::Token => "unauthorized",
            Self::Scope => "scope",
            Self::Page => "page_unproved",
            Self::TooMany => "too_many_requests",
        }
    }

    /// Returns what to do next, unless the message itself says so.
    pub(crate) const fn hint(self) -> Option<&'static str> {
        match self {
            Self::Page => Some("open a new link: `taskyard serve --open`, or `POST /api/v1/links` with a token"),
            Self::Host | Self::Origin | Self::NoOrigin | Self::Token | Self::Scope | Self::TooMany => None,
        }
    }

    /// Returns the message.
    pub(crate) const fn advice(self) -> &'static str {
        match self {
            Self::Host => {
                "this server answers only to its address, to localhost and to the names given with `serve --host` and \
                 `--public-url`"
            }
            Self::Origin => "this server accepts requests only from its own pages",
            Self::NoOrigin => "a browser must state the page from which it makes a change",
            Self::Token => "send `Authorization: Bearer TOKEN`; `taskyard serve` shows where the token is",
            Self::Scope => "this token does not allow that; create one with a wider `--scope`",
            Self::Page => {
                "this browser is read-only: the request does not prove that it comes from a page of this server"
            }
            Self::TooMany => "too many wrong tokens came from this address; wait a second",
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderName, Method, Uri};

    use super::{Guard, Refused, Scheme};

    fn judged(bind: &str, headers: &[(&str, &str)]) -> Result<(), Refused> {
        judged_at("/mcp", bind, headers)
    }

    fn judged_at(target: &str, bind: &str, headers: &[(&str, &str)]) -> Result<(), Refused> {
        judged_by(&guard(bind, Scheme::Http), &Method::GET, target, headers)
    }

    fn guard(bind: &str, scheme: Scheme) -> Guard {
        Guard::new(bind.parse().unwrap(), scheme, vec!["yard.example".to_owned()], None)
    }

    fn judged_by(guard: &Guard, method: &Method, target: &str, headers: &[(&str, &str)]) -> Result<(), Refused> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        guard.judge(method, &target.parse::<Uri>().unwrap(), &map)
    }

    #[test]
    fn only_our_own_hosts_are_answered() {
        let local = |host| judged("127.0.0.1:8787", &[("host", host)]);
        for host in ["127.0.0.1:8787", "localhost:8787", "LOCALHOST:8787", "[::1]:8787", "Yard.Example:8787"] {
            assert_eq!(local(host), Ok(()), "{host}");
        }
        for host in [
            "evil.example:8787",
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost.evil.example:8787",
            "yard.example.evil.example:8787",
            "10.0.0.7:8787",
            "a@localhost:8787",
            "",
        ] {
            assert_eq!(local(host), Err(Refused::Host), "{host}");
        }
        assert_eq!(judged("127.0.0.1:8787", &[]), Err(Refused::Host));
        assert_eq!(judged("127.0.0.1:8787", &[("host", "localhost:8787"), ("host", "x:8787")]), Err(Refused::Host));
        assert_eq!(judged("0.0.0.0:8787", &[("host", "10.0.0.7:8787")]), Ok(()));
        assert_eq!(judged("0.0.0.0:8787", &[("host", "evil.example:8787")]), Err(Refused::Host));
        assert_eq!(judged("127.0.0.1:80", &[("host", "localhost")]), Ok(()));
    }

    #[test]
    fn a_host_in_the_request_line_is_held_to_the_same() {
        let at = |target, host| judged_at(target, "127.0.0.1:8787", &[("host", host)]);
        assert_eq!(at("http://localhost:8787/mcp", "127.0.0.1:8787"), Ok(()));
        assert_eq!(at("http://[::ffff:127.0.0.1]:8787/mcp", "[::1]:8787"), Ok(()));
        for (target, host) in [
            ("http://evil.example/mcp", "localhost:8787"),
            ("http://evil.example:8787/mcp", "localhost:8787"),
            ("http://a@localhost:8787/mcp", "localhost:8787"),
            ("https://localhost:8787/mcp", "localhost:8787"),
            ("http://localhost:8787/mcp", "evil.example:8787"),
            ("evil.example:8787", "localhost:8787"),
        ] {
            assert_eq!(at(target, host), Err(Refused::Host), "{target} {host}");
        }
        let bare = judged_at("http://localhost:8787/mcp", "127.0.0.1:8787", &[]);
        assert_eq!(bare, Err(Refused::Host), "a request without a Host");
    }

    #[test]
    fn only_our_own_pages_are_answered() {
        let from = |origin| judged("127.0.0.1:8787", &[("host", "localhost:8787"), ("origin", origin)]);
        assert_eq!(from("http://localhost:8787"), Ok(()));
        for origin in [
            "https://evil.example",
            "http://localhost:3000",
            "null",
            "https://localhost:8787",
            "http://localhost:8787.evil.example",
        ] {
            assert_eq!(from(origin), Err(Refused::Origin), "{origin}");
        }
    }

    #[test]
    fn over_tls_pages_and_targets_are_encrypted_ones() {
        let guard = guard("0.0.0.0:443", Scheme::Https);
        let from = |origin| judged_by(&guard, &Method::POST, "/x", &[("host", "yard.example"), ("origin", origin)]);
        assert_eq!(from("https://yard.example"), Ok(()));
        assert_eq!(from("http://yard.example"), Err(Refused::Origin));
    }

    #[test]
    fn behind_a_proxy_its_host_and_its_pages_are_ours() {
        let public = Some("https://board.example/yard".parse().unwrap());
        let guard = Guard::new("127.0.0.1:8787".parse().unwrap(), Scheme::Http, Vec::new(), public);
        let from = |host, origin| judged_by(&guard, &Method::POST, "/x", &[("host", host), ("origin", origin)]);
        for host in ["board.example", "board.example:443", "127.0.0.1:8787"] {
            assert_eq!(from(host, "https://board.example"), Ok(()), "{host}");
        }
        for host in ["evil.example", "board.example:8787", "board.example.evil.example", "a@board.example"] {
            assert_eq!(from(host, "https://board.example"), Err(Refused::Host), "{host}");
        }
        for origin in ["http://board.example", "https://board.example:8443", "http://127.0.0.1:8787", "null"] {
            assert_eq!(from("board.example", origin), Err(Refused::Origin), "{origin}");
        }
    }

    #[test]
    fn cross_site_request_is_refused_unless_a_link_was_followed() {
        let guard = guard("127.0.0.1:8787", Scheme::Http);
        let from = |method: Method, site: &str, mode: &str, dest: &str| {
            let said = [
                ("host", "localhost:8787"),
                ("sec-fetch-site", site),
                ("sec-fetch-mode", mode),
                ("sec-fetch-dest", dest),
            ];
            judged_by(&guard, &method, "/", &said)
        };
        assert_eq!(from(Method::GET, "same-origin", "cors", "empty"), Ok(()));
        assert_eq!(from(Method::GET, "none", "navigate", "document"), Ok(()));
        assert_eq!(from(Method::GET, "cross-site", "navigate", "document"), Ok(()));
        for (method, site, mode, dest) in [
            (Method::GET, "same-site", "no-cors", "script"),
            (Method::GET, "cross-site", "no-cors", "image"),
            (Method::GET, "cross-site", "navigate", "iframe"),
            (Method::POST, "same-site", "navigate", "document"),
        ] {
            assert_eq!(from(method, site, mode, dest), Err(Refused::Origin), "{site} {mode} {dest}");
        }
    }
}
