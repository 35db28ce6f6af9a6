//! Whether a lease is valid, which writes it forbids, and what happens to a task or job when its lease ends.

use std::fmt;
use std::time::Duration;

use super::liveness::{ProcessSeen, Standing, WithoutSigns, judge_holder};
use crate::rules::agents::is_same_agent;
use crate::rules::leases::liveness::is_past;
use crate::rules::refusal::Refusal;
use crate::{
    AgentName, Entry, Holder, Job, JobEnding, JobState, Lease, Moment, Op, ProcessMark, Proof, Rules, Status, Task,
    TaskId, Timestamp, Token,
};

/// How long a lease lasts by default.
pub const DEFAULT_LEASE: Duration = Duration::from_secs(3600);

/// The state of a lease at a given time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseState {
    /// The lease is valid.
    Live,
    /// The process that served its connection has ended. The lease is valid until the given time.
    Lapsing(Moment),
    /// The holder's process is not visible from here. The lease is valid until the given time, or longer if the process
    /// shows signs of life.
    Unseen(Moment),
    /// The lease has expired.
    TimeIsOver,
    /// The holder's process has ended.
    ProcessEnded,
    /// The holder's process is not visible from here and has shown no sign of life for too long.
    Silent,
}

impl LeaseState {
    /// Returns whether the lease is valid.
    pub const fn is_alive(&self) -> bool {
        matches!(self, Self::Live | Self::Lapsing(_) | Self::Unseen(_))
    }

    /// Returns when the lease ends unless its process shows signs of life. Returns `None` if no such end is set or the
    /// lease has already ended.
    pub const fn ends(&self) -> Option<&Moment> {
        match self {
            Self::Lapsing(end) | Self::Unseen(end) => Some(end),
            Self::Live | Self::TimeIsOver | Self::ProcessEnded | Self::Silent => None,
        }
    }
}

/// Judges a lease. `see` returns what is known about the process that holds it.
///
/// Within one boot of the machine the monotonic clock decides, whatever the wall clock says. Across boots and machines
/// the wall clock decides, with a margin in the holder's favour. Nothing has to be written for a lease to expire: every
/// reader reaches the same result.
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

/// Returns a moment of which only the wall-clock time is known.
pub fn by_the_wall_clock(wall: Timestamp) -> Moment {
    Moment { wall, boot: String::new(), since_boot: 0 }
}

/// Returns whether a lease still applies to its task: the task is open, and its file names the holder as its owner.
/// Another program may have completed the task or reassigned it; the file then takes precedence.
pub fn holds(lease: &Lease, task: &Task) -> bool {
    let is_owner = task.owner().is_some_and(|owner| is_same_agent(owner, lease.agent.as_str()));
    task.id == lease.task && task.status.is_open() && is_owner
}

/// Judges whether `actor` may change a task. `lease` is the valid lease on the task, if there is one.
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

pub(crate) fn leased(task: &TaskId, lease: &Lease) -> Refusal {
    let until = lease.ends.as_ref().map(|end| end.wall);
    Refusal::Leased { task: task.clone(), holder: lease.agent.clone(), since: Some(lease.taken), until }
}

/// Returns the refusal for a write whose token is no longer valid.
pub fn stale(task: &Task, token: Token) -> Refusal {
    Refusal::StaleToken {
        task: task.id.clone(),
        token,
        holder: task.owner().map(str::to_owned),
        is_completed: task.status == Status::Completed,
    }
}

/// Returns the lease with its expiry extended to a full term from `now`. Returns `None` if it does not expire, or if at
/// most a sixteenth of the term would be gained.
pub fn renewed(lease: &Lease, now: &Moment) -> Option<Lease> {
    let (ttl, ends) = (lease.ttl?, lease.ends.as_ref()?);
    let anew = now.after(ttl);
    let worth = i64::try_from(ttl.as_millis() / 16).unwrap_or(i64::MAX);
    let gained = if ends.boot == anew.boot { anew.since_boot - ends.since_boot } else { i64::MAX };
    (gained > worth).then(|| Lease { ends: Some(anew), ..lease.clone() })
}

/// What happened to a task that an agent held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The agent completed it itself.
    Completed,
    /// The agent no longer has it.
    Lost(Loss),
}

/// How an agent lost a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Another agent completed it.
    CompletedBy(String),
    /// Another agent has it, or the same agent has it under another lease.
    TakenBy(String),
    /// It was released and has no owner.
    WentBack,
    /// It was removed.
    Removed,
    /// The store was unreachable for the whole term of the lease, so another agent may have taken the task.
    NotRenewed,
}

