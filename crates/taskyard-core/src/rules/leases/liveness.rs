//! Whether a process is alive, and whether a given moment has passed.

use std::sync::Arc;
use std::time::Duration;

use crate::agent::{is_known_boot, is_other_machine, names_data_directory};
use crate::{Holder, Moment, ProcessMark};

/// How long a process that is not visible counts as alive after its last sign of life.
pub const LONGEST_SILENCE: Duration = Duration::from_secs(60);

/// Whether a process is alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Liveness {
    /// The process is visible and running.
    Alive,
    /// The process is known to have ended, or the boot of this machine in which it ran is over.
    Dead,
    /// The process is not visible from here, or it is not known which process to look for.
    #[default]
    Unknown,
}

/// The location of the judging process: its machine, boot and pid namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standpoint {
    /// The machine, in the form of [`ProcessMark::machine`].
    pub machine: String,
    /// The pid namespace.
    pub pid_space: String,
    /// The boot id.
    pub boot: String,
    /// Boots of this machine that are proven to be over. Machines cloned from one image share their machine id, so a
    /// boot id that merely differs may belong to another machine that is running.
    pub ended_boots: Arc<[String]>,
}

/// What the process table says about a process id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// A process with that id has been running since this time; 0 if the system does not report it.
    RunningSince(u64),
    /// There is no such process, or only a zombie.
    Gone,
    /// The process table is not readable: it is not mounted, or it hides other users' processes.
    Hidden,
}

/// Judges a process from the location of the judging process. Calls `look` only if the process id means the same in
/// both places.
///
/// If the machine ids differ, nothing can be known, whatever else matches: containers have their own machine ids but
/// share the host's boot id. Different boot ids prove nothing either, unless the boot of the process is known to be
/// over.
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
        // At least one side could not determine the start time.
        Sight::RunningSince(started) if started == 0 || mark.started == 0 => Liveness::Unknown,
        Sight::RunningSince(_) => Liveness::Dead,
    }
}

/// Judges a process that holds something on a store shared by several machines. Only processes of the same boot and
/// data directory are visible: a machine cloned from another's disk would take the other's boot for an earlier boot of
/// its own.
pub fn judge_process_on_shared_store(
    mark: &ProcessMark,
    here: &Standpoint,
    look: impl FnOnce(u32) -> Sight,
) -> Liveness {
    let is_same_run = mark.has_boot() && mark.boot == here.boot;
    let is_same_machine = names_data_directory(&mark.machine) && mark.machine == here.machine;
    if is_same_run && is_same_machine { judge_process(mark, here, look) } else { Liveness::Unknown }
}

/// What is known about a process at a given time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessSeen {
    /// Whether the process is alive, as far as can be seen.
    pub liveness: Liveness,
    /// The time of its last sign of life, if any.
    pub last_sign: Option<Moment>,
    /// How long it counts as alive after that while it is not visible.
    pub longest_silence: Duration,
    /// Whether a process that has left signs of life must keep doing so even while it is visible. This is `true` on a
    /// store shared by several machines, so that machines that can see the process agree with those that cannot.
    pub must_show_life: bool,
}

/// The state of something whose lifetime is tied to a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The process is known to be alive.
    Lives,
    /// The process has ended; what is tied to it remains valid until the given time.
    Lapses(Moment),
    /// The process is not visible from here. It counts as alive until the given time, or longer if it leaves another
    /// sign of life.
    LivesUnseen(Moment),
    /// The process has ended.
    Ended,
    /// The process is not visible from here and has left no sign of life for too long.
    Silent,
}

/// What to assume about a process that has left no sign of life at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithoutSigns {
    /// When the process was last known to be alive.
    pub known_alive: Moment,
    /// Until when the process counts as alive while it is not visible.
    pub unseen_until: Moment,
}

/// Judges something whose lifetime is tied to a process.
///
/// A process known to be alive keeps what it holds, however old its last sign of life is: the machine may have been
/// suspended. It loses it by silence only if other machines share the store ([`ProcessSeen::must_show_life`]).
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

/// Extra time a lease stays valid if only the wall clock can be compared. The clocks of two machines, or of one machine
/// before and after a reboot, agree only approximately.
pub const CLOCK_MARGIN: Duration = Duration::from_secs(30);

/// Returns whether a moment has passed.
pub(crate) fn is_past(moment: &Moment, now: &Moment) -> bool {
    if moment.boot == now.boot {
        return now.since_boot >= moment.since_boot;
    }
    now.wall >= moment.after(CLOCK_MARGIN).wall
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::CLOCK_MARGIN;
    use super::{
        Liveness, ProcessSeen, Sight, Standing, Standpoint, WithoutSigns, judge_holder, judge_process,
        judge_process_on_shared_store,
    };
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
    fn nothing_is_known_about_another_machine() {
        for boot in ["b", "c", UNKNOWN_BOOT] {
            let there = Standpoint { machine: "n".into(), boot: boot.into(), ..here() };
            for sight in [Sight::RunningSince(5), Sight::Gone, Sight::Hidden] {
                assert_eq!(judged(&mark(), &there, sight), Liveness::Unknown, "{boot} {sight:?}");
            }
        }
    }

    #[test]
    fn process_of_earlier_boot_is_dead_whatever_its_pid() {
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
    fn dead_process_ends_at_once_and_connection_after_grace() {
        let (process, now) = (Holder::Process(mark()), at("b", 159));
        assert_eq!(standing(&process, &now, Liveness::Dead, Some(at("b", 158))), Standing::Ended);
        let connection = Holder::Connection { process: mark(), grace: MINUTE };
        assert_eq!(standing(&connection, &now, Liveness::Dead, Some(at("b", 100))), Standing::Lapses(at("b", 160)));
        assert_eq!(standing(&connection, &at("b", 160), Liveness::Dead, Some(at("b", 100))), Standing::Ended);
        assert_eq!(standing(&connection, &at("b", 59), Liveness::Dead, None), Standing::Lapses(at("b", 60)));
        assert_eq!(standing(&connection, &at("b", 60), Liveness::Dead, None), Standing::Ended);
    }

    #[test]
    fn invisible_process_lives_by_its_signs_then_by_ttl() {
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
    fn signs_of_another_boot_compare_by_wall_clock_with_margin() {
        let margin = i64::try_from(CLOCK_MARGIN.as_secs()).unwrap();
        let judge =
            |second| standing(&Holder::Process(mark()), &at("c", second), Liveness::Unknown, Some(at("b", 100)));
        assert_eq!(judge(159 + margin), Standing::LivesUnseen(at("b", 160)));
        assert_eq!(judge(160 + margin), Standing::Silent);
    }
}
