//! Journal entries and task images as rows.

use serde_json::{Value, json};
use taskyard::core::{AgentName, Entry, Image, Loss, Op, Remark, Revision, TaskId, Timestamp};
use tokio_postgres::Row;

use crate::connecting::{Column, Failure, FailureKind, Statement};
use crate::database::Database;

/// The columns of an entry, in the order they are read.
pub(super) const COLUMNS: &str = "c.revision, c.at, c.actor, c.op, c.task, c.undoes, c.remark, c.attempt,
    c.after, c.after_raw, c.before, c.before_raw, CASE WHEN NOT c.is_copy THEN c.db_user END";
pub(super) const COLUMN_COUNT: usize = 13;
/// The columns needed by a process that knows the preceding state, in the order they are read.
pub(super) const COLUMNS_FOLLOWED: &str = "c.revision, c.task, c.attempt, c.after, c.after_raw,
    c.at, c.actor, c.op, c.undoes, c.remark, CASE WHEN NOT c.is_copy THEN c.db_user END";

pub(super) fn entry(row: &Row) -> Result<Entry, Failure> {
    let op: &str = row.try_get(3)?;
    let (remark, marks) = row.try_get::<_, Option<&str>>(6)?.map(remark).unwrap_or_default();
    let attempt: Option<&str> = row.try_get(7)?;
    Ok(Entry {
        revision: revision(row.try_get(0)?),
        at: Timestamp(row.try_get(1)?),
        actor: AgentName::new(row.try_get::<_, &str>(2)?).map_err(|_| damaged("no actor"))?,
        op: Op::from_stored(op, |key| marks[key] == true).ok_or_else(|| damaged("a verb that nobody knows"))?,
        task: TaskId::stored(row.try_get::<_, &str>(4)?),
        undoes: undone(row.try_get(5)?),
        remark,
        attempt: attempt.and_then(|attempt| attempt.parse().ok()),
        after: image(row, 8)?,
        before: image(row, 10)?,
        db_user: row.try_get(12)?,
    })
}

/// Reads an entry from [`COLUMNS_FOLLOWED`]; `before` is the task's previous image.
pub(super) fn followed_entry(row: &Row, before: Option<Image>) -> Result<Entry, Failure> {
    let (remark, marks) = row.try_get::<_, Option<&str>>(9)?.map(remark).unwrap_or_default();
    let attempt: Option<&str> = row.try_get(2)?;
    Ok(Entry {
        revision: revision(row.try_get(0)?),
        at: Timestamp(row.try_get(5)?),
        actor: AgentName::new(row.try_get::<_, &str>(6)?).map_err(|_| damaged("no actor"))?,
        op: Op::from_stored(row.try_get(7)?, |key| marks[key] == true)
            .ok_or_else(|| damaged("a verb that nobody knows"))?,
        task: TaskId::stored(row.try_get::<_, &str>(1)?),
        undoes: undone(row.try_get(8)?),
        remark,
        attempt: attempt.and_then(|attempt| attempt.parse().ok()),
        after: image(row, 3)?,
        before,
        db_user: row.try_get(10)?,
    })
}

fn damaged(what: &str) -> Failure {
    Failure::new(FailureKind::Wrong, format!("an entry of the journal has {what}"))
}

/// Parses comma-separated revisions.
fn undone(text: Option<&str>) -> Vec<Revision> {
    let words = text.into_iter().flat_map(|list| list.split(','));
    words.filter_map(|revision| revision.parse().ok()).map(Revision).collect()
}

/// Returns the statement that inserts the entries of one commit.
pub(super) fn insertion(database: &Database, list: i64, entries: &[Entry]) -> Statement {
    let sql = "INSERT INTO @.changes (list, revision, at, actor, op, undoes,
            place, task, before, before_raw, after, after_raw, remark, attempt)
        SELECT $1, $2, $3, $4, $5, $6, new.* FROM ROWS AS new";
    let (mut before, mut after) = (ImageColumns::default(), ImageColumns::default());
    for entry in entries {
        before.push(entry.before.as_ref());
        after.push(entry.after.as_ref());
    }
    // All entries are of one commit, so they share these values.
    let first = entries.first();
    let undoes = first.and_then(|entry| joined(&entry.undoes));
    database
        .statement(sql)
        .number(list)
        .number(first.map_or(0, |entry| entry.revision.0.cast_signed()))
        .number(first.map_or(0, |entry| entry.at.0))
        .text(first.map(|entry| storable(entry.actor.as_str())).unwrap_or_default())
        .text(first.map_or("", |entry| entry.op.as_stored()))
        .some_text(undoes)
        .rows(vec![
            Column::Numbers((0..).take(entries.len()).collect()),
            Column::Texts(entries.iter().map(|entry| entry.task.as_str().to_owned()).collect()),
            Column::SomeTexts(before.texts),
            Column::SomeBytes(before.bytes),
            Column::SomeTexts(after.texts),
            Column::SomeBytes(after.bytes),
            Column::SomeTexts(entries.iter().map(remark_text).collect()),
            Column::SomeTexts(entries.iter().map(|entry| entry.attempt.map(|attempt| attempt.to_string())).collect()),
        ])
}

