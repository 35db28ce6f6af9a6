//! The last line of a job's output, which the job did not write.

use taskyard::core::{ClientVersion, JobEnding};

/// Returns the line that the client puts at the end of the output.
pub(crate) fn trailer(form: ClientVersion, how: &JobEnding) -> String {
    match (form, how) {
        (ClientVersion::V2_1_34, _) => String::new(),
        (_, JobEnding::Stopped(_) | JobEnding::TimedOut(_)) => "\n[killed]\n".to_owned(),
        (_, JobEnding::Exited(code) | JobEnding::NotStarted { code, .. }) => format!("\n[exited with code {code}]\n"),
        // As a shell counts it.
        (_, JobEnding::Signalled(signal)) => format!("\n[exited with code {}]\n", 128 + signal),
    }
}
