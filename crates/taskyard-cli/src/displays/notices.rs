//! The texts of desktop notices.

use taskyard::config::NoticeKind;
use taskyard::core::{Entry, Image, Job, Message, Status, TaskId};
use taskyard_jobs::notify::Notifier;
use taskyard_jobs::work::WorkEvent;

pub(crate) fn notify_of_end(notifier: Option<&Notifier>, job: &Job) {
    if let Some(notifier) = notifier {
        let title = format!("Job {} {}", job.id, job.state());
        notifier.notify(NoticeKind::Job, &title, &job.description);
    }
}

pub(crate) fn notify_of_message(notifier: &Notifier, message: &Message) {
    let text = message.summary.as_deref().unwrap_or(&message.text);
    notifier.notify(NoticeKind::Message, &format!("Message from {}", message.from), text);
}

/// Shows a notice for each task that was completed.
pub(crate) fn notify_of_done(notifier: &Notifier, entries: &[Entry]) {
    let status = |image: Option<&Image>, task: &TaskId| Some(image?.task(task).ok()?.status);
    for entry in entries {
        let after = entry.after.as_ref().and_then(|image| image.task(&entry.task).ok());
        let was_done = status(entry.before.as_ref(), &entry.task) == Some(Status::Completed);
        if let Some(task) = after.filter(|task| task.status == Status::Completed && !was_done) {
            let title = format!("{} completed #{}", entry.actor, task.id);
            notifier.notify(NoticeKind::Done, &title, &task.shown_subject());
        }
    }
}

/// Shows a notice for a task that was completed, given up or lost.
pub(crate) fn notify_of_work(notifier: &Notifier, event: &WorkEvent) {
    let (kind, verb, ended) = match event {
        WorkEvent::Completed(ended) => (NoticeKind::Done, "completed", ended),
        WorkEvent::GaveUp(ended, _) => (NoticeKind::Failed, "gave up", ended),
        WorkEvent::Lost(ended, _) => (NoticeKind::Failed, "lost", ended),
        _ => return,
    };
    let title = format!("{} {verb} #{}", ended.worker, ended.task.id);
    notifier.notify(kind, &title, &ended.task.shown_subject());
}
