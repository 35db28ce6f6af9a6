//! `taskyard backup`

use std::path::PathBuf;

use clap::Args;
use taskyard::backup::{BackUp, BackedUp, BackedUpList, BackedUpTeam, Overwriting, back_up};
use taskyard::core::answers::maintenance as answers;
use taskyard::core::render::{Line, Tone};

use super::import::progress_bar;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Copy every list of the store with its history, the teams, and what this machine remembers
///
/// A path that ends with `.tar` becomes one archive, any other one a folder. Each list is copied as it is at one
/// moment, even while others write to it. The backup appears when it is complete, and only you can read it. Bring it
/// back with `taskyard restore --from PATH`. Of a store in PostgreSQL only the lists are copied; they come back to files as
/// well.
#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The archive (`….tar`) or folder to write
    path: PathBuf,

    /// Let the new backup take the place of an older one
    #[arg(long)]
    replace: bool,
}

impl Backup {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let place = context.directory()?.join(&self.path);
        let store = context.store()?;
        let bar = progress_bar(output, "lists copied");
        // A process that is asked to stop clears away what it began.
        let _attended = context.cancel().attend();
        let what = BackUp {
            store: &*store,
            address: context.address()?,
            places: context.places()?,
            place: &place,
            cancel: context.cancel(),
            overwriting: if self.replace { Overwriting::Replacing } else { Overwriting::Refused },
        };
        let made = back_up(&what, &mut |done, of| {
            bar.set_length(of as u64);
            bar.set_position(done as u64);
        });
        bar.finish_and_clear();
        let made = made?;
        let exit = if made.manifest.is_complete() { Exit::Done } else { Exit::CouldNot };
        if output.is_json() {
            output.document(answer(&made, &place.display().to_string()))?;
            return Ok(exit);
        }
        let manifest = &made.manifest;
        let mut line = Line::plain(&format!(
            "Backed up {} and {} to ",
            count(manifest.lists.len(), "list"),
            count(manifest.teams.len(), "team")
        ));
        line.push(Tone::Strong, &self.path.display().to_string());
        line.push(Tone::Dim, &format!("  {}", size(made.bytes)));
        output.say(&line)?;
        for list in &manifest.lists {
            if let Some(why) = &list.journal_problem {
                output.warn(&format!("not everything of `{}` is in it: {why}", list.list))?;
            }
            for (name, why) in &list.left_out {
                output.warn(&format!("`{name}` of `{}` is not in it: {why}", list.list))?;
            }
        }
        for team in &manifest.teams {
            for (name, why) in &team.left_out {
                output.warn(&format!("`{name}` of the team `{}` is not in it: {why}", team.team))?;
            }
        }
        Ok(exit)
    }
}

fn answer<'a>(made: &'a BackedUp, path: &'a str) -> answers::BackedUp<'a> {
    let manifest = &made.manifest;
    let list = |list: &'a BackedUpList| answers::BackedUpList {
        list: &list.list,
        revision: list.revision,
        files: list.files,
        history: list.journal,
        problem: list.journal_problem.as_deref(),
        left_out: &list.left_out,
    };
    let team = |team: &'a BackedUpTeam| answers::BackedUpTeam {
        team: &team.team,
        files: team.files,
        left_out: &team.left_out,
    };
    answers::BackedUp {
        path,
        archive: made.is_archive,
        bytes: made.bytes,
        at: &manifest.at,
        complete: manifest.is_complete(),
        lists: manifest.lists.iter().map(list).collect(),
        teams: manifest.teams.iter().map(team).collect(),
    }
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// Says a size as people do.
fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} KB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
