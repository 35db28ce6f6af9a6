//! Several tasks in one text: a plan, as `docs/formats/plan.md` has it, without notes and without metadata that has no field.
//!
//! A field that is not there is empty: the text shows everything that it can change. An item without an id is a new task; a task whose item
//! is gone stays as it was.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::dialect::plan::{COMMENT, Field, Form, Item, Plan, Times, box_status, write};
use crate::forms::batch;
use crate::forms::batch::{BatchEntry, BatchMistake, BatchParent};
use crate::forms::one_line::{parse_every, parse_priority};
use crate::rules::changes::editing::{Draft, WORDS};
use crate::rules::changes::recurring::EVERY;
use crate::timing::{Clock, PartOfDay, WorkSpan, parse_moment};
use crate::{DEFER, DUE, ESTIMATE, Status, Task, TaskId};

/// What a plan in an editor says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanDraft {
    /// The tasks that are there already.
    pub tasks: BTreeMap<TaskId, Draft>,
    /// The tasks that are new.
    pub new: Vec<BatchEntry>,
}

/// What is wrong with a plan in an editor.
pub type PlanMistake = BatchMistake;

const HELP: &str = "\
# An item without a number is a new task; an indented item is a part of the one above. If you remove a field's line, the
# field is emptied; if you remove an item, its task stays as it is. All changes are saved together when the editor exits.
";

/// Returns tasks as people edit them together, their times by the clock.
pub fn print_plan(tasks: &[Task], heading: &str, clock: &Clock) -> String {
    format!("# {heading}\n{HELP}\n{}", write(tasks, Times::By(clock)))
}

/// Returns a text with a line above the one that is wrong, which says what is. Lines that told of earlier mistakes are gone.
pub fn mark_mistake(text: &str, mistake: &PlanMistake) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut is_told = false;
    for (number, line) in text.lines().enumerate() {
        if number + 1 >= mistake.line && !is_told {
            lines.push(format!("{COMMENT} {}", mistake.what));
            is_told = true;
        }
        lines.extend((!line.starts_with(COMMENT)).then(|| line.to_owned()));
    }
    lines.join("\n") + "\n"
}

/// Returns a text with lines above the items of tasks that say what others changed meanwhile.
pub fn mark_conflicts(text: &str, told: &BTreeMap<TaskId, String>) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with(COMMENT)) {
        let plan = Plan::read(line, Form::Checklist);
        let id = plan.items.first().and_then(|item| item.id.as_ref());
        lines.extend(
            id.and_then(|id| told.get(id))
                .map(|what| format!("{COMMENT} changed in the meantime: {what}; your version will replace it")),
        );
        lines.push(line.to_owned());
    }
    lines.join("\n") + "\n"
}

/// Reads a plan in which these tasks were, and new ones. Lines are counted as they stand in the text.
pub fn read_plan(text: &str, known: &HashSet<TaskId>, clock: &Clock) -> Result<PlanDraft, PlanMistake> {
    // Comments stay lines, so that the others keep their numbers.
    let lines: Vec<&str> = text.lines().map(|line| if line.starts_with("# ") { COMMENT } else { line }).collect();
    let plan = Plan::read(&lines.join("\n"), Form::Batch);
    if let Some(line) = plan.stray.first() {
        return Err(BatchMistake::at(
            *line,
            "this line is outside of any item: start a task with `- [ ] `, and indent what belongs to it",
        ));
    }
    let is_new = |item: &Item| item.id.is_none();
    let new_places: HashMap<usize, usize> =
        plan.items.iter().enumerate().filter(|(_, item)| is_new(item)).map(|(place, _)| place).zip(0..).collect();
    let mut draft = PlanDraft::default();
    for item in &plan.items {
        let Some(id) = &item.id else {
            let mut entry = batch::entry(item, clock)?;
            if let Some(BatchParent::At(place)) = entry.parent {
                entry.parent = Some(match (&plan.items[place].id, new_places.get(&place)) {
                    (Some(id), _) => BatchParent::Named(format!("#{id}")),
                    (None, place) => BatchParent::At(place.copied().unwrap_or_default()),
                });
            }
            draft.new.push(entry);
            continue;
        };
        if !known.contains(id) {
            return Err(BatchMistake::at(
                item.line,
                format!("#{id} was not in this text; leave the number out to create a task"),
            ));
        }
        let parent = match item.parent.map(|place| &plan.items[place].id) {
            Some(None) => {
                return Err(BatchMistake::at(
                    item.line,
                    "a task cannot become a part of a new task; save the new task first",
                ));
            }
            Some(Some(id)) => Some(id.clone()),
            None => None,
        };
        if draft.tasks.insert(id.clone(), task_draft(item, parent, clock)?).is_some() {
            return Err(BatchMistake::at(item.line, format!("#{id} is listed twice")));
        }
    }
    // Each edge is written once.
    let waiting: Vec<(TaskId, TaskId)> =
        draft.tasks.iter().flat_map(|(id, task)| task.blocked_by.iter().map(|on| (on.clone(), id.clone()))).collect();
    for (on, id) in waiting {
        if let Some(task) = draft.tasks.get_mut(&on).filter(|task| !task.blocks.contains(&id)) {
            task.blocks.push(id);
        }
    }
    Ok(draft)
}

