//! The routes of the server. Begin here.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::header::{CONTENT_TYPE, LOCATION, SET_COOKIE, USER_AGENT};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodFilter, MethodRouter, get, on};
use taskyard::core::answers::answer_document::to_vec;
use taskyard::core::answers::maintenance_answers::{LinkCreated, TokenRevoked};
use taskyard::core::problem::{Problem, ProblemKind};
use taskyard::core::{AgentName, ListId};
use taskyard::process::Cancel;
use taskyard_mcp::serving::{Work, spawn};

use super::api::{Caller, Does, FOLLOW_ALL, FOLLOW_LIST, LOG_OUT, MAKE_LINK, NewLink, Operation, problem_response};
use super::call::Requested;
use super::entering::{HEALTH, OPEN, Peer, RefusalForm, open};
use super::events::{EventId, Topic, keep_following, stream};
use super::openapi::{document, schema_of_input};
use super::site::Site;
use super::{api, metrics, pages};
use crate::tokens::{LinkTerms, Scope};

const DESCRIPTION: &str = "/api/v1/openapi.json";
const METRICS: &str = "/metrics";
/// The operation under which requests with an unknown path are counted.
const NO_OPERATION: &str = "none";

pub(crate) fn routes(site: Arc<Site>) -> Router {
    let entrance = site.entrance();
    let described = document(entrance.is_proxied().then(|| entrance.public_url()).as_deref()).to_string();
    let mut router = Router::new()
        .route(HEALTH, get(|| async { "ok\n" }))
        .route(&format!("{OPEN}{{code}}"), get(open_browser))
        .route(METRICS, get(show_metrics))
        .route(DESCRIPTION, get(move || async move { ([(CONTENT_TYPE, "application/json")], described) }));
    for path in pages::ROUTES {
        router = router.route(path, get(pages::page));
    }
    router = router.route("/", get(pages::go_home)).route(pages::ASSETS, get(pages::asset));
    router = router.route("/favicon.ico", get(pages::icon));
    for operation in api::operations() {
        let path = format!("{}{}", api::ROOT, operation.path);
        router = router.route(&path, method_of(operation));
    }
    router.fallback(nothing_here).method_not_allowed_fallback(no_such_method).with_state(site)
}

fn method_of(operation: Operation) -> MethodRouter<Arc<Site>> {
    let filter = MethodFilter::try_from(operation.method.clone()).unwrap_or(MethodFilter::GET);
    match (operation.id, &operation.does) {
        (FOLLOW_LIST, _) => {
            let scope = operation.scope;
            on(filter, move |site, path, request| follow_list(site, path, scope, request))
        }
        (FOLLOW_ALL, _) => {
            let scope = operation.scope;
            on(filter, move |State(site), request| follow(site, FOLLOW_ALL, Topic::All, scope, request))
        }
        (MAKE_LINK, _) => {
            let scope = operation.scope;
            on(filter, move |site, request| make_link(site, scope, request))
        }
        (LOG_OUT, _) => {
            let scope = operation.scope;
            on(filter, move |site, request| log_out(site, scope, request))
        }
        (_, Does::Call(_) | Does::Itself) => {
            let schema = schema_of_input(operation.input);
            let operation = Arc::new((operation, schema));
            on(filter, move |State(site): State<Arc<Site>>, request: Request| {
                api::answer(site, Arc::clone(&operation), request)
            })
        }
    }
}

/// Maximum size of a request for a link in bytes.
const LONGEST_NEW_LINK: usize = 4096;

