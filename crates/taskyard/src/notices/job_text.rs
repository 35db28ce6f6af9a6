//! A job as a text, for places that keep notices elsewhere than on this machine.

use serde_json::{Value, json};
use taskyard_core::Job;

use super::NoticeError;
use crate::jobs::{job_in, row_of};
use crate::machine::JobRow;

/// Writes a job down, as its machine's database does.
pub fn job_to_text(job: &Job) -> String {
    let JobRow { id, state, list, task, started, ended, size, record, is_delivered } = row_of(job);
    json!({
        "id": id, "state": state, "list": list, "task": task, "started": started, "ended": ended, "size": size,
        "record": record, "delivered": is_delivered,
    })
    .to_string()
}

/// Reads a job that was written down.
pub fn job_from_text(text: &str) -> Result<Job, NoticeError> {
    let value: Value = serde_json::from_str(text).map_err(NoticeError::new)?;
    let word = |name: &str| value[name].as_str().map(str::to_owned);
    let missing = |name: &'static str| move || NoticeError::new(format!("a job has no {name}"));
    let row = JobRow {
        id: word("id").ok_or_else(missing("id"))?,
        state: word("state").ok_or_else(missing("state"))?,
        list: word("list").ok_or_else(missing("list"))?,
        task: word("task"),
        started: value["started"].as_i64().ok_or_else(missing("start"))?,
        ended: value["ended"].as_i64(),
        size: value["size"].as_i64().unwrap_or(0),
        record: word("record").ok_or_else(missing("record"))?,
        is_delivered: value["delivered"].as_bool().unwrap_or(false),
    };
    job_in(&row).map_err(NoticeError::new)
}
