//! The contract of notices, stamped onto every place that keeps them, and what jobs leave for stores that keep their own.

use std::path::Path;
use std::sync::Arc;

use taskyard::notices::{ForwardedNotices, MachineNotices, MemoryNotices, Notices};
use taskyard::opening::Address;

fn left_by_jobs(data: &Path) -> MachineNotices {
    MachineNotices::in_data(data).of_store(Address::Memory)
}

mod of_this_machine {
    use super::{Arc, Notices, Path, left_by_jobs};

    taskyard_testkit::notices_suite!(|data: &Path| Arc::new(left_by_jobs(data)) as Arc<dyn Notices>);
}

mod in_memory {
    use super::{Arc, MemoryNotices, Notices, Path};

    taskyard_testkit::notices_suite!(|_: &Path| Arc::new(MemoryNotices::default()) as Arc<dyn Notices>);
}

mod forwarded {
    use super::{Arc, ForwardedNotices, MemoryNotices, Notices, Path, left_by_jobs};

    taskyard_testkit::notices_suite!(|data: &Path| {
        Arc::new(ForwardedNotices::new(left_by_jobs(data), Arc::new(MemoryNotices::default()))) as Arc<dyn Notices>
    });
}

mod forwarded_and_kept {
    use super::{Arc, ForwardedNotices, MemoryNotices, Notices, Path, left_by_jobs};

    taskyard_testkit::notices_suite!(|data: &Path| {
        Arc::new(ForwardedNotices::keeping(left_by_jobs(data), Arc::new(MemoryNotices::default()))) as Arc<dyn Notices>
    });
}

mod left_by_a_job {
    use std::sync::Arc;
    use std::time::Instant;

    use taskyard::Yard;
    use taskyard::core::{AgentName, Rules};
    use taskyard::notices::{ForwardedNotices, MemoryNotices, Notices};
    use taskyard::store::MemoryStore;
    use taskyard::stream::{Cursor, Happening};
    use taskyard_testkit::PATIENCE;
    use taskyard_testkit::suite::notices::{ended_job, list};

    use super::left_by_jobs;

    #[test]
    fn it_is_passed_on_once_to_the_store_of_the_list() {
        let data = tempfile::tempdir().unwrap();
        let (here, there) = (left_by_jobs(data.path()), Arc::new(MemoryNotices::default()));
        let job = ended_job(1);
        here.queue(&job).unwrap();
        let notices = ForwardedNotices::new(here.clone(), there.clone());
        assert_eq!(notices.waiting(&list()).unwrap().len(), 1);
        assert_eq!(there.waiting(&list()).unwrap()[0].job.id, job.id);
        assert_eq!(here.waiting(&list()).unwrap(), []);
        // Another process acknowledges it.
        assert_eq!(there.acknowledge(std::slice::from_ref(&job.id)).unwrap(), 1);
        assert_eq!(notices.waiting(&list()).unwrap(), []);
    }

    #[test]
    fn it_is_passed_on_the_moment_it_comes_while_somebody_follows() {
        let data = tempfile::tempdir().unwrap();
        let (here, there) = (left_by_jobs(data.path()), Arc::new(MemoryNotices::default()));
        let notices = ForwardedNotices::new(here.clone(), there.clone());
        let yard = Yard::new(Arc::new(MemoryStore::new(Rules::Strict)), list(), AgentName::new("ana").unwrap());
        let mut stream = yard.with_notices(Arc::new(notices)).follow(Cursor::now()).unwrap();
        here.queue(&ended_job(1)).unwrap();
        let told = stream.next_before(Some(Instant::now() + PATIENCE)).unwrap();
        assert!(matches!(&told, Some(Happening::JobEnded(notice)) if notice.job.id == ended_job(1).id), "{told:?}");
        assert_eq!(there.waiting(&list()).unwrap().len(), 1);
    }

    #[test]
    fn process_bound_notice_stays_for_others_until_heard() {
        let data = tempfile::tempdir().unwrap();
        let here = left_by_jobs(data.path());
        here.queue(&ended_job(1)).unwrap();
        let open = || ForwardedNotices::keeping(here.clone(), Arc::new(MemoryNotices::default()));
        assert_eq!(open().waiting(&list()).unwrap().len(), 1);
        let another = open();
        assert_eq!(another.waiting(&list()).unwrap().len(), 1);
        assert_eq!(another.acknowledge(&[ended_job(1).id]).unwrap(), 1);
        assert_eq!(open().waiting(&list()).unwrap(), []);
    }
}
