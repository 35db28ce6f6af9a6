//! How a mistake in a query or a template is told: with marks under it.

use serde_json::json;
use taskyard::operations::Mistake;

use crate::problem::Problem;

impl From<Mistake> for Problem {
    fn from(mistake: Mistake) -> Self {
        let mended = mistake.mended();
        let problem = Self::usage("bad_query", mistake.what.clone())
            .said(mistake.marked().join("\n"))
            .detail("query", mistake.text.as_str())
            .detail("at", json!({"start": mistake.span.start, "end": mistake.span.end}));
        let problem = match &mended {
            Some(mended) => problem.detail("meant", mended.as_str()).hint(format!("did you mean `{mended}`?")),
            None => problem,
        };
        match mistake.advice {
            Some(advice) => problem.hint(advice),
            None => problem,
        }
    }
}
