//! What `taskyard setup` shows: the files of an agent as they change, and how things stand with every agent.

use std::path::Path;

use taskyard::core::answers::setup::{AgentKnown, AgentsKnown, ChangedFile};
use taskyard::core::answers::words::{FileOutcome, RegistrationWord};
use taskyard::core::render::{Line, Tone};
use taskyard_setup::config_edit::ChangedLine;
use taskyard_setup::{Agent, Change, Outcome, Registration, Scope, SetupOptions};

use crate::output::Output;
use crate::problem::Problem;

/// A file that comes or goes as a whole is shown in full up to so many lines, and of a longer one the beginning.
const LONGEST: usize = 40;
const BEGINNING: usize = 3;

/// Shows what is to happen to a file.
pub(crate) fn show(change: &Change, home: Option<&Path>, output: &mut Output) -> Result<(), Problem> {
    let path = in_home(&change.path, home);
    for entry in &change.otherwise {
        let note = Line::new()
            .with(Tone::Strong, &path)
            .with(Tone::Dim, &format!("  {entry} is there in another form, and stays"));
        output.say(&note)?;
    }
    if change.outcome == Outcome::Unchanged {
        return Ok(());
    }
    output.say(&Line::new().with(Tone::Strong, &path).with(Tone::Dim, &format!("  {}", change.outcome.as_str())))?;
    let is_whole = matches!(change.outcome, Outcome::Created | Outcome::Removed);
    let shown = if is_whole && change.lines.len() > LONGEST { BEGINNING } else { change.lines.len() };
    for line in &change.lines[..shown] {
        let (tone, mark, text) = match line {
            ChangedLine::Same(text) => (Tone::Dim, "    ", text.as_str()),
            ChangedLine::Added(text) => (Tone::Done, "  + ", text.as_str()),
            ChangedLine::Removed(text) => (Tone::Error, "  - ", text.as_str()),
            ChangedLine::Skipped(_) => (Tone::Dim, "    ", "..."),
        };
        // Tabs are shown as they would look; everything else that could steer a terminal is escaped.
        output.say(&Line::new().with(tone, &format!("{mark}{}", text.replace('\t', "    "))))?;
    }
    if shown < change.lines.len() {
        let rest = change.lines.len() - shown;
        output.say(&Line::new().with(Tone::Dim, &format!("    ... {rest} more lines")))?;
    }
    Ok(())
}

/// Returns what is to happen to a file, for programs.
pub(crate) fn change_answer(change: &Change) -> ChangedFile {
    let line = |line: &ChangedLine| match line {
        ChangedLine::Same(text) => format!(" {text}"),
        ChangedLine::Added(text) => format!("+{text}"),
        ChangedLine::Removed(text) => format!("-{text}"),
        ChangedLine::Skipped(_) => "...".to_owned(),
    };
    ChangedFile {
        path: change.path.display().to_string(),
        outcome: match change.outcome {
            Outcome::Created => FileOutcome::Created,
            Outcome::Changed => FileOutcome::Changed,
            Outcome::Removed => FileOutcome::Removed,
            Outcome::Unchanged => FileOutcome::Unchanged,
        },
        otherwise: change.otherwise.clone(),
        lines: change.lines.iter().map(line).collect(),
    }
}

/// Shows which agents are installed, and which of them know us.
pub(crate) fn show_standings(agents: &[Agent], options: &SetupOptions, output: &mut Output) -> Result<(), Problem> {
    let look = output.look();
    let widest = agents.iter().map(|agent| agent.word().len()).max().unwrap_or(0);
    let widest_name = agents.iter().map(|agent| agent.name().len()).max().unwrap_or(0);
    let mut unknown_to_some = false;
    for agent in agents {
        let found = agent.found(options);
        let (user, project) = standings_of(*agent, options);
        let is_known = [&user, &project].iter().any(|standing| is_known(standing));
        let (mark, tone) = match (found.is_some(), is_known) {
            (_, true) => (look.either("✓ ", "+ "), Tone::Done),
            (true, false) => (look.either("○ ", "o "), Tone::Warning),
            (false, false) => ("  ", Tone::Dim),
        };
        unknown_to_some |= found.is_some() && !is_known;
        let name = if found.is_some() || is_known { Tone::Plain } else { Tone::Dim };
        let mut line = Line::new().with(tone, mark);
        line.append(Line::new().with(name, agent.word()).padded(widest + 2));
        line.append(Line::new().with(Tone::Dim, agent.name()).padded(widest_name + 2));
        line.push(name, &in_words(&user, &project, found.is_some()));
        output.line(&look.fitted(line))?;
    }
    if unknown_to_some {
        output.advise("register with all that are installed with `taskyard setup --all`")?;
    }
    Ok(())
}

/// Returns which agents are installed, and which of them know us, for programs.
pub(crate) fn agents_known(agents: &[Agent], options: &SetupOptions) -> AgentsKnown {
    let answer = |agent: &Agent| {
        let (user, project) = standings_of(*agent, options);
        let found = agent.found(options);
        AgentKnown {
            agent: agent.word(),
            name: agent.name(),
            installed: found.is_some(),
            found: found.map(|path| path.display().to_string()),
            user: word(&user),
            project: word(&project),
        }
    };
    AgentsKnown { agents: agents.iter().map(answer).collect() }
}

fn standings_of(agent: Agent, options: &SetupOptions) -> (Registration, Registration) {
    (agent.registration(Scope::User, options), agent.registration(Scope::Project, options))
}

fn is_known(standing: &Registration) -> bool {
    matches!(standing, Registration::Registered | Registration::Otherwise)
}

fn word(standing: &Registration) -> RegistrationWord {
    match standing {
        Registration::Registered => RegistrationWord::Registered,
        Registration::Otherwise => RegistrationWord::Otherwise,
        Registration::Missing => RegistrationWord::Missing,
        Registration::NoSuchScope => RegistrationWord::NoSuchScope,
        Registration::Unreadable(_) => RegistrationWord::Unreadable,
    }
}

fn in_words(user: &Registration, project: &Registration, is_installed: bool) -> String {
    if let Registration::Unreadable(error) = user {
        return error.to_string();
    }
    if let Registration::Unreadable(error) = project {
        return error.to_string();
    }
    let known = match (is_known(user), is_known(project)) {
        (true, true) => "registered for you, and for this project",
        (true, false) => "registered for you",
        (false, true) => "registered for this project",
        (false, false) if is_installed => return "installed, not registered".to_owned(),
        (false, false) => return "not installed".to_owned(),
    };
    let by_hand = [user, project].iter().any(|standing| matches!(standing, Registration::Otherwise));
    if by_hand { format!("{known}, in a form of its own") } else { known.to_owned() }
}

/// Returns a path as people write it.
fn in_home(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}
