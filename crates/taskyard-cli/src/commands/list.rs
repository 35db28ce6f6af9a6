//! `taskyard list` and `search`

use clap::{Args, ValueEnum as _};
use taskyard::core::render::{
    Board, Line, Template, Tone, client_line, cut_text, escaping, historic_line, historic_mark_line, task_line,
};
use taskyard::core::{ListId, Priority, Status, Task, TaskId};
use taskyard::operations::{Field, Filter, Hit, Listing, SortOrder};
use taskyard::{Yard, answers};

use crate::arguments::{ListedState, parse_id, parse_listed_state};
use crate::context::Context;
use crate::displays::{tell_of_clearing, tell_of_loss, warn_of_defects};
use crate::exit::{Exit, Problem};
use crate::output::Output;

/// Default number of completed tasks shown.
pub(super) const COMPLETED_SHOWN: usize = 5;

/// List tasks
///
/// On a terminal it is a tree of tasks and their parts; in a pipe it is the client's own line for each task.
///
/// A query selects tasks: `open priority:high tag:db not tag:old owner:ana parent:3 ready blocked overdue older:2d
/// changed:1h due:today no:owner "exact words"`, with `or` between alternatives; terms side by side must all match.
/// Inside one quoted argument also `!tag:old`, `tag!=old`, `a && b`, `a | b`, `due<2026-12-01`, `age>2d` and brackets.
/// Words such as `done`, `open` and `blocked` are states; in quotes they are text.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only tasks that match
    #[arg(value_name = "QUERY")]
    pub(crate) query: Vec<String>,

    /// Only tasks in this state: pending, in_progress, completed, or blocked (waiting for others); may be given several times
    #[arg(long = "status", value_name = "STATUS", value_parser = parse_listed_state, value_delimiter = ',')]
    pub(crate) states: Vec<ListedState>,

    /// Only tasks of this owner
    #[arg(long, value_name = "AGENT", conflicts_with = "mine")]
    pub(crate) owner: Option<String>,

    /// Only your own tasks (--as)
    #[arg(long)]
    pub(crate) mine: bool,

    /// Only ready tasks
    #[arg(long)]
    pub(crate) ready: bool,

    /// Only blocked tasks
    #[arg(long)]
    pub(crate) blocked: bool,

    /// Only tasks with this tag
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,

    /// Only tasks of this priority: low, medium or high
    #[arg(long, value_name = "PRIORITY")]
    pub(crate) priority: Option<Priority>,

    /// Only the parts of this task
    #[arg(long, value_name = "ID", value_parser = parse_id)]
    pub(crate) parent: Option<TaskId>,

    /// Sort by id, priority, status, subject, owner, due, defer, estimate, age or changed; `-` before it reverses the
    /// order
    #[arg(long, value_name = "KEY", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) sort: Vec<SortOrder>,

    /// The maximum number of tasks
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) limit: Option<usize>,

    /// Your own format for each line: `{id} {subject} {owner}`
    #[arg(long, value_name = "TEMPLATE", conflicts_with = "style")]
    pub(crate) format: Option<String>,

    /// Everything: internal tasks, and every completed one
    #[arg(long)]
    pub(crate) all: bool,

    /// How the list looks; by default: a tree on a terminal and the client's lines in a pipe
    #[arg(long, value_name = "STYLE")]
    pub(crate) style: Option<Style>,
}

/// How a list looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Style {
    /// Parts below the tasks they belong to
    Tree,
    /// One task after the other
    Flat,
    /// The client's own lines: `#3 [pending] Deploy (ana) [blocked by #2]`
    Client,
    /// As client 2.1.19 showed it: `#3. [pending] Deploy`
    #[value(name = "2.1.19")]
    V2_1_19,
    /// As client 2.1.20 showed it, without numbers: `◻ Deploy`
    #[value(name = "2.1.20")]
    V2_1_20,
}

