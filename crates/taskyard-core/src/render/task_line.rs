//! One task on one line.

use crate::dialect::macf::Subject;
use crate::{Priority, Status, Task, TaskId, Todo};

use super::line::cut_text;
use super::{Line, Look, Tone, escaping};

/// The fewest columns a title is cut to, however much follows it.
const SHORTEST_TITLE: usize = 12;

/// On a display narrower than this a title is not cut for the sake of what it waits for.
const NARROW: usize = 60;

/// Returns the client's own line: `#3 [pending] Deploy (ana) [blocked by #2]`, safe to show.
pub fn client_line(id: &str, task: &Task, blockers: &[TaskId]) -> String {
    let mut line = format!("#{id} [{}] {}", task.status, task.shown_subject());
    if let Some(owner) = task.owner() {
        line.push_str(&format!(" ({owner})"));
    }
    if !blockers.is_empty() {
        line.push_str(&format!(" [blocked by {}]", numbered(blockers)));
    }
    escaping::one_line(&line).into_owned()
}

/// Returns ids as people write them: `#2, #3`.
pub fn numbered(ids: &[TaskId]) -> String {
    ids.iter().map(|id| format!("#{id}")).collect::<Vec<_>>().join(", ")
}

/// Returns a task with its mark, title and what there is to say of it, in the width of the display.
///
/// `guides` is what stands before it (the branches of a tree); ids are padded to `id_width`, their `#` included.
pub fn task_line(guides: &str, id_width: usize, task: &Task, blockers: &[TaskId], look: &Look) -> Line {
    let mut before = marked(guides, task, blockers, look);
    before.push(id_tone(task), &format!("{:id_width$}", format!("#{}", task.id)));
    before.push(Tone::Plain, " ");
    titled(before, task, blockers, look)
}

/// Returns an item of a todo list as a task without an id is drawn, in the width of the display.
pub fn todo_line(guides: &str, todo: &Todo, look: &Look) -> Line {
    let active_form = Some(todo.active_form.clone());
    let task = Task { status: todo.status, active_form, ..Task::new(TaskId::stored(""), todo.content.as_str()) };
    titled(marked(guides, &task, &[], look), &task, &[], look)
}

fn is_waiting(task: &Task, blockers: &[TaskId]) -> bool {
    task.status.is_open() && !blockers.is_empty()
}

fn marked(guides: &str, task: &Task, blockers: &[TaskId], look: &Look) -> Line {
    let (tone, mark) = look.mark(task);
    let dims = is_waiting(task, blockers) && task.status == Status::Pending;
    let tone = if dims { Tone::Dim } else { tone };
    Line::new().with(Tone::Dim, guides).with(tone, mark).with(Tone::Plain, " ")
}

fn titled(before: Line, task: &Task, blockers: &[TaskId], look: &Look) -> Line {
    let waiting = is_waiting(task, blockers);
    let blockers = if waiting { blockers } else { &[] };
    let subject = Subject::of(&task.id, &task.subject);
    let mut before = before;
    if let Some(parent) = subject.parent {
        before.push(Tone::Dim, &format!("[^#{parent}] "));
    }
    let title = escaping::one_line(subject.title);
    let Some(width) = look.width else {
        let after = remarks(task, &in_words(blockers), look);
        return joined(before, title_tone(task, waiting), &title, active_form(task, look), after);
    };
    let room = width.saturating_sub(before.width() + Line::plain(&title).width());
    let after = if width < NARROW {
        remarks_within(room, task, blockers, look)
    } else {
        remarks(task, &in_words(blockers), look)
    };
    let room = width.saturating_sub(before.width() + after.width()).max(SHORTEST_TITLE);
    let shown = cut_text(&title, room, look.ellipsis());
    let left = room.saturating_sub(Line::plain(&shown).width());
    let doing = active_form(task, look).filter(|doing| doing.width() <= left);
    joined(before, title_tone(task, waiting), &shown, doing, after).cut(width, look.ellipsis())
}

fn joined(mut before: Line, tone: Tone, title: &str, doing: Option<Line>, after: Line) -> Line {
    before.push(tone, title);
    if let Some(doing) = doing {
        before.append(doing);
    }
    before.append(after);
    before
}

fn id_tone(task: &Task) -> Tone {
    if task.status.is_open() { Tone::Id } else { Tone::Dim }
}

fn title_tone(task: &Task, waiting: bool) -> Tone {
    match task.status {
        Status::InProgress => Tone::Strong,
        Status::Completed => Tone::Struck,
        Status::Pending if waiting => Tone::Dim,
        Status::Pending => Tone::Plain,
    }
}

/// Returns what is being done at the moment, where the task says so.
fn active_form(task: &Task, look: &Look) -> Option<Line> {
    let doing = task.active_form.as_deref().filter(|text| task.status == Status::InProgress && !text.is_empty())?;
    let doing = doing.trim_end_matches('…').trim_end_matches("...");
    Some(Line::new().with(Tone::Dim, look.dot()).with(Tone::Active, &format!("{doing}{}", look.ellipsis())))
}

/// Returns what there is to say of a task beside a title that is to stay whole: what it waits for in so many words, by its ids
/// alone, or not at all.
fn remarks_within(room: usize, task: &Task, blockers: &[TaskId], look: &Look) -> Line {
    let ids: Vec<String> = blockers.iter().map(|id| format!("#{id}")).collect();
    let forms = [in_words(blockers), ids.join(" ")].into_iter().map(|waits| remarks(task, &waits, look));
    forms.into_iter().find(|line| line.width() <= room).unwrap_or_else(|| remarks(task, "", look))
}

