//! What is wrong with a query, and where.

use std::ops::Range;

use super::marking::marked;

/// A query that says nothing: what is wrong, where, and what was meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Mistake {
    /// The whole query.
    pub text: String,
    /// Where the mistake stands in it, in bytes.
    pub span: Range<usize>,
    /// What is wrong.
    pub what: String,
    /// What was meant, to be written in the place of the mistake.
    pub(crate) meant: Option<String>,
    /// What to do, where nothing can be put in its place.
    pub advice: Option<String>,
}

impl Mistake {
    pub(crate) fn new(text: &str, span: Range<usize>, what: impl Into<String>) -> Self {
        Self { text: text.to_owned(), span, what: what.into(), meant: None, advice: None }
    }

    #[must_use]
    pub(crate) fn meaning(self, meant: Option<impl Into<String>>) -> Self {
        Self { meant: meant.map(Into::into), ..self }
    }

    #[must_use]
    pub(crate) fn advising(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    /// Returns the query on one line and marks under the mistake on the next, followed by what was meant.
    pub(crate) fn marked(&self) -> [String; 2] {
        let [line, mut marks] = marked(&self.text, &self.span);
        if let Some(meant) = &self.meant {
            marks.push_str(&format!(" did you mean `{meant}`?"));
        }
        [line, marks]
    }

    /// Returns the whole query as it was meant, where that is known.
    pub fn mended(&self) -> Option<String> {
        let meant = self.meant.as_deref()?;
        Some(format!("{}{meant}{}", &self.text[..self.span.start], &self.text[self.span.end..]))
    }
}
