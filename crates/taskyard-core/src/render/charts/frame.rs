//! What all charts have: their size, their colours, their words.

use std::fmt::Write as _;

use crate::render::xml_text::xml;

/// How wide charts are.
pub(super) const WIDTH: i64 = 720;
/// The colours on a light page.
pub(super) const DONE: &str = "#15803d";
pub(super) const IN_PROGRESS: &str = "#b45309";
pub(super) const PENDING: &str = "#475569";
pub(super) const LINE: &str = "#e2e8f0";

/// A chart that is being drawn.
pub(super) struct Chart {
    text: String,
}

impl Chart {
    /// Begins a chart of a kind, whose label says in words what it shows.
    pub(super) fn begin(kind: &str, height: i64, label: &str) -> Self {
        let label = xml(label);
        Self {
            text: format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart {kind}\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
                 height=\"{height}\" role=\"img\" aria-label=\"{label}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#475569\">\n"
            ),
        }
    }

    /// Returns a chart that says why there is nothing to show.
    pub(super) fn empty(kind: &str, why: &str) -> String {
        let mut chart = Self::begin(kind, 60, why);
        chart.words("label", (WIDTH / 2, 34), "middle", why);
        chart.end()
    }

    /// Writes words at a place.
    pub(super) fn words(&mut self, class: &str, (x, y): (i64, i64), anchor: &str, words: &str) {
        let words = xml(words);
        let _ =
            writeln!(self.text, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{words}</text>");
    }

    /// Draws a straight line.
    pub(super) fn line(&mut self, class: &str, from: (i64, i64), to: (i64, i64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        let _ = writeln!(
            self.text,
            "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"{LINE}\"/>"
        );
    }

    /// Draws a bar, which is seen however short it is, and says what it is where the mouse points at it.
    pub(super) fn bar(
        &mut self,
        class: &str,
        colour: &str,
        (x, y): (i64, i64),
        (width, height): (i64, i64),
        title: &str,
    ) {
        let (width, title) = (width.max(2), xml(title));
        let _ = writeln!(
            self.text,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"2\" fill=\"{colour}\"><title>{title}</title></rect>"
        );
    }

    /// Draws the area between two lines, of which the second is walked back.
    pub(super) fn area(&mut self, class: &str, colour: &str, upper: &[(i64, i64)], lower: &[(i64, i64)]) {
        let points = joined(upper.iter().chain(lower.iter().rev()));
        let _ = writeln!(
            self.text,
            "<polygon class=\"{class}\" points=\"{points}\" fill=\"{colour}\" fill-opacity=\"0.75\"/>"
        );
    }

    /// Draws a line through points.
    pub(super) fn curve(&mut self, class: &str, colour: &str, points: &[(i64, i64)]) {
        let points = joined(points.iter());
        let _ = writeln!(
            self.text,
            "<polyline class=\"{class}\" points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
        );
    }

    /// Ends the chart.
    pub(super) fn end(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

/// Returns a part of a length, as large as a value is of the greatest.
pub(super) fn share(length: i64, value: i128, greatest: i128) -> i64 {
    i64::try_from(i128::from(length) * value / greatest.max(1)).unwrap_or(length)
}

fn joined<'a>(points: impl Iterator<Item = &'a (i64, i64)>) -> String {
    points.map(|(x, y)| format!("{x},{y}")).collect::<Vec<_>>().join(" ")
}
