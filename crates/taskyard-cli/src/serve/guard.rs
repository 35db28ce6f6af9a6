//! Who may come in: programs that know the token, and pages of our own.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};

use super::token::Token;

/// Who may come in.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    address: SocketAddr,
    token: Token,
}

/// Why somebody may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The request was meant for another host: a page elsewhere has its name point at us.
    Host,
    /// The request comes from a page that is not ours.
    Origin,
    /// The token is missing or wrong.
    Token,
}

impl Guard {
    /// Returns the guard of a server that listens there.
    pub(super) fn new(address: SocketAddr, token: Token) -> Self {
        Self { address, token }
    }

    /// Returns the token.
    pub(super) fn token(&self) -> &Token {
        &self.token
    }

    /// Judges a request.
    pub(super) fn judge(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refused> {
        let mut hosts = headers.get_all(HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().ok().and_then(|host| host.parse().ok()),
            (None, _) | (Some(_), Some(_)) => None,
        };
        // A request line may name a host, too (`GET http://host/ HTTP/1.1`), and some programs go by that one.
        let is_target_ours = uri.authority().is_none_or(|host| self.is_ours(host))
            && uri.scheme_str().is_none_or(|scheme| scheme == "http");
        if !is_target_ours || !host.is_some_and(|host: Authority| self.is_ours(&host)) {
            return Err(Refused::Host);
        }
        if !headers.get_all(ORIGIN).iter().all(|origin| self.is_our_page(origin)) {
            return Err(Refused::Origin);
        }
        let mut given = headers.get_all(AUTHORIZATION).iter().map(bearer);
        match (given.next(), given.next()) {
            (Some(Some(token)), None) if self.token.is(token) => Ok(()),
            _ => Err(Refused::Token),
        }
    }

    /// Tells whether a host is this server by an address, not by a name that somebody else may have pointed at us.
    fn is_ours(&self, host: &Authority) -> bool {
        // A name before an `@` is no part of a Host.
        if host.as_str().contains('@') || host.port_u16().unwrap_or(80) != self.address.port() {
            return false;
        }
        let name = host.host().trim_start_matches('[').trim_end_matches(']');
        match name.parse::<IpAddr>() {
            Ok(address) => {
                let (address, own) = (address.to_canonical(), self.address.ip().to_canonical());
                address == own || address.is_loopback() || own.is_unspecified()
            }
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        }
    }

    fn is_our_page(&self, origin: &HeaderValue) -> bool {
        let origin: Option<Uri> = origin.to_str().ok().and_then(|origin| origin.parse().ok());
        origin.is_some_and(|origin| {
            origin.scheme_str() == Some("http") && origin.authority().is_some_and(|host| self.is_ours(host))
        })
    }
}

impl Refused {
    /// Returns the status of the answer.
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::Origin => StatusCode::FORBIDDEN,
            Self::Token => StatusCode::UNAUTHORIZED,
        }
    }

    /// Returns what to do about it.
    pub(super) fn advice(self) -> &'static str {
        match self {
            Self::Host => "this server answers to its address and to localhost only\n",
            Self::Origin => "this server answers to its own pages only\n",
            Self::Token => "send `Authorization: Bearer TOKEN`; `taskyard serve` says where the token is\n",
        }
    }
}

fn bearer(header: &HeaderValue) -> Option<&str> {
    let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderName, Uri};

    use super::super::token::Token;
    use super::{Guard, Refused};

    fn judged(bind: &str, headers: &[(&str, &str)]) -> Result<(), Refused> {
        judged_at("/mcp", bind, headers)
    }

    fn judged_at(target: &str, bind: &str, headers: &[(&str, &str)]) -> Result<(), Refused> {
        let data = tempfile::tempdir().unwrap();
        let token = Token::load_or_make(data.path()).unwrap();
        let secret = std::fs::read_to_string(token.path()).unwrap();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let value = value.replace("TOKEN", secret.trim());
            map.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        Guard::new(bind.parse().unwrap(), token).judge(&target.parse::<Uri>().unwrap(), &map)
    }

    const PROOF: (&str, &str) = ("authorization", "Bearer TOKEN");

    #[test]
    fn only_our_own_hosts_are_answered() {
        let local = |host| judged("127.0.0.1:8787", &[("host", host), PROOF]);
        for host in ["127.0.0.1:8787", "localhost:8787", "LOCALHOST:8787", "[::1]:8787"] {
            assert_eq!(local(host), Ok(()), "{host}");
        }
        for host in [
            "evil.example:8787",
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost.evil.example:8787",
            "10.0.0.7:8787",
            "a@localhost:8787",
            "",
        ] {
            assert_eq!(local(host), Err(Refused::Host), "{host}");
        }
        assert_eq!(judged("127.0.0.1:8787", &[PROOF]), Err(Refused::Host));
        assert_eq!(
            judged("127.0.0.1:8787", &[("host", "localhost:8787"), ("host", "x:8787"), PROOF]),
            Err(Refused::Host)
        );
        assert_eq!(judged("0.0.0.0:8787", &[("host", "10.0.0.7:8787"), PROOF]), Ok(()));
        assert_eq!(judged("0.0.0.0:8787", &[("host", "evil.example:8787"), PROOF]), Err(Refused::Host));
        assert_eq!(judged("127.0.0.1:80", &[("host", "localhost"), PROOF]), Ok(()));
    }

    #[test]
    fn a_host_in_the_request_line_is_held_to_the_same() {
        let at = |target, host| judged_at(target, "127.0.0.1:8787", &[("host", host), PROOF]);
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
        let bare = judged_at("http://localhost:8787/mcp", "127.0.0.1:8787", &[PROOF]);
        assert_eq!(bare, Err(Refused::Host), "a request without a Host");
    }

    #[test]
    fn only_our_own_pages_are_answered() {
        let from = |origin| judged("127.0.0.1:8787", &[("host", "localhost:8787"), ("origin", origin), PROOF]);
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
    fn only_the_token_opens() {
        let with = |proof| judged("127.0.0.1:8787", &[("host", "localhost:8787"), ("authorization", proof)]);
        assert_eq!(with("bearer  TOKEN"), Ok(()));
        for proof in ["Bearer", "Bearer x", "Basic TOKEN", "TOKEN", "Bearer TOKENx", ""] {
            assert_eq!(with(proof), Err(Refused::Token), "{proof}");
        }
        assert_eq!(judged("127.0.0.1:8787", &[("host", "localhost:8787")]), Err(Refused::Token));
        assert_eq!(judged("127.0.0.1:8787", &[("host", "localhost:8787"), PROOF, PROOF]), Err(Refused::Token));
    }
}
