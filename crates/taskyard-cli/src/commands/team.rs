//! `taskyard team`

use clap::{Args, Subcommand, ValueEnum};
use taskyard::core::answers::team_answers::{MendedFile, TeamCreated, TeamDeleted, TeamJoined, TeamsMended};
use taskyard::core::render::{Line, Tone};
use taskyard::core::rules::refusal::TeamRefusal;
use taskyard::core::{AgentName, Holder, ListId, TeamName, answers};
use taskyard::liveness::mark_of;
use taskyard::operations::{Departed, Departure};
use taskyard::teams::{Backend, Mended, NewMember, NewTeam, Presence, TeamTrouble, TeamsFound};

use crate::arguments::parse_agent;
use crate::context::Context;
use crate::displays;
use crate::displays::{given_back, taken_out};
use crate::exit::{Exit, Problem};
use crate::output::Output;

/// Create, show, join and leave teams
///
/// A team is a task list that its members share, and an inbox for each of them, in Claude Code's own files: its agents,
/// other agents and people can be in one team. You lead the team that you create, as `team-lead`.
#[derive(Debug, Args)]
pub(crate) struct Team {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Create a team and lead it; tasks its list already has stay
    Create {
        /// Its name
        #[arg(value_parser = parse_name)]
        name: TeamName,
        /// Its purpose
        #[arg(short, long, value_name = "TEXT")]
        description: Option<String>,
        /// Remove the tasks its list already has; they can be restored
        #[arg(long)]
        reset: bool,
    },
    /// Delete a team and its inboxes; its tasks stay
    Delete {
        /// The team
        name: String,
        /// Delete it even if it still has members
        #[arg(long)]
        force: bool,
    },
    /// Show who is in a team and what each is doing
    Show {
        /// The team; default: yours
        name: Option<String>,
    },
    /// Show every team
    List,
    /// Repair unreadable inboxes and team files, keeping what can be read and a copy of the damaged file
    Mend,
    /// Join a team under the name of --as
    Join(Join),
    /// Leave a team: your open tasks are released, and the other members are notified
    Leave(Leave),
}

#[derive(Debug, Args)]
pub(crate) struct Join {
    /// The team
    pub(crate) name: String,
    /// Start no task until the lead has approved the plan [env: CLAUDE_CODE_PLAN_MODE_REQUIRED]
    #[arg(long)]
    pub(crate) plan_mode: bool,
    /// The member's process; when it ends, the member is removed
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<u32>,
    /// Where the joining Claude Code runs: `tmux` for a program of its own, which ends once it has agreed to
    #[arg(long, value_name = "BACKEND")]
    pub(crate) backend: Option<BackendWord>,
    /// The tmux pane of that program
    #[arg(long, value_name = "PANE", requires = "backend")]
    pub(crate) pane: Option<String>,
    /// What kind of agent it is
    #[arg(long, value_name = "TYPE")]
    pub(crate) agent_type: Option<String>,
    /// The model it runs on
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Leave {
    /// The team; default: yours
    pub(crate) name: Option<String>,
    /// The member that leaves; default: you
    #[arg(long = "agent", value_name = "AGENT", value_parser = parse_agent)]
    pub(crate) departed: Option<AgentName>,
    /// Why
    #[arg(long, value_name = "REASON", default_value = "shutdown")]
    pub(crate) reason: Reason,
}

/// What a program of the client's runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendWord {
    /// A program of its own
    Tmux,
    /// Within the program of the lead
    InProcess,
}

/// Why a member leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reason {
    /// It ended by itself
    Shutdown,
    /// It was ended
    Terminated,
}

fn parse_name(text: &str) -> Result<TeamName, String> {
    text.parse().map_err(|error: taskyard::core::BadListName| error.to_string().replace("list", "team"))
}

impl Team {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        match self.action {
            Action::Create { name, description, reset } => create(name, description, reset, context, output),
            Action::Delete { name, force } => delete(&name, force, context, output),
            Action::Show { name } => show(name.as_deref(), context, output),
            Action::List => list(context, output),
            Action::Mend => mend(context, output),
            Action::Join(join) => join.run(context, output),
            Action::Leave(leave) => leave.run(context, output),
        }
    }
}

