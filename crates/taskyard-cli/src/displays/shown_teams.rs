//! How teams are shown.

use taskyard::core::Team;
use taskyard::core::render::{Line, Look, Tone};
use taskyard::core::rules::leases::liveness::Standing;
use taskyard::teams::{MemberShown, MemberState, TeamShown};

/// Returns a team as lines: its name, and a line for every member.
pub(crate) fn lines(shown: &TeamShown, look: &Look) -> Vec<Line> {
    let mut head = Line::new().with(Tone::Strong, shown.team.name.as_str());
    if let Some(description) = shown.team.description.as_deref().filter(|description| !description.is_empty()) {
        head.push(Tone::Dim, &format!("{}{description}", look.dot()));
    }
    let name_width = |member: &MemberShown| Line::plain(&member.member.name).width();
    let widest = shown.members.iter().map(name_width).max().unwrap_or(0).min(32);
    let mut lines = vec![head];
    lines.extend(shown.members.iter().map(|member| member_line(member, widest, look)));
    lines
}

fn member_line(shown: &MemberShown, widest: usize, look: &Look) -> Line {
    let member = &shown.member;
    let (tone, mark) = match shown.state {
        MemberState::Running => (Tone::Active, look.either("●", "*")),
        MemberState::Idle => (Tone::Dim, look.either("○", "o")),
        MemberState::Stopping => (Tone::Warning, look.either("◌", "~")),
        MemberState::AwaitingApproval => (Tone::Warning, look.either("◐", "?")),
        MemberState::Ghost => (Tone::Error, look.either("✘", "x")),
    };
    let mut line = Line::plain("  ").with(tone, mark);
    line.push(Tone::Plain, " ");
    line.append(Line::new().with(Tone::member(member.colour()), &member.name).padded(widest));
    line.push(Tone::Plain, "  ");
    line.push(tone, shown.state.as_str());
    if let Some(words) = standing_in_words(shown, look) {
        line.push(Tone::Dim, &format!("{}{words}", look.dot()));
    }
    for (id, subject) in &shown.tasks {
        line.push(Tone::Dim, look.dot());
        line.push(Tone::Id, &format!("#{id}"));
        line.push(Tone::Plain, &format!(" {subject}"));
    }
    if let Some(unread @ 1..) = shown.unread {
        line.push(Tone::Dim, &format!("{}{unread} unread", look.dot()));
    }
    if shown.inbox_problem.is_some() {
        line.push(Tone::Dim, look.dot());
        line.push(Tone::Error, "its inbox cannot be read");
    }
    if let Some(uses) = shown.tool_uses {
        line.push(Tone::Dim, &format!("{}{uses} tool uses", look.dot()));
    }
    if let Some(tokens) = shown.tokens {
        line.push(Tone::Dim, &format!("{}{tokens} tokens", look.dot()));
    }
    if let (Some(activity), Some(seen)) = (&shown.activity, shown.seen) {
        line.push(Tone::Dim, &format!("{}{activity} {}", look.dot(), look.time(seen)));
    }
    line.push(Tone::Dim, &format!("{}joined {}", look.dot(), look.time(member.joined_at)));
    look.fitted(line)
}

/// Says what became of the process of a member that is not seen alive.
fn standing_in_words(shown: &MemberShown, look: &Look) -> Option<String> {
    let process = shown.process?;
    match shown.standing.as_ref()? {
        Standing::Lives => None,
        Standing::Lapses(end) => Some(format!("process {process} has ended, gone {}", look.until(end.wall))),
        Standing::LivesUnseen(_) => Some(format!("process {process} cannot be seen from here")),
        Standing::Ended => Some(format!("process {process} has ended")),
        Standing::Silent => Some(format!("process {process} cannot be seen from here and shows no life")),
    }
}

/// Returns a team in a list of teams, as a line.
pub(crate) fn line(team: &Team, look: &Look) -> Line {
    let mut line = Line::new().with(Tone::Strong, team.name.as_str());
    line.push(Tone::Dim, look.dot());
    for (number, member) in team.members.iter().enumerate() {
        line.push(Tone::Plain, if number == 0 { "" } else { ", " });
        line.push(Tone::member(member.colour()), &member.name);
    }
    look.fitted(line)
}
