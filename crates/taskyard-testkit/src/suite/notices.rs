//! The contract of a place that keeps notices.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;

use taskyard::core::{
    AgentName, ClientVersion, Farewell, Job, JobEnding, JobFate, JobId, JobKind, JobOutput, JobUsage, ListId, Timestamp,
};
use taskyard::notices::{Notice, NoticeBoard, Notices};

use crate::PATIENCE;

/// Stamps the contract onto a place that keeps notices: given a function from an empty directory to such a place, it makes one test
/// of every promise.
#[macro_export]
macro_rules! notices_suite {
    ($factory:expr) => {
        $crate::notices_suite! { @ $factory,
            a_notice_waits_on_its_list_until_it_was_heard
            the_end_of_a_job_is_queued_once
            what_somebody_stopped_is_no_news
            what_was_heard_meanwhile_is_not_told
            followers_hear_of_what_is_queued_from_then_on
            a_board_sees_what_was_queued_since
        }
    };
    (@ $factory:expr, $($promise:ident)*) => {
        $(#[test]
        fn $promise() {
            $crate::suite::notices::with_fresh($factory, $crate::suite::notices::$promise);
        })*
    };
}

/// Calls with the notices of an empty directory; for [`crate::notices_suite`].
pub fn with_fresh(factory: impl FnOnce(&Path) -> Arc<dyn Notices>, promise: impl FnOnce(&Arc<dyn Notices>)) {
    let folder = tempfile::tempdir().unwrap();
    promise(&factory(folder.path()));
}

/// Returns a job of [`list`] in `memory:` that has ended well, later the larger its number.
pub fn ended_job(number: u16) -> Job {
    ended(number, JobEnding::Exited(0))
}

fn ended(number: u16, how: JobEnding) -> Job {
    let at = Timestamp(1_000 + i64::from(number));
    Job {
        id: job_id(number),
        kind: JobKind::LocalBash,
        description: format!("job {number}"),
        name: None,
        fate: JobFate::Ended { how, at, usage: JobUsage::default() },
        started: Timestamp(1),
        output_file: "/tmp/output".into(),
        form: ClientVersion::default(),
        output: JobOutput::default(),
        output_offset: 0,
        notified: false,
        task: None,
        reopens_task: false,
        command: vec!["true".into()],
        directory: "/tmp".into(),
        agent: AgentName::new("ana").unwrap(),
        list: list(),
        store: "memory:".into(),
        tool_use: None,
        time_limit: None,
        max_output: 1,
        last_seen: at,
    }
}

fn job_id(number: u16) -> JobId {
    format!("b{number:06}").parse().unwrap()
}

/// Returns the list that jobs are started for.
pub fn list() -> ListId {
    ListId::new("L").unwrap()
}

fn ids(notices: &[Notice]) -> Vec<JobId> {
    notices.iter().map(|notice| notice.job.id.clone()).collect()
}

/// It is told whom it is for, and of what; on other lists nobody hears of it.
pub fn a_notice_waits_on_its_list_until_it_was_heard(notices: &Arc<dyn Notices>) {
    assert_eq!(notices.waiting(&list()).unwrap(), []);
    for number in [2, 1] {
        notices.queue(&ended(number, JobEnding::Exited(0))).unwrap();
    }
    let elsewhere = Job { list: ListId::new("M").unwrap(), ..ended(3, JobEnding::Exited(1)) };
    notices.queue(&elsewhere).unwrap();
    let waiting = notices.waiting(&list()).unwrap();
    assert_eq!(ids(&waiting), [job_id(1), job_id(2)], "oldest first");
    assert_eq!((waiting[0].agent.as_str(), waiting[0].queued, waiting[0].delivered), ("ana", Timestamp(1_001), None));
    assert_eq!(waiting[0].job.description, "job 1");
    assert_eq!(ids(&notices.waiting(&elsewhere.list).unwrap()), [job_id(3)]);
    assert_eq!(notices.acknowledge(&[job_id(1), job_id(9)]).unwrap(), 1);
    assert_eq!(notices.acknowledge(&[job_id(1)]).unwrap(), 0);
    assert_eq!(notices.acknowledge(&[]).unwrap(), 0);
    assert_eq!(ids(&notices.waiting(&list()).unwrap()), [job_id(2)]);
}

