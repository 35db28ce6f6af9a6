//! Answering one API request: authenticating its caller, reading its input, scheduling it, and choosing the status.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;

use axum::RequestPartsExt as _;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{RawPathParams, Request};
use axum::http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, ETAG, LOCATION, RETRY_AFTER};
use axum::http::request::Parts as Head;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use taskyard::Outcome;
use taskyard::core::answers::maintenance_answers::ErrorAnswer;
use taskyard::core::problem::{Problem, ProblemKind};
use taskyard::core::{AgentName, ListId, TaskId, Token, json_text};
use taskyard::machine::Recording;
use taskyard::problems::with_way_back;
use taskyard::process::Cancel;
use taskyard_mcp::serving::Work;

use super::entity_tags::{EntityTag, NamedTags};
use super::operation::{AnswerForm, Asked, Does, Operation, Parts, ROOT, Reply};
use super::query;
use super::repeats::{Answered, BegunRequest, KeyedRequest, RequestRecorder, digest_of};
use crate::tokens::Scope;
use crate::web::call::{Call, Requested};
use crate::web::delivery::Delivery;
use crate::web::paths::filled;
use crate::web::security::{Identity, Means, Refused};
use crate::web::site::Site;

/// The header that names the acting agent.
const AGENT: &str = "taskyard-agent";
/// The header that lists the revisions a request created.
const REVISION: &str = "taskyard-revision";
/// The header that identifies retries of a request.
const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Maximum length of an `Idempotency-Key` in bytes.
const LONGEST_KEY: usize = 255;
/// Timeout for receiving a body.
const BODY: Duration = Duration::from_secs(30);
const JSON: &str = "application/json";

/// The caller of a request and the agent it acts as.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) identity: Identity,
    /// The name it gave, or that of its token; `None` for the user who runs the server.
    pub(crate) agent: Option<AgentName>,
}

impl Caller {
    /// Reads the caller of an authenticated request.
    pub(crate) fn of(head: &Head) -> Result<Self, Problem> {
        let Some(identity) = head.extensions.get::<Identity>().cloned() else {
            return Err(Problem::usage(Refused::Token.code(), Refused::Token.advice()));
        };
        let named = match head.headers.get(AGENT) {
            Some(name) => {
                let name = std::str::from_utf8(name.as_bytes()).ok().and_then(|name| AgentName::new(name).ok());
                Some(name.ok_or_else(|| Problem::usage("bad_agent", "`Taskyard-Agent` is not a valid name"))?)
            }
            None => identity.name.as_deref().and_then(|name| AgentName::new(name).ok()),
        };
        Ok(Self { identity, agent: named })
    }

    /// Refuses a request beyond the caller's scope. Every operation calls this.
    pub(crate) fn within(&self, needed: Scope) -> Result<(), Refused> {
        match self.identity.is_proved {
            _ if self.identity.scope >= needed => Ok(()),
            false => Err(Refused::Page),
            true => Err(Refused::Scope),
        }
    }
}

pub(crate) async fn answer(site: Arc<Site>, operation: Arc<(Operation, Value)>, request: Request) -> Response {
    let id = operation.0.id;
    let response = judge_and_answer(Arc::clone(&site), operation, request).await;
    site.tally().note_answer(id, response.status());
    response
}

async fn judge_and_answer(site: Arc<Site>, operation: Arc<(Operation, Value)>, request: Request) -> Response {
    let (mut head, body) = request.into_parts();
    let caller = match Caller::of(&head) {
        Ok(caller) => caller,
        Err(problem) => return problem_response(&problem),
    };
    if let Err(refused) = caller.within(operation.0.scope) {
        return refusal(refused);
    }
    let bytes = match read_body(&site, &operation.0, &head.headers, body).await {
        Ok(bytes) => bytes,
        Err(response) => return response,
    };
    match ask(&site, &operation, &mut head, &caller, &bytes).await {
        Ok((parts, asked)) => match caller.within(asked.scope) {
            Ok(()) => make(site, operation, &head, caller, (parts, asked), bytes).await,
            Err(refused) => refusal(refused),
        },
        Err(problem) => problem_response(&problem),
    }
}

