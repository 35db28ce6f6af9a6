//! The hosts that a server over HTTP answers to: a page whose host name was pointed at this machine gets no answer.

use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{StatusCode, Uri};

/// The names and addresses of this machine for programs on it.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The hosts that a server over HTTP answers to, on any port. Pages of these hosts may call it, pages of others may not.
///
/// Programs send no `Origin`, and browsers always do, with the name of the host in the address of the page. Without this check any web page
/// could call a server on the visitor's machine, once its own host name is pointed at 127.0.0.1.
#[derive(Clone, Debug)]
pub struct Hosts(Option<Vec<String>>);

impl Hosts {
    /// `localhost`, `127.0.0.1` and `[::1]`.
    pub fn loopback() -> Self {
        Self(Some(LOOPBACK.map(str::to_owned).to_vec()))
    }

    /// These and another: a name, or an address (with brackets if it is one of IPv6), without a port.
    #[must_use]
    pub fn and(self, host: impl Into<String>) -> Self {
        let host = host.into();
        Self(self.0.map(|hosts| hosts.into_iter().chain([host]).collect()))
    }

    /// Any host: for a program that judges `Host` and `Origin` itself, before a request gets here.
    pub fn judged_before() -> Self {
        Self(None)
    }

    /// Refuses a request for another host, or from a page of another one.
    pub(crate) fn judge(&self, head: &Parts) -> Result<(), StatusCode> {
        let Some(hosts) = &self.0 else { return Ok(()) };
        let is_ours = |host: &str| hosts.iter().any(|known| known.eq_ignore_ascii_case(host));
        let mut named = head.headers.get_all(HOST).iter();
        let host = match (named.next(), named.next()) {
            (Some(host), None) => host.to_str().ok().and_then(|host| host.parse::<Authority>().ok()),
            // The newer version of HTTP names it in the request line alone.
            (None, _) => head.uri.authority().cloned(),
            (Some(_), Some(_)) => None,
        };
        let is_same = |host: &Authority| head.uri.authority().is_none_or(|named| named.host() == host.host());
        if !host.is_some_and(|host| is_ours(host.host()) && is_same(&host)) {
            return Err(StatusCode::MISDIRECTED_REQUEST);
        }
        let is_own_page = |origin: &str| {
            let origin = origin.parse::<Uri>().ok();
            origin.is_some_and(|origin| origin.scheme().is_some() && origin.host().is_some_and(is_ours))
        };
        let mut origins = head.headers.get_all(ORIGIN).iter();
        if origins.all(|origin| origin.to_str().is_ok_and(is_own_page)) { Ok(()) } else { Err(StatusCode::FORBIDDEN) }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::Hosts;

    fn judged(hosts: &Hosts, uri: &str, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        hosts.judge(&head).map_or_else(|status| status.as_u16(), |()| 200)
    }

    #[test]
    fn only_loopback_hosts_and_their_pages_are_answered() {
        let hosts = Hosts::loopback();
        for host in ["localhost", "LOCALHOST:8787", "127.0.0.1:1", "[::1]:80"] {
            assert_eq!(judged(&hosts, "/mcp", &[("host", host)]), 200, "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example:80", "localhost@evil.example", "", "127.0.0.2"] {
            assert_eq!(judged(&hosts, "/mcp", &[("host", host)]), 421, "{host}");
        }
        assert_eq!(judged(&hosts, "/mcp", &[]), 421);
        assert_eq!(judged(&hosts, "/mcp", &[("host", "localhost"), ("host", "localhost")]), 421);
        assert_eq!(judged(&hosts, "http://evil.example/mcp", &[("host", "localhost")]), 421);
        let from = |origin| judged(&hosts, "/mcp", &[("host", "localhost:8787"), ("origin", origin)]);
        assert_eq!(["http://localhost:3000", "https://127.0.0.1", "http://[::1]:5"].map(from), [200; 3]);
        assert_eq!(
            ["https://evil.example", "null", "localhost", "http://localhost.evil.example", ""].map(from),
            [403; 5]
        );
    }

    #[test]
    fn a_program_may_name_other_hosts_or_judge_itself() {
        let named = Hosts::loopback().and("board.example");
        assert_eq!(judged(&named, "/", &[("host", "board.example"), ("origin", "https://board.example")]), 200);
        assert_eq!(judged(&named, "/", &[("host", "localhost"), ("origin", "https://evil.example")]), 403);
        assert_eq!(judged(&Hosts::judged_before(), "/", &[("host", "evil.example")]), 200);
    }
}
