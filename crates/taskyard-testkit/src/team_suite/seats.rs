//! Who sits where, what it lives with, and how far its plan came.

use taskyard::core::rules::refusal::{Refusal, TeamRefusal};
use taskyard::core::{Holder, ProcessMark, Team, Timestamp};
use taskyard::liveness::own_mark;
use taskyard::teams::{NewMember, Plan, PlanState, Presence, SeatRecord};

use crate::team_suite::team_samples::{OpenTeams, agent, keys, make, new_member, seat};

/// The lead's seat is known under the name of the agent that made the team.
pub fn the_agent_that_made_a_team_leads_it_under_its_own_name(open: &OpenTeams) {
    let opened = open();
    let team = make(&opened.teams(), &[]);
    let lead = seat(&opened.teams(), "boss");
    assert_eq!((lead.name.as_str(), lead.is_lead()), ("team-lead", true));
    let refused = opened.teams().join(&team, &new_member("boss")).unwrap().done().unwrap_err();
    assert!(matches!(refused, Refusal::Team(TeamRefusal::LeadsIt { .. })), "{refused:?}");
}

/// The seat of a living member is not given to another.
pub fn the_seat_of_a_living_member_is_not_taken(open: &OpenTeams) {
    let opened = open();
    let teams = opened.teams();
    let team = make(&teams, &[]);
    let held = NewMember { presence: Presence::Held(Holder::Process(own_mark())), ..new_member("ana") };
    let team = teams.join(&team, &held).unwrap().done().unwrap().team;
    let refused = opened.teams().join(&team, &new_member("ana@alpha")).unwrap().done().unwrap_err();
    assert_eq!(refused, TeamRefusal::NameInUse { name: "ana".into(), team: "alpha".into() }.into());
    assert!(opened.teams().join(&team, &held).unwrap().done().is_ok());
    assert_eq!(opened.teams().ghosts(&team).unwrap(), []);
}

/// What lived with a process that has ended is a ghost, and its seat is free.
pub fn the_seat_of_a_dead_member_is_free(open: &OpenTeams) {
    let opened = open();
    let teams = opened.teams();
    let team = make(&teams, &[]);
    let dead = ProcessMark { started: own_mark().started + 1, ..own_mark() };
    let held = NewMember { presence: Presence::Held(Holder::Process(dead)), ..new_member("ana") };
    let team = teams.join(&team, &held).unwrap().done().unwrap().team;
    let ghosts = opened.teams().ghosts(&team).unwrap();
    assert_eq!(ghosts.iter().map(|ghost| ghost.name.as_str()).collect::<Vec<_>>(), ["ana"]);
    assert_eq!(ghosts[0].process, Some(own_mark().pid));
    assert!(opened.teams().join(&team, &new_member("ana")).unwrap().done().is_ok());
    assert_eq!(opened.teams().ghosts(&team).unwrap(), []);
}

/// A plan is asked for, approved, and gone with the seat it was made in.
pub fn a_plan_goes_with_its_seat(open: &OpenTeams) {
    let opened = open();
    let teams = opened.teams();
    let team = make(&teams, &[]);
    let planning = NewMember { plan_mode_required: true, ..new_member("ana") };
    let ana = teams.join(&team, &planning).unwrap().done().unwrap();
    assert!(!teams.may_start(&ana).unwrap());
    let request = teams.show_plan(&ana, "first this, then that").unwrap().done().unwrap().request.unwrap();
    assert_eq!(opened.teams().plan(&ana).unwrap(), PlanState::AwaitingApproval);
    opened.teams().answer_plan(&seat(&teams, "boss"), "ana", &request, None).unwrap().done().unwrap();
    assert!(teams.may_start(&ana).unwrap());
    let received = teams.receive(&ana).unwrap();
    teams.acknowledge(&ana, &keys(&received)).unwrap();
    teams.leave(&ana).unwrap().done().unwrap();
    let ana = teams.join(&ana.team, &planning).unwrap().done().unwrap();
    assert!(!opened.teams().may_start(&ana).unwrap());
}

