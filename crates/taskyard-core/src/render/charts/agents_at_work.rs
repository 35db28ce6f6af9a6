//! Which agents were at work when.

use jiff::tz::TimeZone;

use super::frame::{Chart, IN_PROGRESS, WIDTH};
use super::time_axis::TimeAxis;
use crate::Timestamp;
use crate::render::cut_text;
use crate::rules::looking::past::AgentAtWork;
use crate::timing::span_in_words;

const KIND: &str = "agents-at-work";
const LEFT: i64 = 140;
/// The room on the right for how long it was.
const RIGHT: i64 = 130;
const TOP: i64 = 8;
const ROW: i64 = 24;
/// So many agents are drawn; of the others it is said how many they are.
const MOST: usize = 30;

/// Draws which agents were at work when, from one moment to another.
pub fn agents_at_work_svg(agents: &[AgentAtWork], from: Timestamp, until: Timestamp, zone: &TimeZone) -> String {
    if agents.is_empty() {
        return Chart::empty(KIND, "Nobody was at work in this time");
    }
    let (shown, others) = (&agents[..agents.len().min(MOST)], agents.len().saturating_sub(MOST));
    let rows = i64::try_from(shown.len() + usize::from(others > 0)).unwrap_or(0);
    let bottom = TOP + rows * ROW;
    let mut chart = Chart::begin(KIND, bottom + 28, &in_words(agents));
    let axis = TimeAxis { from, until, left: LEFT, width: WIDTH - LEFT - RIGHT, zone };
    axis.draw(&mut chart, TOP, bottom);
    for (number, agent) in (0..).zip(shown) {
        let y = TOP + number * ROW;
        chart.words("label", (LEFT - 8, y + 16), "end", &cut_text(&agent.agent, 20, "…"));
        for (begun, ended) in &agent.stretches {
            let (left, right) = (axis.x(*begun), axis.x(*ended));
            let title = format!("{}: {} to {}", agent.agent, axis.words(*begun, 0), axis.words(*ended, 0));
            chart.bar("in_progress", IN_PROGRESS, (left, y + 5), (right - left, 14), &title);
        }
        let tasks = if agent.tasks == 1 { "task" } else { "tasks" };
        let told = format!("{}, {} {tasks}", span_in_words(agent.at_work), agent.tasks);
        chart.words("figure", (WIDTH - RIGHT + 8, y + 16), "start", &told);
    }
    if others > 0 {
        chart.words("label", (LEFT - 8, bottom - ROW + 16), "end", &format!("and {others} more"));
    }
    chart.end()
}

fn in_words(agents: &[AgentAtWork]) -> String {
    let told: Vec<String> = agents
        .iter()
        .take(MOST)
        .map(|agent| format!("{} worked {}", agent.agent, span_in_words(agent.at_work)))
        .collect();
    told.join(", ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::tz::{Offset, TimeZone};

    use super::{MOST, agents_at_work_svg};
    use crate::Timestamp;
    use crate::rules::looking::past::AgentAtWork;

    /// Midnight in UTC.
    const START: i64 = 1_794_700_800_000;

    fn agent(name: &str, hours: &[(i64, i64)]) -> AgentAtWork {
        let at = |hour: i64| Timestamp(START + hour * 3_600_000);
        let worked: i64 = hours.iter().map(|(from, until)| until - from).sum();
        AgentAtWork {
            agent: name.to_owned(),
            stretches: hours.iter().map(|(from, until)| (at(*from), at(*until))).collect(),
            tasks: hours.len(),
            at_work: Duration::from_secs(u64::try_from(worked).unwrap() * 3600),
        }
    }

    #[test]
    fn every_stretch_is_a_bar_in_the_row_of_its_agent() {
        let agents = [agent("ana", &[(1, 4), (9, 12)]), agent("<b>bo</b>", &[(10, 24)])];
        let zone = TimeZone::fixed(Offset::constant(2));
        let day = (Timestamp(START), Timestamp(START + 86_400_000));
        insta::assert_snapshot!(agents_at_work_svg(&agents, day.0, day.1, &zone));
    }

    #[test]
    fn of_many_agents_the_first_are_drawn_and_the_others_counted() {
        let agents: Vec<AgentAtWork> = (0..MOST + 3).map(|number| agent(&format!("a{number}"), &[(1, 2)])).collect();
        let picture = agents_at_work_svg(&agents, Timestamp(START), Timestamp(START + 86_400_000), &TimeZone::UTC);
        assert_eq!(picture.matches("<rect").count(), MOST);
        assert!(picture.contains("and 3 more"));
        assert!(agents_at_work_svg(&[], Timestamp(0), Timestamp(1), &TimeZone::UTC).contains("Nobody was at work"));
    }
}
