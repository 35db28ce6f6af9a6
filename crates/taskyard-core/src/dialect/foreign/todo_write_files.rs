//! The files in which the client's TodoWrite keeps an agent's list.

use std::collections::HashMap;

use serde_json::Value;

use super::imported::{BadSource, Imported};
use crate::dialect::foreign::imported::{Rest, set_priority};
use crate::{Priority, Status, Task, TaskId, json_text};

/// Reads every item. An item without an id is identified by its text, since its position changes with every write.
pub fn read(text: &str) -> Result<Imported, BadSource> {
    let bad = |why: String| BadSource { format: "TodoWrite file", why };
    let items: Vec<Value> = json_text::from_str(text).map_err(|error| bad(error.to_string()))?;
    let mut imported = Imported::default();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (place, item) in items.into_iter().enumerate() {
        let Value::Object(item) = item else {
            imported.lose(format!("item {}", place + 1), "not an object");
            continue;
        };
        let mut item = Rest(item);
        let Some(content) = item.text("content") else {
            imported.lose(format!("item {}", place + 1), "an item without content");
            continue;
        };
        let id =
            item.word("id").unwrap_or_else(|| crate::dialect::foreign::checklists::numbered_apart(&content, &mut seen));
        let mut task = Task::new(TaskId::stored(id), content);
        task.active_form = item.text("activeForm");
        let word = item.text("status").unwrap_or_else(|| "pending".to_owned());
        match word.parse::<Status>() {
            Ok(status) => task.status = status,
            Err(_) => {
                imported.map("status", &word, Status::Pending.as_str());
                item.0.insert("status".to_owned(), word.into());
            }
        }
        if let Some(word) = item.text("priority") {
            match word.parse::<Priority>() {
                Ok(priority) => set_priority(&mut task, priority),
                Err(_) => drop(item.0.insert("priority".to_owned(), word.into())),
            }
        }
        item.carry(&mut task, "todos");
        imported.tasks.push(task);
    }
    Ok(imported.without_doubles())
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::{Priority, Status};

    #[test]
    fn items_of_both_generations_are_read() {
        let text = r#"[
  {"content": "Write the parser", "status": "in_progress", "activeForm": "Writing the parser"},
  {"content": "Test it", "status": "pending", "priority": "high", "id": "2"},
  {"content": "Write the parser", "status": "completed", "activeForm": "Writing the parser"},
  {"status": "pending"}
]"#;
        let imported = read(text).unwrap();
        let ids: Vec<&str> = imported.tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["Write the parser", "2", "Write the parser (2)"]);
        assert_eq!(imported.tasks[0].active_form.as_deref(), Some("Writing the parser"));
        assert_eq!((imported.tasks[0].status, imported.tasks[1].priority()), (Status::InProgress, Priority::High));
        assert_eq!(imported.losses.len(), 1);
    }
}
