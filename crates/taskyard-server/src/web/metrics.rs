//! Metrics in the Prometheus text format.

use std::fmt::Write as _;

use taskyard::core::Status;
use taskyard::store::{SharedCare, lock_waits};

use super::call::Requested;
use super::site::Site;
use super::tally::{Counted, LAGS};
use taskyard::core::problem::Problem;

/// Returns all metrics. May access the disk.
pub(crate) fn page(site: &Site) -> Result<String, Problem> {
    let mut page = Page::default();
    let yard = site.call(Requested::default(), site.cancel().clone())?.yard;
    page.family("taskyard_tasks", "gauge", "Tasks by list and state.");
    let lists = yard.lists()?;
    for info in &lists {
        for (state, count) in ["pending", "in_progress", "completed"].into_iter().zip(info.counts) {
            page.sample("taskyard_tasks", &[("list", info.list.as_str()), ("state", state)], count as f64);
        }
    }
    page.family(
        "taskyard_leases",
        "gauge",
        "Claims with a live lease, on the served list and on all lists with work in progress.",
    );
    let at_work = lists.iter().filter(|info| info.counts[Status::InProgress as usize] > 0).map(|info| &info.list);
    for list in [site.list()].into_iter().chain(at_work.filter(|list| *list != site.list())) {
        page.sample("taskyard_leases", &[("list", list.as_str())], yard.living_holders(list)?.len() as f64);
    }
    let waits = lock_waits();
    page.family("taskyard_lock_waits_total", "counter", "Number of times this process waited for the lock of a list.");
    page.sample("taskyard_lock_waits_total", &[], waits.count as f64);
    page.family("taskyard_lock_wait_seconds_total", "counter", "Time it waited.");
    page.sample("taskyard_lock_wait_seconds_total", &[], waits.time.as_secs_f64());
    if let Some(traffic) = yard.store().shared_care().map(SharedCare::traffic) {
        page.family(
            "taskyard_database_round_trips_total",
            "counter",
            "Number of times this process waited for the database.",
        );
        page.sample("taskyard_database_round_trips_total", &[], traffic.round_trips as f64);
        page.family(
            "taskyard_database_reconnects_total",
            "counter",
            "Number of reconnections after a connection or the server failed.",
        );
        page.sample("taskyard_database_reconnects_total", &[], traffic.reconnects as f64);
    }
    let (lists, streams) = site.feeds().count();
    page.family("taskyard_lists_followed", "gauge", "Lists whose event stream is read.");
    page.sample("taskyard_lists_followed", &[], lists as f64);
    page.family("taskyard_event_streams", "gauge", "Browsers and programs that follow events.");
    page.sample("taskyard_event_streams", &[], streams as f64);
    page.family("taskyard_requests_waiting", "gauge", "Requests waiting for a thread.");
    page.sample("taskyard_requests_waiting", &[], site.workers().queued() as f64);
    page.family("taskyard_requests_sleeping", "gauge", "Requests waiting for a task to claim or for a job to end.");
    page.sample("taskyard_requests_sleeping", &[], site.workers().sleeping() as f64);
    counted(&site.tally().counted(), &mut page);
    Ok(page.0)
}

fn counted(counted: &Counted, page: &mut Page) {
    page.family("taskyard_requests_total", "counter", "Answers of the API by operation and status.");
    for ((operation, status), count) in &counted.answers {
        let labels = [("operation", *operation), ("status", &status.to_string())];
        page.sample("taskyard_requests_total", &labels, *count as f64);
    }
    page.family("taskyard_requests_refused_total", "counter", "Rejected requests, by error code.");
    for (code, count) in &counted.refused {
        page.sample("taskyard_requests_refused_total", &[("code", code)], *count as f64);
    }
    page.family("taskyard_entries_total", "counter", "Changes of tasks on the followed lists.");
    for ((list, op), count) in &counted.entries {
        page.sample("taskyard_entries_total", &[("list", list), ("op", op)], *count as f64);
    }
    page.family("taskyard_claims_total", "counter", "Successful claims on the followed lists.");
    for ((list, _), count) in counted.entries.iter().filter(|((_, op), _)| *op == "claim") {
        page.sample("taskyard_claims_total", &[("list", list)], *count as f64);
    }
    page.family("taskyard_event_lag_seconds", "histogram", "Time from a commit to its event.");
    for (bound, count) in LAGS.iter().zip(counted.lags) {
        page.sample("taskyard_event_lag_seconds_bucket", &[("le", &bound.to_string())], count as f64);
    }
    page.sample("taskyard_event_lag_seconds_bucket", &[("le", "+Inf")], counted.lag_count as f64);
    page.sample("taskyard_event_lag_seconds_sum", &[], counted.lag_sum);
    page.sample("taskyard_event_lag_seconds_count", &[], counted.lag_count as f64);
}

#[derive(Debug, Default)]
struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, words: &str) {
        let _ = write!(self.0, "# HELP {name} {words}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let label = |(name, value): &(&str, &str)| {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            format!("{name}=\"{value}\"")
        };
        let labels: Vec<String> = labels.iter().map(label).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::Page;

    #[test]
    fn names_of_lists_cannot_break_out_of_their_quotes() {
        let mut page = Page::default();
        page.sample("x", &[("list", "a\"} 1\ny\\")], 2.5);
        assert_eq!(page.0, "x{list=\"a\\\"} 1\\ny\\\\\"} 2.5\n");
    }
}
