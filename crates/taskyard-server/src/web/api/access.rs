//! Operations on access: tokens, browsers and links.

use schemars::JsonSchema;
use serde::Deserialize;
use taskyard::core::answers;
use taskyard::core::problem::{Problem, ProblemKind};

use super::inputs::lifetime;
use super::operation::{Asked, Operation, Parts, Reply};
use crate::tokens::{LinkTerms, Scope, TokenBook, TokenProblem, token_created, tokens_shown};
use crate::web::call::{Call, now};
use crate::web::security::{Identity, Refused};

pub(crate) const MAKE_LINK: &str = "makeLink";
pub(crate) const LOG_OUT: &str = "logOut";

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get::<answers::maintenance_answers::Tokens<'_>>(
            "listTokens",
            "/tokens",
            "List the tokens and browsers, without their secrets",
        )
        .only_for(Scope::All)
        .runs(list),
        Operation::post::<answers::maintenance_answers::TokenCreated<'_>>(
            "createToken",
            "/tokens",
            "Create a token; its secret is shown once",
        )
        .makes("/tokens/{name}")
        .only_for(Scope::All)
        .with(create),
        Operation::delete::<answers::maintenance_answers::TokenRevoked<'_>>(
            "revokeToken",
            "/tokens/{name}",
            "Revoke a token or a browser",
        )
        .only_for(Scope::All)
        .runs(revoke),
        Operation::post::<answers::maintenance_answers::LinkCreated<'_>>(
            MAKE_LINK,
            "/links",
            "Create a single-use link that signs in a browser under the caller's name",
        )
        .makes("/links")
        .takes::<NewLink>(),
        Operation::post::<answers::maintenance_answers::TokenRevoked<'_>>(
            LOG_OUT,
            "/logout",
            "Log out the calling browser",
        )
        .only_for(Scope::Read),
    ]
}

/// A new link.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct NewLink {
    /// What the browser may do: as much as the caller by default, and never more
    pub(crate) scope: Option<Scope>,
    /// As whom it acts: another name than the caller's own needs the scope `all`
    pub(crate) name: Option<String>,
}

impl NewLink {
    /// Returns the terms of the link that the caller may create, or why it may not.
    pub(crate) fn terms(self, caller: &Identity) -> Result<LinkTerms, Refused> {
        let scope = self.scope.unwrap_or(caller.scope);
        let is_own = self.name.is_none() || self.name == caller.name;
        if scope > caller.scope || (!is_own && caller.scope < Scope::All) {
            return Err(Refused::Scope);
        }
        Ok(LinkTerms { actor: self.name.or_else(|| caller.name.clone()), scope, token: caller.token.clone() })
    }
}

/// Returns the token book of the data directory.
fn book(call: &Call) -> Result<TokenBook, Problem> {
    let no_data = || Problem::new(ProblemKind::CouldNot, "no_place", "tokens are not supported here");
    Ok(TokenBook::of(call.served.data().ok_or_else(no_data)?))
}

fn list(_: &Parts) -> Result<Asked, Problem> {
    Ok(Asked::to(|call| {
        let (book, now) = (book(call)?, now());
        let failed = |problem: TokenProblem| problem.about("");
        Reply::of(tokens_shown(&book.all().map_err(failed)?, &book.browsers(now).map_err(failed)?, now))
    }))
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

fn create(_: &Parts, new: NewToken) -> Result<Asked, Problem> {
    let expires = lifetime(new.expires.as_deref())?;
    Ok(Asked::to(move |call| {
        let made = book(call)?.create(&new.name, new.scope, expires, now());
        let (record, secret) = made.map_err(|problem| problem.about(&new.name))?;
        Reply::of(token_created(&record, &secret))
    }))
}

fn revoke(parts: &Parts) -> Result<Asked, Problem> {
    let name = parts.text("name").to_owned();
    Ok(Asked::to(move |call| {
        book(call)?.revoke(&name).map_err(|problem| problem.about(&name))?;
        Reply::of(answers::maintenance_answers::TokenRevoked { name: &name, revoked: true })
    }))
}
