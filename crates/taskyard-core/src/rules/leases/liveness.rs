//! Whether a process lives, and for how long what lives with it still counts.
//!
//! This is the one place where leases, the seats of teams, jobs and the locks of our own processes are judged by.

use std::sync::Arc;
use std::time::Duration;

use super::expiry::is_past;
use crate::process_mark::{is_known_boot, is_other_machine, names_data_directory};
use crate::{Holder, Moment, ProcessMark};

/// How long a process that cannot be seen counts as alive after its last sign of life.
pub const LONGEST_SILENCE: Duration = Duration::from_secs(60);

/// Whether a process lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Liveness {
    /// The judging process sees it run.
    Alive,
    /// The judging process sees that it has ended, or knows that the run of this machine it belonged to is over.
    Dead,
    /// It cannot be seen from where the judge stands, or it was not told what to look at.
    #[default]
    Unknown,
}

/// Where the judging process stands: on which machine, in which run of it, and among which processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standpoint {
    /// The machine, as [`ProcessMark::machine`] names it.
    pub machine: String,
    /// The pid namespace.
    pub pid_space: String,
    /// The run of the machine.
    pub boot: String,
    /// Runs of this machine that are proven to be over; empty where nothing proves it. Machines made from one image share their id, so
    /// a run that is merely another one may be that of a machine that is on.
    pub ended_boots: Arc<[String]>,
}

/// What a look at the process table says of a process id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// A process of that id runs, since that time; 0 where the system does not tell.
    RunningSince(u64),
    /// There is none, or only what its parent has not noticed the end of.
    Gone,
    /// The system does not let us see: no process table is mounted, or it hides the processes of other users.
    Hidden,
}

/// Judges a process from where the judging process stands. `look` is asked only where the id means the same to both.
///
/// Two machine ids that differ say that nothing can be known, whatever else is the same: containers have ids of their own and
/// share the run of their machine. Two runs that differ say nothing either, unless that of the process is proven to be over.
pub fn judge_process(mark: &ProcessMark, here: &Standpoint, look: impl FnOnce(u32) -> Sight) -> Liveness {
    if is_other_machine(&mark.machine, &here.machine) {
        return Liveness::Unknown;
    }
    match (mark.has_boot(), is_known_boot(&here.boot)) {
        (true, true) if mark.boot == here.boot => {}
        (true, true) if here.ended_boots.contains(&mark.boot) => return Liveness::Dead,
        (false, false) => {}
        (true, true) | (true, false) | (false, true) => return Liveness::Unknown,
    }
    let has_both = !mark.pid_space.is_empty() && !here.pid_space.is_empty();
    if has_both && mark.pid_space != here.pid_space {
        return Liveness::Unknown;
    }
    match look(mark.pid) {
        Sight::Hidden => Liveness::Unknown,
        Sight::Gone => Liveness::Dead,
        Sight::RunningSince(started) if started == mark.started => Liveness::Alive,
        // One of the two could not tell when it started.
        Sight::RunningSince(started) if started == 0 || mark.started == 0 => Liveness::Unknown,
        Sight::RunningSince(_) => Liveness::Dead,
    }
}

/// Judges a process that holds something on a store that several machines share. Only one of the same run and the same data directory can
/// be seen: a machine made from a copy of another's disk knows that one's run as an earlier run of its own.
pub fn judge_process_on_shared_store(
    mark: &ProcessMark,
    here: &Standpoint,
    look: impl FnOnce(u32) -> Sight,
) -> Liveness {
    let is_same_run = mark.has_boot() && mark.boot == here.boot;
    let is_same_machine = names_data_directory(&mark.machine) && mark.machine == here.machine;
    if is_same_run && is_same_machine { judge_process(mark, here, look) } else { Liveness::Unknown }
}

/// What is known of a process at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessSeen {
    /// Whether it lives, as far as it can be seen.
    pub liveness: Liveness,
    /// When it left its last sign of life, where it left any.
    pub last_sign: Option<Moment>,
    /// How long it counts as alive after that, where it cannot be seen.
    pub longest_silence: Duration,
    /// Whether a process that has left signs of life must go on leaving them even if it is seen to run. On a store that several machines
    /// share this is `true`, so that machines that can see the process and machines that cannot agree.
    pub must_show_life: bool,
}

