//! Messages grouped into conversations, and the history of a list grouped into steps.

use std::collections::HashMap;

use crate::render::{
    Line, Look, Tone, cut_text, entry_line, is_summed_up, revision_line, said_in_words, sent_in_words, wrapped,
};
use crate::rules::teams::mailing::{Delivery, DeliveryState};
use crate::{Entry, Message, MessageKey, Revision, Timestamp};

/// A conversation with another member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The other side of the conversation.
    pub with: String,
    /// The name of the other side's colour, if its messages state one.
    pub colour: Option<String>,
    /// The messages, oldest first.
    pub letters: Vec<LetterShown>,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LetterShown {
    /// The text; protocol messages are described in words.
    pub text: String,
    /// When it was sent, if known.
    pub at: Option<Timestamp>,
    /// The state of the message.
    pub state: LetterState,
}

/// The state of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LetterState {
    /// Received and not acknowledged; acknowledging it covers these messages.
    Waiting(Vec<MessageKey>),
    /// Received and acknowledged.
    Acknowledged,
    /// Sent, with its delivery state.
    Sent(DeliveryState),
}

/// A sent message, as recorded by its sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentText {
    /// The recipient.
    pub to: String,
    /// When it was sent.
    pub at: Timestamp,
    /// The text, or only its beginning if no more is known.
    pub text: String,
    /// The delivery state.
    pub state: DeliveryState,
}

impl Thread {
    /// Returns the number of unacknowledged messages.
    pub fn unread(&self) -> usize {
        self.letters.iter().filter(|letter| matches!(letter.state, LetterState::Waiting(_))).count()
    }

    /// Returns the keys that acknowledging the whole conversation covers.
    pub fn waiting(&self) -> Vec<MessageKey> {
        let keys = |letter: &LetterShown| match &letter.state {
            LetterState::Waiting(keys) => keys.clone(),
            LetterState::Acknowledged | LetterState::Sent(_) => Vec::new(),
        };
        self.letters.iter().flat_map(keys).collect()
    }

    fn newest(&self) -> Option<Timestamp> {
        self.letters.iter().filter_map(|letter| letter.at).max()
    }
}

/// Groups messages into conversations: those with unread messages first, then by most recent message.
pub fn threads(waiting: &[Delivery], had: &[Message], sent: Vec<SentText>) -> Vec<Thread> {
    let mut threads: Vec<Thread> = Vec::new();
    let mut place_of: HashMap<String, usize> = HashMap::new();
    let mut add = |with: &str, colour: Option<&String>, letter: LetterShown| {
        let place = *place_of.entry(with.to_owned()).or_insert_with(|| {
            threads.push(Thread { with: with.to_owned(), colour: None, letters: Vec::new() });
            threads.len() - 1
        });
        let thread = &mut threads[place];
        thread.colour = thread.colour.take().or_else(|| colour.cloned());
        thread.letters.push(letter);
    };
    for message in had {
        let letter = LetterShown { text: said_in_words(message), at: message.sent(), state: LetterState::Acknowledged };
        add(&message.from, message.color.as_ref(), letter);
    }
    for Delivery { message, keys } in waiting {
        let state = LetterState::Waiting(keys.clone());
        add(
            &message.from,
            message.color.as_ref(),
            LetterShown { text: said_in_words(message), at: message.sent(), state },
        );
    }
    for SentText { to, at, text, state } in sent {
        let letter = LetterShown { text: sent_in_words(text), at: Some(at), state: LetterState::Sent(state) };
        add(&to, None, letter);
    }
    put_in_order(&mut threads);
    threads
}

/// Keeps received messages that were shown before: an acknowledged message may no longer be in any inbox.
pub fn keep_seen(before: &[Thread], threads: &mut Vec<Thread>) {
    for seen in before {
        let came = |letter: &&LetterShown| !matches!(letter.state, LetterState::Sent(_));
        let place = threads.iter().position(|thread| thread.with == seen.with);
        let known = place.map(|place| &threads[place].letters[..]).unwrap_or_default();
        let is_gone =
            |letter: &&LetterShown| !known.iter().any(|other| other.at == letter.at && other.text == letter.text);
        let kept: Vec<LetterShown> = seen.letters.iter().filter(came).filter(is_gone).cloned().collect();
        if kept.is_empty() {
            continue;
        }
        let place = place.unwrap_or_else(|| {
            threads.push(Thread { letters: Vec::new(), ..seen.clone() });
            threads.len() - 1
        });
        let thread = &mut threads[place];
        thread.colour = thread.colour.take().or_else(|| seen.colour.clone());
        let acknowledged = |letter: LetterShown| LetterShown { state: LetterState::Acknowledged, ..letter };
        thread.letters.extend(kept.into_iter().map(acknowledged));
    }
    put_in_order(threads);
}

