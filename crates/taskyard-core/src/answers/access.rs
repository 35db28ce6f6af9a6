//! Errors, access to a server, and what the program says of itself.

use schemars::JsonSchema;
use serde::Serialize;

use super::words::AccessScope;
use crate::problem::Report;

/// What went wrong.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct ErrorAnswer<'a> {
    pub error: &'a Report,
}

/// The tokens and browsers that may use a server.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Tokens<'a> {
    pub tokens: Vec<TokenShown<'a>>,
    pub browsers: Vec<BrowserShown<'a>>,
}

/// A token, without its secret.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenShown<'a> {
    /// Its name
    pub name: &'a str,
    /// What it allows
    pub scope: AccessScope,
    /// When it was created
    pub made: String,
    /// When it expires; null if it does not
    pub expires_at: Option<String>,
    /// Whether the server still accepts it
    pub counts: bool,
}

/// A browser that a link signed in, without its secrets.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BrowserShown<'a> {
    /// Its name
    pub name: &'a str,
    /// When it was signed in
    pub made: String,
    /// When it was last used, to the hour
    pub used: String,
    /// Its `User-Agent`
    pub agent: &'a str,
    /// The agent it acts as; null if that is the user who runs the server
    pub actor: Option<&'a str>,
    /// What it allows
    pub scope: AccessScope,
}

/// A token that was created.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenCreated<'a> {
    /// Its name
    pub name: &'a str,
    /// What it allows
    pub scope: AccessScope,
    /// When it expires; null if it does not
    pub expires_at: Option<String>,
    /// The secret, which is shown once
    pub token: &'a str,
}

/// A token or browser that is no longer accepted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TokenRevoked<'a> {
    /// Its name
    pub name: &'a str,
    /// True
    pub revoked: bool,
}

/// A link that signs in one browser, once.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LinkCreated<'a> {
    /// The link
    pub link: &'a str,
    /// The agent that the browser acts as
    pub agent: &'a str,
    /// What it allows
    pub scope: AccessScope,
}

/// Where a server is found; told once, when it listens.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Served<'a> {
    /// The link that signs in one browser, once
    pub link: &'a str,
    /// The file of its token
    pub token_file: String,
    /// Its address
    pub url: &'a str,
    /// The address that others use, if `--public-url` is given
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_url: Option<String>,
    /// The address of the API
    pub api: String,
    /// The address of the MCP server
    pub mcp: String,
    /// The list that is served
    pub list: &'a str,
    /// The fingerprint of its certificate, if it encrypts
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<&'a str>,
}

/// The help of a command.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Help {
    pub help: String,
}

/// The version of the program.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Version {
    pub version: &'static str,
}

/// A script that completes commands in a shell.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Completions {
    pub script: String,
}

/// A page of the manual.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct ManualPage {
    pub page: String,
}

/// The manual, which was written to a directory.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct ManualWritten {
    pub directory: String,
}

/// The demonstration.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Demonstration {
    /// How many steps were shown
    pub steps: usize,
}
