//! Makes a few tasks in a list on disk, the files that Claude Code shares, and follows what happens to them.
//!
//! `cargo run -p taskyard --example create_and_follow`
#![allow(clippy::print_stdout, reason = "a program that shows what it does")]

use std::error::Error;
use std::sync::Arc;

use taskyard::Yard;
use taskyard::core::{AgentName, ListId, Rules};
use taskyard::operations::NewTask;
use taskyard::store::{FileStore, FileStoreOptions};
use taskyard::stream::{Cursor, Happening};

fn main() -> Result<(), Box<dyn Error>> {
    // In place of a folder for this example: `~/.claude/tasks`, and a directory of the program's own for the journal.
    let folder = std::env::temp_dir().join(format!("taskyard-example-{}", std::process::id()));
    let options =
        FileStoreOptions { tasks: folder.join("tasks"), data: Some(folder.join("data")), rules: Rules::Strict };
    let list = ListId::new("rocket")?;
    let yard = Yard::new(Arc::new(FileStore::open(options)), list.clone(), AgentName::new("ana")?);

    let schema = yard.create(NewTask { subject: "Design the schema".into(), ..NewTask::default() })?.done()?.task.id;
    let api = NewTask { subject: "Write the API".into(), blocked_by: vec![schema.clone()], ..NewTask::default() };
    yard.create(api)?.done()?;

    // A cursor goes on where a follower stopped, in another process, too: here after all that has happened so far.
    let seen = yard.store().read(&list)?.revision();
    let mut stream = yard.follow(Cursor::after(&list, seen))?;
    let now_ready = yard.done(&schema)?.done()?.now_ready;
    println!("ready now: {now_ready:?}");
    for happening in &mut stream {
        let Happening::Commit(commit) = happening? else { continue };
        for entry in &commit.entries {
            println!("revision {}: {} {} #{}", commit.revision.0, entry.actor, entry.op, entry.task);
        }
        // A program that goes on for good does not stop here.
        break;
    }
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
