//! Authentication: identifying the program or browser that sends a request.

use std::path::Path;
use std::sync::Arc;

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderValue};
use taskyard::core::Timestamp;
use taskyard_mcp::Access;
use tokio_util::sync::CancellationToken;

use super::cookies::{BrowserSecrets, Cookies};
use super::{LiveTokens, Rates};
use crate::tokens::{LinkTerms, Scope, ServerToken, TokenBook, TokenProblem};
use taskyard_mcp::serving::spawn;

/// Rate and burst of token lookups for addresses that have sent too many invalid tokens.
const LOOKUPS: (u32, u32) = (10, 1);

/// The authenticated sender of a request.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// The name of the token or of the browser's link; `None` for the server's own token.
    pub(crate) name: Option<String>,
    pub(crate) scope: Scope,
    /// What it may do once it has proved that our page sends the request. Programs need no such proof.
    pub(crate) granted: Scope,
    /// Whether it is a program, or a browser that has proved that our page sends the request.
    pub(crate) is_proved: bool,
    /// The token it depends on; `None` for the server's own.
    pub(crate) token: Option<String>,
    pub(crate) means: Means,
    /// The name of the browser; `None` for programs.
    pub(crate) browser: Option<String>,
    /// Distinguishes it from all other identities, including a new token with an old name.
    key: String,
    /// Cancelled when it is revoked; whatever it started then ends.
    pub(crate) end: CancellationToken,
}

impl Identity {
    pub(crate) fn access(&self) -> Access {
        let (key, name, end) = (self.key.clone(), self.name.clone(), self.end.clone());
        Access { scope: self.scope.into(), key, name, end }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// A token, which no browser sends by itself.
    Token,
    /// The cookie set by a link. Browsers send it with every request, whichever page makes it, and to every port of
    /// the host. Alone it only permits reading; together with the second secret, which only our own pages have, it
    /// permits everything granted.
    Cookie,
}

#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    token: ServerToken,
    named: Arc<TokenBook>,
    /// Named tokens in use.
    live: Arc<LiveTokens>,
    /// Limits lookups of named tokens for clients that send too many invalid ones.
    lookups: Arc<Rates<()>>,
    cookies: Cookies,
}

/// How much effort to spend on authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    Full,
    /// Do not look up a token that was unknown at the last read, because its address has sent too many invalid ones.
    Little,
}

impl Credentials {
    /// Returns the credentials accepted by a server: its own token, the named ones in the data directory, and its
    /// cookies.
    pub(crate) fn new(token: ServerToken, data: &Path, cookies: Cookies) -> Self {
        let named = Arc::new(TokenBook::of(data));
        let live = LiveTokens::of(Arc::clone(&named));
        Self { token, named, live, lookups: Arc::new(Rates::new(LOOKUPS.0, LOOKUPS.1)), cookies }
    }

    pub(crate) fn token(&self) -> &ServerToken {
        &self.token
    }

    /// Signs a browser in by a link with these terms and returns its secrets. May access the disk.
    pub(crate) fn let_browser_in(&self, agent: &str, terms: LinkTerms) -> Option<BrowserSecrets> {
        let secrets = self.cookies.make()?;
        let recorded = self.named.let_browser_in(secrets.digests.clone(), agent, terms, now());
        recorded.inspect_err(|problem| tracing::error!(?problem, "a browser cannot be recorded")).ok()?;
        Some(secrets)
    }

    /// Signs a browser out. Returns the header that deletes its cookie. May access the disk.
    pub(crate) fn let_browser_go(&self, name: &str) -> Result<Option<HeaderValue>, TokenProblem> {
        match self.named.revoke(name) {
            Ok(()) | Err(TokenProblem::Unknown) => Ok(self.cookies.forget()),
            Err(problem) => Err(problem),
        }
    }

    /// Authenticates a request, or returns `None`. If it carries a token, the token must be valid, whatever cookie
    /// comes with it.
    pub(crate) async fn identify(&self, headers: &HeaderMap, effort: Effort) -> Option<Identity> {
        let mut given = headers.get_all(AUTHORIZATION).iter();
        match (given.next(), given.next()) {
            (None, _) => self.browser(headers, effort).await,
            (Some(one), None) => self.program(bearer(one)?, effort).await,
            (Some(_), Some(_)) => None,
        }
    }