/// What is left of an empty seat is nothing to the agent that takes it.
pub fn what_is_left_of_a_seat_nobody_has_counts_for_nobody(open: &OpenTeams) {
    let opened = open();
    let team = make(&opened.teams(), &[]);
    let plan = Plan { request: "plan-1@ana".into(), state: PlanState::Approved, at: Timestamp(8) };
    let holder = Some(Holder::Process(own_mark()));
    let left =
        SeatRecord { agent: "eve".into(), holder, seen: Some(Timestamp(7)), tool_uses: 3, ..SeatRecord::default() };
    let left = SeatRecord { plan: Some(plan), ..left };
    opened.store().change_seat(&team, "ana", &mut |seat| *seat = left.clone()).unwrap();
    let planning = NewMember { plan_mode_required: true, ..new_member("ana") };
    let ana = opened.teams().join(&team, &planning).unwrap().done().unwrap();
    assert!(!opened.teams().may_start(&ana).unwrap());
    assert_eq!(opened.store().seats_in(&team).unwrap()["ana"].tool_uses, 0);
}

/// What is remembered is handed out as it was given, and forgotten when it is as at first.
pub fn a_seat_is_remembered_to_the_letter(open: &OpenTeams) {
    let opened = open();
    let team = make(&opened.teams(), &["ana"]);
    let record = SeatRecord {
        agent: "somebody".into(),
        holder: Some(Holder::Connection { process: own_mark(), grace: std::time::Duration::from_millis(1_500) }),
        seen: Some(Timestamp(7)),
        activity: Some("TaskList".into()),
        tool_uses: 3,
        tokens: Some(40),
        stop_request: Some("shutdown-1@ana".into()),
        plan: Some(Plan { request: "plan-1@ana".into(), state: PlanState::Rejected, at: Timestamp(8) }),
    };
    let set = |record: &SeatRecord| {
        opened.store().change_seat(&team, "ana", &mut |seat| *seat = record.clone()).unwrap();
    };
    let kept = || opened.store().seats_in(&team).unwrap().remove("ana");
    set(&record);
    assert_eq!(kept(), Some(record.clone()));
    let taken = opened.store().seats_of(&agent("somebody")).unwrap();
    assert_eq!(taken.len(), 1);
    assert_eq!(
        (taken[0].directory.as_str(), taken[0].made, taken[0].member.as_str()),
        ("alpha", team.created_at, "ana")
    );
    let only_a_plan = SeatRecord { plan: record.plan.clone(), ..SeatRecord::default() };
    set(&only_a_plan);
    assert_eq!(kept(), Some(only_a_plan));
    assert_eq!(opened.store().seats_of(&agent("somebody")).unwrap(), []);
    set(&SeatRecord::default());
    assert_eq!(kept(), None);
}

/// Seats are of one team, and not of the one that has its name later.
pub fn a_team_made_anew_begins_without_seats(open: &OpenTeams) {
    let opened = open();
    let team = make(&opened.teams(), &["ana"]);
    let store = opened.store();
    let later = Team { created_at: Timestamp(team.created_at.0 + 1_000), ..team.clone() };
    assert!(store.seats_in(&later).unwrap().is_empty());
    store.remove_team(&team).unwrap();
    assert!(store.seats_in(&team).unwrap().is_empty());
    let lead = SeatRecord { agent: "eve".into(), seen: Some(later.created_at), ..SeatRecord::default() };
    assert!(store.make_team(&later, &lead).unwrap());
    assert!(!store.make_team(&later, &lead).unwrap());
    let seats = opened.store().seats_in(&later).unwrap();
    assert_eq!(seats.keys().collect::<Vec<_>>(), ["team-lead"]);
    assert_eq!(store.seats_of(&agent("ana")).unwrap(), []);
    assert!(opened.teams().only_seat(&agent("boss")).unwrap().is_none());
}