impl fmt::Display for Loss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CompletedBy(who) => write!(formatter, "{who} completed it"),
            Self::TakenBy(who) => write!(formatter, "{who} has it now"),
            Self::WentBack => formatter.write_str("its lease had expired, and it was released"),
            Self::Removed => formatter.write_str("it was removed"),
            Self::NotRenewed => formatter.write_str("its lease could not be renewed in time, and others may have it"),
        }
    }
}

/// Determines what happened to a task whose lease is no longer valid.
///
/// `since` is the task's journal since the agent took it. Entries for which [`matters`] returns `false` may be omitted.
/// The agent may have completed the task through a client that does not know Taskyard: such a completion counts as the
/// agent's own if the task still names the agent as its owner and was neither released nor expired in the meantime.
pub fn judge_fate(task: Option<&Task>, since: &[Entry], agent: &AgentName) -> Fate {
    let Some(task) = task else { return Fate::Lost(Loss::Removed) };
    let is_own = |name: &str| is_same_agent(name, agent.as_str());
    let owner = task.owner();
    if task.status != Status::Completed {
        return Fate::Lost(owner.map_or(Loss::WentBack, |owner| Loss::TakenBy(owner.to_owned())));
    }
    let has_left = since.iter().any(|entry| matches!(entry.op, Op::Expire | Op::Release));
    let completion = since.iter().rev().find(|entry| is_completion(entry));
    let by = completion.filter(|entry| entry.op != Op::ChangedElsewhere).map(|entry| entry.actor.as_str());
    match by.or(owner) {
        Some(by) if is_own(by) && !has_left => Fate::Completed,
        by => Fate::Lost(Loss::CompletedBy(by.unwrap_or("somebody").to_owned())),
    }
}

/// Returns whether an entry affects the result of [`judge_fate`].
pub fn matters(entry: &Entry) -> bool {
    matches!(entry.op, Op::Expire | Op::Release) || is_completion(entry)
}

fn is_completion(entry: &Entry) -> bool {
    let is_completed = |image: &Option<crate::Image>| {
        let task = image.as_ref().and_then(|image| image.task(&entry.task).ok());
        task.is_some_and(|task| task.status == Status::Completed)
    };
    is_completed(&entry.after) && !is_completed(&entry.before)
}

/// The record of a job that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LivingRecord {
    /// The supervisor has not reported yet. Until then, the process that starts it is responsible for the job.
    Pending {
        /// The process that starts the supervisor.
        starter: ProcessMark,
    },
    /// The supervisor is responsible for the job.
    Running {
        /// The supervisor process.
        supervisor: ProcessMark,
    },
}

impl LivingRecord {
    /// Returns the process that is responsible for the job.
    pub fn guardian(&self) -> &ProcessMark {
        let (Self::Pending { starter: guardian } | Self::Running { supervisor: guardian }) = self;
        guardian
    }
}

/// The judgement on such a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The record is correct, as far as can be told.
    Stands,
    /// The supervisor has ended; processes that it started may still run where this process can see them.
    LostWithLeftovers,
    /// The job is lost and nothing of it runs where this process can see it: the machine was rebooted, or the job ran
    /// elsewhere and shows no signs of life.
    LostElsewhere,
}

/// Judges a record by what is known about the process responsible for the job.
///
/// `last_seen` is when the job was last known to be alive. A process on another machine or in another container is not
/// considered dead before it has been silent for too long, and Taskyard never ends such a process.
pub fn judge_job(record: &LivingRecord, last_seen: Timestamp, now: &Moment, seen: ProcessSeen) -> Verdict {
    let guardian = record.guardian();
    let is_of_this_run = guardian.boot == now.boot;
    let known_alive = by_the_wall_clock(last_seen);
    let unseen_until = known_alive.after(seen.longest_silence);
    let holder = Holder::Process(guardian.clone());
    match judge_holder(&holder, now, seen, &WithoutSigns { known_alive, unseen_until }) {
        Standing::Lives | Standing::Lapses(_) | Standing::LivesUnseen(_) => Verdict::Stands,
        Standing::Ended if is_of_this_run => Verdict::LostWithLeftovers,
        Standing::Ended | Standing::Silent => Verdict::LostElsewhere,
    }
}

