//! The `TaskList` tool.

use serde_json::{Value, json};

use super::schema::{Field, Object, Shape, Unknown};
use super::{Annotations, Answer, InputError, Scope, Tool, ToolSet};
use crate::answers::answer_values;
use crate::render::{loss_in_words, numbered};
use crate::rules::graph::dependencies::OpenTasks;
use crate::rules::history::vanishing::Gone;
use crate::rules::hooks::System;
use crate::rules::looking::listing::{ClientLine, as_the_client_lists};
use crate::tools::tool_answer::{IDS, ListLine, STATUSES, few_blockers, lines_that_fit, shortened, unreadable_line};
use crate::{ListId, Rules, Status, Task, TaskId};

/// Lists the tasks.
pub const TOOL: Tool = Tool {
    name: "TaskList",
    description: "List all tasks: id, status, subject, owner, open blockers. Use it to see what there is, and after finishing \
        a task to see what that unblocked. For the text of a task use TaskGet; to get your next task use TaskClaim.",
    input: Object { fields: &[], unknown: Unknown::Refused },
    output: Object::answer(&[
        Field::required("tasks", Shape::List(&Shape::Object(LISTED))),
        Field::optional("gone", Shape::Record),
        Field::optional("unreadable", Shape::List(&Shape::Text)),
    ]),
    annotations: Annotations::LOOKS,
    scope: Scope::Read,
    set: ToolSet::Core,
    system: System::Tasks,
};

/// A task of the list as programs get it.
const LISTED: Object = Object::answer(&[
    Field::required("id", Shape::Text),
    Field::required("subject", Shape::Text),
    Field::required("status", STATUSES),
    Field::optional("owner", Shape::Text),
    Field::required("blockedBy", IDS),
]);

/// How completed tasks are seen that are not listed.
const COMPLETED: &str = "TaskGet shows any of them by its id, and `taskyard list --status completed` all.";

/// Reads an input: it must be empty.
pub fn read(input: &Value, rules: Rules) -> Result<(), InputError> {
    TOOL.check(input, None, rules).map(drop)
}

/// Returns the answer, given all tasks of the list.
///
/// The client shows blockers that do not exist; in our own rules those do not block, and only what is open is shown. The client knows
/// nothing of tasks that are gone; in our own rules a list that lost open tasks does not read as a new one. Neither does a list with
/// files that could not be read: our own rules name those.
pub fn listed(list: &ListId, tasks: Vec<Task>, gone: Option<&Gone>, unreadable: &[String], rules: Rules) -> Answer {
    let unreadable = if rules.is_client() { &[] } else { unreadable };
    let loss = gone.filter(|_| !rules.is_client()).and_then(|gone| told(gone, list));
    if let Some((text, shape)) = loss {
        return Answer::new(text, json!({ "tasks": [], "gone": shape }));
    }
    let tasks = if rules.is_client() { tasks } else { as_we_show_them(tasks, rules) };
    let lines = as_the_client_lists(tasks, rules.client_version());
    let text = match lines.is_empty() {
        true => format!("No tasks found{}", unreadable_line(unreadable)),
        // The client shows all of them in its order, however many there are.
        false if rules.is_client() => lines.iter().map(ClientLine::whole).collect::<Vec<_>>().join("\n"),
        false => lines_that_fit(&lines, COMPLETED, &unreadable_line(unreadable)),
    };
    let mut structured = json!({ "tasks": lines.iter().map(entry).collect::<Vec<_>>() });
    if !unreadable.is_empty() {
        structured["unreadable"] = json!(unreadable);
    }
    Answer::new(text, structured)
}

fn told(gone: &Gone, list: &ListId) -> Option<(String, Value)> {
    let text = loss_in_words(gone, list, |moment| moment.to_string())?;
    Some((format!("No tasks found. {text}"), json!(answer_values::Gone::from(gone))))
}

