//! `taskyard serve` and `token`

use std::net::{AddrParseError, IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use taskyard::core::Timestamp;
use taskyard::core::answers::maintenance_answers::{Served, TokenRevoked};
use taskyard::core::render::{Line, Tone};
use taskyard_jobs::processes;
use taskyard_mcp::Leases;
use taskyard_server::tokens::{
    BrowserRecord, Scope, ServerToken, TokenBook, TokenProblem, TokenRecord, token_created, tokens_shown,
};
use taskyard_server::{PublicUrl, Server, ServerTerms, Tls};

use super::mcp::Offer;
use crate::arguments::parse_lifetime;
use crate::commands::mcp::open_hub;
use crate::context::Context;
use crate::exit::{Exit, Problem};
use crate::output::Output;
use crate::places;
use crate::server_host::ContextHost;

/// Serve the list over HTTP: a board for the browser, an API at /api/v1, events, metrics, and MCP at /mcp
///
/// Programs authenticate with a token: the one created at the first start, or one made with `taskyard token`. A browser
/// signs in with the printed single-use link. Only programs on this machine can connect, unless --bind is given;
/// connections from other machines are encrypted, unless --insecure is given.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Port to listen on; 0 picks a free port
    #[arg(long, value_name = "PORT", default_value_t = 8787)]
    pub(crate) port: u16,

    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", value_parser = address)]
    pub(crate) bind: IpAddr,

    /// A host name of the server, besides its addresses; may be given several times
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,

    /// The public address behind a proxy, with its path: `https://board.example/yard`
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<PublicUrl>,

    /// Open the link in the browser
    #[arg(long)]
    pub(crate) open: bool,

    /// The TLS certificate, as a PEM file; if none is given, a self-signed one is generated for access from other
    /// machines
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The private key of the certificate, as a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Allow access from other machines without encryption: anyone who sees the traffic can read the token and every
    /// task
    #[arg(long, conflicts_with = "tls_cert")]
    pub(crate) insecure: bool,

    #[command(flatten)]
    pub(crate) offer: Offer,
}

impl Serve {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let goes_beyond = !self.bind.to_canonical().is_loopback();
        let data = places::data(context.environment())?;
        let token = ServerToken::load_or_make(&data)?;
        if token.was_readable() {
            let path = token.path().display();
            output
                .warn(&format!("other users could read the token; remove `{path}` and start again to get a new one"))?;
        }
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Some(Tls::given(certificate, key)?),
            _ if goes_beyond && !self.insecure => Some(Tls::own(&data, &self.names())?),
            _ => None,
        };
        let fingerprint = tls.as_ref().map(|tls| tls.fingerprint().to_owned());
        let options = self.offer.options(context, Leases::Time)?;
        let here = context.directory()?.to_owned();
        let hub = open_hub(context.in_directory(here.clone()), options, context.cancel().clone())?;
        let host = Arc::new(ContextHost::of(context.in_directory(here)));
        let server = Server::open(
            host,
            ServerTerms {
                address: (self.bind, self.port).into(),
                tls,
                names: self.hosts.clone(),
                public_url: self.public_url.clone(),
                token,
                data: &data,
                runs_commands: options.runs_commands,
            },
            context.cancel().clone(),
        )?;
        let link = server.link()?;
        self.tell(&server, &link, fingerprint.as_deref(), output)?;
        if self.open {
            open_in_browser(&server, &data, &link, output)?;
        }
        output.flush()?;
        let _caretaker = context.caretaker();
        server.serve(hub)?;
        Ok(if processes::was_stopped() { Exit::Stopped } else { Exit::Done })
    }

    /// Prints how to reach the server.
    fn tell(&self, server: &Server, link: &str, fingerprint: Option<&str>, output: &mut Output) -> Result<(), Problem> {
        let (url, list) = (server.url(), server.list().as_str());
        let (api, mcp) = (format!("{url}/api/v1"), format!("{url}/mcp"));
        let token_file = server.token_file().display().to_string();
        if output.is_json() {
            let public_url = self.public_url.as_ref().map(ToString::to_string);
            output.document(Served { link, token_file, url, public_url, api, mcp, list, fingerprint })?;
        } else if output.is_quiet() {
            output.line(&Line::plain(url))?;
        } else {
            let mut line = Line::plain("Serving ").with(Tone::Strong, list);
            line.push(Tone::Plain, " at ");
            line.push(Tone::Hint, link);
            output.line(&line)?;
            let mut say = |words: &str| output.line(&Line::new().with(Tone::Dim, &format!("  {words}")));
            say("the link signs in one browser, once")?;
            say(&format!(
                "programs: {api} and {mcp}, with `Authorization: Bearer TOKEN`; the token is in {token_file}"
            ))?;
            if let Some(fingerprint) = fingerprint {
                say(&format!("encrypted; the certificate's SHA-256 is {fingerprint}"))?;
            }
        }
        if fingerprint.is_none() && !self.bind.to_canonical().is_loopback() {
            output.warn("nothing is encrypted: anyone who sees the traffic can read the token and every task")?;
        }
        Ok(())
    }

    /// Returns the names and addresses for a self-signed certificate.
    fn names(&self) -> Vec<String> {
        let system = rustix::system::uname();
        let host = system.nodename().to_str().ok().filter(|name| !name.is_empty()).map(str::to_owned);
        let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
        let bind = self.bind.to_canonical();
        let own = (!bind.is_unspecified()).then(|| bind.to_string());
        for name in own.into_iter().chain(host).chain(self.hosts.iter().cloned()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// Opens a link in the user's browser through a file that only the user can read.
fn open_in_browser(server: &Server, data: &Path, link: &str, output: &mut Output) -> Result<(), Problem> {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let opened = server.write_opening_page(data, link).and_then(|page| {
        let mut command = Command::new(program);
        command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    });
    if let Err(error) = opened {
        output.warn(&format!("`{program}` cannot be started ({error}); open the link yourself"))?;
    }
    Ok(())
}

/// Parses an address; `localhost` is accepted.
fn address(text: &str) -> Result<IpAddr, AddrParseError> {
    if text.eq_ignore_ascii_case("localhost") { Ok(Ipv4Addr::LOCALHOST.into()) } else { text.parse() }
}

/// Manage access to the server: tokens and browsers
///
/// A program sends its token as `Authorization: Bearer TOKEN`. The secret is shown once; Taskyard keeps only a digest
/// of it. A browser signs in with a link of `taskyard serve`, and stays signed in until it is logged out or inactive
/// for 7 days.
#[derive(Debug, Args)]
pub(crate) struct Token {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Create a token and show it once
    Create {
        /// Its name: a program that uses it acts under this name unless it gives another, and so do the browsers that
        /// its links let in
        name: String,
        /// Its scope
        #[arg(long, value_name = "SCOPE", default_value = "read")]
        scope: ScopeWord,
        /// How long it is valid (`30d`); default: forever
        #[arg(long, value_name = "DURATION", value_parser = parse_lifetime)]
        expires: Option<Duration>,
    },
    /// Show the tokens and browsers, without their secrets
    List,
    /// Revoke a token or log out a browser, effective from the next request
    Revoke {
        /// The name of the token or the browser
        name: String,
    },
}

/// What a token may do.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ScopeWord {
    /// Read everything
    Read,
    /// Change tasks, claim them, write messages
    Work,
    /// Everything: run commands, clear lists, create tokens
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
            false => line.push(Tone::Warning, ", is revoked"),
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
    record.expires.map(|at| format!(", valid until {}", output.look().planned(Timestamp(at)))).unwrap_or_default()
}
