//! `taskyard token`

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use taskyard::core::Timestamp;
use taskyard::core::answers::access::TokenRevoked;
use taskyard::core::render::{Line, Tone};
use taskyard_server::tokens::{
    BrowserRecord, Scope, TokenBook, TokenProblem, TokenRecord, token_created, tokens_shown,
};

use crate::arguments::parse_lifetime;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::places;
use crate::problem::Problem;

/// Say who may use the server: tokens by name, and browsers
///
/// A program sends its token as `Authorization: Bearer TOKEN`. The secret is shown once; Taskyard keeps only a digest
/// of it. A browser is let in by a link of `taskyard serve`, until it is logged out or asks for nothing for 7 days.
#[derive(Debug, Args)]
pub(crate) struct Token {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Make a token and show it, once
    Create {
        /// Its name: a program that uses it acts under this name unless it gives another, and so do the browsers that
        /// its links let in
        name: String,
        /// What it may do
        #[arg(long, value_name = "SCOPE", default_value = "read")]
        scope: ScopeWord,
        /// How long it is valid (`30d`); for ever by default
        #[arg(long, value_name = "DURATION", value_parser = parse_lifetime)]
        expires: Option<Duration>,
    },
    /// Show the tokens and the browsers there are, without their secrets
    List,
    /// Revoke a token, or log a browser out, from the next request on
    Revoke {
        /// The name of the token or the browser
        name: String,
    },
}

/// What a token may do.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ScopeWord {
    /// Look at everything
    Read,
    /// Change tasks, claim them, write messages
    Work,
    /// Everything: run commands, clear lists, give tokens
    All,
}

impl From<ScopeWord> for Scope {
    fn from(word: ScopeWord) -> Self {
        match word {
            ScopeWord::Read => Self::Read,
            ScopeWord::Work => Self::Work,
            ScopeWord::All => Self::All,
        }
    }
}

impl Token {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let book = TokenBook::of(&places::data(context.environment())?);
        let now = Timestamp(jiff::Timestamp::now().as_millisecond());
        match self.action {
            Action::Create { name, scope, expires } => {
                let (record, secret) =
                    book.create(&name, scope.into(), expires, now).map_err(|problem| problem.about(&name))?;
                created(&record, &secret, output)?;
            }
            Action::List => {
                let failed = |problem: TokenProblem| problem.about("");
                list(&book.all().map_err(failed)?, &book.browsers(now).map_err(failed)?, now, output)?;
            }
            Action::Revoke { name } => {
                book.revoke(&name).map_err(|problem| problem.about(&name))?;
                match output.is_json() {
                    true => output.document(TokenRevoked { name: &name, revoked: true })?,
                    false => output.say(&Line::plain("Revoked ").with(Tone::Strong, &name))?,
                }
            }
        }
        Ok(Exit::Done)
    }
}

fn created(record: &TokenRecord, secret: &str, output: &mut Output) -> Result<(), Problem> {
    if output.is_json() {
        return Ok(output.document(token_created(record, secret))?);
    }
    if !output.is_quiet() {
        let mut line = Line::plain("Made ").with(Tone::Strong, &record.name);
        line.push(Tone::Dim, &format!(" ({}{})", record.scope.as_str(), until(record, output)));
        line.push(Tone::Plain, "; its token, which is not shown again:");
        output.line(&line)?;
    }
    Ok(output.line(&Line::plain(secret))?)
}

fn list(
    records: &[TokenRecord],
    browsers: &[BrowserRecord],
    now: Timestamp,
    output: &mut Output,
) -> Result<(), Problem> {
    if output.is_json() {
        return Ok(output.document(tokens_shown(records, browsers, now))?);
    }
    if records.is_empty() {
        output.say(&Line::plain("No tokens"))?;
        output.advise("make one with `taskyard token create NAME --scope work`")?;
    }
    for record in records {
        let mut line = Line::new().with(Tone::Strong, &record.name);
        line.push(Tone::Plain, &format!("  {}", record.scope.as_str()));
        match record.counts(now) {
            true => line.push(Tone::Dim, &until(record, output)),
            false => line.push(Tone::Warning, ", no longer counts"),
        }
        output.line(&line)?;
    }
    let look = output.look();
    for browser in browsers {
        let mut line = Line::new().with(Tone::Strong, &browser.name);
        let (made, used) = (look.time(Timestamp(browser.made)), look.time(Timestamp(browser.used)));
        let actor = browser.actor.as_deref().map(|actor| format!(" as {actor}")).unwrap_or_default();
        line.push(Tone::Plain, &format!("  {}, let in{actor} {made}", browser.scope().as_str()));
        line.push(Tone::Dim, &format!(", last used {used}{}{}", look.dot(), browser.agent));
        output.line(&look.fitted(line))?;
    }
    Ok(())
}

fn until(record: &TokenRecord, output: &Output) -> String {
    record.expires.map(|at| format!(", counts until {}", output.look().planned(Timestamp(at)))).unwrap_or_default()
}