fn as_we_show_them(mut tasks: Vec<Task>, rules: Rules) -> Vec<Task> {
    let open = OpenTasks::of(&tasks, rules);
    for task in &mut tasks {
        task.blocked_by = open.blockers(task);
        task.subject = task.shown_subject().into_owned();
    }
    tasks
}

impl ListLine for ClientLine {
    fn id(&self) -> &str {
        &self.id
    }

    fn status(&self) -> Status {
        self.status
    }

    fn whole(&self) -> String {
        line(self, &self.subject, self.owner.as_deref(), &numbered(&self.blocked_by))
    }

    fn shortened(&self, longest: usize) -> String {
        let owner = self.owner.as_deref().map(|owner| shortened(owner, longest));
        let blockers = few_blockers(&self.blocked_by, numbered);
        line(self, &shortened(&self.subject, longest), owner.as_deref(), &blockers)
    }
}

fn line(task: &ClientLine, subject: &str, owner: Option<&str>, blockers: &str) -> String {
    let mut line = format!("#{} [{}] {subject}", task.id, task.status);
    if let Some(owner) = owner.filter(|owner| !owner.is_empty()) {
        line.push_str(&format!(" ({owner})"));
    }
    if !blockers.is_empty() {
        line.push_str(&format!(" [blocked by {blockers}]"));
    }
    line
}

fn entry(task: &ClientLine) -> Value {
    let mut entry = json!({ "id": task.id, "subject": task.subject, "status": task.status.as_str() });
    if let Some(owner) = &task.owner {
        entry["owner"] = json!(owner);
    }
    entry["blockedBy"] = json!(task.blocked_by.iter().map(TaskId::as_str).collect::<Vec<_>>());
    entry
}

#[cfg(test)]
mod tests {
    use crate::rules::history::vanishing::{Gone, KeptIn};
    use crate::tools::Answer;
    use crate::{ClientVersion, ListId, Rules, Status, Task, TaskId, Timestamp};

    fn listed(tasks: Vec<Task>, rules: Rules) -> Answer {
        super::listed(&ListId::new("L").unwrap(), tasks, None, &[], rules)
    }

    #[test]
    fn files_that_could_not_be_read_are_named_in_strict_rules() {
        let list = ListId::new("L").unwrap();
        let files: Vec<String> = (1..=12).map(|number| format!("{number}.json")).collect();
        let answer = |tasks, files: &[String], rules| super::listed(&list, tasks, None, files, rules);
        let one = answer(Vec::new(), &files[2..3], Rules::Strict);
        assert_eq!(one.text, "No tasks found\n1 file could not be read: `3.json`; run `taskyard doctor`");
        assert_eq!(one.structured.unwrap()["unreadable"], serde_json::json!(["3.json"]));
        let task = Task::new(TaskId::number(20), "a");
        let many = answer(vec![task], &files, Rules::Strict).text;
        assert!(many.starts_with("#20 [pending] a\n12 files could not be read: `1.json`, `2.json`"), "{many}");
        assert!(many.ends_with("`10.json` and 2 more; run `taskyard doctor`"), "{many}");
        let client = answer(Vec::new(), &files, Rules::Client(ClientVersion::V2_1_34));
        assert_eq!((client.text.as_str(), client.structured.unwrap().get("unreadable")), ("No tasks found", None));
    }

