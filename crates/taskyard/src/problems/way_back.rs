//! How a task comes back that is not there.

use serde_json::Value;
use taskyard_core::TaskId;
use taskyard_core::problem::Problem;

use crate::Yard;

/// Adds to the problem of a task that is not there how it comes back, if it is missing.
pub fn with_way_back(problem: Problem, yard: &Yard) -> Problem {
    let report = problem.report();
    let task = report.details.get("task").and_then(Value::as_str).filter(|_| report.code == "task_not_found");
    let Some(id) = task.and_then(|task| task.parse::<TaskId>().ok()) else { return problem };
    if yard.rules().is_client() || !yard.is_missing(&id).unwrap_or(false) {
        return problem;
    }
    let how = match yard.is_deleted_elsewhere(&id).unwrap_or(false) {
        true => "another program deleted it",
        false => "it is missing, and nobody deleted it on purpose",
    };
    problem.hint(format!("{how}: `taskyard restore {id}` brings it back"))
}