/// Reads and checks the request.
async fn ask(
    site: &Site,
    operation: &(Operation, Value),
    head: &mut Head,
    caller: &Caller,
    body: &[u8],
) -> Result<(Parts, Asked), Problem> {
    let (operation, schema) = operation;
    let raw = head.extract::<RawPathParams>().await;
    let raw = raw.map_err(|error| Problem::usage("bad_path", error.to_string()))?;
    let parts = Parts(raw.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect());
    let input = match operation.asks_by_query() {
        true => query::as_object(head.uri.query().unwrap_or_default(), schema)?,
        false => object_of(&head.headers, body)?,
    };
    let Does::Call(read) = &operation.does else {
        return Err(Problem::new(ProblemKind::CouldNot, "not_served", "this server does not support that"));
    };
    let asked = read(&parts, input)?;
    if operation.starts_commands && !site.runs_commands() {
        return Err(Problem::new(ProblemKind::Refused, "exec_not_allowed", "this server starts no commands")
            .hint("start it with `taskyard serve --allow-exec`"));
    }
    tracing::debug!(operation = operation.id, agent = ?caller.agent, "a request");
    Ok((parts, asked))
}

fn object_of(headers: &HeaderMap, body: &[u8]) -> Result<Value, Problem> {
    if body.is_empty() {
        return Ok(json!({}));
    }
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case(JSON) {
        return Err(Problem::usage(NOT_JSON, format!("the body is `{}`, but must be JSON", kind.escape_debug()))
            .hint("send `Content-Type: application/json`"));
    }
    let value: Value = json_text::from_slice(body)
        .map_err(|error| Problem::usage("bad_json", format!("the body is not JSON: {error}")))?;
    match value {
        object @ Value::Object(_) => Ok(object),
        _ => Err(Problem::usage("bad_json", "the body is not a JSON object")),
    }
}

const NOT_JSON: &str = "not_json";
/// The code of the problem that a task is not in the state the caller expects.
const NOT_AS_EXPECTED: &str = "not_as_expected";

async fn read_body(site: &Site, operation: &Operation, headers: &HeaderMap, body: Body) -> Result<Bytes, Response> {
    if operation.asks_by_query() {
        return Ok(Bytes::new());
    }
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if length == Some(0) {
        return Ok(Bytes::new());
    }
    let largest = operation.largest_body;
    if length.is_some_and(|length| length > largest) {
        return Err(too_large(largest));
    }
    let _room = site.room_for_body(length.unwrap_or(largest)).await;
    match tokio::time::timeout(BODY, to_bytes(body, largest)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) if length.is_none() => Err(too_large(largest)),
        Ok(Err(_)) => {
            Err(problem_with(StatusCode::BAD_REQUEST, &Problem::usage("bad_body", "the request ends too early")))
        }
        Err(_) => Err(problem_with(
            StatusCode::REQUEST_TIMEOUT,
            &Problem::usage("slow_body", "the request took too long to arrive"),
        )),
    }
}

fn too_large(largest: usize) -> Response {
    let problem = Problem::usage("too_large", format!("the request is too large (the limit is {largest} bytes)"));
    ([(CONNECTION, "close")], problem_with(StatusCode::PAYLOAD_TOO_LARGE, &problem)).into_response()
}

