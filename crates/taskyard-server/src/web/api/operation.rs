//! One operation of the API: where it is found, what it takes, what it answers, who may call it, and what does it.
//!
//! The router and the OpenAPI document are both made from these, so that there is no route without a description.

use axum::http::{Method, StatusCode};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use taskyard::core::answers::document::{Document, write_line};
use taskyard::core::forms::id_range::parse_id;
use taskyard::core::problem::{Problem, ProblemKind};
use taskyard::core::{AgentName, ListId, TaskId};
use taskyard_mcp::serving::Work;

use super::query;
use crate::tokens::Scope;
use crate::web::call::Call;

/// Where the API begins.
pub(crate) const ROOT: &str = "/api/v1";

/// Returns the schema of a type.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// One operation of the API.
pub(crate) struct Operation {
    /// The name that generated clients give it.
    pub(crate) id: &'static str,
    pub(crate) method: Method,
    /// The path below `/api/v1`.
    pub(crate) path: &'static str,
    /// What it does, in one line.
    pub(crate) summary: &'static str,
    /// The tokens that may call it.
    pub(crate) scope: Scope,
    /// The status where it succeeds.
    pub(crate) success: StatusCode,
    /// The path of the resource it creates, or `None` if it creates nothing.
    pub(crate) location: Option<&'static str>,
    /// What it takes, in the query of a GET or DELETE and in the body of all others.
    pub(crate) input: Option<SchemaOf>,
    /// The form of what it answers.
    pub(crate) answer: AnswerForm,
    /// The schemas of JSON objects it may answer if it succeeds.
    pub(crate) answers: Vec<SchemaOf>,
    /// The schema of what it answers if a rule refuses, if that is not an error.
    pub(crate) refusal: Option<SchemaOf>,
    /// What does it.
    pub(crate) does: Does,
    /// What it needs of the threads.
    pub(crate) work: Work,
    /// So many bytes its body may have.
    pub(crate) largest_body: usize,
    /// Whether it starts commands of the caller's.
    pub(crate) starts_commands: bool,
}

/// The form of an answer.
#[derive(Clone, Copy)]
pub(crate) enum AnswerForm {
    /// A JSON object.
    Json,
    /// What stands under a key of the JSON object, as a file of this kind.
    File(&'static str, &'static str),
    /// Events, one after the other.
    Events,
}

/// Reads what is asked for from the parts of the path and what the operation takes.
type ReadsRequest = Box<dyn Fn(&Parts, Value) -> Result<Asked, Problem> + Send + Sync>;

/// What does an operation.
pub(crate) enum Does {
    /// What is read from a request, on a thread that may wait for the disk.
    Call(ReadsRequest),
    /// A handler of its own, which `routes` knows by the name of the operation.
    Itself,
}

/// Does what a request asks for.
type Runs = Box<dyn FnOnce(&Call) -> Result<Reply, Problem> + Send>;

/// What a request asks for.
pub(crate) struct Asked {
    /// Does it.
    pub(crate) run: Runs,
    /// Whether it may sleep until something happens.
    pub(crate) sleeps: bool,
    /// What the caller has to be allowed to do besides what the operation needs.
    pub(crate) scope: Scope,
}

impl Asked {
    /// Asks for something.
    pub(crate) fn to(run: impl FnOnce(&Call) -> Result<Reply, Problem> + Send + 'static) -> Self {
        Self { run: Box::new(run), sleeps: false, scope: Scope::Read }
    }

    /// Lets only those ask who may do this.
    pub(crate) fn only_for(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// Says whether it may sleep until something happens.
    pub(crate) fn sleeping(self, sleeps: bool) -> Self {
        Self { sleeps, ..self }
    }
}

/// An answer, as the bytes of its JSON.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) body: Vec<u8>,
    /// The kind of refusal that the answer tells of, if it does.
    pub(crate) refusal: Option<ProblemKind>,
}

impl Reply {
    /// Serialises an answer.
    pub(crate) fn of(answer: impl Serialize) -> Result<Self, Problem> {
        let mut body = Vec::new();
        write_line(Document::new(answer, None), &mut body)?;
        Ok(Self { body, refusal: None })
    }

    /// Says that the answer tells of a refusal.
    pub(crate) fn refused(self, refusal: Option<ProblemKind>) -> Self {
        Self { refusal, ..self }
    }
}

/// The variable parts of a path.
#[derive(Debug, Default)]
pub(crate) struct Parts(pub(crate) Vec<(String, String)>);

impl Parts {
    /// Returns a part as text; empty where the path has none of that name.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.named(name).unwrap_or_default()
    }

    /// Returns a part as text, or `None` if the path has none of that name.
    pub(crate) fn named(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the task.
    pub(crate) fn task(&self) -> Result<TaskId, Problem> {
        id(self.text("id"))
    }

    /// Returns the agent.
    pub(crate) fn agent(&self) -> Result<AgentName, Problem> {
        AgentName::new(self.text("agent")).map_err(|why| Problem::usage("bad_agent", why.to_string()))
    }

    /// Returns the list; none where the path names none.
    pub(crate) fn list(&self) -> Result<Option<ListId>, Problem> {
        let named = self.0.iter().find(|(known, _)| known == "list");
        Ok(named.map(|(_, list)| ListId::new(list.as_str())).transpose()?)
    }
}