/// Returns what a task waits for, in words; nothing where that is nothing.
fn in_words(blockers: &[TaskId]) -> String {
    if blockers.is_empty() { String::new() } else { format!("blocked by {}", some_of(blockers)) }
}

fn remarks(task: &Task, waits: &str, look: &Look) -> Line {
    let mut line = Line::new();
    if task.status.is_open() {
        match task.stated_priority() {
            Some(Priority::High) => line.push(Tone::Warning, look.either(" ▲ high", " (high)")),
            Some(Priority::Low) => line.push(Tone::Dim, look.either(" ▽ low", " (low)")),
            Some(Priority::Medium) | None => {}
        }
        for tag in task.tags() {
            line.push(Tone::Dim, &format!(" +{tag}"));
        }
    }
    if let Some(owner) = task.owner() {
        line.push(Tone::Owner, &format!(" ({owner})"));
    }
    line.append(times(task, look));
    if task.is_cancelled() {
        line.push(Tone::Dim, " cancelled");
    }
    if task.is_internal() {
        line.push(Tone::Dim, " internal");
    }
    if !waits.is_empty() {
        line.push(Tone::Dim, look.either(" ‹ ", " < "));
        line.push(Tone::Blocked, waits);
    }
    line
}

/// Returns when an open task is due and when it may start, where the present is known.
fn times(task: &Task, look: &Look) -> Line {
    let mut line = Line::new();
    let Some(now) = look.now.filter(|_| task.status.is_open()) else { return line };
    match task.due() {
        Some(due) if due < now => line.push(Tone::Error, &format!(" overdue {}", look.time(due))),
        Some(due) => line.push(Tone::Dim, &format!(" due {}", look.until(due))),
        None => {}
    }
    if let Some(defer) = task.defer().filter(|_| task.is_deferred(now)) {
        line.push(Tone::Dim, &format!(" deferred, ready {}", look.until(defer)));
    }
    line
}

/// Returns the first few ids and how many more there are.
fn some_of(ids: &[TaskId]) -> String {
    match ids {
        [first, second, third, rest @ ..] if rest.len() > 1 => {
            format!("#{first}, #{second}, #{third} and {} more", rest.len())
        }
        _ => numbered(ids),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{client_line, task_line};
    use crate::render::Look;
    use crate::{Status, Task, TaskId};

    fn task(subject: &str) -> Task {
        Task::new(TaskId::number(3), subject)
    }

    #[test]
    fn the_clients_line_is_the_clients() {
        let mut task = task("Deploy");
        assert_eq!(client_line("3", &task, &[]), "#3 [pending] Deploy");
        task.owner = Some("ana".into());
        let blockers = [TaskId::number(2), TaskId::number(4)];
        assert_eq!(client_line("3", &task, &blockers), "#3 [pending] Deploy (ana) [blocked by #2, #4]");
        task.owner = Some(String::new());
        assert_eq!(client_line("3", &task, &[]), "#3 [pending] Deploy");
    }

    #[test]
    fn what_is_in_progress_says_what_is_being_done() {
        let mut task = task("Deploy");
        task.status = Status::InProgress;
        task.active_form = Some("Deploying".into());
        assert_eq!(task_line("", 3, &task, &[], &Look::PIPE).to_string(), "◼ #3  Deploy · Deploying…");
        let ascii = Look { unicode: false, ..Look::PIPE };
        assert_eq!(task_line("", 2, &task, &[], &ascii).to_string(), "[>] #3 Deploy, Deploying...");
    }

    #[test]
    fn a_long_title_gives_way_to_owner_and_blockers() {
        let mut task = task("A title that goes on and on and on");
        task.owner = Some("ana".into());
        task.metadata = json!({"priority": "high", "tags": ["core"]}).as_object().cloned();
        let look = Look { width: Some(60), ..Look::PIPE };
        let line = task_line("", 2, &task, &[TaskId::number(2)], &look);
        assert_eq!(line.to_string(), "◻ #3 A title that goes o… ▲ high +core (ana) ‹ blocked by #2");
        assert_eq!(line.width(), 60);
    }

    #[test]
    fn on_a_narrow_display_the_title_wins_over_the_blockers() {
        let look = Look { width: Some(40), ..Look::PIPE };
        let told = |subject: &str| {
            task_line("", 2, &task(subject), &[TaskId::number(2), TaskId::number(5)], &look).to_string()
        };
        assert_eq!(told("Ship it"), "◻ #3 Ship it ‹ blocked by #2, #5");
        assert_eq!(told("Write the migration guide"), "◻ #3 Write the migration guide ‹ #2 #5");
        assert_eq!(told("Write the integration tests now"), "◻ #3 Write the integration tests now");
        assert_eq!(told("Write the integration tests for all of it"), "◻ #3 Write the integration tests for al…");
    }

    #[test]
    fn no_line_is_wider_than_the_display() {
        let mut task = task("A title");
        task.owner = Some("somebody with a long name".into());
        for width in 0..80 {
            let look = Look { width: Some(width), ..Look::PIPE };
            assert!(task_line("  ", 4, &task, &[TaskId::number(2)], &look).width() <= width, "{width}");
        }
    }
}
