//! Which team's list is meant where an agent works that is in teams.

use std::path::Path;

use crate::rules::lists::list_choice::short_session_list;
use crate::{Member, Team};

/// Tells whether being in a team says anything of the list one works on.
///
/// The newest client makes a team for every session by itself, without being asked: an agent that the client put there works on the list of
/// the project, as the people there do. An agent that joined such a team chose it.
pub fn chooses_a_list(team: &Team, member: &Member) -> bool {
    let is_made_by_itself =
        team.lead_session.as_deref().is_some_and(|session| team.name.as_str() == short_session_list(session));
    // The client writes down what it told those whom it started.
    !is_made_by_itself || !(member.is_lead() || member.prompt.is_some())
}

/// Returns which of the directories in which an agent joined a team is the one that counts in a directory: that one itself, or the nearest
/// above it. None where all are elsewhere, and where two teams were joined in the same one.
///
/// All paths have their links resolved. One that is relative names no place, and counts nowhere.
pub fn nearest_above(joined: &[Option<&Path>], here: &Path) -> Option<usize> {
    let depth = |path: &Path| path.components().count();
    let above = joined.iter().enumerate().filter_map(|(number, path)| {
        let path = (*path)?;
        (path.is_absolute() && here.starts_with(path)).then(|| (number, depth(path)))
    });
    let above: Vec<(usize, usize)> = above.collect();
    let nearest = above.iter().map(|(_, depth)| *depth).max()?;
    let mut nearest = above.iter().filter(|(_, depth)| *depth == nearest);
    match (nearest.next(), nearest.next()) {
        (Some((number, _)), None) => Some(*number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{chooses_a_list, nearest_above};
    use crate::{Member, Team, TeamName, Timestamp};

    fn nearest(joined: &[&str], here: &str) -> Option<usize> {
        let joined: Vec<Option<&Path>> = joined.iter().map(|path| Some(Path::new(*path))).collect();
        nearest_above(&joined, Path::new(here))
    }

    #[test]
    fn a_team_counts_where_it_was_joined_and_below() {
        for here in ["/w/shop", "/w/shop/src", "/w/shop/.claude/worktrees/one"] {
            assert_eq!(nearest(&["/w/shop"], here), Some(0), "{here}");
        }
        for here in ["/w", "/w/shopping", "/w/shop-2/src", "/", "/w/other"] {
            assert_eq!(nearest(&["/w/shop"], here), None, "{here}");
        }
    }

    #[test]
    fn of_several_teams_the_one_joined_nearest_counts_and_none_where_two_are() {
        assert_eq!(nearest(&["/w", "/w/shop"], "/w/shop/src"), Some(1));
        assert_eq!(nearest(&["/w", "/w/shop"], "/w/other"), Some(0));
        assert_eq!(nearest(&["/w/shop", "/w/shop"], "/w/shop"), None);
        assert_eq!(nearest(&["/w", "/w/shop", "/w/shop"], "/w/shop"), None);
    }

    #[test]
    fn what_names_no_place_counts_nowhere() {
        assert_eq!(nearest(&["shop", ".", ""], "/w/shop"), None);
        assert_eq!(nearest_above(&[None], Path::new("/w/shop")), None);
    }

    #[test]
    fn a_team_that_the_client_made_by_itself_chooses_for_those_alone_who_joined_it() {
        let member = |name: &str, prompt: Option<&str>| Member {
            name: name.into(),
            prompt: prompt.map(str::to_owned),
            ..Member::default()
        };
        let team = |name: &str| Team {
            name: TeamName::new(name).unwrap(),
            description: None,
            created_at: Timestamp(0),
            lead_session: Some("0123abcd-1111-2222".into()),
            lead_process: None,
            members: Vec::new(),
        };
        let (lead, theirs, ours) = (member("team-lead", None), member("bob", Some("do it")), member("zed", None));
        let chosen = |name: &str| [&lead, &theirs, &ours].map(|member| chooses_a_list(&team(name), member));
        assert_eq!(chosen("session-0123abcd"), [false, false, true]);
        assert_eq!(chosen("shop"), [true, true, true]);
    }
}
