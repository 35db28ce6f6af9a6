//! The steps of a command at which a test kills or stops it. A step is named, by what the code calls it and by how often that was reached
//! before: a number among all steps would mean another step as soon as one more or one less comes before it.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs;
use std::path::Path;

use crate::scale::Scale;

/// The plan under which a command reaches the same steps however long they take: tidying has a task in each transaction and no limit, and
/// every commit is flushed and packed at once.
const UNTIMED: &str = "any=step:0;any=flush:-1";

/// A step that a command reached. Displayed, it is what a plan of fail points calls it: `file: done*2`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// What the code calls it.
    pub name: String,
    /// The how-manieth of that name it is, counted from one.
    pub occurrence: u64,
}

impl Step {
    /// Returns the steps that something reaches which is run under the plan it is given: this one, that it writes down its steps, and that
    /// they do not depend on time. The trace is kept in a directory meanwhile.
    pub fn traced(directory: &Path, plan: &str, run: impl FnOnce(&str)) -> Vec<Self> {
        let trace = directory.join("trace");
        let plan = if plan.is_empty() { UNTIMED.to_owned() } else { format!("{plan};{UNTIMED}") };
        run(&format!("{plan};any=trace:{}", trace.display()));
        let text = fs::read_to_string(&trace).unwrap_or_default();
        let _ = fs::remove_file(trace);
        Self::named(text.lines())
    }

    fn named<'a>(names: impl Iterator<Item = &'a str>) -> Vec<Self> {
        let mut reached = HashMap::new();
        let step = |name: &'a str| {
            let occurrence = reached.entry(name).and_modify(|count| *count += 1).or_insert(1);
            Self { name: name.to_owned(), occurrence: *occurrence }
        };
        names.map(step).collect()
    }

    /// Returns the plan of fail points that kills a command at this step.
    pub fn killing(&self) -> String {
        format!("{UNTIMED};{self}=kill")
    }

    /// Returns some of the steps: each name at least once, and of all steps a share; at full scale all of them.
    pub fn sampled(steps: &[Self], scale: Scale) -> Vec<&Self> {
        let stride = (steps.len() / scale.of(steps.len()).max(1)).max(1);
        let mut seen = HashSet::new();
        let is_wanted = |(place, step): &(usize, &Self)| seen.insert(step.name.clone()) || place % stride == stride - 1;
        steps.iter().enumerate().filter(is_wanted).map(|(_, step)| step).collect()
    }

    /// Returns the first step of each name; at full scale all of them.
    pub fn each_name(steps: &[Self], scale: Scale) -> Vec<&Self> {
        steps.iter().filter(|step| step.occurrence == 1 || scale.is_full()).collect()
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}*{}", self.name, self.occurrence)
    }
}

#[cfg(test)]
mod tests {
    use super::Step;

    #[test]
    fn a_step_is_known_by_its_name_and_how_often_it_was_reached() {
        let steps = Step::named(["file: before", "file: done", "file: before", "turn: taken"].into_iter());
        let told: Vec<String> = steps.iter().map(Step::to_string).collect();
        assert_eq!(told, ["file: before*1", "file: done*1", "file: before*2", "turn: taken*1"]);
    }
}