/// Runs the request when a thread is available. A repeated `Idempotency-Key` returns the earlier answer instead.
async fn make(
    site: Arc<Site>,
    operation: Arc<(Operation, Value)>,
    head: &Head,
    caller: Caller,
    (parts, asked): (Parts, Asked),
    body: Bytes,
) -> Response {
    let expected = match NamedTags::to_match(&head.headers) {
        Some(_) if operation.0.method != Method::GET && !operation.0.takes_expectations() => {
            let problem = Problem::usage("bad_input", "`If-Match` is only for changes of the one task in the path");
            return problem_response(&problem);
        }
        expected => expected,
    };
    let key =
        head.headers.get(IDEMPOTENCY_KEY).and_then(|key| key.to_str().ok()).filter(|_| !operation.0.asks_by_query());
    if key.is_some_and(|key| key.len() > LONGEST_KEY) {
        let words = format!("an `Idempotency-Key` has at most {LONGEST_KEY} bytes");
        return problem_response(&Problem::usage("bad_idempotency_key", words));
    }
    let agent = caller.agent.as_ref().map(AgentName::as_str);
    let digest = digest_of(head.method.as_str(), head.uri.path(), agent, &body);
    let key = key.map(|key| KeyedRequest::new(caller.identity.name.clone(), key.to_owned()));
    let recorder = loop {
        let Some(key) = &key else { break None };
        match key.begin(site.repeats(), digest) {
            BegunRequest::First(recorder) => break Some(recorder),
            BegunRequest::Again(first) => {
                if let Some(answered) = first.answer().await {
                    return response_of(&site, &operation.0, head, &parts, answered);
                }
            }
            BegunRequest::Reused => return key_reused(),
        }
    };
    let parts = Arc::new(parts);
    let cancel = Cancel::new();
    let _left = cancel.on_drop();
    let stopped = {
        let cancel = cancel.clone();
        site.cancel().on_cancel(move || cancel.cancel())
    };
    let attendance = site.cancel().attend();
    let work = if asked.sleeps { Work::Sleeps } else { operation.0.work };
    let run = {
        let (site, operation, parts) = (Arc::clone(&site), Arc::clone(&operation), Arc::clone(&parts));
        move || {
            // The client may have disconnected while the request was queued. Nothing has been changed yet.
            let answered = match cancel.is_cancelled() {
                true => (problem_answer(&no_longer_wanted()), None),
                false => run(&site, &operation.0, &parts, (asked, expected), caller, cancel, (key, recorder)),
            };
            drop((stopped, attendance));
            answered
        }
    };
    match site.workers().run(work, run).await {
        Ok((answered, delivery)) => {
            let mut response = response_of(&site, &operation.0, head, &parts, answered);
            delivery.and_then(|delivery| response.extensions_mut().insert(delivery));
            response
        }
        Err(_) => too_busy(),
    }
}

fn no_longer_wanted() -> Problem {
    Problem::new(ProblemKind::Stopped, "cancelled", "nobody waits for it any longer")
}

/// Runs the request on this thread. The answer to a claim comes with a [`Delivery`] that releases the claim if the
/// answer does not reach the caller.
fn run(
    site: &Arc<Site>,
    operation: &Operation,
    parts: &Parts,
    (asked, expected): (Asked, Option<NamedTags>),
    caller: Caller,
    cancel: Cancel,
    (key, recorder): (Option<KeyedRequest>, Option<RequestRecorder>),
) -> (Answered, Option<Delivery>) {
    let agent = caller.agent.clone();
    let recording = if operation.scope > Scope::Read { Recording::Keeps } else { Recording::Nothing };
    let is_browser = caller.identity.means == Means::Cookie;
    let requested = |list| Requested { list, agent: caller.agent, is_browser, recording };
    let call = parts.list().and_then(|list| Ok((list.clone(), site.call(requested(list), cancel.clone())?)));
    let (list, call) = match call {
        Ok(call) => call,
        Err(problem) => return (problem_answer(&problem), None),
    };
    site.settle(&call);
    let task = parts.task().ok();
    let call = match expected.as_ref().zip(task.as_ref()).and_then(|(tags, task)| Some((task, tags.expectation()?))) {
        Some((task, is_met)) => call.expecting(task.clone(), is_met),
        None => call,
    };
    let answered = match (asked.run)(&call) {
        Ok(Reply { body, refusal }) => Answered {
            status: status_of_answer(refusal, operation),
            body: body.into(),
            revisions: call.revisions_made(),
        },
        Err(problem) => {
            let problem = with_way_back(problem, &call.yard);
            problem_answer(&with_base(problem, expected, task.as_ref(), &call))
        }
    };
    let claims = call.claims();
    if cancel.is_cancelled() && !claims.is_empty() {
        give_back(site, list, agent, &claims);
        return (problem_answer(&no_longer_wanted()), None);
    }
    if let Some(recorder) = recorder.filter(|_| !cancel.is_cancelled()) {
        recorder.record(answered.clone(), answered.body.len());
    }
    let delivery = (!claims.is_empty()).then(|| {
        let site = Arc::clone(site);
        Delivery::or_else(move || {
            key.iter().for_each(|key| key.forget(site.repeats()));
            give_back(&site, list, agent, &claims);
        })
    });
    (answered, delivery)
}

