//! Errors, tokens, links and events.

use schemars::JsonSchema;

use crate::tokens::Scope;

/// What went wrong.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct ErrorAnswer {
    schema: Schema,
    error: Report,
}

/// What went wrong: a word that never changes, what happened, what to do next, and what else programs may want to know.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Report {
    code: String,
    message: String,
    hint: Option<String>,
}

/// The tokens.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Tokens {
    schema: Schema,
    tokens: Vec<TokenShown>,
    browsers: Vec<BrowserShown>,
}

/// A browser that a link let in, without its secrets.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct BrowserShown {
    name: String,
    made: String,
    used: String,
    agent: String,
    actor: Option<String>,
    scope: String,
}

/// A token, without its secret.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct TokenShown {
    name: String,
    scope: Scope,
    made: String,
    expires_at: Option<String>,
    counts: bool,
}

/// A token that was made; nobody can find out its secret again.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct TokenMade {
    schema: Schema,
    name: String,
    scope: Scope,
    expires_at: Option<String>,
    token: String,
}

/// A token that no longer counts.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct TokenRevoked {
    schema: Schema,
    name: String,
    revoked: bool,
}

/// A link that opens the pages once.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct LinkMade {
    schema: Schema,
    link: String,
    agent: String,
    scope: String,
}

/// The version of all shapes.
#[derive(JsonSchema)]
pub(crate) enum Schema {
    /// The first
    #[schemars(rename = "taskyard/1")]
    First,
}

/// Server-sent events: `ready`, `resumed` or `reset` first, then `commit`, `job_ended`, `message`, `agent_came`, `agent_went`, `list_came`
/// and `list_went`, each with JSON in its data.
#[derive(JsonSchema)]
pub(crate) struct EventStream(String);
