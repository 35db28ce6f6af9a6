//! What jobs leave in the words of commands, and differs from run to run.

use std::path::Path;

/// Returns the ids of the jobs whose output files are named in a text, or that a text is nothing but.
pub(crate) fn jobs_in(text: &str) -> Vec<String> {
    let is_id =
        |text: &str| text.len() == 9 && text.starts_with('b') && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_id(text.trim_end()) {
        return vec![text.trim_end().to_owned()];
    }
    let mut parts = text.split("/tasks/");
    parts.next();
    let ids = parts.filter_map(|part| part.split_once(".output")).map(|(id, _)| id);
    ids.filter(|id| id.bytes().all(|byte| byte.is_ascii_alphanumeric())).map(str::to_owned).collect()
}

/// Replaces the ids of jobs by `[job-001]` and so on, which are as long, and hides processes, users and what was used.
pub(crate) fn hide_jobs(text: &str, jobs: &[String], place: &Path) -> String {
    let slug: String =
        place.to_string_lossy().chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '-' }).collect();
    // A job that ends at once ends before anybody has looked at its memory.
    let mut text = text.replace(&slug, "[place]").replace("\"peakMemory\":null", "\"peakMemory\":[bytes]");
    for (number, job) in jobs.iter().enumerate() {
        text = text.replace(job, &format!("[job-{:03}]", number + 1));
    }
    for (before, hidden) in [
        ("\"pid\":", "[pid]"),
        ("\"supervisor\":", "[pid]"),
        ("\"userMs\":", "[ms]"),
        ("\"systemMs\":", "[ms]"),
        ("\"peakMemory\":", "[bytes]"),
        ("/claude-", "[uid]"),
    ] {
        text = hide_after(&text, before, hidden);
    }
    text
}

/// Replaces the number after each of these.
fn hide_after(text: &str, before: &str, hidden: &str) -> String {
    let mut parts = text.split(before);
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|one: char| one.is_ascii_digit());
        result.push_str(before);
        result.push_str(if rest.len() < part.len() { hidden } else { "" });
        result.push_str(rest);
    }
    result
}
