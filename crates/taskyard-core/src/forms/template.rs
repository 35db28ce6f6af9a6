//! Templates: plans with variables, from which the same tasks are made again. Specified in `docs/formats/template.md`.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use crate::dialect::macf::Subject;
use crate::dialect::plan::{COMMENT, Form, Item, Plan, Times, write};
use crate::forms::batch::{BatchEntry, BatchMistake, entry, refer_to_each_other};
use crate::rules::changes::recurring::{EVERY, is_of_one_run};
use crate::timing::Clock;
use crate::{DEFER, DUE, Metadata, Task, TaskId, Timestamp};

/// The text of a template made from tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenTemplate {
    /// The plan in Markdown.
    pub text: String,
    /// The dependencies that are not in it, each as a task and its blocker, of which only one is among the tasks.
    pub left_out: Vec<(TaskId, TaskId)>,
}

/// Makes a template of tasks, numbered from 1 in this order, without their states, owners, notes, numbers and
/// dependencies on other tasks. The texts of `variables` are replaced by their names. Dates are written as days after the
/// day of `start`.
pub fn write_template(
    name: &str,
    tasks: &[Task],
    variables: &BTreeMap<String, String>,
    start: Timestamp,
    clock: &Clock,
) -> WrittenTemplate {
    let numbers: HashMap<&TaskId, TaskId> = tasks.iter().map(|task| &task.id).zip((1..).map(TaskId::number)).collect();
    let among = |ids: &[TaskId]| ids.iter().filter_map(|id| numbers.get(id).cloned()).collect::<Vec<_>>();
    let texts = Texts::of(variables);
    let planned = |task: &Task| Task {
        id: numbers[&task.id].clone(),
        subject: texts.replaced(plain_title(task)),
        description: texts.replaced(&task.description),
        active_form: task.active_form.as_deref().map(|text| texts.replaced(text)),
        blocks: among(&task.blocks),
        blocked_by: among(&task.blocked_by),
        metadata: task.metadata.as_ref().map(|metadata| planned_metadata(metadata, task, &numbers, &texts)),
        ..Task::new(task.id.clone(), "")
    };
    let planned: Vec<Task> = tasks.iter().map(planned).collect();
    let body = write(&planned, Times::After(start, clock));
    let how = format!("{COMMENT} `{{name}}` in a text is a variable: taskyard create --template {name} name=TEXT");
    let text = format!("# {name}\n{how}\n\n{body}");
    let outside = |task: &Task| {
        let before = task.blocked_by.iter().map(|on| (task.id.clone(), on.clone()));
        let behind = task.blocks.iter().map(|id| (id.clone(), task.id.clone()));
        before
            .chain(behind)
            .filter(|(id, on)| !(numbers.contains_key(id) && numbers.contains_key(on)))
            .collect::<Vec<_>>()
    };
    let left_out = tasks.iter().flat_map(outside).collect();
    WrittenTemplate { text, left_out }
}

/// Returns the title without the number and marks that some kinds of tasks have.
fn plain_title(task: &Task) -> &str {
    let subject = Subject::parse(&task.subject);
    if subject.id == Some(task.id.as_str()) { subject.title } else { &task.subject }
}

fn planned_metadata(
    metadata: &Metadata,
    task: &Task,
    numbers: &HashMap<&TaskId, TaskId>,
    texts: &Texts<'_>,
) -> Metadata {
    let kept = metadata.iter().filter(|(key, _)| !is_of_one_run(key) && *key != "parent");
    let mut planned: Metadata = kept
        .map(|(key, value)| match key.as_str() {
            DUE | DEFER | EVERY => (key.clone(), value.clone()),
            _ => (key.clone(), texts.replaced_in(value)),
        })
        .collect();
    if let Some(parent) = task.parent().and_then(|parent| numbers.get(&parent)) {
        planned.insert("parent".to_owned(), parent.as_str().into());
    }
    planned
}

