//! `taskyard demo`

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use taskyard::Yard;
use taskyard::core::answers::maintenance_answers::Demonstration;
use taskyard::core::render::{Board, Line, Look, Tone, graph};
use taskyard::core::{AgentName, ListId, Rules, TaskId};
use taskyard::operations::{Filter, NewTask, Patch, RestoreWhich, Update};
use taskyard::store::{FileStore, FileStoreOptions};

use crate::context::Context;
use crate::exit::{Exit, Problem};
use crate::output::{Output, with_commands};

/// Show a short tour on a temporary list
///
/// Everything happens in a temporary directory that is removed at the end; your own lists are not changed.
#[derive(Debug, Args)]
pub(crate) struct Demo {}

/// Pause for the user to read a step.
const PAUSE: Duration = Duration::from_millis(120);

impl Demo {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let place = DemoFolder::new()?;
        let options =
            FileStoreOptions { tasks: place.0.join("tasks"), data: Some(place.0.join("data")), rules: Rules::Strict };
        let list = ListId::new("launch")?;
        let yard = Yard::new(Arc::new(FileStore::open(options)), list, context.actor()?);
        let mut tour = Tour { yard, place: &place.0, output, steps: 0 };
        tour.go()?;
        let steps = tour.steps;
        if output.is_json() {
            output.document(Demonstration { steps })?;
        }
        Ok(Exit::Done)
    }
}

struct Tour<'a> {
    yard: Yard,
    place: &'a Path,
    output: &'a mut Output,
    steps: usize,
}