    async fn browser(&self, headers: &HeaderMap, effort: Effort) -> Option<Identity> {
        let cookies: Vec<String> = self.cookies.in_cookies(headers).collect();
        let are_known = || cookies.iter().any(|cookie| self.named.has_known_browser(cookie));
        if cookies.is_empty() || effort == Effort::Little && !are_known() && !self.lookups.take(&()) {
            return None;
        }
        let (named, now) = (Arc::clone(&self.named), now());
        // Reading the file may block.
        let found = spawn(move || {
            let found = cookies.iter().map(|cookie| named.find_browser(cookie, now));
            found.filter_map(Result::transpose).next().transpose()
        });
        let found = found.await.ok()?;
        let found = found.inspect_err(|problem| tracing::error!(?problem, "browsers are not known")).ok()??;
        let is_page = self.cookies.in_page(headers).is_some_and(|page| found.is_page(&page));
        let granted = found.scope();
        let (key, end) = (found.cookie.clone(), self.live.end_of(&found.cookie));
        Some(Identity {
            name: found.actor,
            scope: if is_page { granted } else { Scope::Read },
            granted,
            is_proved: is_page,
            token: found.token,
            means: Means::Cookie,
            browser: Some(found.name),
            key,
            end,
        })
    }

    async fn program(&self, token: &str, effort: Effort) -> Option<Identity> {
        if self.token.is(token) {
            let (key, end) = ("server".to_owned(), CancellationToken::new());
            return Some(Identity {
                name: None,
                scope: Scope::All,
                granted: Scope::All,
                is_proved: true,
                token: None,
                means: Means::Token,
                browser: None,
                key,
                end,
            });
        }
        // A token created since the last read becomes known with the next one.
        if effort == Effort::Little && !self.named.has_known(token) && !self.lookups.take(&()) {
            return None;
        }
        let (named, token) = (Arc::clone(&self.named), token.to_owned());
        let now = now();
        // Reading the file may block.
        let found = spawn(move || named.find(&token, now)).await.ok()?;
        let found = found.inspect_err(|problem| tracing::error!(?problem, "tokens by name are not known")).ok()??;
        let (key, end) = (found.digest().to_owned(), self.live.end_of(found.digest()));
        Some(Identity {
            name: Some(found.name.clone()),
            scope: found.scope,
            granted: found.scope,
            is_proved: true,
            token: Some(found.name),
            means: Means::Token,
            browser: None,
            key,
            end,
        })
    }
}

fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}

fn bearer(header: &HeaderValue) -> Option<&str> {
    let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use axum::http::header::{AUTHORIZATION, COOKIE};

    use super::{Cookies, Credentials, Effort, LinkTerms, Means, Scope};
    use crate::tokens::ServerToken;

    #[test]
    fn only_a_sole_token_or_a_cookie_grants_access() {
        let data = tempfile::tempdir().unwrap();
        let token = ServerToken::load_or_make(data.path()).unwrap();
        let secret = token.secret().to_owned();
        let cookies = Cookies::of_port(&secret, 8787, false);
        let credentials = Credentials::new(token, data.path(), cookies);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let identify = |pairs: &[(axum::http::HeaderName, String)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(name, value.parse().unwrap());
            }
            runtime
                .block_on(credentials.identify(&headers, Effort::Full))
                .map(|identity| (identity.means, identity.scope))
        };
        let bearer = |text: &str| (AUTHORIZATION, text.replace("TOKEN", &secret));
        assert_eq!(identify(&[bearer("bearer  TOKEN")]), Some((Means::Token, Scope::All)));
        for proof in ["Bearer", "Bearer x", "Basic TOKEN", "TOKEN", "Bearer TOKENx", "", "Bearer ty_00"] {
            assert_eq!(identify(&[bearer(proof)]), None, "{proof}");
        }
        assert_eq!(identify(&[bearer("Bearer TOKEN"), bearer("Bearer TOKEN")]), None);
        let terms = |scope| LinkTerms { actor: Some("uma".into()), scope, token: None };
        let made = credentials.let_browser_in("a test", terms(Scope::All)).unwrap();
        let cookie = (COOKIE, made.cookie.to_str().unwrap().split(';').next().unwrap().to_owned());
        let page = |text: &str| (axum::http::HeaderName::from_static("taskyard-page"), text.to_owned());
        let (reads, does) = (Some((Means::Cookie, Scope::Read)), Some((Means::Cookie, Scope::All)));
        assert_eq!(identify(std::slice::from_ref(&cookie)), reads);
        assert_eq!(identify(&[cookie.clone(), page(&made.page)]), does);
        let other = credentials.let_browser_in("another", terms(Scope::Work)).unwrap();
        let cookie_of_other = (COOKIE, other.cookie.to_str().unwrap().split(';').next().unwrap().to_owned());
        let works = Some((Means::Cookie, Scope::Work));
        assert_eq!(identify(&[cookie_of_other, page(&other.page)]), works, "a link gives its own scope");
        for wrong in ["", &other.page, &made.page[1..], &made.digests.page] {
            assert_eq!(identify(&[cookie.clone(), page(wrong)]), reads, "{wrong}");
        }
        assert_eq!(identify(&[page(&made.page)]), None, "the second secret is none without the first");
        assert_eq!(identify(&[cookie, bearer("Bearer wrong")]), None, "a wrong token is not made good by a cookie");
        assert_eq!(identify(&[]), None);
    }
}
