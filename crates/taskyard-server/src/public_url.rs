//! The public address of a server behind a proxy.

use std::fmt;
use std::str::FromStr;

/// The first segments of our own paths. A prefix that begins with one would be ambiguous.
const OURS: [&str; 8] = ["api", "assets", "favicon.ico", "healthz", "lists", "mcp", "metrics", "open"];

/// The public address of a server behind a proxy, such as `https://board.example/yard`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    is_encrypted: bool,
    /// The name or IP address, in lower case.
    host: String,
    port: u16,
    /// The path prefix: empty, or for example `/yard`.
    base: String,
}

impl PublicUrl {
    /// Returns whether the public address uses HTTPS.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// Returns the path prefix: empty, or a path that begins with a slash and does not end with one.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Returns whether a `Host` header names this address. Some proxies omit the port.
    pub(crate) fn is_host(&self, host: &str, port: Option<u16>) -> bool {
        host.eq_ignore_ascii_case(&self.host) && port.is_none_or(|port| port == self.port)
    }

    /// Returns whether an origin is this address.
    pub(crate) fn is_origin(&self, scheme: &str, host: &str, port: Option<u16>) -> bool {
        let (own, usual) = if self.is_encrypted { ("https", 443) } else { ("http", 80) };
        scheme == own && host.eq_ignore_ascii_case(&self.host) && port.unwrap_or(usual) == self.port
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, usual) = if self.is_encrypted { ("https", 443) } else { ("http", 80) };
        write!(formatter, "{scheme}://{}", self.host)?;
        if self.port != usual {
            write!(formatter, ":{}", self.port)?;
        }
        formatter.write_str(&self.base)
    }
}

impl FromStr for PublicUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (is_encrypted, rest) = match text.split_once("://") {
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            _ => return Err("it begins with `https://` or `http://`".to_owned()),
        };
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let (host, port) = match authority.rsplit_once(':') {
            // An IPv6 address such as `[::1]` contains colons itself.
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().map_err(|_| format!("`{}` is not a port number", port.escape_debug()))?)
            }
            _ => (authority, if is_encrypted { 443 } else { 80 }),
        };
        let is_of_name = |character: char| character.is_ascii_alphanumeric() || "-._".contains(character);
        let is_address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_address = is_address.is_some_and(|host| host.parse::<std::net::Ipv6Addr>().is_ok());
        if !is_address && (host.is_empty() || !host.chars().all(is_of_name)) {
            return Err(format!("`{}` is not a host name", host.escape_debug()));
        }
        let base = path.strip_suffix('/').unwrap_or(path);
        for part in base.split('/').skip(1) {
            let is_plain = |character: char| character.is_ascii_alphanumeric() || "-._~".contains(character);
            if part.is_empty() || part == "." || part == ".." || !part.chars().all(is_plain) {
                return Err("its path may contain only letters, digits and `-._~`, and no query".to_owned());
            }
        }
        let first = base.split('/').nth(1).unwrap_or_default();
        if OURS.contains(&first) {
            return Err(format!("its path begins like a path of Taskyard (`/{first}`); choose another"));
        }
        Ok(Self { is_encrypted, host: host.to_ascii_lowercase(), port, base: base.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::PublicUrl;

    #[test]
    fn a_public_address_is_read_and_written() {
        for (text, written, base) in [
            ("https://Board.Example", "https://board.example", ""),
            ("https://board.example:443/yard/", "https://board.example/yard", "/yard"),
            ("http://127.0.0.1:8080/a/b", "http://127.0.0.1:8080/a/b", "/a/b"),
            ("http://[::1]:8080/", "http://[::1]:8080", ""),
        ] {
            let read: PublicUrl = text.parse().unwrap();
            assert_eq!((read.to_string().as_str(), read.base()), (written, base), "{text}");
        }
        for wrong in [
            "board.example",
            "ftp://board.example",
            "https://",
            "https://a@b",
            "https://board.example/a?b",
            "https://board.example//a",
            "https://board.example/../a",
            "https://board.example/{list}",
            "https://board.example/lists",
            "https://board.example/api/yard",
            "https://board.example:x",
        ] {
            assert!(wrong.parse::<PublicUrl>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_its_own_host_and_origin_are_its_own() {
        let public: PublicUrl = "https://board.example:8443/yard".parse().unwrap();
        assert!(public.is_host("board.example", Some(8443)) && public.is_host("BOARD.example", None));
        assert!(!public.is_host("board.example", Some(443)) && !public.is_host("evil.example", Some(8443)));
        assert!(public.is_origin("https", "board.example", Some(8443)));
        for (scheme, host, port) in [
            ("https", "board.example", None),
            ("http", "board.example", Some(8443)),
            ("https", "evil.example", Some(8443)),
        ] {
            assert!(!public.is_origin(scheme, host, port), "{scheme} {host} {port:?}");
        }
    }
}
