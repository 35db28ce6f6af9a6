//! `taskyard template`, and `create --template`

use std::collections::{BTreeMap, HashSet};
use std::str::FromStr;

use clap::{Args, Subcommand};
use serde_json::Value;
use taskyard::core::TaskId;
use taskyard::core::answers::task_answers;
use taskyard::core::answers::task_answers::Templates;
use taskyard::core::forms::batch::BatchMistake;
use taskyard::core::forms::one_line::IdRange;
use taskyard::core::forms::template::{WrittenTemplate, is_name, read_template, variables_of};
use taskyard::core::render::{Line, Tone};

use super::create_batch::create_entries;
use crate::arguments::WhichTasks;
use crate::context::Context;
use crate::exit::{Exit, Problem};
use crate::output::Output;
use crate::template_files::TemplateFiles;

/// Save tasks as a template, and create tasks from it
///
/// A template is a plan in Markdown in a file of your own, `~/.config/taskyard/templates/NAME.md`, which you can edit.
/// `{name}` in its texts is a variable. `taskyard create --template NAME KEY=TEXT` creates its tasks in one revision.
#[derive(Debug, Args)]
pub(crate) struct Template {
    #[command(subcommand)]
    action: TemplateAction,
}

#[derive(Debug, Subcommand)]
enum TemplateAction {
    /// Save tasks as a template: `template save release 12-19 version=2.0`
    ///
    /// It keeps titles, descriptions, parts, dependencies among these tasks, priorities, tags, estimates, kinds and rules
    /// of recurrence. Due dates and deferrals are counted from the day on which the first of the tasks was created.
    /// States, owners, notes and dependencies on other tasks are not saved. With KEY=TEXT the text becomes the variable
    /// `{KEY}` wherever it occurs.
    Save(Save),
    /// List the templates and their variables
    List,
    /// Show a template
    Show(Named),
    /// Remove a template; tasks created from it stay
    Remove(Named),
}

#[derive(Debug, Args)]
struct Named {
    /// The template
    #[arg(value_name = "TEMPLATE_NAME")]
    template: String,
}

#[derive(Debug, Args)]
#[command(override_usage = "taskyard template save [OPTIONS] <NAME> <ID...|--where <QUERY>> [KEY=TEXT]...")]
struct Save {
    /// The name of the template
    #[arg(value_name = "NAME")]
    name: String,

    /// The tasks, as numbers and ranges, and the texts that become variables: `12-19 version=2.0`
    #[arg(value_name = "ID", required_unless_present = "query")]
    words: Vec<SaveWord>,

    /// All tasks that match (see `taskyard help query`)
    #[arg(long = "where", value_name = "QUERY", allow_hyphen_values = true)]
    query: Option<String>,

    /// Replace a template of the same name
    #[arg(long)]
    replace: bool,

    /// Show what would be saved, without saving it
    #[arg(long)]
    dry_run: bool,
}

/// A word of `template save`.
#[derive(Clone, Debug)]
enum SaveWord {
    Ids(Vec<IdRange>),
    Variable(String, String),
}

impl FromStr for SaveWord {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        if word.contains('=') {
            return parse_variable(word).map(|(name, text)| Self::Variable(name, text));
        }
        word.split(',').filter(|part| !part.is_empty()).map(str::parse).collect::<Result<_, _>>().map(Self::Ids)
    }
}

/// Parses `KEY=TEXT`.
fn parse_variable(word: &str) -> Result<(String, String), String> {
    let variable = word.split_once('=').filter(|(name, _)| is_name(name));
    let (name, text) =
        variable.ok_or_else(|| format!("invalid variable `{}`: write `version=2.1`", word.escape_debug()))?;
    Ok((name.to_owned(), text.to_owned()))
}

/// Collects variables; one that is given twice is an error.
fn collected(variables: impl IntoIterator<Item = (String, String)>) -> Result<BTreeMap<String, String>, Problem> {
    let mut collected = BTreeMap::new();
    for (name, text) in variables {
        if collected.insert(name.clone(), text).is_some() {
            return Err(Problem::usage("usage", format!("variable `{name}` is given twice")));
        }
    }
    Ok(collected)
}

