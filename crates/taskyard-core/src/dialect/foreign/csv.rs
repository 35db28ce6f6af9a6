//! A table with one task per row, as RFC 4180 has it.

use serde_json::Value;

use crate::{Task, TaskId};

const COLUMNS: &str = "id,subject,status,owner,priority,tags,blockedBy,blocks,parent,activeForm,description,metadata";

/// Writes tasks as a table. What has no column of its own is in the last one, as JSON.
pub fn write(tasks: &[Task]) -> String {
    let mut text = format!("{COLUMNS}\r\n");
    for task in tasks {
        let tags: Vec<&str> = task.tags().collect();
        let metadata = task.metadata.clone().map(|metadata| Value::Object(metadata).to_string());
        let parent = task.parent();
        let row = [
            task.id.as_str(),
            &task.subject,
            if task.is_cancelled() { "cancelled" } else { task.status.as_str() },
            task.owner().unwrap_or_default(),
            task.stated_priority().map_or("", |priority| priority.as_str()),
            &tags.join(" "),
            &ids(&task.blocked_by),
            &ids(&task.blocks),
            parent.as_ref().map_or("", TaskId::as_str),
            task.active_form.as_deref().unwrap_or_default(),
            &task.description,
            metadata.as_deref().unwrap_or_default(),
        ];
        text.push_str(&row.map(cell).join(","));
        text.push_str("\r\n");
    }
    text
}

fn ids(ids: &[TaskId]) -> String {
    ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" ")
}

fn cell(text: &str) -> String {
    // A spreadsheet would take such a text for a formula, and run it.
    let guarded = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() };
    if guarded.contains([',', '"', '\n', '\r']) { format!("\"{}\"", guarded.replace('"', "\"\"")) } else { guarded }
}

#[cfg(test)]
mod tests {
    use super::write;
    use crate::{Task, TaskId};

    #[test]
    fn quotes_commas_and_lines_stay_in_their_cell_and_formulas_stay_text() {
        let mut task = Task::new(TaskId::number(1), "=HYPERLINK(\"x\")");
        task.description = "one,\ntwo".into();
        task.blocked_by = vec![TaskId::number(2), TaskId::number(3)];
        let text = write(&[task]);
        let row = text.split_once("\r\n").unwrap().1;
        assert_eq!(row, "1,\"'=HYPERLINK(\"\"x\"\")\",pending,,,,2 3,,,,\"one,\ntwo\",\r\n");
    }
}
