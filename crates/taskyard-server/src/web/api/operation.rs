//! One operation of the API: its path, input, answer, required scope and implementation.
//!
//! The router and the OpenAPI document are both generated from these, so every route is documented.

use axum::http::{Method, StatusCode};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use taskyard::core::answers::answer_document::{Document, write_line};
use taskyard::core::forms::one_line::parse_id;
use taskyard::core::problem::{Problem, ProblemKind};
use taskyard::core::{AgentName, ListId, TaskId};
use taskyard_mcp::serving::Work;

use super::query;
use crate::tokens::Scope;
use crate::web::call::Call;

/// The base path of the API.
pub(crate) const ROOT: &str = "/api/v1";

pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

pub(crate) struct Operation {
    /// The operation id in the OpenAPI document, which generated clients use as a name.
    pub(crate) id: &'static str,
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    /// One line about what it does.
    pub(crate) summary: &'static str,
    /// The scope that a caller needs.
    pub(crate) scope: Scope,
    /// The status of a successful answer.
    pub(crate) success: StatusCode,
    /// The path of the resource it creates, or `None` if it creates nothing.
    pub(crate) location: Option<&'static str>,
    /// The schema of its input: the query of a GET or DELETE, otherwise the body.
    pub(crate) input: Option<SchemaOf>,
    pub(crate) answer: AnswerForm,
    /// The schemas of its successful JSON answers.
    pub(crate) answers: Vec<SchemaOf>,
    /// The schema of the answer if a rule refuses the change; `None` if that is an error.
    pub(crate) refusal: Option<SchemaOf>,
    pub(crate) does: Does,
    /// The kind of thread it needs.
    pub(crate) work: Work,
    /// Maximum size of its body in bytes.
    pub(crate) largest_body: usize,
    /// Whether it starts commands given by the caller.
    pub(crate) starts_commands: bool,
}

#[derive(Clone, Copy)]
pub(crate) enum AnswerForm {
    Json,
    /// The value under a key of the JSON object, as a file of this media type.
    File(&'static str, &'static str),
    /// Server-sent events.
    Events,
}

/// Reads a request from the variables of the path and the input.
type ReadsRequest = Box<dyn Fn(&Parts, Value) -> Result<Asked, Problem> + Send + Sync>;

/// The implementation of an operation.
pub(crate) enum Does {
    /// Reads the request and returns what to run on a thread that may block.
    Call(ReadsRequest),
    /// A handler of its own, which `routes` looks up by the operation's id.
    Itself,
}

/// Runs a request.
type Runs = Box<dyn FnOnce(&Call) -> Result<Reply, Problem> + Send>;

/// A request that was read.
pub(crate) struct Asked {
    pub(crate) run: Runs,
    /// Whether it may wait for an event.
    pub(crate) sleeps: bool,
    /// The scope this request needs in addition to the operation's.
    pub(crate) scope: Scope,
}

impl Asked {
    /// Returns a request that runs `run`.
    pub(crate) fn to(run: impl FnOnce(&Call) -> Result<Reply, Problem> + Send + 'static) -> Self {
        Self { run: Box::new(run), sleeps: false, scope: Scope::Read }
    }

    /// Requires a scope.
    pub(crate) fn only_for(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// Sets whether it may wait for an event.
    pub(crate) fn sleeping(self, sleeps: bool) -> Self {
        Self { sleeps, ..self }
    }
}

/// An answer as serialized JSON.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) body: Vec<u8>,
    /// The kind of refusal that the answer reports, if any.
    pub(crate) refusal: Option<ProblemKind>,
}

impl Reply {
    /// Serializes an answer.
    pub(crate) fn of(answer: impl Serialize) -> Result<Self, Problem> {
        let mut body = Vec::new();
        write_line(Document::new(answer, None), &mut body)?;
        Ok(Self { body, refusal: None })
    }

    /// Sets the kind of refusal that the answer reports.
    pub(crate) fn refused(self, kind: ProblemKind) -> Self {
        Self { refusal: Some(kind), ..self }
    }
}

/// The variables of a path.
#[derive(Debug, Default)]
pub(crate) struct Parts(pub(crate) Vec<(String, String)>);

impl Parts {
    /// Returns a variable; empty if the path does not have it.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.named(name).unwrap_or_default()
    }

    /// Returns a variable, or `None` if the path does not have it.
    pub(crate) fn named(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn task(&self) -> Result<TaskId, Problem> {
        id(self.text("id"))
    }

    pub(crate) fn agent(&self) -> Result<AgentName, Problem> {
        AgentName::new(self.text("agent")).map_err(|why| Problem::usage("bad_agent", why.to_string()))
    }

    /// Returns the list, or `None` if the path names none.
    pub(crate) fn list(&self) -> Result<Option<ListId>, Problem> {
        let named = self.0.iter().find(|(known, _)| known == "list");
        Ok(named.map(|(_, list)| ListId::new(list.as_str())).transpose()?)
    }
}

pub(crate) fn id(text: &str) -> Result<TaskId, Problem> {
    parse_id(text).map_err(|why| Problem::usage("bad_id", why))
}

pub(crate) fn ids(texts: &[String]) -> Result<Vec<TaskId>, Problem> {
    texts.iter().map(|text| id(text)).collect()
}