fn create(
    name: TeamName,
    description: Option<String>,
    reset: bool,
    context: &Context,
    output: &mut Output,
) -> Result<Exit, Problem> {
    let teams = context.teams()?;
    let yard = context.yard()?;
    let new = NewTeam { name, description, agent_type: None };
    let (seat, team_list) = yard.create_team(&teams, &new, reset)?.done()?;
    let list = context.list_of_member()?;
    output.consider_list_named();
    if output.is_json() {
        let path = teams.file_of(&seat.team.name).map(|path| path.display().to_string());
        output.document(TeamCreated {
            team: seat.team.name.as_str(),
            list: list.as_str(),
            team_list: team_list.as_str(),
            path,
            agent: &seat.name,
        })?;
        return Ok(Exit::Done);
    }
    let mut line = Line::plain("Created team ").with(Tone::Strong, seat.team.name.as_str());
    let what = if list == team_list { "and work on its list" } else { "and work on list" };
    line.push(Tone::Dim, &format!(" (you lead it, {what} {list} in this directory)"));
    output.say(&line)?;
    advise_on_list(&list, &team_list, output)?;
    output.advise(&format!("others join with `taskyard team join {} --as NAME`", seat.team.name))?;
    Ok(Exit::Done)
}

/// Suggests how a member gets to its team's list if it works on another one here.
fn advise_on_list(list: &ListId, team_list: &ListId, output: &mut Output) -> Result<(), Problem> {
    if list != team_list {
        output.advise(&format!(
            "to use the team's list, pass `--list {team_list}`; `taskyard where` shows why {list} is used here"
        ))?;
    }
    Ok(())
}

fn delete(name: &str, force: bool, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
    let teams = context.teams()?;
    let yard = context.yard()?;
    let team = teams.find(name)?.done()?;
    let members = teams.standing_in_the_way(&team)?;
    if !members.is_empty() && !force {
        return Err(TeamRefusal::MembersLeft { team: team.name.to_string(), members }.into());
    }
    yard.end_team(&teams, &team)?;
    if output.is_json() {
        output.document(TeamDeleted { team: team.name.as_str(), deleted: true })?;
    } else {
        output.say(&Line::plain("Ended team ").with(Tone::Strong, team.name.as_str()))?;
    }
    Ok(Exit::Done)
}

fn show(name: Option<&str>, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
    let teams = context.teams()?;
    let team = match name {
        Some(name) => teams.find(name)?.done()?,
        None => teams.seat(&context.actor()?, None)?.done()?.team,
    };
    let shown = context.yard()?.show_team(&teams, &team)?;
    for problem in shown.members.iter().filter_map(|member| member.inbox_problem.as_ref()) {
        output.warn(problem)?;
    }
    if output.is_json() {
        output.document(answers::team_answers::TeamShown::from(&shown))?;
    } else {
        output.lines(&displays::lines(&shown, &output.look()))?;
    }
    Ok(Exit::Done)
}

fn list(context: &Context, output: &mut Output) -> Result<Exit, Problem> {
    let TeamsFound { teams, unreadable } = context.teams()?.look_around()?;
    for team in &unreadable {
        output.warn(&team.error.to_string())?;
    }
    if output.is_json() {
        output.document(answers::team_answers::Teams { teams: teams.iter().map(Into::into).collect() })?;
        return Ok(Exit::Done);
    }
    if teams.is_empty() && unreadable.is_empty() {
        output.say(&Line::plain("No teams found"))?;
        output.advise("create one with `taskyard team create NAME`")?;
    }
    output.lines(&teams.iter().map(|team| displays::line(team, &output.look())).collect::<Vec<_>>())?;
    Ok(Exit::Done)
}

