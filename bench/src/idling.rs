//! What a process costs that follows many lists, holds leases in them, and waits.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use taskyard::Outcome;
use taskyard::core::ListId;
use taskyard::lease_watch::Warden;
use taskyard::operations::{Claim, Filter};
use taskyard::stream::{Cursor, Interest};

use crate::options::Options;
use crate::places::Place;
use crate::table::{Row, Target, tell};
use crate::{Failure, corpus, ours};

const LISTS: usize = 10;
const TASKS: usize = 1_000;
/// For how long nothing happens.
const IDLE: Duration = Duration::from_secs(10);
/// How much of one core it may take: 0.1 %.
const TARGET: f64 = 10.0;
/// What began with the opening has ended after this.
const SETTLED: Duration = Duration::from_secs(2);

/// Measures the processor time of a process with ten lists, a lease in each, that follows all of them while nothing happens.
pub(crate) fn measure(_options: &Options, place: &Place) -> Result<Vec<Row>, Failure> {
    tell(&format!("{}: idle with {LISTS} lists of {TASKS} for {} s", place.name, IDLE.as_secs()));
    let home = place.fresh_home()?;
    let lists = home.list().parent().ok_or("no directory of lists")?.to_owned();
    let yard = ours::yard(&home, "bench")?;
    let mut kept = Vec::new();
    for number in 0..LISTS {
        let list = ListId::new(format!("list-{number}"))?;
        corpus::fill_with_new(&lists.join(list.directory()), TASKS)?;
        let yard = yard.on(list.clone());
        for _ in 0..2 {
            yard.list(&Filter::default())?;
        }
        let claimed = yard.claim_next(&Claim::default())?;
        if !matches!(claimed, Outcome::Done(_)) {
            return Err(format!("{claimed:?}").into());
        }
        let stream = yard.follow_only(Interest::in_list(&list), Cursor::now())?;
        kept.push((Warden::over(&yard)?, stream.listen(|_| {})?));
    }
    sleep(SETTLED);
    let before = processor_time()?;
    sleep(IDLE);
    let computed = processor_time()? - before;
    let instances = inotify_instances()?;
    drop(kept);
    Ok(vec![Row {
        measure: format!("idle for {} s: {LISTS} lists of {TASKS} followed, a lease in each", IDLE.as_secs()),
        place: place.name,
        ours: format!("{computed:.0} ms, {instances} inotify"),
        limit: None,
        node: None,
        target: Target::AtMost { milliseconds: computed, target: TARGET },
    }])
}

/// Returns for how many milliseconds this process has computed.
fn processor_time() -> Result<f64, Failure> {
    let mut nanoseconds = 0.0;
    for task in fs::read_dir("/proc/self/task")? {
        let stat = fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        nanoseconds += stat.split_whitespace().next().and_then(|time| time.parse::<f64>().ok()).unwrap_or_default();
    }
    Ok(nanoseconds / 1e6)
}

fn inotify_instances() -> Result<usize, Failure> {
    let open = fs::read_dir("/proc/self/fd")?.flatten();
    let leads_to = |file: fs::DirEntry| fs::read_link(file.path()).unwrap_or_default();
    Ok(open.map(leads_to).filter(|place| place.to_string_lossy().contains("inotify")).count())
}
