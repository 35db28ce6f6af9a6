//! Teams that come and go, and who is in them.

use taskyard::core::TeamName;
use taskyard::core::rules::refusal::{Refusal, TeamRefusal};

use crate::team_suite::team_samples::{OpenTeams, agent, make, new_member, new_team, seat};

/// Every caller sees a team from the moment it is made.
pub fn a_team_that_was_made_is_there_for_everybody(open: &OpenTeams) {
    let opened = open();
    assert_eq!(opened.teams().list().unwrap(), []);
    let team = make(&opened.teams(), &["ana"]);
    let others = opened.teams();
    assert_eq!(others.list().unwrap(), std::slice::from_ref(&team));
    assert!(others.are_any());
    assert_eq!(others.find("alpha").unwrap().done().unwrap(), team);
    assert_eq!(team.members.iter().map(|member| member.name.as_str()).collect::<Vec<_>>(), ["team-lead", "ana"]);
}

/// A name that gives the same directory is taken.
pub fn two_names_with_one_directory_are_one_team(open: &OpenTeams) {
    let opened = open();
    let teams = opened.teams();
    teams.create(&new_team("my team"), &agent("boss")).unwrap().done().unwrap();
    let refused = teams.create(&new_team("My_Team"), &agent("eve")).unwrap().done().unwrap_err();
    assert!(matches!(&refused, Refusal::Team(TeamRefusal::NameTaken { by, .. }) if by == "my team"), "{refused:?}");
    assert_eq!(teams.list().unwrap().len(), 1);
}

/// A team that is not there is refused, and the refusal names those that are.
pub fn a_team_that_is_not_there_is_refused_with_those_there_are(open: &OpenTeams) {
    let opened = open();
    make(&opened.teams(), &[]);
    let refused = opened.teams().find("beta").unwrap().done().unwrap_err();
    assert_eq!(refused, TeamRefusal::NoSuchTeam { team: "beta".into(), teams: vec!["alpha".into()] }.into());
}

/// A member that joins has a colour that no other member has, and keeps it when it joins again.
pub fn a_member_that_joins_again_keeps_its_seat_and_its_colour(open: &OpenTeams) {
    let opened = open();
    let teams = opened.teams();
    let team = make(&teams, &["ana", "ben"]);
    let colours: Vec<_> = team.members.iter().map(|member| member.colour()).collect();
    assert_eq!(colours, [Some("red"), Some("blue"), Some("green")]);
    let again = teams.join(&team, &new_member("ana")).unwrap().done().unwrap();
    assert_eq!(again.member().unwrap().colour(), Some("blue"));
    assert_eq!(again.team.members.len(), 3);
}

/// A member that left is removed, and only one of two callers that remove it succeeds.
pub fn a_member_is_taken_out_once(open: &OpenTeams) {
    let opened = open();
    let teams = opened.teams();
    make(&teams, &["ana"]);
    let ana = seat(&teams, "ana");
    assert!(teams.leave(&ana).unwrap().done().unwrap());
    assert!(!opened.teams().leave(&ana).unwrap().done().unwrap());
    assert!(opened.teams().only_seat(&agent("ana")).unwrap().is_none());
}

/// No agent joins a team that is gone, and none comes to life by trying.
pub fn a_removed_team_is_gone(open: &OpenTeams) {
    let opened = open();
    let teams = opened.teams();
    let team = make(&teams, &["ana"]);
    teams.delete(&team).unwrap();
    assert_eq!(opened.teams().list().unwrap(), []);
    let refused = teams.join(&team, &new_member("ben")).unwrap().done().unwrap_err();
    assert!(matches!(refused, Refusal::Team(TeamRefusal::NoSuchTeam { .. })), "{refused:?}");
    assert!(opened.teams().only_seat(&agent("boss")).unwrap().is_none());
    assert_eq!(opened.teams().list().unwrap(), []);
    let store = opened.store();
    assert_eq!(store.add_member(&team.name, &team.members[1]).unwrap(), None);
    assert!(!store.remove_member(&team.name, "ana").unwrap());
    assert_eq!(store.team(&TeamName::new("alpha").unwrap()).unwrap(), None);
    store.remove_team(&team).unwrap();
}
