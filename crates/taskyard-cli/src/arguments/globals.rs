//! The flags every command takes.

use clap::{Args, ValueEnum};
use taskyard::config::RuleWord;
use taskyard::core::ClientVersion;
use taskyard::opening::WrittenAddress;

use crate::output::ColorChoice;

/// The flags every command takes.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Globals {
    /// The list to work on [env: TASKYARD_LIST]; `taskyard where` tells which one it is otherwise
    #[arg(long, global = true, value_name = "ID")]
    pub(crate) list: Option<String>,

    /// The store: `claude:`, `file:DIRECTORY`, `document:[FILE]`, `teaching:DIRECTORY`, `postgres://HOST/DATABASE` or `memory:` [env: TASKYARD_STORE]
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub(crate) store: Option<WrittenAddress>,

    /// Who acts [env: TASKYARD_AGENT]
    #[arg(long = "as", global = true, value_name = "AGENT")]
    pub(crate) agent: Option<String>,

    /// Answer with one JSON object
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Print the bare answer only
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,

    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = false)]
    pub(crate) color: ColorChoice,

    /// Do not send output that is longer than the screen to $PAGER
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,

    /// The rules in force [env: TASKYARD_RULES]
    #[arg(long, global = true, value_name = "RULES")]
    pub(crate) rules: Option<RulesFlag>,

    /// The recorded client that `--rules client` follows, 2.1.34 or 2.1.325 [env: TASKYARD_CLIENT_VERSION]
    #[arg(long, global = true, value_name = "VERSION")]
    pub(crate) client_version: Option<ClientVersion>,
}

/// The rule sets one can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RulesFlag {
    /// Taskyard's own: reading tolerates, writing is strict
    Strict,
    /// What the recorded client does
    Client,
}

impl From<RulesFlag> for RuleWord {
    fn from(flag: RulesFlag) -> Self {
        match flag {
            RulesFlag::Strict => Self::Strict,
            RulesFlag::Client => Self::Client,
        }
    }
}
