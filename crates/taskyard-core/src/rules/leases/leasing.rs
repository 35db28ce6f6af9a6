//! Whether a lease is alive, and what it forbids other agents.

use std::time::Duration;

use super::expiry::is_past;
use super::liveness::{ProcessSeen, Standing, WithoutSigns, judge_holder};
use crate::rules::agents::naming::is_same_agent;
use crate::rules::refusal::Refusal;
use crate::{AgentName, Lease, Moment, ProcessMark, Proof, Rules, Status, Task, TaskId, Timestamp, Token};

/// How long a lease lives where nothing else is said.
pub const DEFAULT_LEASE: Duration = Duration::from_secs(3600);

/// What a lease is at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseState {
    /// It counts.
    Live,
    /// The process that served its connection has ended; it counts until then.
    Lapsing(Moment),
    /// The process it lives with cannot be seen from here; it counts until then, and longer when that shows life.
    Unseen(Moment),
    /// Its time is over.
    TimeIsOver,
    /// The process it lived with has ended.
    ProcessEnded,
    /// The process it lived with cannot be seen from here, and has shown no life for too long.
    Silent,
}

impl LeaseState {
    /// Tells whether the lease still counts.
    pub const fn is_alive(&self) -> bool {
        matches!(self, Self::Live | Self::Lapsing(_) | Self::Unseen(_))
    }

    /// Returns when it ceases to count unless its process shows life; none where that is not foreseen, or has been.
    pub const fn ends(&self) -> Option<&Moment> {
        match self {
            Self::Lapsing(end) | Self::Unseen(end) => Some(end),
            Self::Live | Self::TimeIsOver | Self::ProcessEnded | Self::Silent => None,
        }
    }
}

/// Judges a lease; `see` tells what is known of the process it lives with.
///
/// Within one run of the machine the clock that only goes forward decides, whatever the wall clock is set to. Across runs and machines the
/// wall clock decides, with a margin in favour of the holder. Nothing has to be written for a lease to end: every reader comes to the same
/// answer.
pub fn judge_lease(lease: &Lease, now: &Moment, see: impl FnOnce(&ProcessMark) -> ProcessSeen) -> LeaseState {
    if lease.ends.as_ref().is_some_and(|end| is_past(end, now)) {
        return LeaseState::TimeIsOver;
    }
    let Some(holder) = &lease.holder else { return LeaseState::Live };
    let taken = by_the_wall_clock(lease.taken);
    let unseen_until = lease.ends.clone().unwrap_or_else(|| taken.after(DEFAULT_LEASE));
    let without_signs = WithoutSigns { known_alive: taken, unseen_until };
    match judge_holder(holder, now, see(holder.process()), &without_signs) {
        Standing::Lives => LeaseState::Live,
        Standing::Lapses(end) => LeaseState::Lapsing(end),
        Standing::LivesUnseen(end) => LeaseState::Unseen(end),
        Standing::Ended => LeaseState::ProcessEnded,
        Standing::Silent => LeaseState::Silent,
    }
}

/// Returns a moment of which only the wall clock is known.
pub fn by_the_wall_clock(wall: Timestamp) -> Moment {
    Moment { wall, boot: String::new(), since_boot: 0 }
}

/// Tells whether a lease still belongs to its task: the task is open, and its file names the holder. Another program may have completed it
/// or given it to another agent; its word counts.
pub fn holds(lease: &Lease, task: &Task) -> bool {
    let is_owner = task.owner().is_some_and(|owner| is_same_agent(owner, lease.agent.as_str()));
    task.id == lease.task && task.status.is_open() && is_owner
}

/// Judges a change of a task. The lease is the one on that task, where there is one that counts.
pub fn judge_write(
    task: &Task,
    lease: Option<&Lease>,
    actor: &AgentName,
    proof: Proof,
    rules: Rules,
) -> Result<(), Refusal> {
    match (proof, lease) {
        (Proof::Force, _) | (Proof::Name, None) => Ok(()),
        (Proof::Token(token), Some(lease)) if lease.token == token => Ok(()),
        (Proof::Token(token), _) => Err(stale(task, token)),
        (Proof::Name, Some(_)) if rules.is_client() => Ok(()),
        (Proof::Name, Some(lease)) if is_same_agent(lease.agent.as_str(), actor.as_str()) => Ok(()),
        (Proof::Name, Some(lease)) => Err(leased(&task.id, lease)),
    }
}