/// Returns the variables of a template, by name.
pub fn variables_of(text: &str) -> Vec<String> {
    let plan = Plan::read(text, Form::Batch);
    let mut names: Vec<String> = plan.items.iter().flat_map(texts_of).flat_map(names_in).map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn texts_of(item: &Item) -> impl Iterator<Item = &str> {
    let fields = item.fields.iter().map(|field| field.value.as_str());
    [item.title.as_str(), item.description.as_str()].into_iter().chain(fields)
}

/// Returns the tasks of a template, with the variables filled in. Numbers in it name its own tasks; a new task gets a
/// new number, and none can depend on a task of the list. With a rule, the task at the top recurs, and its parts with it.
pub fn read_template(
    text: &str,
    variables: &BTreeMap<String, String>,
    every: Option<&Value>,
    clock: &Clock,
) -> Result<Vec<BatchEntry>, BatchMistake> {
    let plan = Plan::read(text, Form::Batch);
    if let Some(line) = plan.stray.first() {
        let what = "this belongs to no item: write `- ` before a task, and indent what belongs to it";
        return Err(BatchMistake::at(*line, what));
    }
    if plan.items.is_empty() {
        return Err(BatchMistake::at(1, "there is no task in it"));
    }
    let read = |item: &Item| {
        if let Some(name) = texts_of(item).flat_map(names_in).find(|name| !variables.contains_key(*name)) {
            return Err(BatchMistake::at(item.line, format!("variable `{name}` has no value")));
        }
        let mut entry = entry(&filled(item, variables), clock)?;
        entry.keeps_number = false;
        Ok(entry)
    };
    let mut entries: Vec<BatchEntry> = plan.items.iter().map(read).collect::<Result<_, _>>()?;
    refer_to_each_other(&entries)?;
    if let Some(rule) = every {
        recur(&mut entries, rule, clock)?;
    }
    Ok(entries)
}

/// Makes the only task at the top recur. Its parts come again with it.
fn recur(entries: &mut [BatchEntry], rule: &Value, clock: &Clock) -> Result<(), BatchMistake> {
    let mut tops = entries.iter_mut().filter(|entry| entry.parent.is_none());
    match (tops.next(), tops.next()) {
        (Some(top), None) => {
            top.recur(rule, clock);
            Ok(())
        }
        (_, second) => {
            let line = second.map_or(1, |entry| entry.line);
            Err(BatchMistake::at(line, "only one task can recur: indent the others below it, as its parts"))
        }
    }
}

/// Returns an item with the variables filled in.
fn filled(item: &Item, variables: &BTreeMap<String, String>) -> Item {
    let mut item = item.clone();
    item.title = filled_text(&item.title, &|name| variables.get(name).cloned());
    item.description = filled_text(&item.description, &|name| variables.get(name).cloned());
    for field in &mut item.fields {
        let in_json = |name: &str| {
            let quoted = Value::from(variables.get(name)?.as_str()).to_string();
            Some(quoted[1..quoted.len() - 1].to_owned())
        };
        field.value = match field.name {
            "meta" => filled_text(&field.value, &in_json),
            _ => filled_text(&field.value, &|name| variables.get(name).cloned()),
        };
    }
    item
}

/// A piece of a text with variables.
enum Piece<'a> {
    Text(&'a str),
    Variable(&'a str),
}

/// Splits a text at its variables: `{name}` is one, `\{name}` is the text `{name}`, and other braces are text.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(open) = text[at..].find('{').map(|open| at + open) {
        let name = text[open + 1..].split_once('}').map(|(name, _)| name).filter(|name| is_name(name));
        let Some(name) = name else {
            at = open + 1;
            continue;
        };
        at = open + name.len() + 2;
        if text[from..open].ends_with('\\') {
            pieces.push(Piece::Text(&text[from..open - 1]));
            from = open;
            continue;
        }
        pieces.push(Piece::Text(&text[from..open]));
        pieces.push(Piece::Variable(name));
        from = at;
    }
    pieces.push(Piece::Text(&text[from..]));
    pieces
}

/// Returns whether a variable can have this name.
pub fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && name.chars().all(|character| character.is_alphanumeric() || matches!(character, '_' | '-'))
}

fn names_in(text: &str) -> Vec<&str> {
    let names = pieces(text).into_iter().filter_map(|piece| match piece {
        Piece::Variable(name) => Some(name),
        Piece::Text(_) => None,
    });
    names.collect()
}

