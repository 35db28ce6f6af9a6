//! `taskyard where`

use clap::Args;
use taskyard::answers::ignored_setting;
use taskyard::config::ConfigWarning;
use taskyard::core::answers::lists::OtherTeam;
use taskyard::core::render::{Line, Tone};
use taskyard::core::{AgentName, ListId, answers};
use taskyard::opening::Address;
use taskyard::teams::Seat;

use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::places;
use crate::problem::Problem;

/// Tell which list is meant here, and why
#[derive(Debug, Args)]
pub(crate) struct Where {}

impl Where {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let choice = context.choice()?;
        let address = context.address()?;
        if matches!(address, Address::Claude | Address::Documents) {
            places::client_config(context.environment())?;
        }
        let path = address.path_of_list(&choice.list, context.places()?);
        let data = places::data(context.environment()).ok();
        let name = context.list_names()?.remove(choice.list.directory());
        let warnings = context.ignored_settings()?;
        // Without a working directory there is none that could have a list.
        let own = context.list_of_directory().ok();
        let other_teams = other_teams(context, &choice.list)?;
        let directories = context.directories_of(&choice.list)?;
        if output.is_json() {
            output.document(answers::lists::Where {
                list: choice.list.as_str(),
                store: address.to_string(),
                reason: choice.reason.words(),
                directory_list: own.as_ref().map(|own| own.list.as_str()),
                directories: directories.iter().map(|path| path.display().to_string()).collect(),
                path: path.map(|path| path.display().to_string()),
                data: data.map(|data| data.display().to_string()),
                agent: context.actor()?.as_str(),
                other_teams: other_teams
                    .iter()
                    .map(|(team, list, joined)| OtherTeam { team, list: list.as_str(), joined_in: joined.as_deref() })
                    .collect(),
                ignored: warnings.iter().map(ignored_setting).collect(),
                name,
            })?;
            return Ok(Exit::Done);
        }
        if output.is_quiet() {
            output.line(&Line::plain(choice.list.as_str()))?;
            return Ok(Exit::Done);
        }
        let mut line = Line::new().with(Tone::Strong, choice.list.as_str());
        line.push(Tone::Plain, &format!(" ({})", choice.reason));
        output.line(&line)?;
        let mut fact = |name: &str, value: &str| {
            output.line(&Line::new().with(Tone::Dim, &format!("  {name:7}")).with(Tone::Plain, value))
        };
        if let Some(own) = own.filter(|own| own.list != choice.list) {
            fact("here", &format!("{}, the list of this directory ({})", own.list, own.reason))?;
        }
        if let Some(name) = name {
            fact("name", &format!("{name}, whose directory is {}", choice.list.directory()))?;
        }
        fact("store", &address.to_string())?;
        if let Some(path) = path {
            let missing = if path.exists() { "" } else { " (not there yet)" };
            fact("path", &format!("{}{missing}", path.display()))?;
        }
        if let Some(data) = data {
            fact("data", &data.display().to_string())?;
        }
        fact("agent", context.actor()?.as_str())?;
        for directory in directories.iter().filter(|directory| Some(directory.as_path()) != context.project()) {
            fact("used in", &format!(" {}", directory.display()))?;
        }
        for (team, list, joined) in other_teams {
            let joined = joined.map_or_else(|| "somewhere".to_owned(), |joined| format!("in {joined}"));
            fact("team", &format!("{team}, joined {joined}; its list counts there, or with --list {list}"))?;
        }
        for warning in &warnings {
            fact(
                "ignored ",
                &match warning {
                    ConfigWarning::Untrusted { path, keys } => format!("{} in {}", keys.join(", "), path.display()),
                    warning => warning.to_string(),
                },
            )?;
        }
        Ok(Exit::Done)
    }
}

/// Returns the teams that the acting agent is in and whose lists are not the one it works on here: the name, the list,
/// and where it joined.
fn other_teams(context: &Context, chosen: &ListId) -> Result<Vec<(String, ListId, Option<String>)>, Problem> {
    let (Ok(teams), Some(agent)) = (context.teams(), context.named_agent().and_then(|name| AgentName::new(name).ok()))
    else {
        return Ok(Vec::new());
    };
    let of_seat = |seat: Seat| {
        let list = teams.list_of(&seat.team.name).ok().filter(|list| list != chosen)?;
        Some((seat.team.name.to_string(), list, seat.member().and_then(|member| member.cwd.clone())))
    };
    Ok(teams.seats_of(&agent)?.into_iter().filter_map(of_seat).collect())
}