/// Releases tasks claimed for a caller that disconnected before it received the answer.
fn give_back(site: &Site, list: Option<ListId>, agent: Option<AgentName>, claims: &[(TaskId, Token)]) {
    let requested = Requested { list, agent, ..Requested::default() };
    let call = site.call(requested, site.cancel().clone());
    for (task, token) in claims {
        let released = call.as_ref().map(|call| call.yard.proving(*token).release(task));
        match released {
            Ok(Ok(Outcome::Done(_))) => tracing::info!(%task, "given back: the caller that claimed it has left"),
            // The lease has ended, or another agent has the task.
            Ok(Ok(Outcome::Refused(_))) => {}
            Ok(Err(error)) => tracing::warn!(%task, %error, "a claim of a caller that has left stays"),
            Err(problem) => {
                tracing::warn!(%task, why = problem.report().message, "a claim of a caller that has left stays")
            }
        }
    }
}

/// Adds the state of the task that the caller knew to the problem, if the journal still has it.
fn with_base(problem: Problem, expected: Option<NamedTags>, task: Option<&TaskId>, call: &Call) -> Problem {
    if problem.report().code != NOT_AS_EXPECTED {
        return problem;
    }
    let base = expected.and_then(|tags| tags.base(&call.yard, task?));
    base.into_iter().fold(problem, |problem, base| problem.detail("base", base))
}

/// Returns the status of an answer: a refused claim is an error, all others succeed.
fn status_of_answer(refusal: Option<ProblemKind>, operation: &Operation) -> StatusCode {
    match refusal {
        Some(ProblemKind::NotFound) => StatusCode::NOT_FOUND,
        Some(_) => StatusCode::CONFLICT,
        None => operation.success,
    }
}

