//! Who may use the server.

use schemars::JsonSchema;
use serde::Deserialize;

use super::inputs::lifetime;
use super::operation::{Operation, Parts};
use crate::commands::{Command, Token, TokenAction};
use crate::problem::Problem;
use crate::tokens::Scope;
use crate::web::openapi::shapes;

/// The operation that makes a link.
pub(crate) const MAKE_LINK: &str = "makeLink";
/// The operation that logs a browser out.
pub(crate) const LOG_OUT: &str = "logOut";

/// Returns the operations.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get::<shapes::Tokens>(
            "listTokens",
            "/tokens",
            "The tokens by name and the browsers, without their secrets",
        )
        .only_for(Scope::All)
        .runs(list),
        Operation::post::<shapes::TokenMade>("createToken", "/tokens", "Make a token; its secret is shown once")
            .makes("/tokens/{name}")
            .only_for(Scope::All)
            .with(create),
        Operation::delete::<shapes::TokenRevoked>(
            "revokeToken",
            "/tokens/{name}",
            "Let a token or a browser no longer count",
        )
        .only_for(Scope::All)
        .runs(revoke),
        Operation::post::<shapes::LinkMade>(
            MAKE_LINK,
            "/links",
            "Make a link that opens the pages once, in any browser",
        )
        .makes("/links")
        .only_for(Scope::All),
        Operation::post::<shapes::TokenRevoked>(LOG_OUT, "/logout", "Log the browser out that asks"),
    ]
}

fn list(_: &Parts) -> Result<Command, Problem> {
    Ok(token(TokenAction::List))
}

/// A new token.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewToken {
    name: String,
    /// What it may do
    #[serde(default)]
    scope: Scope,
    /// How long it counts: `30d`; for ever where nothing is said
    #[serde(default)]
    expires: Option<String>,
}

fn create(_: &Parts, new: NewToken) -> Result<Command, Problem> {
    let expires = lifetime(new.expires.as_deref())?;
    Ok(token(TokenAction::Create { name: new.name, scope: new.scope, expires }))
}

fn revoke(parts: &Parts) -> Result<Command, Problem> {
    Ok(token(TokenAction::Revoke { name: parts.text("name").to_owned() }))
}

fn token(action: TokenAction) -> Command {
    Command::Token(Token { action })
}
