//! `taskyard serve`

use std::net::{AddrParseError, IpAddr, Ipv4Addr};
use std::path::PathBuf;

use clap::Args;

use super::mcp::Offer;
use crate::arguments::PublicUrl;

/// Serve the list over HTTP: a board for the browser, an API at /api/v1, events, metrics, and MCP at /mcp
///
/// Programs show a token: the one that the first start makes, or one of `taskyard token`. A browser enters by the
/// printed link, which works once. Only programs on this machine reach it unless --bind says otherwise; beyond this
/// machine everything is encrypted unless --insecure says otherwise.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The port; 0 takes any that is free
    #[arg(long, value_name = "PORT", default_value_t = 8787)]
    pub(crate) port: u16,

    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", value_parser = address)]
    pub(crate) bind: IpAddr,

    /// A name under which it is reached, besides its addresses; may be given several times
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,

    /// The address under which a proxy shows it, with the path it is found at: `https://board.example/yard`
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<PublicUrl>,

    /// Open the link in the browser
    #[arg(long)]
    pub(crate) open: bool,

    /// The certificate to encrypt with, as a PEM file; beyond this machine one is made where none is given
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The key of the certificate, as a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Listen beyond this machine without encryption: anybody who sees the traffic can read the token and every task
    #[arg(long, conflicts_with = "tls_cert")]
    pub(crate) insecure: bool,

    #[command(flatten)]
    pub(crate) offer: Offer,
}

/// Reads an address; `localhost` is this machine.
fn address(text: &str) -> Result<IpAddr, AddrParseError> {
    if text.eq_ignore_ascii_case("localhost") { Ok(Ipv4Addr::LOCALHOST.into()) } else { text.parse() }
}