fn put_in_order(threads: &mut [Thread]) {
    for thread in &mut *threads {
        thread.letters.sort_by_key(|letter| letter.at);
    }
    threads.sort_by(|one, two| {
        let key = |thread: &Thread| (thread.unread() == 0, std::cmp::Reverse(thread.newest()));
        key(one).cmp(&key(two)).then_with(|| one.with.cmp(&two.with))
    });
}

/// Formats a conversation on one line: name, number of unread messages and last message.
pub fn thread_line(thread: &Thread, name_width: usize, look: &Look) -> Line {
    let unread = thread.unread();
    let (tone, mark) = if unread > 0 { (Tone::Error, look.either("▲ ", "! ")) } else { (Tone::Plain, "  ") };
    let mut line = Line::new().with(tone, mark);
    let name = cut_text(&thread.with, name_width, look.ellipsis());
    line.append(Line::new().with(Tone::member(thread.colour.as_deref()), &name).padded(name_width));
    if unread > 0 {
        line.push(Tone::Error, &format!("  {unread} unread"));
    }
    if let Some(last) = thread.letters.last() {
        if let Some(at) = last.at {
            line.push(Tone::Dim, &format!("  {}", look.time(at)));
        }
        let before = if matches!(last.state, LetterState::Sent(_)) { "  you: " } else { "  " };
        line.push(Tone::Dim, before);
        line.push(Tone::Plain, last.text.lines().next().unwrap_or_default());
    }
    look.fitted(line)
}

/// Formats a conversation in lines of at most `width` columns, oldest message first.
pub fn letter_lines(thread: &Thread, width: usize, look: &Look) -> Vec<Line> {
    let mut lines = Vec::new();
    for letter in &thread.letters {
        let mut head = match &letter.state {
            LetterState::Sent(_) => Line::new().with(Tone::Strong, "you"),
            LetterState::Waiting(_) | LetterState::Acknowledged => {
                Line::new().with(Tone::member(thread.colour.as_deref()), &thread.with)
            }
        };
        if let Some(at) = letter.at {
            head.push(Tone::Dim, &format!("{}{}", look.dot(), look.time(at)));
        }
        match &letter.state {
            LetterState::Waiting(keys) => {
                head.push(Tone::Error, &format!("{}unread", look.dot()));
                if let more @ 1.. = keys.len().saturating_sub(1) {
                    head.push(Tone::Dim, &format!("{}and {more} more of the same", look.dot()));
                }
            }
            LetterState::Acknowledged => {}
            LetterState::Sent(state) => {
                let tone = match state {
                    DeliveryState::Sent | DeliveryState::Delivered => Tone::Active,
                    DeliveryState::Read => Tone::Done,
                    DeliveryState::Expired => Tone::Error,
                };
                head.push(tone, &format!("{}{}", look.dot(), state.as_str()));
            }
        }
        lines.push(head.cut(width, look.ellipsis()));
        for paragraph in letter.text.trim_end().lines() {
            let room = width.saturating_sub(2).max(8);
            lines.extend(
                wrapped(paragraph, room)
                    .iter()
                    .map(|text| Line::plain(&format!("  {text}")).cut(width, look.ellipsis())),
            );
        }
        lines.push(Line::new());
    }
    lines.pop();
    lines
}

/// The changes of one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The revision.
    pub revision: Revision,
    /// Its effect on each task.
    pub entries: Vec<Entry>,
}

/// Groups entries, given oldest first, into steps, newest first.
pub fn steps(entries: Vec<Entry>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for entry in entries {
        match steps.last_mut().filter(|step| step.revision == entry.revision) {
            Some(step) => step.entries.push(entry),
            None => steps.push(Step { revision: entry.revision, entries: vec![entry] }),
        }
    }
    steps.reverse();
    steps
}