pub(crate) fn status_of(problem: &Problem) -> StatusCode {
    let report = problem.report();
    match (report.kind, report.code) {
        (_, NOT_JSON) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        (_, NOT_AS_EXPECTED) => StatusCode::PRECONDITION_FAILED,
        (_, "unauthorized") => StatusCode::UNAUTHORIZED,
        (_, "exec_not_allowed") => StatusCode::FORBIDDEN,
        (ProblemKind::Usage, _) => StatusCode::BAD_REQUEST,
        (ProblemKind::Refused, _) => StatusCode::CONFLICT,
        (ProblemKind::NotFound, _) => StatusCode::NOT_FOUND,
        // The change was made, so the client must not retry.
        (ProblemKind::Unfinished, _) => StatusCode::ACCEPTED,
        (ProblemKind::CouldNot | ProblemKind::GaveUp | ProblemKind::Stopped | ProblemKind::EndUnknown, _) => {
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}

fn problem_answer(problem: &Problem) -> Answered {
    let body = Reply::of(ErrorAnswer { error: problem.report() }).map(|reply| reply.body).unwrap_or_default();
    Answered { status: status_of(problem), body: body.into(), revisions: Vec::new() }
}

pub(crate) fn problem_response(problem: &Problem) -> Response {
    problem_with(status_of(problem), problem)
}

/// Returns the response to a request that is not allowed.
pub(crate) fn refusal(refused: Refused) -> Response {
    let problem = Problem::usage(refused.code(), refused.advice());
    let problem = refused.hint().into_iter().fold(problem, Problem::hint);
    problem_with(refused.status(), &problem)
}

fn problem_with(status: StatusCode, problem: &Problem) -> Response {
    response(status, problem_answer(problem).body, AnswerForm::Events)
}

fn key_reused() -> Response {
    let problem = Problem::usage("idempotency_key_reused", "a different request already used this `Idempotency-Key`")
        .hint("use a new key for a new request; repeat a request unchanged");
    problem_with(StatusCode::UNPROCESSABLE_ENTITY, &problem)
}

fn too_busy() -> Response {
    let problem =
        Problem::new(ProblemKind::GaveUp, "too_busy", "too many requests are waiting").hint("ask again in a second");
    problem_with(StatusCode::SERVICE_UNAVAILABLE, &problem)
}

/// Returns the response of an operation, with a `Location` if it created something.
fn response_of(site: &Site, operation: &Operation, head: &Head, parts: &Parts, answered: Answered) -> Response {
    let Answered { status, body, revisions } = answered;
    let tag = tag_of(operation, status, &body);
    if operation.method == Method::GET && tag.as_ref().is_some_and(|tag| tag.is_known(&head.headers)) {
        let tag = tag.and_then(|tag| tag.header());
        let mut response = StatusCode::NOT_MODIFIED.into_response();
        response.headers_mut().extend(tag.map(|tag| (ETAG, tag)));
        return response;
    }
    let location = operation.location.filter(|_| status == StatusCode::CREATED);
    let location = location.and_then(|template| location_of(template, parts, &body));
    let location = location.map(|path| format!("{}{ROOT}{path}", site.entrance().base()));
    let mut response = response(status, body, operation.answer);
    if let Some(location) = location.and_then(|location| HeaderValue::from_str(&location).ok()) {
        response.headers_mut().insert(LOCATION, location);
    }
    response.headers_mut().extend(tag.and_then(|tag| tag.header()).map(|tag| (ETAG, tag)));
    if !revisions.is_empty() {
        let made: Vec<String> = revisions.iter().map(ToString::to_string).collect();
        let made = HeaderValue::from_str(&made.join(", ")).ok();
        response.headers_mut().extend(made.map(|made| (HeaderName::from_static(REVISION), made)));
    }
    response
}

/// Returns the entity tag of the task in an answer: the one shown or changed, or the one that did not match the
/// caller's expectation.
fn tag_of(operation: &Operation, status: StatusCode, body: &[u8]) -> Option<EntityTag> {
    match status {
        _ if !operation.is_about_one_task() => None,
        StatusCode::PRECONDITION_FAILED => EntityTag::of(body, "/error/current", false),
        status if status.is_success() => EntityTag::of(body, "/task", operation.method == Method::GET),
        _ => None,
    }
}

/// Returns the path of a created resource. The template's variables are filled from the request's path and from the
/// answer.
fn location_of(template: &str, parts: &Parts, body: &[u8]) -> Option<String> {
    let answer: OnceCell<Value> = OnceCell::new();
    let of_answer = |name: &str| {
        let answer = answer.get_or_init(|| serde_json::from_slice(body).unwrap_or_default());
        answer.pointer(&format!("/{}", name.replace('.', "/")))?.as_str().map(str::to_owned)
    };
    filled(template, |name| parts.named(name).map(str::to_owned).or_else(|| of_answer(name)))
}

fn response(status: StatusCode, body: Bytes, form: AnswerForm) -> Response {
    let (kind, body) = match form {
        AnswerForm::File(key, kind) if status.is_success() => match text_under(key, &body) {
            Some(text) => (kind, Bytes::from(text)),
            None => (JSON, body),
        },
        _ => (JSON, body),
    };
    let mut response = (status, [(CONTENT_TYPE, kind)], body).into_response();
    if status == StatusCode::SERVICE_UNAVAILABLE || status == StatusCode::TOO_MANY_REQUESTS {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

fn text_under(key: &str, body: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    answer.get(key)?.as_str().map(str::to_owned)
}