/// Returns the refusal of a write under another agent's lease.
pub(crate) fn leased(task: &TaskId, lease: &Lease) -> Refusal {
    let until = lease.ends.as_ref().map(|end| end.wall);
    Refusal::Leased { task: task.clone(), holder: lease.agent.clone(), since: Some(lease.taken), until }
}

/// Returns the refusal of a write whose token no longer counts.
pub fn stale(task: &Task, token: Token) -> Refusal {
    Refusal::StaleToken {
        task: task.id.clone(),
        token,
        holder: task.owner().map(str::to_owned),
        is_completed: task.status == Status::Completed,
    }
}

/// Returns the lease with its time begun anew; none where time does not end it, or so little of it has passed that a new
/// beginning would gain nothing.
pub fn renewed(lease: &Lease, now: &Moment) -> Option<Lease> {
    let (ttl, ends) = (lease.ttl?, lease.ends.as_ref()?);
    let anew = now.after(ttl);
    let worth = i64::try_from(ttl.as_millis() / 16).unwrap_or(i64::MAX);
    let gained = if ends.boot == anew.boot { anew.since_boot - ends.since_boot } else { i64::MAX };
    (gained > worth).then(|| Lease { ends: Some(anew), ..lease.clone() })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::expiry::CLOCK_MARGIN;
    use super::{DEFAULT_LEASE, LeaseState, holds, judge_lease, judge_write, renewed, stale};
    use crate::rules::leases::liveness::{Liveness, ProcessSeen};
    use crate::rules::refusal::Refusal;
    use crate::{
        AgentName, ClientVersion, Holder, Lease, Moment, ProcessMark, Proof, Rules, Status, Task, TaskId, Timestamp,
        Token,
    };

    const HOUR: Duration = Duration::from_secs(3600);

    fn at(boot: &str, since_boot: i64, wall: i64) -> Moment {
        Moment { wall: Timestamp(wall), boot: boot.into(), since_boot }
    }

    fn lease(ends: Option<Moment>, holder: Option<Holder>) -> Lease {
        Lease {
            task: TaskId::number(1),
            agent: agent("ana"),
            token: Token(5),
            taken: Timestamp(0),
            ttl: Some(HOUR),
            ends,
            holder,
        }
    }

    fn agent(name: &str) -> AgentName {
        AgentName::new(name).unwrap()
    }

    fn task() -> Task {
        Task { owner: Some("ana".into()), status: Status::InProgress, ..Task::new(TaskId::number(1), "x") }
    }

    fn process(boot: &str) -> ProcessMark {
        ProcessMark { pid: 7, started: 1, boot: boot.into(), ..ProcessMark::default() }
    }

    /// Judges a lease whose process is seen so, and left a sign of life then.
    fn judged(lease: &Lease, now: &Moment, liveness: Liveness, last_sign: Option<Moment>) -> LeaseState {
        judge_lease(lease, now, |_| ProcessSeen { liveness, last_sign, longest_silence: HOUR, must_show_life: false })
    }

    #[test]
    fn within_one_run_of_the_machine_a_wall_clock_that_is_set_changes_nothing() {
        let lease = lease(Some(at("b", 1000, 1000)), None);
        for wall in [0, 1_000_000_000] {
            assert_eq!(judged(&lease, &at("b", 999, wall), Liveness::Alive, None), LeaseState::Live);
            assert_eq!(judged(&lease, &at("b", 1000, wall), Liveness::Alive, None), LeaseState::TimeIsOver);
        }
    }

    #[test]
    fn across_runs_the_wall_clock_decides_with_a_margin_for_the_holder() {
        let lease = lease(Some(at("b", 1000, 1000)), None);
        let margin = CLOCK_MARGIN.as_millis() as i64;
        assert_eq!(judged(&lease, &at("c", 5_000_000, 999 + margin), Liveness::Alive, None), LeaseState::Live);
        assert_eq!(judged(&lease, &at("c", 0, 1000 + margin), Liveness::Alive, None), LeaseState::TimeIsOver);
    }

    #[test]
    fn a_lease_ends_with_its_process() {
        let lease = lease(None, Some(Holder::Process(process("b"))));
        assert_eq!(judged(&lease, &at("b", 0, 0), Liveness::Alive, None), LeaseState::Live);
        assert_eq!(judged(&lease, &at("b", 0, 0), Liveness::Dead, Some(at("b", 0, 0))), LeaseState::ProcessEnded);
    }

    #[test]
    fn a_connection_has_a_grace_after_its_last_sign_of_life() {
        let lease = lease(None, Some(Holder::Connection { process: process("b"), grace: HOUR }));
        let (sign, end) = (Some(at("b", 1000, 1000)), at("b", 3_601_000, 3_601_000));
        let judge = |now| judged(&lease, &at("b", now, 0), Liveness::Dead, sign.clone());
        assert_eq!(judge(3_600_999), LeaseState::Lapsing(end));
        assert_eq!(judge(3_601_000), LeaseState::ProcessEnded);
        assert_eq!(judged(&lease, &at("b", 3_601_000, 0), Liveness::Alive, sign.clone()), LeaseState::Live);
    }

    #[test]
    fn an_unseen_process_without_signs_keeps_its_lease_for_the_time_it_has_or_would_have() {
        let (holder, margin) = (Some(Holder::Process(process("b"))), CLOCK_MARGIN.as_millis() as i64);
        let of_time = lease(Some(at("b", 1000, 1000)), holder.clone());
        assert_eq!(
            judged(&of_time, &at("b", 999, 0), Liveness::Unknown, None),
            LeaseState::Unseen(at("b", 1000, 1000))
        );
        assert_eq!(judged(&of_time, &at("b", 1000, 0), Liveness::Unknown, None), LeaseState::TimeIsOver);
        let timeless = lease(None, holder);
        let end = DEFAULT_LEASE.as_millis() as i64 + margin;
        assert!(judged(&timeless, &at("b", 0, end - 1), Liveness::Unknown, None).is_alive());
        assert_eq!(judged(&timeless, &at("b", 0, end), Liveness::Unknown, None), LeaseState::Silent);
    }

    #[test]
    fn another_programs_word_ends_what_a_lease_stands_for() {
        let lease = lease(None, None);
        assert!(holds(&lease, &task()));
        assert!(holds(&lease, &Task { owner: Some("ana@team".into()), ..task() }));
        assert!(!holds(&lease, &Task { owner: Some("ben".into()), ..task() }));
        assert!(!holds(&lease, &Task { owner: None, ..task() }));
        assert!(!holds(&lease, &Task { status: Status::Completed, ..task() }));
    }

    #[test]
    fn others_may_not_write_under_a_lease_and_old_tokens_prove_nothing() {
        let lease = lease(None, None);
        let judge = |lease, who: &str, proof, rules| judge_write(&task(), lease, &agent(who), proof, rules);
        assert!(matches!(judge(Some(&lease), "ben", Proof::Name, Rules::Strict), Err(Refusal::Leased { .. })));
        let client = Rules::Client(ClientVersion::V2_1_325);
        assert_eq!(judge(Some(&lease), "ben", Proof::Name, client), Ok(()));
        assert_eq!(judge(Some(&lease), "ana", Proof::Name, Rules::Strict), Ok(()));
        assert_eq!(judge(Some(&lease), "ben", Proof::Force, Rules::Strict), Ok(()));
        assert_eq!(judge(Some(&lease), "ben", Proof::Token(Token(5)), Rules::Strict), Ok(()));
        for (lease, rules) in [(Some(&lease), client), (None, Rules::Strict)] {
            let refused = judge(lease, "ana", Proof::Token(Token(4)), rules);
            assert_eq!(refused, Err(stale(&task(), Token(4))));
            assert_eq!(refused.unwrap_err().to_string(), "token 4 no longer counts for task 1: ana has it now");
        }
        assert_eq!(judge(None, "ben", Proof::Name, Rules::Strict), Ok(()));
    }

    #[test]
    fn a_renewal_is_made_when_it_gains_something() {
        let lease = lease(Some(at("b", 3_600_000, 3_600_000)), None);
        assert_eq!(renewed(&lease, &at("b", 1000, 1000)), None);
        let later = renewed(&lease, &at("b", 600_000, 600_000)).unwrap();
        assert_eq!(later.ends, Some(at("b", 4_200_000, 4_200_000)));
        assert!(renewed(&lease, &at("c", 0, 600_000)).is_some());
    }
}
