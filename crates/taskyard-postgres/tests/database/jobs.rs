//! What machines record of their jobs for each other on a real PostgreSQL.

use std::path::Path;
use std::sync::Arc;

use taskyard::core::{AgentName, Job, JobOutput, Timestamp};
use taskyard::jobs::{JobReport, JobRequests, OutputPart, OutputRequest, SharedJobs, SharedJobsQuery};
use taskyard::opening::{Address, Openers, Places, WrittenAddress};
use taskyard_postgres::{PostgresOpener, Surroundings};
use taskyard_testkit::SharedPostgres;
use taskyard_testkit::suite::notices::ended_job;

fn open() -> Arc<dyn SharedJobs> {
    let opener = Arc::new(PostgresOpener::new(Surroundings::default()));
    let openers = Openers::default().with("postgres", opener);
    let written = WrittenAddress::new(SharedPostgres::get().fresh_address());
    let address = Address::parse(&written, Path::new("/"), &openers).unwrap();
    taskyard::open(&address, &Places::default(), &openers).unwrap().jobs.unwrap()
}

fn report(jobs: &dyn SharedJobs, job: &Job, tail: &[u8]) -> Option<JobRequests> {
    jobs.report(&JobReport { job, host: "atlas", tail }).unwrap()
}

#[test]
fn another_job_of_the_same_id_is_left_alone() {
    let jobs = open();
    let first = ended_job(1);
    let other = Job { started: Timestamp(2), description: "another".into(), ..first.clone() };
    assert_eq!(report(&*jobs, &first, b""), Some(JobRequests::default()));
    assert_eq!(report(&*jobs, &other, b""), None);
    assert_eq!(report(&*jobs, &first, b""), Some(JobRequests::default()));
    let found = jobs.list(&SharedJobsQuery::All).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((&found[0].description, found[0].machine.as_deref()), (&first.description, Some("atlas")));
}

#[test]
fn the_end_of_the_output_is_read_from_an_offset() {
    let jobs = open();
    let output = JobOutput { written: 10, ..JobOutput::default() };
    let job = Job { output, ..ended_job(1) };
    report(&*jobs, &job, b"56789");
    for (offset, from, bytes) in [(0, 5, "56789"), (5, 5, "56789"), (7, 7, "789"), (10, 10, ""), (u64::MAX, 10, "")] {
        let tail = jobs.tail(&job.id, offset).unwrap().unwrap();
        assert_eq!((tail.from, &*String::from_utf8_lossy(&tail.bytes)), (from, bytes), "from {offset}");
    }
    assert!(jobs.tail(&ended_job(2).id, 0).unwrap().is_none());
}

#[test]
fn a_supervisor_hears_what_is_asked_of_its_job() {
    let jobs = open();
    let job = ended_job(1);
    report(&*jobs, &job, b"");
    let number = jobs.request_output(&job.id, 3, 4).unwrap();
    jobs.request_stop(&job.id, &AgentName::new("ben").unwrap()).unwrap();
    let request = OutputRequest { number, offset: 3, length: 4 };
    let asked = JobRequests { stop: true, output: vec![request.clone()] };
    assert_eq!(jobs.requests(&job.id).unwrap(), Some(asked));
    assert_eq!(jobs.take_output(number).unwrap(), None);
    let part = OutputPart { bytes: b"3456".to_vec(), from: 3, next: 7, gap: None };
    jobs.answer(&job.id, &request, &part).unwrap();
    assert_eq!(jobs.requests(&job.id).unwrap(), Some(JobRequests { stop: true, output: Vec::new() }));
    assert_eq!(jobs.take_output(number).unwrap(), Some(part));
    assert_eq!(jobs.take_output(number).unwrap(), None, "it is read once");
    jobs.forget(std::slice::from_ref(&job.id)).unwrap();
    assert_eq!(jobs.requests(&job.id).unwrap(), None);
}
