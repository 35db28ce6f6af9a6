//! Reading a JSON file: what it means, and where everything stands in it.

use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::tokens::TokenAndRange;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde_json::{Map, Value};

use super::super::Unfit;
use super::super::unfit::line_of;

/// The mark some editors put at the beginning of a file.
const MARK: char = '\u{feff}';

/// A JSON file that could be read.
pub(super) struct Document<'a> {
    /// The text without the mark at its beginning.
    pub(super) text: &'a str,
    /// How long that mark is.
    pub(super) mark: usize,
    /// The one value in it; none in an empty file.
    pub(super) root: Option<Node<'a>>,
    /// Everything that is not space, comments included, in order.
    pub(super) tokens: Vec<TokenAndRange<'a>>,
}

/// Returns what a JSON file means; null for an empty one. Of several members of one name the last counts, as for other programs.
pub fn read(text: &str) -> Result<Value, Unfit> {
    Ok(Document::parse(text)?.root.map_or(Value::Null, Value::from))
}

impl<'a> Document<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, Unfit> {
        let body = text.strip_prefix(MARK).unwrap_or(text);
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
        let parsed = parse_to_ast(body, &collect, &options).map_err(|error| Unfit::Unreadable {
            line: line_of(body, error.range().start),
            why: in_lower_case(&error.kind().to_string()),
        })?;
        let tokens = parsed.tokens.unwrap_or_default();
        Ok(Self { text: body, mark: text.len() - body.len(), root: parsed.value, tokens })
    }

    /// Returns what the file means; an object without members for an empty one.
    pub(super) fn meaning(&self) -> Value {
        self.root.clone().map_or_else(|| Value::Object(Map::new()), Value::from)
    }

    /// Returns the complaint that something has the wrong type.
    pub(super) fn wrong(&self, node: &Node<'_>, key: &[String], expected: &'static str) -> Unfit {
        Unfit::Shape { line: line_of(self.text, node.start()), key: key.join("."), expected }
    }

    /// Returns the complaint that something cannot be edited.
    pub(super) fn odd(&self, key: &[String]) -> Unfit {
        let line = self.root.as_ref().map_or(1, |root| line_of(self.text, root.start()));
        Unfit::Odd { line, key: key.join(".") }
    }
}

/// Returns the member of an object that counts: the last of its name.
pub(super) fn member<'n, 'a>(object: &'n Object<'a>, name: &str) -> Option<(usize, &'n Node<'a>)> {
    let place = object.properties.iter().rposition(|property| property.name.as_str() == name)?;
    Some((place, &object.properties[place].value))
}

fn in_lower_case(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::Unfit;
    use super::read;

    #[test]
    fn comments_trailing_commas_and_the_mark_of_editors_are_read() {
        let text = "\u{feff}// servers\n{\"a\": [1, 2.50,], /* b */ \"b\": {\"c\": null,}, \"a\": true}";
        assert_eq!(read(text).unwrap(), json!({"b": {"c": null}, "a": true}));
        assert_eq!(read("  // nothing\n").unwrap(), json!(null));
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_line() {
        for (text, line) in
            [("{\n  \"a\": 1\n  \"b\": 2\n}", 2), ("{\n\"a\": tru\n}", 2), ("{} {}", 1), ("{\n\n", 1), ("{'a': 1}", 1)]
        {
            let Err(Unfit::Unreadable { line: found, .. }) = read(text) else { panic!("{text:?} was read") };
            assert_eq!(found, line, "{text:?}");
        }
    }

    #[test]
    fn a_file_nested_without_end_is_refused() {
        assert!(read(&"[".repeat(100_000)).is_err());
    }
}