impl Template {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let files = TemplateFiles::of(context.environment())?;
        match self.action {
            TemplateAction::Save(save) => save.run(&files, context, output)?,
            TemplateAction::List => list(&files, output)?,
            TemplateAction::Show(named) => show(&named.template, &files, output)?,
            TemplateAction::Remove(named) => remove(&named.template, &files, output)?,
        }
        Ok(Exit::Done)
    }
}

impl Save {
    fn run(self, files: &TemplateFiles, context: &Context, output: &mut Output) -> Result<(), Problem> {
        // Report a name that cannot be used before anything is read.
        files.path(&self.name)?;
        let (mut ids, mut variables) = (Vec::new(), Vec::new());
        for word in self.words {
            match word {
                SaveWord::Ids(more) => ids.extend(more),
                SaveWord::Variable(name, text) => variables.push((name, text)),
            }
        }
        if let Some((name, _)) = variables.iter().find(|(_, text)| text.is_empty()) {
            return Err(Problem::usage("usage", format!("the text of variable `{name}` is empty")));
        }
        let variables = collected(variables)?;
        if !ids.is_empty() && self.query.is_some() {
            return Err(Problem::usage("usage", "give either ids or --where, not both"));
        }
        let which = WhichTasks { ids, query: self.query, ..WhichTasks::default() };
        let yard = context.yard()?;
        let mut ids = context.ids_of(&which, &yard)?;
        let mut seen = HashSet::new();
        ids.retain(|id| seen.insert(id.clone()));
        if ids.is_empty() {
            return Err(Problem::usage("no_tasks", "there are no tasks to save"));
        }
        let WrittenTemplate { text, left_out } =
            yard.template_of(&self.name, &ids, &variables, &context.clock()?)?.done()?;
        let found = variables_of(&text);
        let unused: Vec<String> = variables.into_keys().filter(|name| !found.contains(name)).collect();
        if !unused.is_empty() {
            let message = format!("no task contains the text of {}", quoted(&unused));
            return Err(Problem::usage("unknown_variables", message)
                .hint("nothing was saved; give a text that occurs in the tasks")
                .detail("variables", unused));
        }
        match (self.dry_run, self.replace) {
            (true, _) => {}
            (false, true) => files.replace(&self.name, &text)?,
            (false, false) => files.create(&self.name, &text)?,
        }
        let template = described(&self.name, text, files)?;
        tell_saved(template, ids.len(), &left_out, self.dry_run, output)
    }
}

