//! `taskyard move`

use clap::Args;
use taskyard::backup::{MoveEnd, MoveList, MovedList, look_at_move, move_list};
use taskyard::core::ListId;
use taskyard::core::answers::lists::ListMoved;
use taskyard::core::render::{Line, Tone};
use taskyard::opening::{Address, WrittenAddress};
use taskyard::operations::SharedBy;

use super::import::progress_bar;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::{Problem, ProblemKind};

/// Move a list with its history to another store
///
/// The tasks keep their numbers and their contents to the letter, and history, notes and undo go with them. Between task
/// files (`claude:`, `file:DIRECTORY`) and PostgreSQL it goes both ways. The list is moved or it is not, whatever is
/// killed on the way: the same command again finishes the move or takes it back. From then on every command on the old
/// place names the new one.
///
/// A list is not moved while an agent holds one of its tasks, while a file of it cannot be read, or if it is the list of
/// a team.
#[derive(Debug, Args)]
pub(crate) struct Move {
    /// The list to move; it keeps its name
    #[arg(value_name = "LIST")]
    source: String,

    /// The address of the store it goes to
    #[arg(long, value_name = "ADDRESS")]
    to: WrittenAddress,

    /// Show what would be moved, and move nothing
    #[arg(long)]
    dry_run: bool,
}

impl Move {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let list = context.list_named(&self.source)?;
        let from = context.yard()?.on(list.clone());
        let (to_address, to) = context.elsewhere(&self.to, &list)?;
        if let Some(SharedBy::Team { name }) = from.shared_by(&list, Vec::new())? {
            return Err(Problem::new(
                ProblemKind::Refused,
                "list_of_team",
                format!("`{list}` is the list of team {name}"),
            )
            .hint("its members and messages would stay behind; end the team first")
            .detail("team", name.as_str()));
        }
        let what = MoveList {
            list: &list,
            from: MoveEnd { yard: &from, address: context.address()? },
            to: MoveEnd { yard: &to, address: &to_address },
            places: context.places()?,
            cancel: context.cancel(),
        };
        output.consider_list_named();
        if self.dry_run {
            return self.tell(&look_at_move(&what)?.done()?, &list, &what, output);
        }
        let bar = progress_bar(output, "revisions");
        // A process that is asked to stop opens the list again, as long as it has not arrived.
        let _attended = context.cancel().attend();
        let moved = move_list(&what, &|arrived, of| {
            bar.set_length(of.0);
            bar.set_position(arrived.0);
        });
        bar.finish_and_clear();
        self.tell(&moved?.done()?, &list, &what, output)
    }

    fn tell(
        &self,
        moved: &MovedList,
        list: &ListId,
        what: &MoveList<'_>,
        output: &mut Output,
    ) -> Result<Exit, Problem> {
        let to: &Address = what.to.address;
        if output.is_json() {
            output.document(ListMoved {
                list: list.as_str(),
                from: what.from.address.to_string(),
                to: to.to_string(),
                dry_run: self.dry_run,
                tasks: moved.tasks,
                revision: moved.revision.0,
                left_behind: &moved.left_behind,
                was_unfinished: moved.was_unfinished,
            })?;
            return Ok(Exit::Done);
        }
        let mut line = Line::plain(match (self.dry_run, moved.was_unfinished) {
            (true, _) => "Would move ",
            (false, true) => "Finished moving ",
            (false, false) => "Moved ",
        });
        line.push(Tone::Strong, list.as_str());
        line.push(Tone::Plain, &format!(" to {to}"));
        let tasks = if moved.tasks == 1 { "1 task".to_owned() } else { format!("{} tasks", moved.tasks) };
        line.push(Tone::Dim, &format!("  {tasks}, up to revision {}", moved.revision));
        output.say(&line)?;
        for name in &moved.left_behind {
            output.warn(&format!(
                "`{name}` stayed in the old place of `{list}`: it is no task, or was changed meanwhile"
            ))?;
        }
        Ok(Exit::Done)
    }
}
