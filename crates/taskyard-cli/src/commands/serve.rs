//! `taskyard serve`

use std::net::{AddrParseError, IpAddr, Ipv4Addr};

use clap::Args;
use serde::Serialize;
use taskyard::core::render::{Line, Tone};

use super::mcp::Offer;
use crate::context::Context;
use crate::exit::Exit;
use crate::mcp::{Hub, Leases};
use crate::output::Output;
use crate::problem::Problem;
use crate::serve::{Listening, Token};
use crate::{places, signals};

/// Serve the list over HTTP: the Model Context Protocol at /mcp
///
/// Whoever calls it proves with the token, which is made at the first start, that the user let them in. Only programs on this
/// machine reach it unless --bind and --insecure say otherwise.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The port; 0 takes any that is free
    #[arg(long, value_name = "PORT", default_value_t = 8787)]
    port: u16,

    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", value_parser = address)]
    bind: IpAddr,

    /// Listen beyond this machine though nothing is encrypted: whoever sees the traffic reads the token and every task
    #[arg(long)]
    insecure: bool,

    #[command(flatten)]
    offer: Offer,
}

/// Where the server is found.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    url: &'a str,
    mcp: String,
    token_file: String,
    list: String,
}

impl Serve {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let goes_beyond = !self.bind.to_canonical().is_loopback();
        if goes_beyond && !self.insecure {
            return Err(beyond_this_machine(self.bind));
        }
        let choice = context.choice()?;
        let token = Token::load_or_make(&places::data(context.environment())?)?;
        if token.was_readable() {
            let path = token.path().display();
            output.warn(&format!("others could read the token; remove `{path}` and start again to have a new one"))?;
        }
        let options = self.offer.options(context, Leases::Time)?;
        let here = context.directory()?.to_owned();
        let hub = Hub::open(context.in_directory(here), options, context.cancel().clone())?;
        let listening = Listening::open((self.bind, self.port).into(), token)?;
        let url = listening.url();
        let mcp = format!("{url}/mcp");
        let token_file = listening.token().path().display().to_string();
        if output.is_json() {
            output.document(Answer { url: &url, mcp, token_file, list: choice.list.as_str().to_owned() })?;
        } else if output.is_quiet() {
            output.line(&Line::plain(&url))?;
        } else {
            output.line(
                &Line::plain("Serving ")
                    .with(Tone::Strong, choice.list.as_str())
                    .with(Tone::Plain, &format!(" at {mcp}")),
            )?;
            output.line(
                &Line::new()
                    .with(Tone::Dim, &format!("  send `Authorization: Bearer TOKEN`; the token is in {token_file}")),
            )?;
        }
        if goes_beyond {
            output.warn("nothing is encrypted: whoever sees the traffic reads the token and every task")?;
        }
        output.flush()?;
        let _caretaker = context.caretaker();
        listening.serve(hub)?;
        Ok(if signals::was_stopped() { Exit::Stopped } else { Exit::Done })
    }
}

/// Reads an address; `localhost` is this machine.
fn address(text: &str) -> Result<IpAddr, AddrParseError> {
    if text.eq_ignore_ascii_case("localhost") { Ok(Ipv4Addr::LOCALHOST.into()) } else { text.parse() }
}

fn beyond_this_machine(bind: IpAddr) -> Problem {
    let message = format!(
        "{bind} is reached from other machines, and nothing is encrypted: whoever sees the traffic reads the token and every task"
    );
    Problem::usage("insecure", message).hint(
        "stay on 127.0.0.1 and let a TLS proxy or an SSH tunnel (`ssh -L 8787:127.0.0.1:8787 HOST`) lead there, or say --insecure",
    )
}