impl Tour<'_> {
    fn go(&mut self) -> Result<(), Problem> {
        self.say("Taskyard works on Claude Code's own task files, and never loses a task.")?;
        self.create()?;
        self.work()?;
        self.refuse_a_circle()?;
        self.lose_and_restore()?;
        self.say("Every step is in the journal: `taskyard history` shows it, `taskyard undo` reverts it.")?;
        self.say("Begin with `taskyard create \"My first task\"`, or see `taskyard help`.")
    }

    fn create(&mut self) -> Result<(), Problem> {
        self.step(
            "Five tasks, some of which depend on others",
            &[
                "taskyard create \"Design the schema\"",
                "taskyard create \"Write the parser\" --blocked-by 1 --priority high",
                "taskyard create \"Write the docs\" --blocked-by 1 --tag docs",
                "taskyard create \"Check the examples\" --parent 3",
                "taskyard create \"Ship it\" --blocked-by 2,3",
            ],
        )?;
        let metadata = |value: serde_json::Value| value.as_object().cloned();
        let tasks = [
            ("Design the schema", "Designing the schema", vec![], None),
            ("Write the parser", "Writing the parser", vec![1], metadata(json!({"priority": "high"}))),
            ("Write the docs", "Writing the docs", vec![1], metadata(json!({"tags": ["docs"]}))),
            ("Check the examples", "Checking the examples", vec![], metadata(json!({"parent": "3"}))),
            ("Ship it", "Shipping it", vec![2, 3], None),
        ];
        for (subject, active_form, blocked_by, metadata) in tasks {
            let new = NewTask {
                subject: subject.into(),
                active_form: Some(active_form.into()),
                blocked_by: blocked_by.into_iter().map(TaskId::number).collect(),
                metadata,
                ..NewTask::default()
            };
            self.yard.create(new)?.done()?;
        }
        self.board()?;
        self.step("The dependency graph", &["taskyard graph"])?;
        let look = self.output.look();
        let narrower = Look { width: look.width.map(|width| width.saturating_sub(2)), ..look };
        let indented = graph::text(&self.yard.graph()?.tasks, &narrower, self.yard.rules()).into_iter().map(|line| {
            let mut indented = Line::plain("  ");
            indented.append(line);
            indented
        });
        let lines: Vec<Line> = indented.collect();
        self.show(&lines)
    }

    fn work(&mut self) -> Result<(), Problem> {
        self.step(
            "Ana works; completing a task lists what can start now",
            &[
                "taskyard start 1 --as ana",
                "taskyard done 1 --as ana",
                "taskyard update 2 --status in_progress --owner ana",
            ],
        )?;
        let ana = AgentName::new("ana").unwrap_or_else(|_| self.yard.actor().clone());
        // A person, who gets no lease when starting a task.
        let yard = Yard::new(self.store(), self.yard.list_id().clone(), ana).with_start_lease(None);
        let first = TaskId::number(1);
        yard.start(&first)?.done()?;
        let done = yard.done(&first)?.done()?;
        let mut line = Line::new().with(Tone::Done, "  now ready:");
        for id in &done.now_ready {
            line.push(Tone::Id, &format!(" #{id}"));
        }
        self.show(&[line, Line::new()])?;
        let patch = Patch {
            status: Some(taskyard::core::Status::InProgress),
            owner: Some(taskyard::operations::OwnerChange::Set("ana".into())),
            ..Patch::default()
        };
        yard.update(&TaskId::number(2), Update { patch, ..Update::default() })?.done()?;
        self.board()
    }

    fn refuse_a_circle(&mut self) -> Result<(), Problem> {
        self.step(
            "A dependency that would create a cycle is rejected, and the cycle is shown",
            &["taskyard depend 2 --on 5"],
        )?;
        let refused = self.yard.depend(&TaskId::number(2), &[TaskId::number(5)])?.done();
        let line = match refused {
            Err(refusal) => Line::new().with(Tone::Error, "  refused: ").with(Tone::Plain, &refusal.to_string()),
            Ok(_) => Line::plain("  accepted"),
        };
        self.show(&[line])
    }

    fn lose_and_restore(&mut self) -> Result<(), Problem> {
        self.step(
            "Another program deletes a file; Taskyard restores it with its dependencies",
            &["rm 3.json", "taskyard restore --all"],
        )?;
        // Reading before and after is how any list, board or watcher notices the loss.
        self.yard.list(&Filter::default())?;
        let file = self.place.join("tasks").join("launch").join("3.json");
        std::fs::remove_file(&file)
            .map_err(|error| Problem::io(&format!("cannot remove `{}`", file.display()), &error))?;
        self.yard.list(&Filter::default())?;
        let restored = self.yard.restore(RestoreWhich::All)?.done()?;
        let lines: Vec<Line> = restored
            .tasks
            .iter()
            .map(|task| {
                Line::new()
                    .with(Tone::Done, "  restored ")
                    .with(Tone::Id, &format!("#{}", task.id))
                    .with(Tone::Plain, &format!(" {}", task.shown_subject()))
            })
            .collect();
        self.show(&lines)?;
        self.show(&[Line::new()])?;
        self.board()
    }

    fn store(&self) -> Arc<dyn taskyard::Store> {
        let options = FileStoreOptions {
            tasks: self.place.join("tasks"),
            data: Some(self.place.join("data")),
            rules: Rules::Strict,
        };
        Arc::new(FileStore::open(options))
    }

    fn board(&mut self) -> Result<(), Problem> {
        let listing = self.yard.list(&Filter::default())?;
        let board = Board {
            progress: &listing.progress,
            title: self.yard.list_id().as_str(),
            tasks: &listing.tasks,
            blockers: &listing.blockers,
            counts: listing.counts,
            completed_after: None,
        };
        let lines = board.tree(&self.output.look());
        self.show(&lines)
    }

    fn step(&mut self, title: &str, commands: &[&str]) -> Result<(), Problem> {
        self.steps += 1;
        let mut lines = vec![Line::new(), Line::new().with(Tone::Strong, &format!("{}. {title}", self.steps))];
        lines.extend(commands.iter().map(|command| Line::new().with(Tone::Dim, "  $ ").with(Tone::Hint, command)));
        lines.push(Line::new());
        self.show(&lines)
    }

    fn say(&mut self, text: &str) -> Result<(), Problem> {
        if self.steps > 0 {
            self.show(&[Line::new()])?;
        }
        self.show(&[with_commands(text, Tone::Plain)])
    }

    fn show(&mut self, lines: &[Line]) -> Result<(), Problem> {
        if self.output.is_json() {
            return Ok(());
        }
        self.output.lines(lines)?;
        if self.output.is_terminal() && !self.output.is_quiet() {
            self.output.flush()?;
            thread::sleep(PAUSE);
        }
        Ok(())
    }
}

/// A temporary directory, removed on drop.
struct DemoFolder(PathBuf);

impl DemoFolder {
    fn new() -> Result<Self, Problem> {
        let base = std::env::temp_dir();
        let failed = |error| Problem::io(&format!("cannot make a directory in `{}`", base.display()), &error);
        for attempt in 0..1000 {
            let place = base.join(format!("taskyard-demo-{}-{attempt}", std::process::id()));
            match std::fs::create_dir(&place) {
                Ok(()) => return Ok(Self(place)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(failed(std::io::ErrorKind::AlreadyExists.into()))
    }
}

impl Drop for DemoFolder {
    fn drop(&mut self) {
        // Anything left is in the system's temporary directory.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