/// Maximum size of a body in bytes.
const LARGEST_BODY: usize = 1024 * 1024;
/// Maximum size of a body with many tasks.
const LARGEST_FILE: usize = 16 * 1024 * 1024;

impl Operation {
    fn new(id: &'static str, method: Method, path: &'static str, summary: &'static str, answer: AnswerForm) -> Self {
        let (scope, work) = match method {
            Method::GET => (Scope::Read, Work::Looks),
            _ => (Scope::Work, Work::Changes),
        };
        Self {
            id,
            method,
            path,
            summary,
            scope,
            success: StatusCode::OK,
            location: None,
            input: None,
            answer,
            answers: Vec::new(),
            refusal: None,
            does: Does::Itself,
            work,
            largest_body: LARGEST_BODY,
            starts_commands: false,
        }
    }

    /// An operation that reads.
    pub(crate) fn get<A: JsonSchema>(id: &'static str, path: &'static str, summary: &'static str) -> Self {
        Self::new(id, Method::GET, path, summary, AnswerForm::Json).or::<A>()
    }

    /// An operation that performs an action.
    pub(crate) fn post<A: JsonSchema>(id: &'static str, path: &'static str, summary: &'static str) -> Self {
        Self::new(id, Method::POST, path, summary, AnswerForm::Json).or::<A>()
    }

    /// An operation that replaces a resource.
    pub(crate) fn put<A: JsonSchema>(id: &'static str, path: &'static str, summary: &'static str) -> Self {
        Self::new(id, Method::PUT, path, summary, AnswerForm::Json).or::<A>()
    }

    /// An operation that changes a resource.
    pub(crate) fn patch<A: JsonSchema>(id: &'static str, path: &'static str, summary: &'static str) -> Self {
        Self::new(id, Method::PATCH, path, summary, AnswerForm::Json).or::<A>()
    }

    /// An operation that removes a resource.
    pub(crate) fn delete<A: JsonSchema>(id: &'static str, path: &'static str, summary: &'static str) -> Self {
        Self::new(id, Method::DELETE, path, summary, AnswerForm::Json).or::<A>()
    }

    /// An operation that returns a file, whose content is under a key of the answer.
    pub(crate) fn file(
        id: &'static str,
        path: &'static str,
        summary: &'static str,
        (key, kind): (&'static str, &'static str),
    ) -> Self {
        Self::new(id, Method::GET, path, summary, AnswerForm::File(key, kind))
    }

    /// An operation that returns an event stream.
    pub(crate) fn events(id: &'static str, path: &'static str, summary: &'static str) -> Self {
        Self::new(id, Method::GET, path, summary, AnswerForm::Events)
    }

    /// Requires a scope.
    pub(crate) fn only_for(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// Marks the operation as creating a resource, and sets its path below `/api/v1`. The template's variables come
    /// from the request's path and from the answer (`{task.id}`).
    pub(crate) fn makes(self, location: &'static str) -> Self {
        Self { success: StatusCode::CREATED, location: Some(location), ..self }
    }

    /// Allows bodies as large as files.
    pub(crate) fn takes_files(self) -> Self {
        Self { largest_body: LARGEST_FILE, ..self }
    }

    /// Marks the operation as starting commands given by the caller. A server refuses it unless it was told to allow
    /// this.
    pub(crate) fn starts_commands(self) -> Self {
        Self { starts_commands: true, ..self }
    }

    /// Adds a schema of a successful answer.
    pub(crate) fn or<A: JsonSchema>(mut self) -> Self {
        self.answers.push(schema_of::<Document<'_, A>>);
        self
    }

    /// Sets the schema of the answer if a rule refuses the change.
    pub(crate) fn or_refuses<R: JsonSchema>(self) -> Self {
        Self { refusal: Some(schema_of::<Document<'_, R>>), ..self }
    }

    /// Sets the input's schema, for an operation with a handler of its own.
    pub(crate) fn takes<I: JsonSchema>(self) -> Self {
        Self { input: Some(schema_of::<I>), ..self }
    }

    /// Sets the implementation, which takes an input.
    pub(crate) fn with<I>(self, read: fn(&Parts, I) -> Result<Asked, Problem>) -> Self
    where
        I: JsonSchema + DeserializeOwned + 'static,
    {
        let read = move |parts: &Parts, input: Value| read(parts, query::read(input)?);
        Self { input: Some(schema_of::<I>), does: Does::Call(Box::new(read)), ..self }
    }

    /// Sets the implementation, which takes no input.
    pub(crate) fn runs(self, read: fn(&Parts) -> Result<Asked, Problem>) -> Self {
        Self { does: Does::Call(Box::new(move |parts: &Parts, _: Value| read(parts))), ..self }
    }

    /// Returns whether its path names a single task.
    pub(crate) fn is_about_one_task(&self) -> bool {
        self.path.contains("/tasks/{id}")
    }

    /// Returns whether it honours `If-Match`. Claiming and renewing do not: they check the owner and the lease
    /// instead.
    pub(crate) fn takes_expectations(&self) -> bool {
        let is_claim = self.path.ends_with("/claim") || self.path.ends_with("/renew");
        self.is_about_one_task() && self.method != Method::GET && !is_claim
    }

    /// Returns whether its input is in the query.
    pub(crate) fn asks_by_query(&self) -> bool {
        self.method == Method::GET || self.method == Method::DELETE
    }
}

/// Returns the schema of a type, as a reference if the type has a name.
pub(crate) fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}