impl List {
    fn statuses(&self) -> Vec<Status> {
        let status = |state: &ListedState| match state {
            ListedState::Is(status) => Some(*status),
            ListedState::Blocked => None,
        };
        self.states.iter().filter_map(status).collect()
    }

    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        context.do_without_newer();
        if output.is_json() && self.format.is_some() {
            return Err(Problem::usage("usage", "--format cannot be used with --json")
                .hint("leave one out; `taskyard list --json` has every field"));
        }
        let template: Option<Template> = self.format.as_deref().map(str::parse).transpose()?;
        let query = context.query_of(&self.query)?;
        let yard = context.yard()?;
        let filter = Filter {
            statuses: self.statuses(),
            or_blocked: self.states.contains(&ListedState::Blocked),
            owner: if self.mine { Some(context.actor()?.as_str().to_owned()) } else { self.owner.clone() },
            ready: self.ready,
            blocked: self.blocked,
            tag: self.tag.clone(),
            priority: self.priority,
            parent: self.parent.clone(),
            query,
            sort: self.sort.clone(),
            // On a terminal, the number of remaining tasks is shown.
            limit: self.limit.filter(|_| output.is_json()),
            with_times: template.as_ref().is_some_and(Template::asks_for_times),
            internal: self.all,
        };
        let mut listing = yard.list(&filter)?;
        let shown = self.limit.unwrap_or(usize::MAX);
        let more = listing.tasks.len().saturating_sub(shown);
        listing.tasks.truncate(shown);
        if output.is_json() {
            output.document(answers::listing(&listing, yard.list_id()))?;
            // The process exits after the answer, so skip freeing the memory.
            std::mem::forget(listing);
            return Ok(Exit::Done);
        }
        if tell_of_loss(listing.gone.as_ref(), &yard, output)? {
            return Ok(Exit::Done);
        }
        if let Some(template) = &template {
            fill(template, &yard, &listing, output)?;
            warn_of_defects(&listing.problems, output)?;
            return Ok(Exit::Done);
        }
        let style = self.style(context, output)?;
        match style {
            Style::Client => self.client_lines(&yard, &listing, output)?,
            Style::V2_1_19 | Style::V2_1_20 => self.historic_lines(style, context, &listing, output)?,
            Style::Tree | Style::Flat => self.board(style, context, &yard, &listing, output)?,
        }
        if more > 0 && output.is_terminal() {
            output.say(&Line::new().with(Tone::Dim, &format!("  and {more} more")))?;
        } else if more > 0 && !output.is_quiet() {
            output.note(&format!("{more} more match"))?;
        }
        if !yard.rules().is_client() {
            tell_of_clearing(listing.gone.as_ref(), output)?;
        }
        warn_of_defects(&listing.problems, output)?;
        Ok(Exit::Done)
    }

    fn client_lines(&self, yard: &Yard, listing: &Listing, output: &mut Output) -> Result<(), Problem> {
        if listing.tasks.is_empty() {
            output.say(&Line::plain("No tasks found"))?;
        }
        for task in &listing.tasks {
            let blockers = listing.blockers.get(&task.id).map(Vec::as_slice).unwrap_or_default();
            // The client shows the id written in the file; ours is the one that can be typed.
            let id = if yard.rules().is_client() { task.shown_id() } else { task.id.as_str() };
            let mut line = client_line(id, task, blockers);
            if let Some(progress) = listing.progress.get(&task.id) {
                line.push_str(&format!(" [{progress}]"));
            }
            if !yard.rules().is_client() && task.is_overdue(listing.now) {
                line.push_str(" [overdue]");
            }
            output.line(&Line::plain(&line))?;
        }
        Ok(())
    }

    /// Returns how many completed tasks are shown before `+N completed`; `None` for all.
    fn completed_after(&self, context: &Context) -> Result<Option<usize>, Problem> {
        let is_chosen = !self.sort.is_empty() || self.limit.is_some();
        let asked_for_completed = self.all || is_chosen || self.states == [ListedState::Is(Status::Completed)];
        let completed_after = context.config()?.completed_after().unwrap_or(COMPLETED_SHOWN);
        Ok((!asked_for_completed).then_some(completed_after))
    }

    /// Shows a list in the style of either of two client releases that other tools rely on.
    fn historic_lines(
        &self,
        style: Style,
        context: &Context,
        listing: &Listing,
        output: &mut Output,
    ) -> Result<(), Problem> {
        let is_completed = |task: &&Task| task.status == Status::Completed;
        let completed = listing.tasks.iter().filter(is_completed).count();
        let shown = self.completed_after(context)?.unwrap_or(completed);
        let open = listing.tasks.iter().filter(|task| !is_completed(task));
        // Keep the newest, as on the board; they come last, in their own order.
        let newest = listing.tasks.iter().filter(is_completed).skip(completed.saturating_sub(shown));
        for task in open.chain(newest) {
            output.line(&match style {
                Style::V2_1_20 => historic_mark_line(task),
                _ => historic_line(task),
            })?;
        }
        if completed > shown {
            let rest = format!("  +{} completed", completed - shown);
            output.line(&Line::new().with(Tone::Dim, &rest))?;
        }
        Ok(())
    }

    fn board(
        &self,
        style: Style,
        context: &Context,
        yard: &Yard,
        listing: &Listing,
        output: &mut Output,
    ) -> Result<(), Problem> {
        let look = output.look();
        let board = Board {
            title: yard.list_id().as_str(),
            tasks: &listing.tasks,
            blockers: &listing.blockers,
            progress: &listing.progress,
            counts: listing.counts,
            completed_after: self.completed_after(context)?,
        };
        if listing.tasks.is_empty() {
            if listing.counts.iter().sum::<usize>() > 0 {
                output.say(&board.header(&look))?;
                output.say(&Line::new().with(Tone::Dim, "  No matching tasks."))?;
                return Ok(());
            }
            output.say(
                &Line::new().with(Tone::Plain, "  ").with(Tone::Strong, board.title).with(Tone::Dim, "  no tasks yet"),
            )?;
            output.advise("create one with `taskyard create \"Write the parser\"`")?;
            output.advise("find others with `taskyard lists`, and what earlier sessions left with `taskyard adopt`")?;
            return Ok(());
        }
        let lines = if style == Style::Tree { board.tree(&look) } else { board.flat(&look) };
        let lines = if output.is_quiet() { &lines[2..] } else { &lines[..] };
        Ok(output.lines(lines)?)
    }

    /// Returns the requested style, otherwise the configured one on a terminal, otherwise the default for the output.
    fn style(&self, context: &Context, output: &Output) -> Result<Style, Problem> {
        if let Some(style) = self.style {
            return Ok(style);
        }
        if !output.is_terminal() {
            return Ok(Style::Client);
        }
        // A tree has its own order.
        if !self.sort.is_empty() {
            return Ok(Style::Flat);
        }
        let Some((word, layer)) = context.config()?.style() else { return Ok(Style::Tree) };
        Style::from_str(word, true).map_err(|_| {
            Problem::usage("config", format!("`{}`: unknown list style `{word}`", layer.path.display()))
                .hint("use tree, flat or client under [display] style")
        })
    }
}