impl PlanDraft {
    /// Returns the tasks that this text changes, given the text it began as. What waits for a task whose item is gone still does.
    pub fn changed_from(&self, began: &Self) -> Vec<(TaskId, Draft, Draft)> {
        let changed = self.tasks.iter().filter_map(|(id, mine)| {
            let base = began.tasks.get(id)?;
            let mut mine = mine.clone();
            let gone = |id: &&TaskId| began.tasks.contains_key(*id) && !self.tasks.contains_key(*id);
            let kept: Vec<TaskId> = base.blocks.iter().filter(gone).cloned().collect();
            mine.blocks.extend(kept);
            let is_same =
                same_set(&mine.blocks, &base.blocks) && Draft { blocks: base.blocks.clone(), ..mine.clone() } == *base;
            (!is_same).then(|| (id.clone(), base.clone(), mine))
        });
        changed.collect()
    }
}

fn same_set(one: &[TaskId], other: &[TaskId]) -> bool {
    let [one, other]: [HashSet<&TaskId>; 2] = [one, other].map(|ids| ids.iter().collect());
    one == other
}

fn task_draft(item: &Item, parent: Option<TaskId>, clock: &Clock) -> Result<Draft, PlanMistake> {
    let mark = item.mark.unwrap_or(' ');
    if !item.notes.is_empty() {
        return Err(BatchMistake::at(item.line, "notes are added with `taskyard note`"));
    }
    if item.title.trim().is_empty() {
        return Err(BatchMistake::at(item.line, "a task needs a title"));
    }
    let status = box_status(mark);
    let mut draft = Draft {
        subject: item.title.clone(),
        status: Some(status),
        is_cancelled: status == Status::Completed && matches!(mark, '-' | '~'),
        description: item.description.clone(),
        parent,
        ..Draft::default()
    };
    for field in item.fields.iter().filter(|field| !field.value.is_empty()) {
        take(&mut draft, field, clock).map_err(|what| BatchMistake::at(field.line, what))?;
    }
    Ok(draft)
}