fn mend(context: &Context, output: &mut Output) -> Result<Exit, Problem> {
    let teams = context.teams()?;
    let (mut files, mut exit) = (Vec::new(), Exit::Done);
    for trouble in teams.find_trouble()? {
        let (TeamTrouble::TornInbox { path, .. }
        | TeamTrouble::TornTeamFile { path, .. }
        | TeamTrouble::SpecialFile { path, .. }
        | TeamTrouble::LockInTheWay { path, .. }) = &trouble
        else {
            continue;
        };
        let place = path.display().to_string();
        let (kept, saved) = match teams.mend(&trouble)? {
            Mended::WasWhole => continue,
            Mended::Whole { kept, saved } => (Some(kept.display().to_string()), saved),
            Mended::SetAside => {
                if !output.is_json() {
                    output.say(&Line::plain(&format!("Moved `{place}` out of the way")))?;
                }
                files.push(MendedFile { path: place, mended: true, saved: 0, kept: None });
                continue;
            }
            Mended::BeyondMending => (None, 0),
        };
        if !output.is_json() {
            let what = if matches!(trouble, TeamTrouble::TornInbox { .. }) { "message" } else { "member" };
            let count = format!("{saved} {what}{}", if saved == 1 { "" } else { "s" });
            match &kept {
                Some(kept) => output
                    .say(&Line::plain(&format!("Repaired `{place}` with {count}; the original is in `{kept}`")))?,
                None => output.warn(&format!("`{place}` cannot be repaired and was not changed"))?,
            }
        }
        exit = if kept.is_none() { Exit::CouldNot } else { exit };
        files.push(MendedFile { path: place, mended: kept.is_some(), saved, kept });
    }
    if output.is_json() {
        output.document(TeamsMended { mended: files })?;
    } else if files.is_empty() {
        output.say(&Line::plain("Nothing to repair"))?;
    }
    Ok(exit)
}

impl Join {
    fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let teams = context.teams()?;
        let team = teams.find(&self.name)?.done()?;
        // Prune dead members first: one of them may have this name or colour.
        let pruned = context.yard()?.prune_team(&teams, &team)?;
        for ghost in &pruned {
            output.warn(&taken_out(ghost))?;
        }
        let team = if pruned.is_empty() { team } else { teams.find(&self.name)?.done()? };
        let presence =
            match self.pid {
                None => Presence::Lasting,
                Some(pid) => Presence::Held(Holder::Process(mark_of(pid).ok_or_else(|| {
                    Problem::usage("no_process", format!("there is no process {pid} on this machine"))
                })?)),
            };
        let plan_mode_required = self.plan_mode || context.environment().plan_mode_required == Some(true);
        let new = NewMember {
            agent: context.actor()?,
            agent_type: self.agent_type,
            model: self.model,
            plan_mode_required,
            presence,
            backend: self.backend.map(|backend| match backend {
                BackendWord::InProcess => Backend::InProcess,
                BackendWord::Tmux => Backend::Tmux { pane: self.pane },
            }),
        };
        let seat = teams.join(&team, &new)?.done()?;
        let team_list = teams.list_of(&seat.team.name)?;
        let list = context.list_of_member()?;
        output.consider_list_named();
        let colour = seat.member().and_then(|member| member.color.clone());
        if output.is_json() {
            output.document(TeamJoined {
                team: seat.team.name.as_str(),
                agent: &seat.name,
                color: colour.as_deref(),
                list: list.as_str(),
                team_list: team_list.as_str(),
                plan_mode_required,
            })?;
            return Ok(Exit::Done);
        }
        let mut line = Line::new().with(Tone::member(colour.as_deref()), &seat.name);
        line.push(Tone::Plain, " joined team ");
        line.push(Tone::Strong, seat.team.name.as_str());
        let what = if list == team_list { "its list is" } else { "works on list" };
        line.push(Tone::Dim, &format!(" ({what} {list})"));
        output.say(&line)?;
        advise_on_list(&list, &team_list, output)?;
        if plan_mode_required {
            output.say(&Line::new().with(Tone::Dim, "  cannot start a task until the lead approves its plan"))?;
        }
        Ok(Exit::Done)
    }
}

impl Leave {
    fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let teams = context.teams()?;
        let agent = match self.departed {
            Some(agent) => agent,
            None => context.actor()?,
        };
        let seat = teams.seat(&agent, self.name.as_deref())?.done()?;
        let departure = match self.reason {
            Reason::Shutdown => Departure::Shutdown,
            Reason::Terminated => Departure::Terminated,
        };
        let departed: Departed = context.yard()?.leave_team(&teams, &seat, departure)?.done()?;
        if output.is_json() {
            output.document(taskyard::answers::team_left(&seat, &departed))?;
        } else {
            let mut line = Line::new().with(Tone::Owner, &seat.name);
            line.push(Tone::Plain, " left team ");
            line.push(Tone::Strong, seat.team.name.as_str());
            output.say(&line)?;
            if !departed.tasks.is_empty() {
                given_back(&agent, &departed).iter().try_for_each(|line| output.say(line))?;
            }
        }
        Ok(Exit::Done)
    }
}
