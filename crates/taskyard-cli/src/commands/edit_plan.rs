//! `taskyard edit` with several tasks: one text, one revision.

use std::collections::{BTreeMap, HashSet};

use taskyard::core::forms::edit_form::{PlanMistake, mark_conflicts, mark_mistake, print_plan, read_plan};
use taskyard::core::render::{Line, Tone};
use taskyard::core::rules::changes::editing::Conflict;
use taskyard::core::{Task, TaskId};
use taskyard::operations::{EditedPlan, PlanChange, Possible, Updated};

use super::several::{none_is_like_that, tell_rehearsal};
use crate::commands::update::{Editing, NotTyped, tell_kept};
use crate::displays;
use crate::displays::did;
use crate::exit::{Exit, Problem};
use crate::output::Output;

impl Editing<'_> {
    /// Lets the user edit several tasks in one text, and saves the result. A text that cannot be saved is opened
    /// again with a line that says why; closing it unchanged cancels the edit.
    pub(super) fn edit_plan(&self, ids: &[TaskId], dry_run: bool, output: &mut Output) -> Result<Exit, Problem> {
        // Report tasks that do not exist before anything is typed.
        let tasks =
            ids.iter().map(|id| Ok(self.yard.show(id)?.done()?.task)).collect::<Result<Vec<Task>, Problem>>()?;
        let known: HashSet<TaskId> = ids.iter().cloned().collect();
        let name = format!("{}-plan", self.yard.list_id().directory());
        let heading = format!("{} tasks of {}", tasks.len(), self.yard.list_id());
        let (sheet, mut written) = self.sheet(&name, &print_plan(&tasks, &heading, &self.clock), output)?;
        let keeping = |problem: Problem| {
            let again: Vec<String> = ids.iter().map(ToString::to_string).collect();
            tell_kept(problem, sheet.path(), &format!("taskyard edit {} --resume", again.join(" ")))
        };
        let began = sheet.base().map_err(|error| Problem::io("cannot read the original text", &error));
        let began = began.and_then(|text| read_plan(&text, &known, &self.clock).map_err(|mistake| bad_plan(&mistake)));
        let mut began = began.map_err(keeping)?;
        let (mut is_first, mut line) = (!self.resume, None);
        loop {
            let text = match self.typed(&sheet, line, output) {
                Ok(text) => text,
                Err(NotTyped { problem, text, was_killed })
                    if is_first && !was_killed && text.as_ref() == Some(&written) =>
                {
                    sheet.put_away();
                    return Err(problem);
                }
                Err(NotTyped { problem, .. }) => return Err(keeping(problem)),
            };
            let is_same = text == written;
            if is_first && (is_same || text.trim().is_empty()) {
                sheet.put_away();
                return tell_nothing(output);
            }
            is_first = false;
            let mistake = match read_plan(&text, &known, &self.clock) {
                Err(mistake) => mistake,
                Ok(mine) => {
                    let changes = mine.changed_from(&began).into_iter();
                    let changes: Vec<PlanChange> =
                        changes.map(|(id, base, mine)| PlanChange { id, base, mine }).collect();
                    if changes.is_empty() && mine.new.is_empty() {
                        sheet.put_away();
                        return tell_nothing(output);
                    }
                    let saved = self.yard.save_plan(&changes, &mine.new).map_err(Problem::from).map_err(keeping)?;
                    match saved.done().map_err(Problem::from).map_err(keeping)? {
                        EditedPlan::Saved { updated, created } => {
                            sheet.put_away();
                            return self.tell_saved(updated, &created, dry_run, output);
                        }
                        EditedPlan::Mistaken(mistake) => mistake,
                        EditedPlan::AtOdds(at_odds) => {
                            let mut told = BTreeMap::new();
                            for (id, now, conflicts) in at_odds {
                                let words: Vec<String> = conflicts.iter().map(Conflict::told).collect();
                                told.insert(id.clone(), words.join(", "));
                                if let Some(base) = began.tasks.remove(&id) {
                                    began.tasks.insert(id, base.seeing(&now, &conflicts));
                                }
                            }
                            written = mark_conflicts(&text, &told);
                            let failed = |error| Problem::io("cannot write the changes made in the meantime", &error);
                            let base = sheet.base().map_err(failed).map_err(keeping)?;
                            sheet.replace(&written, &base).map_err(failed).map_err(keeping)?;
                            line = written.lines().position(|line| line.starts_with("#!")).map(|place| place + 1);
                            output
                                .warn("tasks were changed in the meantime in the same places; the text shows where")?;
                            continue;
                        }
                    }
                }
            };
            if is_same {
                return Err(keeping(bad_plan(&mistake)));
            }
            written = mark_mistake(&text, &mistake);
            line = written.lines().position(|line| line.starts_with("#!")).map(|place| place + 2);
            let failed = |error| Problem::io("cannot write the errors into the text", &error);
            let base = sheet.base().map_err(failed).map_err(keeping)?;
            sheet.replace(&written, &base).map_err(failed).map_err(keeping)?;
            output.warn(&format!("{mistake}; the editor is open at this line"))?;
        }
    }

    fn tell_saved(
        &self,
        updated: Vec<Updated>,
        created: &[Task],
        dry_run: bool,
        output: &mut Output,
    ) -> Result<Exit, Problem> {
        if dry_run {
            let tasks: Vec<&Task> = updated.iter().map(|updated| &updated.task).chain(created).collect();
            return tell_rehearsal("Would save", &tasks, &[], output);
        }
        let done = updated.into_iter().filter(|updated| updated.revision.is_some()).collect();
        displays::updated_together("Updated", &Possible { done, refused: Vec::new() }, self.yard, output)?;
        if !output.is_json() {
            created.iter().try_for_each(|task| output.say(&did("Created", task)))?;
        }
        Ok(Exit::Done)
    }
}

fn tell_nothing(output: &mut Output) -> Result<Exit, Problem> {
    if output.is_json() {
        return none_is_like_that(output);
    }
    output.say(&Line::new().with(Tone::Dim, "Nothing was changed."))?;
    Ok(Exit::Done)
}

fn bad_plan(mistake: &PlanMistake) -> Problem {
    Problem::usage("bad_form", mistake.to_string()).detail("line", mistake.line)
}
