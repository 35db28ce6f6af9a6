//! Appending a message to a long inbox.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use taskyard::core::{AgentName, Rules, TeamName};
use taskyard::teams::{FileTeamsOptions, Letter, NewTeam, Seat, TeamCaller, Teams};

use crate::Failure;
use crate::options::Options;
use crate::places::{Home, Place};
use crate::samples::Samples;
use crate::table::{Row, Target, microseconds, tell};

/// How many messages the inbox holds.
const MESSAGES: usize = 10_000;

/// Measures `Teams::send` against the bare rewrite of the same bytes: mkdir of the lock, read, write beside it, fdatasync, rename,
/// rmdir of the lock.
pub(crate) fn measure(options: &Options, place: &Place) -> Result<Vec<Row>, Failure> {
    let rounds = options.scale.completes;
    tell(&format!("{}: appending to an inbox of {MESSAGES}", place.name));
    let home = place.fresh_home()?;
    let (teams, seat) = team(&home)?;
    let inbox = home.root().join("teams/bench/inboxes/team-lead.json");
    fill(&teams, &seat, &inbox)?;
    let bare_inbox = place.fresh_home()?.root().join("inbox.json");
    fs::copy(&inbox, &bare_inbox)?;
    let (mut ours, mut afresh, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        ours.push(send(&teams, &seat)?);
        bare.push(rewrite(&bare_inbox)?);
    }
    for _ in 0..rounds {
        // A new process has to look the inbox through.
        let teams = teams_of(&home);
        let seat = Seat { team: seat.team.clone(), name: seat.name.clone() };
        afresh.push(send(&teams, &seat)?);
        bare.push(rewrite(&bare_inbox)?);
    }
    let bare = Samples::microseconds(&bare);
    let row = |who: &str, samples: &[Duration]| {
        let ours = Samples::microseconds(samples);
        let ratio = ours.median() / bare.median();
        let target = if place.durable {
            Target::AtMostTimesTheLimit { ratio, target: 2.0 }
        } else {
            Target::Information(format!("{ratio:.2} x limit"))
        };
        Row {
            measure: format!("append to an inbox of {MESSAGES}{who}"),
            place: place.name,
            ours: microseconds(&ours),
            limit: Some(microseconds(&bare)),
            node: None,
            target,
        }
    };
    Ok(vec![row("", &ours), row(", anew", &afresh)])
}

fn send(teams: &Teams, seat: &Seat) -> Result<Duration, Failure> {
    let started = Instant::now();
    teams.send(seat, "team-lead", &letter(0))?.done()?;
    Ok(started.elapsed())
}

fn team(home: &Home) -> Result<(Teams, Seat), Failure> {
    let teams = teams_of(home);
    let new = NewTeam { name: TeamName::new("bench")?, description: None, agent_type: None };
    let lead = AgentName::new("bench")?;
    let seat = teams.create(&new, &lead)?.done()?;
    Ok((teams, seat))
}

fn teams_of(home: &Home) -> Teams {
    let (root, tasks, data) = (home.root().join("teams"), home.tasks(), home.data());
    Teams::new(FileTeamsOptions { root, tasks, data, rules: Rules::Strict }, TeamCaller::default())
}

fn letter(number: usize) -> Letter {
    Letter {
        text: format!("Task {number} is done: the parser reads every file of the corpus."),
        summary: Some("done".into()),
    }
}

/// Makes the inbox long: one message through the library, and copies of it.
fn fill(teams: &Teams, seat: &Seat, inbox: &Path) -> Result<(), Failure> {
    teams.send(seat, "team-lead", &letter(0))?.done()?;
    let text = fs::read_to_string(inbox)?;
    let entry = text.trim_start_matches("[\n").trim_end_matches("\n]");
    let entries: Vec<String> =
        (0..MESSAGES).map(|number| entry.replace("\"msg_id\": \"", &format!("\"msg_id\": \"{number:05}"))).collect();
    Ok(fs::write(inbox, format!("[\n{}\n]", entries.join(",\n")))?)
}

fn rewrite(inbox: &Path) -> Result<Duration, Failure> {
    let (lock, temporary) = (inbox.with_extension("json.lock"), inbox.with_extension("tmp"));
    let started = Instant::now();
    fs::create_dir(&lock)?;
    let bytes = fs::read(inbox)?;
    let mut file = File::create(&temporary)?;
    file.write_all(&bytes)?;
    file.sync_data()?;
    fs::rename(&temporary, inbox)?;
    fs::remove_dir(&lock)?;
    Ok(started.elapsed())
}