/// Returns the statement that inserts entries of several complete commits, copied from another journal.
pub(super) fn insertion_of_several(database: &Database, list: i64, entries: &[Entry]) -> Statement {
    let sql = "INSERT INTO @.changes (list, is_copy, revision, place, at, actor, op, task, before, before_raw, after,
            after_raw, undoes, remark, attempt)
        SELECT $1, true, new.* FROM ROWS AS new";
    let (mut before, mut after) = (ImageColumns::default(), ImageColumns::default());
    let mut places = Vec::with_capacity(entries.len());
    for commit in entries.chunk_by(|one, other| one.revision == other.revision) {
        places.extend((0..).take(commit.len()));
    }
    for entry in entries {
        before.push(entry.before.as_ref());
        after.push(entry.after.as_ref());
    }
    let texts = |text: fn(&Entry) -> String| entries.iter().map(text).collect();
    let some_texts = |text: fn(&Entry) -> Option<String>| entries.iter().map(text).collect();
    database.statement(sql).number(list).rows(vec![
        Column::Numbers(entries.iter().map(|entry| entry.revision.0.cast_signed()).collect()),
        Column::Numbers(places),
        Column::Numbers(entries.iter().map(|entry| entry.at.0).collect()),
        Column::Texts(texts(|entry| storable(entry.actor.as_str()))),
        Column::Texts(texts(|entry| entry.op.as_stored().to_owned())),
        Column::Texts(texts(|entry| entry.task.as_str().to_owned())),
        Column::SomeTexts(before.texts),
        Column::SomeBytes(before.bytes),
        Column::SomeTexts(after.texts),
        Column::SomeBytes(after.bytes),
        Column::SomeTexts(some_texts(|entry| joined(&entry.undoes))),
        Column::SomeTexts(some_texts(remark_text)),
        Column::SomeTexts(some_texts(|entry| entry.attempt.map(|attempt| attempt.to_string()))),
    ])
}

/// Returns the statements that copy a list's entries up to a revision to another list, after the revision up to which
/// that one already has them.
pub(super) fn copying(
    database: &Database,
    (from, until): (i64, Revision),
    (to, since): (i64, Revision),
) -> [Statement; 2] {
    let columns = "revision, place, at, actor, op, task, before, before_raw, after, after_raw, undoes, remark, attempt";
    let entries = format!(
        "INSERT INTO @.changes (list, is_copy, {columns}) SELECT $1, true, {columns} FROM @.changes
        WHERE list = $2 AND revision > $3 AND revision <= $4"
    );
    let thinned = "UPDATE @.lists SET thinned = greatest(thinned, (SELECT f.thinned FROM @.lists f WHERE f.id = $2))
        WHERE id = $1";
    let entries = database.statement(&entries).number(to).number(from);
    let entries = entries.number(since.0.cast_signed()).number(until.0.cast_signed());
    [entries, database.statement(thinned).number(to).number(from)]
}

pub(super) fn revision(number: i64) -> Revision {
    Revision(number.unsigned_abs())
}

/// Replaces NUL characters, which PostgreSQL cannot store.
pub(crate) fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Returns the revisions separated by commas, or `None` if there are none.
fn joined(revisions: &[Revision]) -> Option<String> {
    let words: Vec<String> = revisions.iter().map(|revision| revision.0.to_string()).collect();
    (!words.is_empty()).then(|| words.join(","))
}

/// Returns the stored form of an entry's remark, or `None` if it is empty.
pub(super) fn remark_text(entry: &Entry) -> Option<String> {
    let (remark, mark) = (&entry.remark, entry.op.mark());
    if remark.is_empty() && mark.is_none() {
        return None;
    }
    let loss = |loss: &Loss| json!({ "field": loss.field.to_string(), "of": loss.revision.0, "verdict": loss.verdict.as_str() });
    let mut text = json!({
        "notice": remark.notice,
        "ready": remark.now_ready.iter().map(TaskId::as_str).collect::<Vec<_>>(),
        "losses": remark.taken_back.iter().map(loss).collect::<Vec<_>>(),
    });
    if let Some(mark) = mark {
        text[mark] = json!(true);
    }
    Some(text.to_string())
}