fn filled_text(text: &str, value: &dyn Fn(&str) -> Option<String>) -> String {
    let piece = |piece: Piece<'_>| match piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Variable(name) => value(name).unwrap_or_default(),
    };
    pieces(text).into_iter().map(piece).collect()
}

/// The texts that become variables, the longest first.
struct Texts<'a> {
    /// Text and name.
    texts: Vec<(&'a str, &'a str)>,
}

impl<'a> Texts<'a> {
    fn of(variables: &'a BTreeMap<String, String>) -> Self {
        let mut texts: Vec<_> = variables.iter().map(|(name, text)| (text.as_str(), name.as_str())).collect();
        texts.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        Self { texts }
    }

    fn replaced(&self, text: &str) -> String {
        let mut replaced = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            match self.texts.iter().find(|(text, _)| rest.starts_with(*text)) {
                Some((text, name)) => {
                    replaced.push_str(&format!("{{{name}}}"));
                    rest = &rest[text.len()..];
                }
                None => {
                    replaced.push(first);
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        replaced
    }

    fn replaced_in(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.replaced(text).into(),
            Value::Array(values) => values.iter().map(|value| self.replaced_in(value)).collect(),
            Value::Object(object) => {
                Value::Object(object.iter().map(|(key, value)| (key.clone(), self.replaced_in(value))).collect())
            }
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use serde_json::{Value, json};

    use std::collections::BTreeMap;

    use super::{WrittenTemplate, filled_text, read_template, variables_of, write_template};
    use crate::forms::batch::{BatchEntry, resolve};
    use crate::timing::Clock;
    use crate::{Status, Task, TaskId, Timestamp};

    fn moment(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn clock(now: &str) -> Clock {
        Clock::new(moment(now), TimeZone::get("Europe/Berlin").unwrap())
    }

    fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    fn task(id: u64, subject: &str, metadata: Value) -> Task {
        Task { metadata: metadata.as_object().cloned(), ..Task::new(TaskId::number(id), subject) }
    }

    fn release() -> Vec<Task> {
        let mut whole = task(12, "Release 2.0", json!({"priority": "high", "due": "2026-11-20T22:59:59.999Z"}));
        whole.owner = Some("ana".into());
        whole.status = Status::InProgress;
        let mut build = task(13, "Build", json!({"parent": "12", "estimate": 7200, "notes": [{"text": "slow"}]}));
        build.status = Status::Completed;
        build.blocked_by = vec![TaskId::number(3)];
        build.blocks = vec![TaskId::number(14)];
        let mut test = task(14, "Test", json!({"parent": "12", "tags": ["v2.0"], "defer": "2026-11-17T08:30:00.000Z"}));
        test.description = "Run {\"a\": 1} on 2.0".into();
        test.blocked_by = vec![TaskId::number(13)];
        vec![whole, build, test]
    }

    fn tasks_of(entries: &[BatchEntry]) -> Vec<Task> {
        let ids: Vec<TaskId> = (31..).map(TaskId::number).take(entries.len()).collect();
        let resolved = resolve(entries, &ids, &Default::default()).unwrap();
        let mut tasks = resolved.tasks;
        for edge in resolved.edges {
            tasks.iter_mut().find(|task| task.id == edge.task).unwrap().blocked_by.push(edge.on);
        }
        tasks
    }

    #[test]
    fn template_makes_the_tasks_again_under_new_numbers() {
        let (start, saved) = (moment("2026-11-16T09:00:00Z"), clock("2026-11-25T12:00:00Z"));
        let WrittenTemplate { text, left_out } =
            write_template("release", &release(), &variables(&[("version", "2.0")]), start, &saved);
        assert_eq!(
            text,
            "# release\n\
             #! `{name}` in a text is a variable: taskyard create --template release name=TEXT\n\n\
             - [ ] #1 Release {version}\n  priority: high\n  due: today+4d\n  \
             - [ ] #2 Build\n    estimate: 2h\n  \
             - [ ] #3 Test (after #2)\n    tags: v{version}\n    defer: today+1d 09:30\n    \
             Run {\"a\": 1} on {version}\n"
        );
        assert_eq!(variables_of(&text), ["version"]);
        assert_eq!(left_out, [(TaskId::number(13), TaskId::number(3))]);

        let used = clock("2027-03-27T12:00:00Z");
        let entries = read_template(&text, &variables(&[("version", "2.1")]), None, &used).unwrap();
        let made = tasks_of(&entries);
        assert_eq!((made[0].subject.as_str(), &made[0].owner, made[0].status), ("Release 2.1", &None, Status::Pending));
        // The clocks change on the next day.
        assert_eq!(json!(made[0].metadata), json!({"priority": "high", "due": "2027-03-31T21:59:59.999Z"}));
        assert_eq!(json!(made[1].metadata), json!({"estimate": 7200, "parent": "31"}));
        assert_eq!(made[2].metadata.as_ref().unwrap()["defer"], "2027-03-28T07:30:00.000Z");
        assert_eq!(
            (made[2].description.as_str(), &made[2].blocked_by),
            ("Run {\"a\": 1} on 2.1", &vec![TaskId::number(32)])
        );
    }

    #[test]
    fn variable_without_a_value_and_a_bad_value_are_mistakes() {
        let text = "- [ ] #1 {a} of {b}\n  due: {when}\n";
        assert_eq!(variables_of(text), ["a", "b", "when"]);
        let clock = clock("2026-11-16T12:00:00Z");
        let read = |given: &[(&str, &str)]| read_template(text, &variables(given), None, &clock).unwrap_err();
        assert_eq!(read(&[("a", "x")]).to_string(), "line 1: variable `b` has no value");
        assert_eq!(read(&[("a", "x"), ("b", "y"), ("when", "soon")]).line, 2);
    }

    #[test]
    fn value_is_text_whatever_it_looks_like() {
        let text = "- [ ] #1 Do {x}\n  meta: {\"k\":\"{x}\"}\n  See {x}.\n- [ ] #2 Then\n";
        let value = "\"a\" after: #2\n- [ ] #9 not a task\n  name: n";
        let clock = clock("2026-11-16T12:00:00Z");
        let made = tasks_of(&read_template(text, &variables(&[("x", value)]), None, &clock).unwrap());
        assert_eq!((made.len(), &made[0].blocked_by), (2, &Vec::new()));
        assert_eq!(
            (made[0].subject.clone(), made[0].description.clone()),
            (format!("Do {value}"), format!("See {value}."))
        );
        assert_eq!(made[0].metadata.as_ref().unwrap()["k"], *value);
    }

    #[test]
    fn template_refers_to_its_own_tasks_only() {
        let clock = clock("2026-11-16T12:00:00Z");
        for (text, line) in [
            ("- [ ] #1 A (after #9)\n", 1),
            ("- A\n- B after: 7\n", 2),
            ("- [ ] #1 A\n  parent: #4\n", 1),
            ("- [x] #1 A\n", 1),
            ("- A\n\nstray\n", 3),
            ("# nothing\n", 1),
        ] {
            let mistake = read_template(text, &variables(&[]), None, &clock).unwrap_err();
            assert_eq!(mistake.line, line, "{text}");
        }
        assert!(read_template("- A name: a\n- B\n  after: a, #1\n", &variables(&[]), None, &clock).is_err());
        assert!(read_template("- [ ] #1 A\n- [ ] B after: 1\n", &variables(&[]), None, &clock).is_ok());
    }

    #[test]
    fn only_names_between_braces_are_variables() {
        assert_eq!(variables_of("# {no}\n#! {no}\n- {a}, {b-2} {} { c } {1} \\{d} {{e}}\n"), ["a", "b-2", "e"]);
        assert_eq!(filled_text("\\{a} {a} {", &|_| Some("x".into())), "{a} x {");
    }

    #[test]
    fn one_top_task_can_recur() {
        let clock = clock("2026-11-16T12:00:00Z");
        let read = |text: &str| read_template(text, &variables(&[]), Some(&json!("mon")), &clock);
        let made = tasks_of(&read("- A\n  - B\n").unwrap());
        assert_eq!(json!(made[0].metadata), json!({"every": "mon", "due": "2026-11-16T22:59:59.999Z"}));
        assert_eq!(read("- A\n- B\n").unwrap_err().line, 2);
    }
}
