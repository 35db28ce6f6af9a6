//! `taskyard todo`

use std::io::{self, Read as _};

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use taskyard::Error;
use taskyard::core::answers::teams::Todos;
use taskyard::core::dialect::native::LARGEST;
use taskyard::core::json_text;
use taskyard::core::render::{Board, Line, Tone, escaping, todo_line};
use taskyard::core::tools::todo_write;
use taskyard::core::{Rules, Status, Todo as Item};
use taskyard::todos::Replaced;

use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Replace or show the todo list of one agent
///
/// A todo list is for one agent (--as) in one session of the client; nobody else sees it, and it has no history. It is kept where
/// Claude Code 2.1.34 keeps it, in `todos/` of its directory. `write` reads the whole new list as JSON on stdin: an array of
/// objects with `content`, `status` (pending, in_progress or completed) and `activeForm`, or an object with such an array as
/// `todos`. Once everything in it is completed, the list is cleared.
#[derive(Debug, Args)]
pub(crate) struct Todo {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Replace the list by the one on stdin
    Write,
    /// Show the list
    Read,
}

impl Todo {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        match self.action {
            Action::Write => write(context, output),
            Action::Read => read(context, output),
        }
    }
}

fn write(context: &Context, output: &mut Output) -> Result<Exit, Problem> {
    let rules = context.rules()?;
    let (list, agent) = context.todo_list()?;
    // The file is the client's, so the command takes what the client takes.
    let given = todo_write::read(&list_on_stdin()?, Rules::Client(rules.client_version())).map_err(|error| {
        Problem::usage("bad_input", "what came on stdin is no todo list")
            .hint("`taskyard help todo` says what a list looks like")
            .said(error.to_string())
            .detail("feedback", error.to_string())
    })?;
    let Replaced { before, after } = list.replace(&given).map_err(Error::from)?;
    let cleared = after.is_empty() && !given.is_empty();
    if output.is_json() {
        output.document(Todos {
            todos: given.iter().map(Into::into).collect(),
            old_todos: Some(before.iter().map(Into::into).collect()),
            cleared: cleared.then_some(true),
        })?;
        return Ok(Exit::Done);
    }
    if output.is_quiet() {
        return Ok(Exit::Done);
    }
    // What was just finished is shown once more before it is gone.
    show(&given, &agent, output)?;
    if cleared {
        output.say(&Line::new().with(Tone::Dim, "All done: the list is cleared."))?;
    }
    Ok(Exit::Done)
}

fn read(context: &Context, output: &mut Output) -> Result<Exit, Problem> {
    let (list, agent) = context.todo_list()?;
    let todos = list.read().map_err(Error::from)?;
    if output.is_json() {
        output.document(Todos { todos: todos.iter().map(Into::into).collect(), old_todos: None, cleared: None })?;
    } else {
        show(&todos, &agent, output)?;
    }
    Ok(Exit::Done)
}

/// Reads what came on stdin as the input of the tool: a bare array is the list.
fn list_on_stdin() -> Result<Value, Problem> {
    let mut bytes = Vec::new();
    let failed = |error| Problem::io("cannot read the list from stdin", &error);
    io::stdin().lock().take(LARGEST).read_to_end(&mut bytes).map_err(failed)?;
    match json_text::from_slice(&bytes) {
        Ok(list @ Value::Array(_)) => Ok(json!({ "todos": list })),
        Ok(input) => Ok(input),
        Err(error) => Err(Problem::usage("bad_input", format!("what came on stdin is no JSON: {error}"))
            .hint("give the list as JSON: [{\"content\": .., \"status\": .., \"activeForm\": ..}]")),
    }
}

/// Draws the list as tasks are drawn: for a person with marks and a bar, in a pipe one plain line each.
fn show(todos: &[Item], agent: &str, output: &mut Output) -> Result<(), Problem> {
    if todos.is_empty() {
        output.say(&Line::plain("No todos"))?;
        return Ok(());
    }
    if !output.is_terminal() {
        for todo in todos {
            let content = escaping::one_line(&todo.content);
            output.line(&Line::plain(&format!("[{}] {content}", todo.status)))?;
        }
        return Ok(());
    }
    let look = output.look();
    let count = |status| todos.iter().filter(|todo| todo.status == status).count();
    let counts = [count(Status::Pending), count(Status::InProgress), count(Status::Completed)];
    let title = escaping::one_line(agent);
    let board = Board {
        title: &title,
        tasks: &[],
        blockers: &Default::default(),
        progress: &Default::default(),
        counts,
        completed_after: None,
    };
    output.say(&board.header(&look))?;
    output.say(&Line::new())?;
    let lines: Vec<Line> = todos.iter().map(|todo| todo_line("  ", todo, &look)).collect();
    Ok(output.lines(&lines)?)
}
