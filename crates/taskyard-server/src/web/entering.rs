//! Admission of requests: host and origin, authentication, and rate limits.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE, ORIGIN, RETRY_AFTER, SET_COOKIE, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use maud::Markup;
use tokio_util::sync::CancellationToken;

use super::api::refusal;
use super::pages::{closed, is_style, opening, problem};
use super::security::{BrowserSecrets, Effort, Identity, Means, Refused, secured};
use super::site::Site;
use crate::connections::{Standing, Visit};

/// The address of the client of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// The path of the health check, which needs no authentication.
pub(crate) const HEALTH: &str = "/healthz";
/// The path prefix of single-use links.
pub(crate) const OPEN: &str = "/open/";

/// Admits a request or refuses it.
pub(crate) async fn let_in(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let (mut head, body) = request.into_parts();
    let form = RefusalForm::of(&head);
    match judge(&site, &head).await {
        Ok(identity) => {
            // A request that needed no authentication leaves the client unauthenticated.
            if let Some(identity) = identity {
                if let Some(visit) = head.extensions.get::<Visit>() {
                    visit.is_now(Standing::Busy);
                }
                let end = identity.end.clone();
                head.extensions.insert(identity.access());
                head.extensions.insert(identity);
                let response = tokio::select! {
                    biased;
                    response = next.run(Request::from_parts(head, body)) => ending_with(response, end),
                    () = end.cancelled() => turned_away(&site, Refused::Token, form),
                };
                return secured(response);
            }
            secured(next.run(Request::from_parts(head, body)).await)
        }
        Err(refused) => {
            tracing::warn!(?refused, "a request was turned away");
            site.tally().note_refused(refused.code());
            secured(turned_away(&site, refused, form))
        }
    }
}

/// Judges a request. Returns the identity of its caller, or `None` if it needs no authentication.
async fn judge(site: &Site, head: &Parts) -> Result<Option<Identity>, Refused> {
    let (method, uri, headers) = (&head.method, &head.uri, &head.headers);
    let entrance = site.entrance();
    entrance.guard.judge(method, uri, headers)?;
    let is_look = *method == Method::GET || *method == Method::HEAD;
    let peer = head.extensions.get::<Peer>().map(|peer| peer.0);
    // The page shown to a refused browser uses the stylesheet.
    if (uri.path() == HEALTH || is_style(uri.path())) && is_look {
        return Ok(None);
    }
    if uri.path().starts_with(OPEN) && *method == Method::GET {
        return Ok(None);
    }
    // A valid token is accepted however many invalid ones came from its address, which all users of this machine
    // share.
    let is_suspect = peer.is_some_and(|peer| !entrance.failures.has_room(&peer));
    let effort = if is_suspect { Effort::Little } else { Effort::Full };
    let Some(identity) = entrance.credentials.identify(headers, effort).await else {
        let is_within = peer.is_none_or(|peer| entrance.failures.take(&peer));
        return Err(if is_within { Refused::Token } else { Refused::TooMany });
    };
    // A browser sends its cookie whichever page makes the request, but names that page in `Origin` if the request
    // changes something.
    if identity.means == Means::Cookie && !is_look && !headers.contains_key(ORIGIN) {
        return Err(Refused::NoOrigin);
    }
    // Even a same-origin request: the cookie alone may have been sent to another port of this host, and from there to
    // us.
    if !is_look && !identity.is_proved {
        return Err(Refused::Page);
    }
    if !entrance.requests.take(&identity.name) {
        return Err(Refused::TooMany);
    }
    Ok(Some(identity))
}

/// Ends a stream when its caller's identity is revoked. An answer of known length ends soon anyway.
fn ending_with(response: Response, end: CancellationToken) -> Response {
    match response.body().size_hint().exact() {
        Some(_) => response,
        None => response.map(|body| Body::from_stream(body.into_data_stream().take_until(end.cancelled_owned()))),
    }
}

/// The format of a refusal, chosen to suit the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefusalForm {
    Json,
    Page,
    Text,
}

impl RefusalForm {
    pub(super) fn of(head: &Parts) -> Self {
        let accepted = head.headers.get(ACCEPT).and_then(|accepted| accepted.to_str().ok()).unwrap_or_default();
        match head.uri.path().starts_with("/api/") {
            true => Self::Json,
            false if accepted.contains("text/html") => Self::Page,
            false => Self::Text,
        }
    }
}

fn html(status: StatusCode, page: Markup) -> Response {
    (status, [(CONTENT_TYPE, "text/html; charset=utf-8")], page.into_string()).into_response()
}

fn turned_away(site: &Site, refused: Refused, form: RefusalForm) -> Response {
    let base = site.entrance().base();
    let mut response = match (form, refused) {
        (RefusalForm::Json, _) => refusal(refused),
        (RefusalForm::Page, Refused::Token) => html(refused.status(), closed(base)),
        (RefusalForm::Page, _) => html(refused.status(), problem(base, refused.advice(), refused.hint())),
        (RefusalForm::Text, _) => (refused.status(), format!("{}\n", refused.advice())).into_response(),
    };
    match refused {
        Refused::Token => {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        Refused::TooMany => {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        Refused::Host | Refused::Origin | Refused::NoOrigin | Refused::Scope | Refused::Page => {}
    }
    response
}

/// Answers a single-use link with a page that stores the browser's two secrets and then loads the board. A redirect
/// would not work, because browsers do not send `SameSite=Strict` cookies on a navigation that another site started.
/// Accesses the disk.
pub(crate) fn open(site: &Site, code: &str, agent: &str, peer: Option<IpAddr>) -> Response {
    let Some(terms) = site.links().take(code) else {
        if peer.is_some_and(|peer| !site.entrance().failures.take(&peer)) {
            return turned_away(site, Refused::TooMany, RefusalForm::Page);
        }
        let hint = "to get another, run `taskyard serve` again on the same machine, or `POST /api/v1/links`";
        return html(StatusCode::GONE, problem(site.entrance().base(), "This link has already been used.", Some(hint)));
    };
    site.forget_opening_page_to(code);
    match site.entrance().credentials.let_browser_in(agent, terms) {
        Some(BrowserSecrets { cookie, page, .. }) => {
            ([(SET_COOKIE, cookie)], html(StatusCode::OK, opening(&page, site.entrance().base()))).into_response()
        }
        None => {
            let words = "This browser cannot be signed in: the server could not record it.";
            let page = problem(site.entrance().base(), words, Some("see the server's log"));
            html(StatusCode::SERVICE_UNAVAILABLE, page)
        }
    }
}