/// However often somebody says so.
pub fn the_end_of_a_job_is_queued_once(notices: &Arc<dyn Notices>) {
    for _ in 0..3 {
        notices.queue(&ended(1, JobEnding::Exited(0))).unwrap();
    }
    assert_eq!(ids(&notices.waiting(&list()).unwrap()), [job_id(1)]);
}

/// Whoever stopped a job knows, and of one that runs there is nothing to tell.
pub fn what_somebody_stopped_is_no_news(notices: &Arc<dyn Notices>) {
    notices.queue(&ended(1, JobEnding::Stopped(Farewell::Unseen))).unwrap();
    notices.queue(&Job { fate: JobFate::Pending, ..ended(2, JobEnding::Exited(0)) }).unwrap();
    assert_eq!(notices.waiting(&list()).unwrap(), []);
    notices.queue(&Job { fate: JobFate::Lost { at: Timestamp(7) }, ..ended(3, JobEnding::Exited(0)) }).unwrap();
    assert_eq!(ids(&notices.waiting(&list()).unwrap()), [job_id(3)]);
}

/// What is told is on record as told, and told again until it was heard.
pub fn what_was_heard_meanwhile_is_not_told(notices: &Arc<dyn Notices>) {
    for number in [1, 2] {
        notices.queue(&ended(number, JobEnding::Exited(0))).unwrap();
    }
    let mut waiting = notices.waiting(&list()).unwrap();
    notices.acknowledge(&[job_id(1)]).unwrap();
    notices.deliver(&mut waiting).unwrap();
    assert_eq!(ids(&waiting), [job_id(2)]);
    notices.deliver(&mut Vec::new()).unwrap();
    let again = notices.waiting(&list()).unwrap();
    assert_eq!(ids(&again), [job_id(2)]);
    assert!(again[0].delivered.is_some());
}

/// Of what was queued before, and of other lists, they hear nothing; and nothing any more when their subscription is dropped.
pub fn followers_hear_of_what_is_queued_from_then_on(notices: &Arc<dyn Notices>) {
    notices.queue(&ended(1, JobEnding::Exited(0))).unwrap();
    let (tell, heard) = channel();
    let following = notices.follow(&list(), Box::new(move |notice| tell.send(notice.job.id.clone()).unwrap())).unwrap();
    notices.queue(&Job { list: ListId::new("M").unwrap(), ..ended(2, JobEnding::Exited(0)) }).unwrap();
    for number in [3, 4] {
        notices.queue(&ended(number, JobEnding::Exited(0))).unwrap();
        assert_eq!(heard.recv_timeout(PATIENCE), Ok(job_id(number)));
    }
    drop(following);
    notices.queue(&ended(5, JobEnding::Exited(0))).unwrap();
    assert!(heard.recv().is_err(), "nobody is left to tell");
}

/// It knows without looking that nothing has changed, and never misses that something has.
pub fn a_board_sees_what_was_queued_since(notices: &Arc<dyn Notices>) {
    let board = NoticeBoard::new(Arc::clone(notices), list());
    let (ana, ben) = (AgentName::new("ana").unwrap(), AgentName::new("ben").unwrap());
    for number in 1..5 {
        notices.queue(&ended(number, JobEnding::Exited(0))).unwrap();
        assert!(board.may_have_any(&ana));
        assert_eq!(board.waiting(&ana).unwrap().len(), usize::from(number));
        assert_eq!(board.waiting(&ben).unwrap(), []);
    }
    notices.acknowledge(&ids(&board.waiting(&ana).unwrap())).unwrap();
    assert_eq!(board.waiting(&ana).unwrap(), []);
}
