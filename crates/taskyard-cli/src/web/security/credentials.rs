//! Who sends a request: a program with a token, or a browser that was opened by a link.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderValue};
use taskyard::core::Timestamp;

use super::Cookies;
use crate::tokens::{Scope, ServerToken, TokenBook};
use crate::web::workers::spawn;

/// Who sends a request, by what it proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The name of the token; none of the server's own token and of browsers.
    pub(crate) name: Option<String>,
    /// What it may do.
    pub(crate) scope: Scope,
    /// How it proved that.
    pub(crate) means: Means,
}

/// How a client proves that it may come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// A token: no browser sends one by itself.
    Token,
    /// The cookie that a link gave: browsers send it with every request, whichever page makes it.
    Cookie,
}

/// What lets a client in.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    token: ServerToken,
    named: Arc<TokenBook>,
    cookies: Cookies,
}

impl Credentials {
    /// Returns what lets a client in at a port: the server's own token, those by name in the data directory, and its cookies.
    pub(crate) fn new(token: ServerToken, data: &Path, port: u16, is_encrypted: bool) -> Self {
        let cookies = Cookies::of(token.secret(), port, is_encrypted);
        Self { token, named: Arc::new(TokenBook::of(data)), cookies }
    }

    /// Returns the server's own token.
    pub(crate) fn token(&self) -> &ServerToken {
        &self.token
    }

    /// Makes the cookie of a browser, as the header that sets it.
    pub(crate) fn cookie(&self) -> Option<HeaderValue> {
        self.cookies.make(since_1970())
    }

    /// Finds out who asks; none where nothing proves it. A token that is given has to be right, whatever cookie comes with it.
    pub(crate) async fn identify(&self, headers: &HeaderMap) -> Option<Identity> {
        let mut given = headers.get_all(AUTHORIZATION).iter();
        match (given.next(), given.next()) {
            (None, _) => self.browser(headers),
            (Some(one), None) => self.program(bearer(one)?).await,
            (Some(_), Some(_)) => None,
        }
    }

    fn browser(&self, headers: &HeaderMap) -> Option<Identity> {
        let identity = Identity { name: None, scope: Scope::All, means: Means::Cookie };
        self.cookies.are_in(headers, since_1970()).then_some(identity)
    }

    async fn program(&self, token: &str) -> Option<Identity> {
        if self.token.is(token) {
            return Some(Identity { name: None, scope: Scope::All, means: Means::Token });
        }
        let (named, token) = (Arc::clone(&self.named), token.to_owned());
        let now = Timestamp(jiff::Timestamp::now().as_millisecond());
        // Looking at the file may wait for the disk.
        let found = spawn(move || named.find(&token, now)).await.ok()?;
        let found = found.inspect_err(|problem| tracing::error!(?problem, "tokens by name are not known")).ok()??;
        Some(Identity { name: Some(found.name), scope: found.scope, means: Means::Token })
    }
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn bearer(header: &HeaderValue) -> Option<&str> {
    let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use axum::http::header::{AUTHORIZATION, COOKIE};

    use super::{Credentials, Means, Scope};
    use crate::tokens::ServerToken;

    #[test]
    fn only_a_token_that_is_given_alone_or_a_cookie_lets_somebody_in() {
        let data = tempfile::tempdir().unwrap();
        let token = ServerToken::load_or_make(data.path()).unwrap();
        let secret = token.secret().to_owned();
        let credentials = Credentials::new(token, data.path(), 8787, false);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let identify = |pairs: &[(axum::http::HeaderName, String)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(name, value.parse().unwrap());
            }
            runtime.block_on(credentials.identify(&headers)).map(|identity| (identity.means, identity.scope))
        };
        let bearer = |text: &str| (AUTHORIZATION, text.replace("TOKEN", &secret));
        assert_eq!(identify(&[bearer("bearer  TOKEN")]), Some((Means::Token, Scope::All)));
        for proof in ["Bearer", "Bearer x", "Basic TOKEN", "TOKEN", "Bearer TOKENx", "", "Bearer ty_00"] {
            assert_eq!(identify(&[bearer(proof)]), None, "{proof}");
        }
        assert_eq!(identify(&[bearer("Bearer TOKEN"), bearer("Bearer TOKEN")]), None);
        let made = credentials.cookie().unwrap();
        let cookie = (COOKIE, made.to_str().unwrap().split(';').next().unwrap().to_owned());
        assert_eq!(identify(std::slice::from_ref(&cookie)), Some((Means::Cookie, Scope::All)));
        assert_eq!(identify(&[cookie, bearer("Bearer wrong")]), None, "a wrong token is not made good by a cookie");
        assert_eq!(identify(&[]), None);
    }
}