/// Prints a line from the user's template for each task.
fn fill(template: &Template, yard: &Yard, listing: &Listing, output: &mut Output) -> Result<(), Problem> {
    for task in &listing.tasks {
        let text = template.filled(task, yard.list_id().as_str(), listing.times.get(&task.id)) + "\n";
        // On a terminal, escape control characters in titles; for a program, write the exact bytes.
        match output.is_terminal() {
            true => output.text(&escaping::many_lines(&text))?,
            false => output.bytes(text.as_bytes())?,
        }
    }
    Ok(())
}

/// Find tasks by words in any of their fields
///
/// Every word must occur somewhere in the task, in any field and any case; a word that occurs in no task is taken as a
/// typo and matches similar words. Quoted words are an exact text, and the rest of the query language narrows the
/// result: `taskyard search parser tag:db not status:completed`. The best answers come first.
#[derive(Debug, Args)]
pub(crate) struct Search {
    /// The words, and conditions that the tasks must meet
    #[arg(value_name = "QUERY", required = true)]
    pub(crate) query: Vec<String>,

    /// Search all lists of the store
    #[arg(long)]
    pub(crate) everywhere: bool,

    /// Include internal tasks
    #[arg(long)]
    pub(crate) all: bool,
}

impl Search {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let query = context.query_of_words(&self.query)?;
        if query.is_empty() {
            return Err(Problem::usage("no_words", "the search text is empty"));
        }
        let yard = context.yard()?;
        let hits: Vec<(Option<ListId>, Hit)> = match self.everywhere {
            true => {
                yard.search_everywhere(&query, self.all)?.into_iter().map(|(list, hit)| (Some(list), hit)).collect()
            }
            false => yard.search(&query, self.all)?.into_iter().map(|hit| (None, hit)).collect(),
        };
        let gone = if hits.is_empty() && !self.everywhere { yard.gone()? } else { None };
        if output.is_json() {
            output.document(taskyard::answers::found(&hits, gone.as_ref()))?;
            return Ok(Exit::Done);
        }
        if tell_of_loss(gone.as_ref(), &yard, output)? {
            return Ok(Exit::Done);
        }
        if hits.is_empty() {
            output.say(&Line::plain("No tasks found"))?;
        }
        if !output.is_terminal() {
            for (list, hit) in &hits {
                let list = list.as_ref().map(|list| format!("{list}: ")).unwrap_or_default();
                output.line(&Line::plain(&format!("{list}{}", client_line(hit.task.id.as_str(), &hit.task, &[]))))?;
            }
            return Ok(Exit::Done);
        }
        let look = output.look();
        let width = hits.iter().map(|(_, hit)| hit.task.id.as_str().len() + 1).max().unwrap_or(0);
        for (list, hit) in &hits {
            output.line(&task_line("  ", width, &hit.task, &[], &look))?;
            if let Some(list) = list {
                output.line(&Line::new().with(Tone::Dim, &format!("      in {list}")))?;
            }
            if hit.field != Field::Subject {
                let room = look.width.map_or(120, |columns| columns.saturating_sub(20).max(20));
                let excerpt = cut_text(&escaping::one_line(&hit.excerpt), room, look.ellipsis());
                output.line(&Line::new().with(Tone::Dim, &format!("      {}: {excerpt}", hit.field)))?;
            }
        }
        Ok(Exit::Done)
    }
}
