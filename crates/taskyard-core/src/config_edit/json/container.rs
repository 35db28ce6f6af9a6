//! An object or array as it is written: where its items stand, and what is between them.

use jsonc_parser::ast::Value as Node;
use jsonc_parser::common::Ranged as _;
use std::ops::Range;

/// An object or array as it is written.
pub(super) struct Container {
    /// Where it opens.
    pub(super) open: usize,
    /// Where its closing brace or bracket stands.
    pub(super) close: usize,
    /// Where each item begins and ends, without commas.
    pub(super) items: Vec<Range<usize>>,
}

/// What follows an item up to the next one or the end.
pub(super) struct After {
    /// Where the comma stands.
    pub(super) comma: Option<usize>,
    /// Where what belongs to the item on its line ends: after the comma and the comments on the same line.
    pub(super) line: usize,
    /// Where the last comment ends; where the item or its comma ends, when there is none.
    pub(super) last_comment: usize,
}

impl Container {
    /// Returns the container that a part of a file is; none for anything else.
    pub(super) fn of(node: &Node<'_>) -> Option<Self> {
        let items = match node {
            Node::Object(object) => object.properties.iter().map(|property| property.start()..property.end()).collect(),
            Node::Array(array) => array.elements.iter().map(|element| element.start()..element.end()).collect(),
            _ => return None,
        };
        Some(Self { open: node.start(), close: node.end() - 1, items })
    }

    /// Looks at what follows a place, up to the next item or the end of the container.
    pub(super) fn after(&self, text: &str, place: usize) -> After {
        let limit = self.items.iter().map(|item| item.start).find(|start| *start >= place).unwrap_or(self.close);
        let mut found = After { comma: None, line: place, last_comment: place };
        let mut same_line = true;
        let mut at = place;
        while at < limit {
            let rest = &text[at..limit];
            let (length, is_comment) = match rest.as_bytes() {
                [b'/', b'/', ..] => {
                    (rest.find('\n').map_or(rest.len(), |end| rest[..end].trim_end_matches('\r').len()), true)
                }
                [b'/', b'*', ..] => (rest[2..].find("*/").map_or(rest.len(), |end| end + 4), true),
                _ => (rest.chars().next().map_or(1, char::len_utf8), false),
            };
            let part = &rest[..length];
            at += length;
            if part == "," {
                // A comma may stand on a line of its own; what belongs to the item goes on there.
                found = After { comma: Some(at - 1), line: at, last_comment: at };
                same_line = true;
                continue;
            }
            same_line &= !part.contains('\n');
            if is_comment {
                found.last_comment = at;
                found.line = if same_line { at } else { found.line };
            }
        }
        found
    }
}