async fn open_browser(State(site): State<Arc<Site>>, Path(code): Path<String>, request: Request) -> Response {
    // A prefetching browser must not use up the link.
    if *request.method() != Method::GET {
        return StatusCode::OK.into_response();
    }
    let agent = request.headers().get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default().to_owned();
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
    match spawn(move || open(&site, &code, &agent, peer)).await {
        Ok(response) => response,
        Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

async fn follow_list(
    State(site): State<Arc<Site>>,
    Path(list): Path<String>,
    scope: Scope,
    request: Request,
) -> Response {
    let look = {
        let site = Arc::clone(&site);
        move || {
            let requested = Requested { list: Some(ListId::new(list)?), ..Requested::default() };
            Ok(site.call(requested, Cancel::new())?.yard.list_id().clone())
        }
    };
    let problem = match site.workers().run(Work::Looks, look).await {
        Ok(Ok(list)) => return follow(site, FOLLOW_LIST, Topic::List(list), scope, request).await,
        Ok(Err(problem)) => problem,
        Err(_) => Problem::new(ProblemKind::GaveUp, "too_busy", "too many requests are waiting"),
    };
    noted(&site, FOLLOW_LIST, problem_response(&problem))
}

async fn follow(site: Arc<Site>, operation: &'static str, topic: Topic, scope: Scope, request: Request) -> Response {
    let response = begin_following(Arc::clone(&site), topic, scope, request).await;
    noted(&site, operation, response)
}

fn noted(site: &Site, operation: &'static str, response: Response) -> Response {
    site.tally().note_answer(operation, response.status());
    response
}

async fn begin_following(site: Arc<Site>, topic: Topic, scope: Scope, request: Request) -> Response {
    let (head, _) = request.into_parts();
    let caller = match Caller::of(&head) {
        Ok(caller) => caller,
        Err(problem) => return problem_response(&problem),
    };
    if let Err(refused) = caller.within(scope) {
        return api::refusal(refused);
    }
    let query = form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes());
    let since = query.filter(|(name, _)| name == "since").map(|(_, value)| value.into_owned()).last();
    let last = match head.headers.get("last-event-id") {
        Some(id) => Some(id.to_str().unwrap_or_default().to_owned()),
        None => since,
    };
    let last = match last.map(|last| last.parse::<EventId>()).transpose() {
        Ok(last) => last,
        Err(_) => return problem_response(&Problem::usage("bad_event_id", "unknown event id")),
    };
    stream(site, topic, last, caller.agent).await
}

async fn make_link(State(site): State<Arc<Site>>, scope: Scope, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let response = match Caller::of(&head).map(|caller| caller.within(scope).map(|()| caller)) {
        Ok(Err(refused)) => api::refusal(refused),
        Ok(Ok(caller)) => match read_new_link(body).await {
            Ok(new) => match new.terms(&caller.identity) {
                Ok(terms) => link_response(&site, terms),
                Err(refused) => api::refusal(refused),
            },
            Err(problem) => problem_response(&problem),
        },
        Err(problem) => problem_response(&problem),
    };
    noted(&site, MAKE_LINK, response)
}

/// Reads the request for a link. An empty body counts as an empty object.
async fn read_new_link(body: Body) -> Result<NewLink, Problem> {
    let bytes = to_bytes(body, LONGEST_NEW_LINK).await;
    let bytes = bytes.map_err(|_| Problem::usage("bad_json", "the body is too long or incomplete"))?;
    let new = if bytes.is_empty() { Ok(NewLink::default()) } else { serde_json::from_slice::<NewLink>(&bytes) };
    let new = new.map_err(|error| Problem::usage("bad_json", format!("the body does not describe a link: {error}")))?;
    match new.name.as_deref().map(AgentName::new) {
        Some(Err(_)) => Err(Problem::usage("bad_agent", "`name` is not a valid name")),
        _ => Ok(new),
    }
}

fn link_response(site: &Site, terms: LinkTerms) -> Response {
    match site.make_link(terms) {
        Ok((link, terms)) => {
            let body = to_vec(LinkCreated {
                link: &link,
                agent: terms.actor.as_deref().unwrap_or_default(),
                scope: terms.scope.into(),
            });
            let headers = [(CONTENT_TYPE, "application/json"), (LOCATION, link.as_str())];
            (StatusCode::CREATED, headers, body).into_response()
        }
        Err(problem) => problem_response(&problem),
    }
}

async fn log_out(State(site): State<Arc<Site>>, scope: Scope, request: Request) -> Response {
    let (head, _) = request.into_parts();
    let response = match Caller::of(&head) {
        Ok(caller) => match caller.within(scope) {
            Ok(()) => end_browser(&site, caller.identity.browser).await,
            Err(refused) => api::refusal(refused),
        },
        Err(problem) => problem_response(&problem),
    };
    noted(&site, LOG_OUT, response)
}

async fn end_browser(site: &Arc<Site>, browser: Option<String>) -> Response {
    let Some(name) = browser else {
        return problem_response(
            &Problem::new(ProblemKind::Refused, "no_browser", "a program with a token cannot log out")
                .hint("revoke a token or a browser with `DELETE /api/v1/tokens/NAME`"),
        );
    };
    let ended = {
        let (site, name) = (Arc::clone(site), name.clone());
        spawn(move || site.entrance().credentials.let_browser_go(&name)).await
    };
    match ended {
        Ok(Ok(cookie)) => {
            let body = to_vec(TokenRevoked { name: &name, revoked: true });
            let mut response = ([(CONTENT_TYPE, "application/json")], body).into_response();
            response.headers_mut().extend(cookie.map(|cookie| (SET_COOKIE, cookie)));
            response
        }
        Ok(Err(problem)) => {
            tracing::error!(?problem, "a browser cannot be logged out");
            problem_response(&Problem::new(ProblemKind::CouldNot, "token_file", "the browser could not be logged out"))
        }
        Err(_) => problem_response(&Problem::new(ProblemKind::Stopped, "cancelled", "the server ends")),
    }
}

async fn show_metrics(State(site): State<Arc<Site>>) -> Response {
    keep_following(&site).await;
    let looked = {
        let site = Arc::clone(&site);
        site.clone().workers().run(Work::Looks, move || metrics::page(&site)).await
    };
    match looked {
        Ok(Ok(page)) => ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], page).into_response(),
        Ok(Err(problem)) => problem_response(&problem),
        Err(_) => problem_response(&Problem::new(ProblemKind::GaveUp, "too_busy", "too many requests are waiting")),
    }
}

async fn nothing_here(State(site): State<Arc<Site>>, request: Request) -> Response {
    site.tally().note_answer(NO_OPERATION, StatusCode::NOT_FOUND);
    let (head, _) = request.into_parts();
    if RefusalForm::of(&head) == RefusalForm::Page {
        let page = pages::problem(site.entrance().base(), "There is no page at this address.", None).into_string();
        return (StatusCode::NOT_FOUND, [(CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response();
    }
    problem_response(
        &Problem::new(ProblemKind::NotFound, "path_not_found", "there is nothing at this path")
            .hint(format!("{DESCRIPTION} lists the paths")),
    )
}

async fn no_such_method(State(site): State<Arc<Site>>) -> Response {
    site.tally().note_answer(NO_OPERATION, StatusCode::METHOD_NOT_ALLOWED);
    let mut response =
        problem_response(&Problem::usage("method_not_allowed", "this path does not support that method"));
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    response
}