    #[test]
    fn a_list_that_lost_open_tasks_does_not_read_as_a_new_one() {
        let list = ListId::new("L").unwrap();
        let with = Some(KeptIn::Directory);
        let gone = Gone { open: 3, completed: 0, with, last_seen: Timestamp(0), noticed: Timestamp(60_000) };
        let answer = |gone, rules| super::listed(&list, Vec::new(), Some(gone), &[], rules);
        let strict = answer(&gone, Rules::Strict);
        assert!(
            strict.text.contains("3 open tasks of list L are gone, and the directory with them"),
            "{}",
            strict.text
        );
        assert!(
            strict.text.contains("between 1970-01-01T00:00:00.000Z and 1970-01-01T00:01:00.000Z"),
            "{}",
            strict.text
        );
        assert!(strict.text.contains("taskyard restore --all"), "{}", strict.text);
        assert_eq!(strict.structured.unwrap()["gone"]["open"], 3);
        assert_eq!(answer(&gone, Rules::Client(ClientVersion::V2_1_325)).text, "No tasks found");
        assert_eq!(answer(&Gone { open: 0, completed: 3, ..gone }, Rules::Strict).text, "No tasks found");
    }

    #[test]
    fn a_blocker_that_does_not_exist_is_shown_by_the_client_alone() {
        let blocked_by = vec![TaskId::number(1), TaskId::number(10), TaskId::number(77)];
        let tasks = vec![
            Task { status: Status::Completed, ..Task::new(TaskId::number(10), "j") },
            Task { owner: Some("ana".into()), blocked_by, ..Task::new(TaskId::number(2), "b") },
            Task::new(TaskId::number(1), "a"),
        ];
        assert_eq!(
            listed(tasks.clone(), Rules::Strict).text,
            "#1 [pending] a\n#2 [pending] b (ana) [blocked by #1]\n#10 [completed] j"
        );
        assert_eq!(
            listed(tasks, Rules::Client(ClientVersion::V2_1_34)).text,
            "#1 [pending] a\n#10 [completed] j\n#2 [pending] b (ana) [blocked by #1, #77]"
        );
        assert_eq!(listed(Vec::new(), Rules::Strict).text, "No tasks found");
    }

    fn tasks(numbers: std::ops::RangeInclusive<u64>, status: Status, subject: &str) -> Vec<Task> {
        numbers.map(|number| Task { status, ..Task::new(TaskId::number(number), subject) }).collect()
    }

    #[test]
    fn long_list_shows_every_open_task_and_counts_completed() {
        let title = "A title of about forty characters, or so";
        let mut all = tasks(1..=2900, Status::Completed, title);
        all.extend(tasks(2901..=2950, Status::Pending, title));
        all.extend(tasks(2951..=3000, Status::InProgress, title));
        let answer = listed(all.clone(), Rules::Strict);
        for number in 2901..=3000 {
            assert!(answer.text.contains(&format!("#{number} [")), "#{number} is hidden");
        }
        assert!(!answer.text.contains("[completed]"));
        let last = answer.text.lines().last().unwrap();
        assert!(last.starts_with("+2,900 completed") && last.contains("taskyard list --status completed"), "{last}");
        assert_eq!(answer.structured.unwrap()["tasks"].as_array().unwrap().len(), 3000);
        // What fits is shown as ever.
        assert!(listed(all.split_off(2000), Rules::Strict).text.starts_with("#2001 [completed] "));
    }

    #[test]
    fn open_tasks_that_do_not_fit_are_shortened_then_numbered() {
        let long = "x".repeat(1000);
        let mut all = tasks(1..=1000, Status::Pending, &long);
        all[0].blocked_by = (2..=1000).map(TaskId::number).collect();
        all[1] = Task { subject: "short".into(), owner: Some("ana".into()), ..all[1].clone() };
        let text = listed(all, Rules::Strict).text;
        assert!(text.chars().count() <= 100_000);
        assert_eq!(text.lines().count(), 1000);
        assert!(text.lines().next().unwrap().ends_with("x… [blocked by #2, #3, #4 and 996 more]"));
        assert_eq!(text.lines().nth(1), Some("#2 [pending] short (ana)"));

        let mut many = tasks(1..=20_000, Status::Pending, "Some title");
        many[6].status = Status::InProgress;
        let text = listed(many, Rules::Strict).text;
        assert!(text.contains("\n[in_progress] #7\n[pending] #1 to #6, #8 to #20000"), "{text}");
    }
}