/// Formats a step on one line: its effect on the first task and the number of others, or a summary if there are many.
pub fn step_line(step: &Step, look: &Look) -> Line {
    if is_summed_up(step.entries.len()) {
        return look.fitted(revision_line(&step.entries, look).unwrap_or_default());
    }
    let Some(first) = step.entries.first() else { return Line::new() };
    let line = entry_line(first, look);
    let more = step.entries.len() - 1;
    if more == 0 {
        return look.fitted(line);
    }
    let words = format!("  and {more} more");
    let width = look.width.unwrap_or(usize::MAX);
    line.cut(width.saturating_sub(words.len()), look.ellipsis()).with(Tone::Dim, &words)
}

#[cfg(test)]
mod tests {
    use super::{SentText, keep_seen, letter_lines, thread_line, threads};
    use crate::render::Look;
    use crate::rules::teams::mailing::{Delivery, DeliveryState};
    use crate::{Message, Timestamp};

    fn message(from: &str, at: i64, text: &str) -> Message {
        Message {
            from: from.into(),
            text: text.into(),
            summary: None,
            timestamp: Timestamp(at).to_string(),
            color: Some("blue".into()),
            msg_id: None,
            read: false,
        }
    }

    fn waiting(message: Message) -> Delivery {
        Delivery { keys: vec![message.key()], message }
    }

    #[test]
    fn messages_to_and_from_somebody_are_one_conversation_by_time() {
        let sent = vec![SentText {
            to: "bo".into(),
            at: Timestamp(2000),
            text: "they are right".into(),
            state: DeliveryState::Read,
        }];
        let found = threads(
            &[waiting(message("bo", 3000, "now I see")), waiting(message("cleo", 9000, "done"))],
            &[message("bo", 1000, "the numbers are wrong")],
            sent,
        );
        assert_eq!(found.iter().map(|thread| thread.with.as_str()).collect::<Vec<_>>(), ["cleo", "bo"]);
        let texts: Vec<&str> = found[1].letters.iter().map(|letter| letter.text.as_str()).collect();
        assert_eq!(texts, ["the numbers are wrong", "they are right", "now I see"]);
        assert_eq!((found[1].unread(), found[1].waiting().len()), (1, 1));
    }

    #[test]
    fn what_was_sent_for_programs_is_shown_in_words() {
        let text = r#"{"type":"task_assignment","taskId":"4","subject":"Wheels","description":"","assignedBy":"team-lead","timestamp":"t"}"#;
        let sent = SentText { to: "bo".into(), at: Timestamp(1), text: text.into(), state: DeliveryState::Read };
        assert_eq!(threads(&[], &[], vec![sent])[0].letters[0].text, "gave them #4 Wheels");
    }

    #[test]
    fn acknowledged_message_is_remembered_and_removed() {
        let before = threads(&[waiting(message("bo", 1000, "look"))], &[], Vec::new());
        let mut now = Vec::new();
        keep_seen(&before, &mut now);
        assert_eq!((now.len(), now[0].letters.len(), now[0].unread()), (1, 1, 0));
        let again = now.clone();
        keep_seen(&again, &mut now);
        assert_eq!(now, again);
    }

    #[test]
    fn what_is_unread_comes_first_and_is_told_on_the_line() {
        let found = threads(&[waiting(message("bo", 0, "look\nhere"))], &[message("ana", 5000, "old")], Vec::new());
        let look = Look { now: Some(Timestamp(60_000)), ..Look::PIPE };
        assert_eq!(thread_line(&found[0], 4, &look).to_string(), "▲ bo    1 unread  1 min ago  look");
        assert_eq!(thread_line(&found[1], 4, &look).to_string(), "  ana   just now  old");
    }

    #[test]
    fn a_conversation_is_read_from_top_to_bottom_within_its_width() {
        let words = "a word after the other ".repeat(4);
        let found = threads(&[waiting(message("bo", 0, &words))], &[], Vec::new());
        let lines = letter_lines(&found[0], 24, &Look::PIPE);
        assert!(lines.len() > 3 && lines.iter().all(|line| line.width() <= 24));
    }
}