fn tell_saved(
    template: task_answers::Template,
    tasks: usize,
    left_out: &[(TaskId, TaskId)],
    dry_run: bool,
    output: &mut Output,
) -> Result<(), Problem> {
    if output.is_json() {
        let edges = left_out.iter().map(|(task, on)| [task, on].map(ToString::to_string)).collect();
        output.document(task_answers::Template { left_out: Some(edges), dry_run: Some(dry_run), ..template })?;
        return Ok(());
    }
    if dry_run {
        let would = format!("Would save in `{}`; nothing was saved:", template.path);
        output.say(&Line::new().with(Tone::Dim, &would))?;
        print(&template.text, output)?;
    } else {
        let many = if tasks == 1 { "1 task".to_owned() } else { format!("{tasks} tasks") };
        let line = Line::plain("Saved template ").with(Tone::Strong, &template.name);
        output.say(&line.with(Tone::Dim, &format!(": {many} in `{}`", template.path)))?;
        let again = way_to_use(&template.name, &template.variables);
        output.say(&Line::new().with(Tone::Dim, "  create its tasks with ").with(Tone::Hint, &again))?;
    }
    for (task, on) in left_out {
        output.warn(&format!("left out the dependency of #{task} on #{on}: only one of them is in the template"))?;
    }
    Ok(())
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn way_to_use(name: &str, variables: &[String]) -> String {
    let values: String = variables.iter().map(|name| format!(" {name}=TEXT")).collect();
    format!("taskyard create --template {name}{values}")
}

fn described(name: &str, text: String, files: &TemplateFiles) -> Result<task_answers::Template, Problem> {
    let path = files.path(name)?.display().to_string();
    let variables = variables_of(&text);
    Ok(task_answers::Template { name: name.to_owned(), path, variables, text, left_out: None, dry_run: None })
}

fn list(files: &TemplateFiles, output: &mut Output) -> Result<(), Problem> {
    let mut templates = Vec::new();
    let names = files.names()?;
    for name in &names {
        match files.read(name) {
            Ok(text) => templates.push(described(name, text, files)?),
            Err(problem) => output.warn(&problem.report().message)?,
        }
    }
    if output.is_json() {
        output.document(Templates { templates })?;
        return Ok(());
    }
    if names.is_empty() {
        let way = "taskyard template save NAME 12-19";
        output.say(&Line::new().with(Tone::Dim, "No templates. Create one with ").with(Tone::Hint, way))?;
    }
    for template in templates {
        let variables: String = template.variables.iter().map(|name| format!(" {name}=TEXT")).collect();
        output.line(&Line::new().with(Tone::Strong, &template.name).with(Tone::Plain, &variables))?;
    }
    Ok(())
}

fn show(name: &str, files: &TemplateFiles, output: &mut Output) -> Result<(), Problem> {
    let text = files.read(name)?;
    match output.is_json() {
        true => output.document(described(name, text, files)?)?,
        false => print(&text, output)?,
    }
    Ok(())
}

/// Prints the text of a template: as it is, but with control characters escaped on a terminal.
fn print(text: &str, output: &mut Output) -> Result<(), Problem> {
    match output.is_terminal() {
        true => text.lines().try_for_each(|line| output.line(&Line::plain(line)))?,
        false => output.text(text)?,
    }
    Ok(())
}

fn remove(name: &str, files: &TemplateFiles, output: &mut Output) -> Result<(), Problem> {
    let template = described(name, files.read(name)?, files)?;
    files.remove(name)?;
    if output.is_json() {
        output.document(template)?;
        return Ok(());
    }
    let line = Line::plain("Removed template ").with(Tone::Strong, name);
    output.say(&line.with(Tone::Dim, &format!(" (`{}`)", template.path)))?;
    Ok(())
}

/// Creates the tasks of a template, all of them or none. With a rule, the task at its top recurs.
pub(super) fn create(
    name: &str,
    words: &[String],
    every: Option<&Value>,
    dry_run: bool,
    context: &Context,
    output: &mut Output,
) -> Result<Exit, Problem> {
    let files = TemplateFiles::of(context.environment())?;
    let template = described(name, files.read(name)?, &files)?;
    let known = &template.variables;
    let way = format!("`{}`", way_to_use(name, known));
    let given = words.iter().map(|word| parse_variable(word)).collect::<Result<Vec<_>, _>>();
    let given = collected(given.map_err(|why| Problem::usage("usage", why).hint(way.clone()))?)?;
    let unknown: Vec<String> = given.keys().filter(|name| !known.contains(name)).cloned().collect();
    if !unknown.is_empty() {
        let message = format!("template `{name}` has no variable named {}", quoted(&unknown));
        return Err(Problem::usage("unknown_variables", message).hint(way).detail("variables", unknown));
    }
    let missing: Vec<String> = known.iter().filter(|name| !given.contains_key(*name)).cloned().collect();
    if !missing.is_empty() {
        let message = format!("template `{name}` needs a value for {}", quoted(&missing));
        return Err(Problem::usage("missing_variables", message).hint(way).detail("variables", missing));
    }
    let bad = |mistake: &BatchMistake| {
        Problem::usage("bad_template", format!("`{}`, {mistake}", template.path))
            .hint("nothing was created; `taskyard help templates` describes the file")
            .detail("line", mistake.line)
    };
    let every = every.filter(|rule| !rule.is_null());
    let entries = read_template(&template.text, &given, every, &context.clock()?).map_err(|mistake| bad(&mistake))?;
    create_entries(&entries, &bad, dry_run, context, output)
}