/// Returns whether the job's task is to be reopened: this was requested, and the job failed, timed out or was lost. A
/// job stopped by an agent has not failed.
pub fn reopens_its_task(job: &Job) -> bool {
    let has_failed = match job.state() {
        JobState::Failed | JobState::Lost => true,
        JobState::Killed => matches!(job.ending(), Some(JobEnding::TimedOut(_))),
        JobState::Pending | JobState::Running | JobState::Completed => false,
    };
    job.reopens_task && job.task.is_some() && has_failed
}

/// Returns whether the failure of a job reopens its task in its current state. A pending task is already open, and a
/// task in progress is left alone if another agent owns it.
pub fn reopens(job: &Job, task: &Task) -> bool {
    let is_theirs = |owner: &String| is_same_agent(owner, job.agent.as_str());
    reopens_its_task(job)
        && match task.status {
            Status::Pending => false,
            Status::InProgress => task.owner.as_ref().is_none_or(is_theirs),
            Status::Completed => true,
        }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{DEFAULT_LEASE, LeaseState, holds, judge_lease, judge_write, renewed, stale};
    use crate::rules::leases::liveness::CLOCK_MARGIN;
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

    /// Judges a lease whose process has this liveness and left this last sign of life.
    fn judged(lease: &Lease, now: &Moment, liveness: Liveness, last_sign: Option<Moment>) -> LeaseState {
        judge_lease(lease, now, |_| ProcessSeen { liveness, last_sign, longest_silence: HOUR, must_show_life: false })
    }

    #[test]
    fn wall_clock_changes_nothing_within_one_boot() {
        let lease = lease(Some(at("b", 1000, 1000)), None);
        for wall in [0, 1_000_000_000] {
            assert_eq!(judged(&lease, &at("b", 999, wall), Liveness::Alive, None), LeaseState::Live);
            assert_eq!(judged(&lease, &at("b", 1000, wall), Liveness::Alive, None), LeaseState::TimeIsOver);
        }
    }

    #[test]
    fn wall_clock_with_margin_decides_leases_across_boots() {
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
    fn unseen_process_without_signs_keeps_lease_until_its_ttl() {
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
    fn foreign_leases_block_writes_and_old_tokens_prove_nothing() {
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
            assert_eq!(refused.unwrap_err().to_string(), "token 4 is no longer valid for task 1: ana has it now");
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

#[cfg(test)]
mod fate_tests {
    use super::{Fate, Loss, judge_fate};
    use crate::dialect::native;
    use crate::{AgentName, Entry, Image, Op, Remark, Revision, Rules, Status, Task, TaskId, Timestamp};

    fn ana() -> AgentName {
        AgentName::new("ana").unwrap()
    }

    fn task(owner: &str, status: Status) -> Task {
        let owner = (!owner.is_empty()).then(|| owner.to_owned());
        Task { owner, status, ..Task::new(TaskId::number(1), "x") }
    }

    fn image(task: &Task) -> Option<Image> {
        native::write(None, task, Rules::Strict).ok()
    }

    fn entry(op: Op, actor: &str, before: &Task, after: &Task) -> Entry {
        Entry {
            revision: Revision(1),
            at: Timestamp(0),
            actor: AgentName::new(actor).unwrap(),
            op,
            task: before.id.clone(),
            before: image(before),
            after: image(after),
            undoes: Vec::new(),
            remark: Remark::default(),
            attempt: None,
            db_user: None,
        }
    }

    fn completed(op: Op, actor: &str) -> (Task, Entry) {
        let (before, after) = (task("ana", Status::InProgress), task("ana", Status::Completed));
        let entry = entry(op, actor, &before, &after);
        (after, entry)
    }

    fn by(who: &str) -> Fate {
        Fate::Lost(Loss::CompletedBy(who.into()))
    }

    #[test]
    fn an_agent_completes_its_task_itself_or_through_a_client() {
        for (op, actor) in [(Op::Update, "ana"), (Op::Update, "ana@team"), (Op::ChangedElsewhere, "elsewhere")] {
            let (task, entry) = completed(op, actor);
            assert_eq!(judge_fate(Some(&task), &[entry], &ana()), Fate::Completed, "{actor}");
        }
        let (task, entry) = completed(Op::Update, "ben");
        assert_eq!(judge_fate(Some(&task), &[entry], &ana()), by("ben"));
    }

    #[test]
    fn completion_after_leaving_an_agent_is_not_its_own() {
        let (done, completion) = completed(Op::Update, "ana");
        let expiry = entry(Op::Expire, "ana", &task("ana", Status::InProgress), &task("", Status::Pending));
        assert_eq!(judge_fate(Some(&done), &[expiry, completion], &ana()), by("ana"));
        let (_, elsewhere) = completed(Op::ChangedElsewhere, "elsewhere");
        assert_eq!(judge_fate(Some(&task("ben", Status::Completed)), &[elsewhere], &ana()), by("ben"));
    }

    #[test]
    fn an_open_task_went_back_or_is_somebodys() {
        let lost = |task: Option<Task>| judge_fate(task.as_ref(), &[], &ana());
        assert_eq!(lost(Some(task("", Status::Pending))), Fate::Lost(Loss::WentBack));
        assert_eq!(lost(Some(task("ben", Status::InProgress))), Fate::Lost(Loss::TakenBy("ben".into())));
        assert_eq!(lost(None), Fate::Lost(Loss::Removed));
    }
}

#[cfg(test)]
mod job_fate_tests {
    use std::time::Duration;

    use super::{LivingRecord, Verdict, judge_job, reopens};
    use crate::job_samples::ended;
    use crate::rules::leases::liveness::CLOCK_MARGIN;
    use crate::rules::leases::liveness::{Liveness, ProcessSeen};
    use crate::{Job, JobEnding, Moment, ProcessMark, Status, Task, Timestamp};

    const MINUTE: Duration = Duration::from_secs(60);

    fn mark() -> ProcessMark {
        ProcessMark { pid: 4, started: 7, boot: "one".into(), ..ProcessMark::default() }
    }

    fn at(boot: &str, milliseconds: i64) -> Moment {
        Moment { wall: Timestamp(milliseconds), boot: boot.into(), since_boot: milliseconds }
    }

    fn verdict(now: &Moment, liveness: Liveness, last_sign: Option<Moment>) -> Verdict {
        let seen =
            || ProcessSeen { liveness, last_sign: last_sign.clone(), longest_silence: MINUTE, must_show_life: false };
        let [running, pending] =
            [LivingRecord::Running { supervisor: mark() }, LivingRecord::Pending { starter: mark() }]
                .map(|record| judge_job(&record, Timestamp(0), now, seen()));
        assert_eq!(running, pending, "a pending job is lost with the process that was starting it");
        running
    }

    #[test]
    fn a_job_runs_as_long_as_its_supervisor_does() {
        assert_eq!(verdict(&at("one", 99_999_999), Liveness::Alive, None), Verdict::Stands);
        assert_eq!(verdict(&at("one", 1), Liveness::Dead, Some(at("one", 1))), Verdict::LostWithLeftovers);
    }

    #[test]
    fn nothing_is_left_of_a_job_of_an_earlier_run_of_the_machine() {
        assert_eq!(verdict(&at("two", 1), Liveness::Dead, None), Verdict::LostElsewhere);
    }

    #[test]
    fn job_of_another_container_is_lost_when_signs_expire() {
        let sign = Some(at("one", 100_000));
        assert_eq!(verdict(&at("one", 159_999), Liveness::Unknown, sign.clone()), Verdict::Stands);
        assert_eq!(verdict(&at("one", 160_000), Liveness::Unknown, sign), Verdict::LostElsewhere);
        let margin = i64::try_from(CLOCK_MARGIN.as_millis()).unwrap();
        assert_eq!(verdict(&at("one", 59_999 + margin), Liveness::Unknown, None), Verdict::Stands);
        assert_eq!(verdict(&at("one", 60_000 + margin), Liveness::Unknown, None), Verdict::LostElsewhere);
    }

    #[test]
    fn a_failed_job_opens_its_task_unless_that_is_open_or_anothers() {
        let failed = Job {
            task: Some("1".parse().unwrap()),
            reopens_task: true,
            agent: crate::AgentName::new("ana").unwrap(),
            ..ended(JobEnding::Exited(1))
        };
        let fine = Job { fate: ended(JobEnding::Exited(0)).fate, ..failed.clone() };
        let task = |status, owner: Option<&str>| Task {
            status,
            owner: owner.map(str::to_owned),
            ..Task::new("1".parse().unwrap(), "one")
        };
        for (task, is_opened) in [
            (task(Status::Completed, None), true),
            (task(Status::Completed, Some("ben")), true),
            (task(Status::InProgress, None), true),
            (task(Status::InProgress, Some("ana")), true),
            (task(Status::InProgress, Some("ana@crew")), true),
            (task(Status::InProgress, Some("ben")), false),
            (task(Status::Pending, Some("ana")), false),
        ] {
            assert_eq!(reopens(&failed, &task), is_opened, "{task:?}");
            assert!(!reopens(&fine, &task), "{task:?}");
        }
    }
}
