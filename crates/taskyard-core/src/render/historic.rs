//! The lines of two releases of the client whose displays others have built upon.

use super::{Line, Tone};
use crate::dialect::macf::Subject;
use crate::{Status, Task};

/// Returns a task as client 2.1.19 showed it: `#67. [in_progress] Title`.
pub fn historic_line(task: &Task) -> Line {
    let line = Line::plain(&format!("#{}. [{}] ", task.id, task.status));
    titled(line, task)
}

/// Returns a task as client 2.1.20 showed it: without its number, unless that stands dim in the subject.
pub fn historic_mark_line(task: &Task) -> Line {
    let mark = match task.status {
        Status::InProgress => "  \u{25fc} ",
        Status::Pending => "  \u{25fb} ",
        Status::Completed => "  \u{2714} ",
    };
    let mut line = Line::plain(mark);
    if let Some(id) = Subject::of(&task.id, &task.subject).id {
        line.push(Tone::Dim, &format!("#{id} "));
    }
    titled(line, task)
}

fn titled(mut line: Line, task: &Task) -> Line {
    let subject = Subject::of(&task.id, &task.subject);
    if let Some(parent) = subject.parent {
        line.push(Tone::Dim, &format!("[^#{parent}] "));
    }
    line.push(Tone::Plain, subject.title);
    line
}

#[cfg(test)]
mod tests {
    use super::{historic_line, historic_mark_line};
    use crate::render::Tone;
    use crate::{Status, Task, TaskId};

    #[test]
    fn both_forms_are_those_that_were_seen() {
        let mut mission = Task::new(TaskId::number(67), "\x1b[2m#67\x1b[0m \u{1f5fa}\u{fe0f} MISSION: Task CLI");
        mission.status = Status::InProgress;
        let phase = Task::new(TaskId::number(68), "[^#67] \u{1f4cb} Phase 1");
        assert_eq!(historic_line(&mission).to_string(), "#67. [in_progress] \u{1f5fa}\u{fe0f} MISSION: Task CLI");
        assert_eq!(historic_line(&phase).to_string(), "#68. [pending] [^#67] \u{1f4cb} Phase 1");
        let line = historic_mark_line(&mission);
        assert_eq!(line.to_string(), "  \u{25fc} #67 \u{1f5fa}\u{fe0f} MISSION: Task CLI");
        assert_eq!((line.spans()[1].text(), line.spans()[1].tone()), ("#67 ", Tone::Dim));
        assert_eq!(historic_mark_line(&phase).to_string(), "  \u{25fb} [^#67] \u{1f4cb} Phase 1");
    }
}