/// Parses a stored remark. The second value has the keys that distinguish operations with the same name.
pub(super) fn remark(text: &str) -> (Remark, Value) {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let items = |name: &str| value[name].as_array().cloned().unwrap_or_default();
    let loss = |loss: &Value| {
        Some(Loss {
            field: loss["field"].as_str()?.parse().ok()?,
            revision: Revision(loss["of"].as_u64()?),
            verdict: loss["verdict"].as_str()?.parse().ok()?,
        })
    };
    let remark = Remark {
        notice: value["notice"].as_str().map(str::to_owned),
        now_ready: items("ready").iter().filter_map(Value::as_str).map(TaskId::stored).collect(),
        taken_back: items("losses").iter().filter_map(loss).collect(),
    };
    (remark, value)
}

/// Images in two columns: as text, or as bytes if PostgreSQL cannot store the text.
#[derive(Debug, Default)]
pub(super) struct ImageColumns {
    pub(super) texts: Vec<Option<String>>,
    pub(super) bytes: Vec<Option<Vec<u8>>>,
}

impl ImageColumns {
    pub(super) fn push(&mut self, image: Option<&Image>) {
        let text = image.and_then(|image| std::str::from_utf8(image.bytes()).ok()).filter(|text| !text.contains('\0'));
        self.bytes.push(image.filter(|_| text.is_none()).map(|image| image.bytes().to_vec()));
        self.texts.push(text.map(str::to_owned));
    }
}

/// Reads an image from a column and the next one.
pub(super) fn image(row: &Row, place: usize) -> Result<Option<Image>, Failure> {
    if let Some(text) = row.try_get::<_, Option<&str>>(place)? {
        return Ok(Some(Image::new(text.as_bytes())));
    }
    Ok(row.try_get::<_, Option<&[u8]>>(place + 1)?.map(Image::new))
}

#[cfg(test)]
mod tests {
    use taskyard::core::{AgentName, Entry, Loss, Op, Remark, Revision, TaskId, Timestamp, Verdict};

    use super::{joined, remark, remark_text, storable, undone};

    fn entry(op: Op, remark: Remark) -> Entry {
        Entry {
            revision: Revision(1),
            at: Timestamp(0),
            actor: AgentName::new("ana").unwrap(),
            op,
            task: TaskId::number(1),
            before: None,
            after: None,
            undoes: Vec::new(),
            remark,
            attempt: None,
            db_user: None,
        }
    }

    #[test]
    fn remark_is_read_as_it_was_written() {
        let loss = Loss { field: "subject".parse().unwrap(), revision: Revision(3), verdict: Verdict::Certain };
        let said = Remark {
            notice: Some("the hook said \"no\"".into()),
            now_ready: vec![TaskId::number(2), TaskId::stored("strange name")],
            taken_back: vec![loss],
        };
        let text = remark_text(&entry(Op::Update, said.clone())).unwrap();
        assert_eq!(remark(&text).0, said);
        assert_eq!(remark_text(&entry(Op::Update, Remark::default())), None);
    }

    #[test]
    fn damaged_remark_says_nothing() {
        for text in ["", "no JSON", "[]", r#"{"notice":7,"ready":"all","losses":[{"field":"subject"}]}"#] {
            assert_eq!(remark(text).0, Remark::default(), "{text}");
        }
    }

    #[test]
    fn revisions_undone_are_a_list_with_commas() {
        let all = [Revision(3), Revision(17)];
        assert_eq!(joined(&all).as_deref(), Some("3,17"));
        assert_eq!(undone(Some("3,17")), all);
        assert_eq!((joined(&[]), undone(None)), (None, Vec::new()));
    }

    #[test]
    fn text_with_a_null_character_can_be_stored() {
        assert_eq!(storable("a\0b"), "a\u{fffd}b");
    }
}

#[cfg(test)]
mod images_tests {
    use taskyard::core::Image;

    use super::ImageColumns;

    #[test]
    fn image_that_is_no_text_for_postgres_is_kept_as_bytes() {
        let mut columns = ImageColumns::default();
        for image in [Some(&b"{}"[..]), Some(b"\xff"), Some(b"a\0b"), None] {
            columns.push(image.map(Image::new).as_ref());
        }
        assert_eq!(columns.texts, [Some("{}".to_owned()), None, None, None]);
        assert_eq!(columns.bytes, [None, Some(b"\xff".to_vec()), Some(b"a\0b".to_vec()), None]);
    }
}
