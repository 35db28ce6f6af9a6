//! The shape of a job in our JSON output, specified in `docs/formats/json-output.md`.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::json;
use taskyard::core::{Job, JobEnding, JobFate};

/// A job: the client's state object, and what else is known of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobShape<'a>(pub(crate) &'a Job);

impl Serialize for JobShape<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let job = self.0;
        let ending = job.ending();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", job.id.as_str())?;
        map.serialize_entry("type", job.kind.as_str())?;
        map.serialize_entry("status", job.state().as_str())?;
        map.serialize_entry("description", &job.description)?;
        map.serialize_entry("startTime", &job.started.to_string())?;
        map.serialize_entry("endTime", &job.ended().map(|at| at.to_string()))?;
        map.serialize_entry("exitCode", &ending.and_then(JobEnding::exit_code))?;
        map.serialize_entry("signal", &ending.and_then(JobEnding::signal))?;
        map.serialize_entry("outputFile", &job.output_file.display().to_string())?;
        map.serialize_entry("outputOffset", &job.output_offset)?;
        map.serialize_entry("notified", &job.notified)?;
        map.serialize_entry("task", &job.task.as_ref().map(|task| task.as_str()))?;
        map.serialize_entry("name", &job.name)?;
        map.serialize_entry("command", &job.command)?;
        map.serialize_entry("cwd", &job.directory.display().to_string())?;
        map.serialize_entry("agent", job.agent.as_str())?;
        map.serialize_entry("list", job.list.as_str())?;
        map.serialize_entry("lastSeen", &job.last_seen.to_string())?;
        map.serialize_entry("outputBytes", &job.output.written)?;
        map.serialize_entry("maxOutput", &job.max_output)?;
        if let Some(machine) = &job.machine {
            map.serialize_entry("machine", machine)?;
        }
        if let Some(gap) = job.output.gap {
            map.serialize_entry("gap", &json!({"from": gap.from, "to": gap.to}))?;
        }
        if job.output.lost > 0 {
            map.serialize_entry("lost", &job.output.lost)?;
        }
        match &job.fate {
            JobFate::Running { pid, supervisor } => {
                map.serialize_entry("pid", pid)?;
                map.serialize_entry("supervisor", &supervisor.pid)?;
            }
            JobFate::Ended { how, usage, .. } => {
                let (user, system) = (usage.user.as_millis() as u64, usage.system.as_millis() as u64);
                let usage = json!({"userMs": user, "systemMs": system, "peakMemory": usage.peak_memory});
                map.serialize_entry("usage", &usage)?;
                match how {
                    JobEnding::TimedOut(_) => map.serialize_entry("timedOut", &true)?,
                    JobEnding::NotStarted { why, .. } => map.serialize_entry("error", why)?,
                    _ => {}
                }
            }
            JobFate::Pending | JobFate::Lost { .. } => {}
        }
        map.end()
    }
}