/// Reads the id of a task.
pub(crate) fn id(text: &str) -> Result<TaskId, Problem> {
    parse_id(text).map_err(|why| Problem::usage("bad_id", why))
}

/// Reads the ids of tasks.
pub(crate) fn ids(texts: &[String]) -> Result<Vec<TaskId>, Problem> {
    texts.iter().map(|text| id(text)).collect()
}

/// So many bytes a body may have.
const LARGEST_BODY: usize = 1024 * 1024;
/// So many one that carries many tasks.
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

    /// An operation that looks at something.
    pub(crate) fn get<A: JsonSchema>(id: &'static str, path: &'static str, summary: &'static str) -> Self {
        Self::new(id, Method::GET, path, summary, AnswerForm::Json).or::<A>()
    }

    /// An operation that does something.
    pub(crate) fn post<A: JsonSchema>(id: &'static str, path: &'static str, summary: &'static str) -> Self {
        Self::new(id, Method::POST, path, summary, AnswerForm::Json).or::<A>()
    }

    /// An operation that replaces something.
    pub(crate) fn put<A: JsonSchema>(id: &'static str, path: &'static str, summary: &'static str) -> Self {
        Self::new(id, Method::PUT, path, summary, AnswerForm::Json).or::<A>()
    }

    /// An operation that changes something.
    pub(crate) fn patch<A: JsonSchema>(id: &'static str, path: &'static str, summary: &'static str) -> Self {
        Self::new(id, Method::PATCH, path, summary, AnswerForm::Json).or::<A>()
    }

    /// An operation that takes something away.
    pub(crate) fn delete<A: JsonSchema>(id: &'static str, path: &'static str, summary: &'static str) -> Self {
        Self::new(id, Method::DELETE, path, summary, AnswerForm::Json).or::<A>()
    }

    /// A file, which the answer has under a key.
    pub(crate) fn file(
        id: &'static str,
        path: &'static str,
        summary: &'static str,
        (key, kind): (&'static str, &'static str),
    ) -> Self {
        Self::new(id, Method::GET, path, summary, AnswerForm::File(key, kind))
    }

    /// Events.
    pub(crate) fn events(id: &'static str, path: &'static str, summary: &'static str) -> Self {
        Self::new(id, Method::GET, path, summary, AnswerForm::Events)
    }

    /// Lets only those call it who may do this.
    pub(crate) fn only_for(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// Says that something is made, and under which path below `/api/v1` it is found: with parts of the path, and of the answer
    /// (`{task.id}`).
    pub(crate) fn makes(self, location: &'static str) -> Self {
        Self { success: StatusCode::CREATED, location: Some(location), ..self }
    }

    /// Says that a whole file comes with it.
    pub(crate) fn takes_files(self) -> Self {
        Self { largest_body: LARGEST_FILE, ..self }
    }

    /// Says that it starts commands of the caller's, which a server does only where it was told so.
    pub(crate) fn starts_commands(self) -> Self {
        Self { starts_commands: true, ..self }
    }

    /// Says what else it may answer.
    pub(crate) fn or<A: JsonSchema>(mut self) -> Self {
        self.answers.push(schema_of::<Document<'_, A>>);
        self
    }

    /// Says what it answers if a rule refuses.
    pub(crate) fn or_refuses<R: JsonSchema>(self) -> Self {
        Self { refusal: Some(schema_of::<Document<'_, R>>), ..self }
    }

    /// Says what it takes, where a handler of its own reads it.
    pub(crate) fn takes<I: JsonSchema>(self) -> Self {
        Self { input: Some(schema_of::<I>), ..self }
    }

    /// Says what does it, of what it takes.
    pub(crate) fn with<I>(self, read: fn(&Parts, I) -> Result<Asked, Problem>) -> Self
    where
        I: JsonSchema + DeserializeOwned + 'static,
    {
        let read = move |parts: &Parts, input: Value| read(parts, query::read(input)?);
        Self { input: Some(schema_of::<I>), does: Does::Call(Box::new(read)), ..self }
    }

    /// Says what does it, if it takes nothing.
    pub(crate) fn runs(self, read: fn(&Parts) -> Result<Asked, Problem>) -> Self {
        Self { does: Does::Call(Box::new(move |parts: &Parts, _: Value| read(parts))), ..self }
    }

    /// Tells whether it is about one task, which its path names.
    pub(crate) fn is_about_one_task(&self) -> bool {
        self.path.contains("/tasks/{id}")
    }

    /// Tells whether it changes a task only if that is as the caller expects it, if the caller says so. What takes or keeps a task judges its
    /// owner and its lease instead.
    pub(crate) fn takes_expectations(&self) -> bool {
        let is_claim = self.path.ends_with("/claim") || self.path.ends_with("/renew");
        self.is_about_one_task() && self.method != Method::GET && !is_claim
    }

    /// Tells whether what it takes is in the query.
    pub(crate) fn asks_by_query(&self) -> bool {
        self.method == Method::GET || self.method == Method::DELETE
    }
}

/// Returns the schema of a type, by its name where it has one.
pub(crate) fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}
