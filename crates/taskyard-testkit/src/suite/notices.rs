//! The contract of a place that keeps notices.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use taskyard::Yard;
use taskyard::core::{
    AgentName, ClientVersion, CommandEnd, Job, JobEnding, JobFate, JobId, JobKind, JobOutput, JobUsage, ListId,
    Revision, Rules, Timestamp,
};
use taskyard::notices::{Notice, NoticeBoard, Notices};
use taskyard::store::MemoryStore;
use taskyard::stream::{Cursor, Happening, Stream};

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
            followers_go_on_where_they_stopped
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
        machine: None,
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

/// It is told whom it is for, and of what; on other lists no agent hears of it.
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

/// However often a process says so.
pub fn the_end_of_a_job_is_queued_once(notices: &Arc<dyn Notices>) {
    for _ in 0..3 {
        notices.queue(&ended(1, JobEnding::Exited(0))).unwrap();
    }
    assert_eq!(ids(&notices.waiting(&list()).unwrap()), [job_id(1)]);
}

/// An agent that stopped a job knows, and of one that runs there is nothing to tell.
pub fn what_somebody_stopped_is_no_news(notices: &Arc<dyn Notices>) {
    notices.queue(&ended(1, JobEnding::Stopped(CommandEnd::Unseen))).unwrap();
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

/// Of what was queued before, and of other lists, they hear nothing.
pub fn followers_hear_of_what_is_queued_from_then_on(notices: &Arc<dyn Notices>) {
    notices.queue(&ended(1, JobEnding::Exited(0))).unwrap();
    let mut stream = follow(notices, Cursor::now());
    notices.queue(&Job { list: ListId::new("M").unwrap(), ..ended(2, JobEnding::Exited(0)) }).unwrap();
    for number in [3, 4] {
        notices.queue(&ended(number, JobEnding::Exited(0))).unwrap();
        assert_eq!(next_ended(&mut stream), job_id(number));
    }
}

/// A follower that begins with nothing told hears what waits; one that goes on where another stopped hears what that one has not heard.
pub fn followers_go_on_where_they_stopped(notices: &Arc<dyn Notices>) {
    for number in [1, 2, 3] {
        notices.queue(&ended(number, JobEnding::Exited(0))).unwrap();
    }
    notices.acknowledge(&[job_id(1)]).unwrap();
    let mut first = follow(notices, Cursor::after(&list(), Revision(0)));
    assert_eq!(next_ended(&mut first), job_id(2));
    let cursor = first.cursor();
    drop(first);
    notices.queue(&ended(4, JobEnding::Exited(0))).unwrap();
    let mut second = follow(notices, cursor);
    assert_eq!([next_ended(&mut second), next_ended(&mut second)], [job_id(3), job_id(4)]);
    assert_eq!(second.try_next().unwrap(), None);
}

fn follow(notices: &Arc<dyn Notices>, since: Cursor) -> Stream {
    let store = Arc::new(MemoryStore::new(Rules::Strict));
    let yard = Yard::new(store, list(), AgentName::new("ana").unwrap()).with_notices(Arc::clone(notices));
    yard.follow(since).unwrap()
}

fn next_ended(stream: &mut Stream) -> JobId {
    match stream.next_before(Some(Instant::now() + PATIENCE)).unwrap() {
        Some(Happening::JobEnded(notice)) => notice.job.id,
        other => panic!("{other:?}"),
    }
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