fn take(draft: &mut Draft, field: &Field, clock: &Clock) -> Result<(), String> {
    let value = field.value.as_str();
    let moment = |part: PartOfDay| match value.eq_ignore_ascii_case("none") {
        true => Ok(None),
        false => parse_moment(value, part, clock).map(Some).map_err(|error| error.to_string()),
    };
    let ids = || {
        let words = value.split(',').map(str::trim).filter(|word| !word.is_empty());
        let id = |word: &str| {
            word.parse::<TaskId>().map_err(|_| {
                format!(
                    "`{}` is not a task number; to wait for a new task, name this task in its `blocks`",
                    word.escape_debug()
                )
            })
        };
        words.map(id).collect::<Result<Vec<_>, _>>()
    };
    match field.name {
        "after" => draft.blocked_by.extend(ids()?),
        "blocks" => draft.blocks.extend(ids()?),
        // Where the item stands counts first.
        "parent" => draft.parent = draft.parent.take().or(ids()?.pop()),
        "priority" => draft.priority = Some(parse_priority(value)?),
        "tags" => draft.tags.extend(value.split(',').map(str::trim).filter(|tag| !tag.is_empty()).map(str::to_owned)),
        "owner" => draft.owner = Some(value.to_owned()),
        "activeForm" => draft.active_form = Some(value.to_owned()),
        DUE => draft.due = moment(PartOfDay::End)?,
        DEFER => draft.defer = moment(PartOfDay::Start)?,
        ESTIMATE => {
            let span = WorkSpan::parse(value).map_err(|error| error.to_string())?;
            draft.estimate = Some(span.with_days_of(clock.working_day));
        }
        "description" => value.clone_into(&mut draft.description),
        EVERY => draft.words[2] = parse_every(value, clock)?.as_str().map(str::to_owned),
        name => match WORDS.iter().position(|word| *word == name) {
            Some(place) => draft.words[place] = Some(value.to_owned()),
            None => return Err(format!("`{name}` cannot be changed here")),
        },
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use jiff::tz::TimeZone;
    use serde_json::json;

    use super::{PlanDraft, PlanMistake, mark_mistake, print_plan};
    use crate::timing::Clock;
    use crate::{Status, Task, TaskId, Timestamp};

    fn clock() -> Clock {
        Clock::new(Timestamp::parse("2026-11-16T12:00:00Z").unwrap(), TimeZone::UTC)
    }

    fn tasks() -> Vec<Task> {
        let mut one = Task::new(TaskId::number(1), "Design");
        one.blocks = vec![TaskId::number(2)];
        one.metadata = json!({"due": "2026-11-20T23:59:59.999Z", "notes": [{"text": "kept"}], "priority": "high"})
            .as_object()
            .cloned();
        let mut two = Task::new(TaskId::number(2), "Build");
        two.blocked_by = vec![TaskId::number(1), TaskId::number(9)];
        let mut part = Task::new(TaskId::number(3), "Parser");
        part.metadata = json!({"parent": "2"}).as_object().cloned();
        vec![one, two, part]
    }

    fn read(text: &str) -> Result<PlanDraft, PlanMistake> {
        let known: HashSet<TaskId> = (1..4).map(TaskId::number).collect();
        super::read_plan(text, &known, &clock())
    }

    #[test]
    fn text_left_as_it_was_changes_nothing() {
        let text = print_plan(&tasks(), "Plan", &clock());
        assert!(text.contains("- [ ] #1 Design\n  priority: high\n  due: 2026-11-20\n- [ ] #2 Build (after #1, #9)\n  - [ ] #3 Parser\n"), "{text}");
        let began = read(&text).unwrap();
        assert_eq!((began.changed_from(&began), began.new.len()), (Vec::new(), 0));
    }

    #[test]
    fn what_is_typed_is_changed_and_what_is_gone_stays() {
        let text = print_plan(&tasks(), "Plan", &clock());
        let began = read(&text).unwrap();
        let typed = text
            .replace("[ ] #1", "[x] #1")
            .replace("  due: 2026-11-20\n", "  due: fri 17:00\n")
            .replace("  priority: high\n", "");
        let typed = typed.replace(
            "- [ ] #2 Build (after #1, #9)\n  - [ ] #3 Parser\n",
            "- [ ] #3 Parser\n- [ ] Ship after: #3\n  - [ ] Tell\n",
        );
        let mine = read(&typed).unwrap();
        let changed = mine.changed_from(&began);
        let [(_, _, one), (_, _, three)] = changed.as_slice() else { panic!("{changed:?}") };
        assert_eq!(
            (one.status, one.priority, one.due),
            (Some(Status::Completed), None, Timestamp::parse("2026-11-20T17:00:00Z"))
        );
        assert_eq!((&one.blocks, &three.parent), (&vec![TaskId::number(2)], &None));
        let names: Vec<&str> = mine.new.iter().map(|entry| entry.called()).collect();
        assert_eq!(names, ["Ship", "Tell"]);
    }

    #[test]
    fn mistake_is_told_above_its_line_until_it_is_mended() {
        let text = print_plan(&tasks(), "Plan", &clock()).replace("priority: high", "priority: hihg");
        let mistake = read(&text).unwrap_err();
        assert_eq!(text.lines().nth(mistake.line - 1), Some("  priority: hihg"));
        let marked = mark_mistake(&text, &mistake);
        assert!(
            marked.contains("#! invalid priority `hihg`: expected low, medium or high\n  priority: hihg\n"),
            "{marked}"
        );
        let again = read(&marked).unwrap_err();
        assert_eq!(again.line, mistake.line + 1);
        assert_eq!(mark_mistake(&marked, &again), marked);
        assert!(read(&marked.replace("hihg\n", "high\n")).is_ok());
    }

    #[test]
    fn numbers_that_were_not_there_and_lost_lines_are_mistakes() {
        for (text, line) in [
            ("- [ ] #7 x\n", 1),
            ("- [ ] #1 x\n\nstray\n", 3),
            ("- [ ] #1 x\n- [ ] #1 y\n", 2),
            ("- [ ] New\n  - [ ] #1 x\n", 2),
        ] {
            assert_eq!(read(text).unwrap_err().line, line, "{text}");
        }
    }
}
