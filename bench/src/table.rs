//! The table, and what is said while it is being made.

use std::io::{self, Write};

use crate::samples::Samples;

/// One measurement.
#[derive(Debug)]
pub(crate) struct Row {
    /// What was done.
    pub(crate) measure: String,
    /// Where.
    pub(crate) place: &'static str,
    /// Taskyard.
    pub(crate) ours: Cell,
    /// The bare system calls, where there is such a limit.
    pub(crate) limit: Option<Cell>,
    /// The client's way, where there is such.
    pub(crate) node: Option<Cell>,
    /// What it comes to.
    pub(crate) target: Target,
}

/// A figure as the table shows it.
pub(crate) type Cell = String;

/// What a measurement comes to, and what it has to reach.
#[derive(Debug)]
pub(crate) enum Target {
    /// Ours over the limit.
    AtMostTimesTheLimit {
        /// What was measured.
        ratio: f64,
        /// What is wanted.
        target: f64,
    },
    /// Ours less the limit.
    AtMostMore {
        /// What was measured.
        milliseconds: f64,
        /// What is wanted.
        target: f64,
    },
    /// Ours.
    AtMost {
        /// What was measured.
        milliseconds: f64,
        /// What is wanted.
        target: f64,
    },
    /// Ours over Node's.
    AtLeastTimesNode {
        /// What was measured.
        ratio: f64,
        /// What is wanted.
        target: f64,
    },
    /// Nothing is promised.
    Information(String),
}

impl Target {
    /// Tells whether the target was missed.
    pub(crate) fn is_missed(&self) -> bool {
        match *self {
            Self::AtMostTimesTheLimit { ratio, target } => ratio > target,
            Self::AtMostMore { milliseconds, target } | Self::AtMost { milliseconds, target } => milliseconds > target,
            Self::AtLeastTimesNode { ratio, target } => ratio < target,
            Self::Information(_) => false,
        }
    }

    /// Returns the ratio, the target and the verdict.
    fn cells(&self) -> [Cell; 3] {
        let verdict = if self.is_missed() { "FAIL" } else { "PASS" }.to_owned();
        match self {
            Self::AtMostTimesTheLimit { ratio, target } => {
                [format!("{ratio:.2} x limit"), format!("<= {target}"), verdict]
            }
            Self::AtMostMore { milliseconds, target } => {
                [format!("{milliseconds:+.2} ms"), format!("<= {target} ms"), verdict]
            }
            Self::AtMost { milliseconds, target } => {
                [format!("{milliseconds:.2} ms"), format!("<= {target} ms"), verdict]
            }
            Self::AtLeastTimesNode { ratio, target } => [format!("{ratio:.1} x Node"), format!(">= {target}"), verdict],
            Self::Information(what) => [what.clone(), String::new(), String::new()],
        }
    }
}

/// Shows times in milliseconds: median and 95th percentile.
pub(crate) fn milliseconds(samples: &Samples) -> Cell {
    format!("{:.2} ms ({:.2})", samples.median() / 1e3, samples.p95() / 1e3)
}

/// Shows times in microseconds: median and 95th percentile.
pub(crate) fn microseconds(samples: &Samples) -> Cell {
    format!("{:.0} us ({:.0})", samples.median(), samples.p95())
}

/// Shows the mean of times in microseconds.
pub(crate) fn mean_microseconds(samples: &Samples) -> Cell {
    format!("{:.0} us", samples.mean())
}

/// Shows the median of rates.
pub(crate) fn per_second(samples: &Samples) -> Cell {
    format!("{:.0} /s", samples.median())
}

/// Writes the table.
pub(crate) fn write(rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    let heading = ["measure", "place", "ours (p95)", "limit (p95)", "Node (p95)", "ratio", "target", ""];
    let mut lines = vec![heading.map(str::to_owned)];
    for row in rows {
        let [ratio, target, verdict] = row.target.cells();
        let absent = || "-".to_owned();
        let limit = row.limit.clone().unwrap_or_else(absent);
        let node = row.node.clone().unwrap_or_else(absent);
        lines.push([row.measure.clone(), row.place.to_owned(), row.ours.clone(), limit, node, ratio, target, verdict]);
    }
    let widths: [usize; 8] =
        std::array::from_fn(|column| lines.iter().map(|line| line[column].len()).max().unwrap_or(0));
    for line in &lines {
        let cells: Vec<String> = line.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        writeln!(out, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}

/// Says on standard error what goes on.
pub(crate) fn tell(what: &str) {
    // A caller that closed standard error does not want to know.
    let _ = writeln!(io::stderr(), "{what}");
}

#[cfg(test)]
mod tests {
    use super::{Row, Target, write};

    #[test]
    fn a_missed_target_is_told_beside_its_figures() {
        let row = |ratio| Row {
            measure: "list".to_owned(),
            place: "disk",
            ours: "3 ms".to_owned(),
            limit: Some("2 ms".to_owned()),
            node: None,
            target: Target::AtMostTimesTheLimit { ratio, target: 1.5 },
        };
        let mut text = Vec::new();
        write(&[row(1.4), row(1.6)], &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].ends_with("1.40 x limit  <= 1.5  PASS"), "{text}");
        assert!(lines[2].ends_with("1.60 x limit  <= 1.5  FAIL"), "{text}");
    }

    #[test]
    fn a_rate_below_its_target_is_missed_and_information_never_is() {
        assert!(Target::AtLeastTimesNode { ratio: 9.9, target: 10.0 }.is_missed());
        assert!(Target::AtMostMore { milliseconds: 2.1, target: 2.0 }.is_missed());
        assert!(Target::AtMost { milliseconds: 20.1, target: 20.0 }.is_missed());
        assert!(!Target::Information("anything".to_owned()).is_missed());
    }
}