/// How something stands that lives with a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The process is seen alive.
    Lives,
    /// The process has ended; what lives with it counts until then.
    Lapses(Moment),
    /// The process cannot be seen from here; it counts as alive until then, and longer when it leaves another sign of life.
    LivesUnseen(Moment),
    /// The process has ended.
    Ended,
    /// The process cannot be seen from here, and has left no sign of life for too long.
    Silent,
}

/// What counts where a process has left no sign of life at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithoutSigns {
    /// When it was last known to be alive.
    pub known_alive: Moment,
    /// Until when it counts as alive while it cannot be seen.
    pub unseen_until: Moment,
}

/// Judges what lives with a process.
///
/// A process that is seen alive keeps what it has, however old its last sign of life: the machine may have slept. Only where other machines
/// share what it has ([`ProcessSeen::must_show_life`]) it loses it by its silence.
pub fn judge_holder(holder: &Holder, now: &Moment, seen: ProcessSeen, without_signs: &WithoutSigns) -> Standing {
    let until = |end: Moment, before: fn(Moment) -> Standing, after: Standing| {
        if is_past(&end, now) { after } else { before(end) }
    };
    let silence = match holder {
        Holder::Process(_) => seen.longest_silence,
        Holder::Connection { grace, .. } => *grace,
    };
    let silent_from = seen.last_sign.as_ref().map(|sign| sign.after(silence));
    match (seen.liveness, holder) {
        (Liveness::Alive, _) => match silent_from.filter(|_| seen.must_show_life) {
            Some(end) => until(end, |_| Standing::Lives, Standing::Silent),
            None => Standing::Lives,
        },
        (Liveness::Dead, Holder::Process(_)) => Standing::Ended,
        (Liveness::Dead, Holder::Connection { grace, .. }) => {
            let end = seen.last_sign.as_ref().unwrap_or(&without_signs.known_alive).after(*grace);
            until(end, Standing::Lapses, Standing::Ended)
        }
        (Liveness::Unknown, _) => {
            let end = silent_from.unwrap_or_else(|| without_signs.unseen_until.clone());
            until(end, Standing::LivesUnseen, Standing::Silent)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{
        Liveness, ProcessSeen, Sight, Standing, Standpoint, WithoutSigns, judge_holder, judge_process,
        judge_process_on_shared_store,
    };
    use crate::rules::leases::expiry::CLOCK_MARGIN;
    use crate::{Holder, Moment, ProcessMark, Timestamp, UNKNOWN_BOOT};

    const MINUTE: Duration = Duration::from_secs(60);

    fn mark() -> ProcessMark {
        let [machine, pid_space, boot] = ["m", "p", "b"].map(str::to_owned);
        ProcessMark { machine, pid_space, boot, pid: 7, started: 5 }
    }

    fn here() -> Standpoint {
        let [machine, pid_space, boot] = ["m", "p", "b"].map(str::to_owned);
        Standpoint { machine, pid_space, boot, ended_boots: [].into() }
    }

    fn judged(mark: &ProcessMark, here: &Standpoint, sight: Sight) -> Liveness {
        judge_process(mark, here, |_| sight)
    }

    #[test]
    fn what_can_be_seen_is_alive_or_dead() {
        assert_eq!(judged(&mark(), &here(), Sight::RunningSince(5)), Liveness::Alive);
        assert_eq!(judged(&mark(), &here(), Sight::RunningSince(6)), Liveness::Dead, "its number is another's by now");
        assert_eq!(judged(&mark(), &here(), Sight::Gone), Liveness::Dead);
        assert_eq!(judged(&mark(), &here(), Sight::Hidden), Liveness::Unknown);
    }

    #[test]
    fn nothing_is_known_of_another_machine_whatever_else_is_the_same() {
        for boot in ["b", "c", UNKNOWN_BOOT] {
            let there = Standpoint { machine: "n".into(), boot: boot.into(), ..here() };
            for sight in [Sight::RunningSince(5), Sight::Gone, Sight::Hidden] {
                assert_eq!(judged(&mark(), &there, sight), Liveness::Unknown, "{boot} {sight:?}");
            }
        }
    }

    #[test]
    fn what_ran_on_this_machine_before_it_was_off_is_dead_whichever_process_has_its_number() {
        for pid_space in ["p", "q", ""] {
            let ended_boots = ["a".to_owned(), "b".to_owned()].into();
            let later = Standpoint { boot: "c".into(), pid_space: pid_space.into(), ended_boots, ..here() };
            assert_eq!(judged(&mark(), &later, Sight::RunningSince(5)), Liveness::Dead);
        }
    }

    #[test]
    fn another_run_that_is_not_proven_to_be_over_may_go_on() {
        let clone = Standpoint { boot: "c".into(), ended_boots: ["a".to_owned()].into(), ..here() };
        for sight in [Sight::RunningSince(5), Sight::Gone, Sight::Hidden] {
            assert_eq!(judged(&mark(), &clone, sight), Liveness::Unknown, "{sight:?}");
        }
    }

    #[test]
    fn machines_of_one_image_are_told_apart_by_their_data() {
        let of = |machine: &str| ProcessMark { machine: machine.into(), ..mark() };
        let here = Standpoint { machine: "m/one".into(), ..here() };
        assert_eq!(judged(&of("m/one"), &here, Sight::Gone), Liveness::Dead);
        assert_eq!(judged(&of("m/two"), &here, Sight::Gone), Liveness::Unknown);
        assert_eq!(judged(&of("n/one"), &here, Sight::Gone), Liveness::Unknown);
        assert_eq!(judged(&of("m"), &here, Sight::Gone), Liveness::Dead, "older releases told the machine alone");
    }

    #[test]
    fn on_a_shared_store_only_the_same_run_and_data_are_seen() {
        let of = |machine: &str, boot: &str| ProcessMark { machine: machine.into(), boot: boot.into(), ..mark() };
        let here = Standpoint { machine: "m/one".into(), ended_boots: ["a".to_owned()].into(), ..here() };
        let judged = |mark: &ProcessMark| judge_process_on_shared_store(mark, &here, |_| Sight::Gone);
        assert_eq!(judged(&of("m/one", "b")), Liveness::Dead);
        for (machine, boot) in [("m/one", "a"), ("m/one", "c"), ("m/two", "b"), ("m", "b"), ("", "b")] {
            assert_eq!(judged(&of(machine, boot)), Liveness::Unknown, "{machine} {boot}");
        }
    }

    #[test]
    fn nothing_is_known_of_another_container() {
        let there = Standpoint { pid_space: "q".into(), ..here() };
        for sight in [Sight::RunningSince(5), Sight::Gone] {
            assert_eq!(judged(&mark(), &there, sight), Liveness::Unknown);
        }
    }

    #[test]
    fn a_run_that_has_no_name_proves_nothing() {
        let nameless = Standpoint { boot: UNKNOWN_BOOT.into(), ..here() };
        assert_eq!(judged(&mark(), &nameless, Sight::Gone), Liveness::Unknown);
        let of_nameless = ProcessMark { boot: UNKNOWN_BOOT.into(), ..mark() };
        assert_eq!(judged(&of_nameless, &here(), Sight::Gone), Liveness::Unknown);
        assert_eq!(judged(&of_nameless, &nameless, Sight::Gone), Liveness::Dead);
        let since_unknown = ProcessMark { started: 0, ..mark() };
        assert_eq!(judged(&since_unknown, &here(), Sight::RunningSince(9)), Liveness::Unknown);
        assert_eq!(judged(&since_unknown, &here(), Sight::RunningSince(0)), Liveness::Alive);
    }

    #[test]
    fn marks_of_older_versions_are_judged_by_the_run_of_the_machine() {
        let old = ProcessMark { machine: String::new(), pid_space: String::new(), ..mark() };
        assert_eq!(judged(&old, &here(), Sight::RunningSince(5)), Liveness::Alive);
        assert_eq!(judged(&old, &here(), Sight::Gone), Liveness::Dead);
        let later = Standpoint { boot: "c".into(), ended_boots: ["b".to_owned()].into(), ..here() };
        assert_eq!(judged(&old, &later, Sight::RunningSince(5)), Liveness::Dead);
    }

    fn at(boot: &str, seconds: i64) -> Moment {
        Moment { wall: Timestamp(seconds * 1000), boot: boot.into(), since_boot: seconds * 1000 }
    }

    fn standing(holder: &Holder, now: &Moment, liveness: Liveness, last_sign: Option<Moment>) -> Standing {
        let seen = ProcessSeen { liveness, last_sign, longest_silence: MINUTE, must_show_life: false };
        let without = WithoutSigns { known_alive: at("b", 0), unseen_until: at("b", 3600) };
        judge_holder(holder, now, seen, &without)
    }

    #[test]
    fn a_process_seen_alive_keeps_what_it_has_however_old_its_sign() {
        let connection = Holder::Connection { process: mark(), grace: MINUTE };
        for holder in [connection, Holder::Process(mark())] {
            assert_eq!(standing(&holder, &at("b", 99_999), Liveness::Alive, Some(at("b", 1))), Standing::Lives);
        }
    }

    #[test]
    fn what_machines_share_a_silent_process_loses_though_it_is_seen() {
        let connection = Holder::Connection { process: mark(), grace: MINUTE };
        for holder in [connection, Holder::Process(mark())] {
            let judge = |second, last_sign| {
                let (liveness, longest_silence) = (Liveness::Alive, MINUTE);
                let seen = ProcessSeen { liveness, last_sign, longest_silence, must_show_life: true };
                let without = WithoutSigns { known_alive: at("b", 0), unseen_until: at("b", 3600) };
                judge_holder(&holder, &at("b", second), seen, &without)
            };
            assert_eq!(judge(159, Some(at("b", 100))), Standing::Lives);
            assert_eq!(judge(160, Some(at("b", 100))), Standing::Silent);
            assert_eq!(judge(99_999, None), Standing::Lives, "it never left any");
        }
    }

    #[test]
    fn a_dead_process_ends_at_once_and_a_connection_a_grace_after_its_last_sign() {
        let (process, now) = (Holder::Process(mark()), at("b", 159));
        assert_eq!(standing(&process, &now, Liveness::Dead, Some(at("b", 158))), Standing::Ended);
        let connection = Holder::Connection { process: mark(), grace: MINUTE };
        assert_eq!(standing(&connection, &now, Liveness::Dead, Some(at("b", 100))), Standing::Lapses(at("b", 160)));
        assert_eq!(standing(&connection, &at("b", 160), Liveness::Dead, Some(at("b", 100))), Standing::Ended);
        assert_eq!(standing(&connection, &at("b", 59), Liveness::Dead, None), Standing::Lapses(at("b", 60)));
        assert_eq!(standing(&connection, &at("b", 60), Liveness::Dead, None), Standing::Ended);
    }

    #[test]
    fn what_cannot_be_seen_lives_by_its_signs_and_without_those_by_its_time() {
        for holder in [Holder::Process(mark()), Holder::Connection { process: mark(), grace: MINUTE }] {
            let sign = Some(at("b", 100));
            let judge = |second, sign| standing(&holder, &at("b", second), Liveness::Unknown, sign);
            assert_eq!(judge(159, sign.clone()), Standing::LivesUnseen(at("b", 160)));
            assert_eq!(judge(160, sign), Standing::Silent);
            assert_eq!(judge(3599, None), Standing::LivesUnseen(at("b", 3600)));
            assert_eq!(judge(3600, None), Standing::Silent);
        }
    }

    #[test]
    fn signs_of_another_run_are_compared_by_the_wall_clock_with_a_margin() {
        let margin = i64::try_from(CLOCK_MARGIN.as_secs()).unwrap();
        let judge =
            |second| standing(&Holder::Process(mark()), &at("c", second), Liveness::Unknown, Some(at("b", 100)));
        assert_eq!(judge(159 + margin), Standing::LivesUnseen(at("b", 160)));
        assert_eq!(judge(160 + margin), Standing::Silent);
    }
}
