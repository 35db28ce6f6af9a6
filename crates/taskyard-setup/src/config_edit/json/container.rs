//! An object or array as it is written: where its items stand, and what is between them.

use std::ops::Range;

use jsonc_parser::ast::Value as Node;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::tokens::Token;

use super::document::Document;

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
    pub(super) fn after(&self, document: &Document<'_>, place: usize) -> After {
        let limit = self.items.iter().map(|item| item.start).find(|start| *start >= place).unwrap_or(self.close);
        let first = document.tokens.partition_point(|token| token.start() < place);
        let mut found = After { comma: None, line: place, last_comment: place };
        // A comma may stand on a line of its own; what belongs to the item goes on there.
        let mut line_from = place;
        for token in document.tokens[first..].iter().take_while(|token| token.start() < limit) {
            let end = token.end();
            if token.token == Token::Comma {
                found = After { comma: Some(token.start()), line: end, last_comment: end };
                line_from = end;
                continue;
            }
            found.last_comment = end;
            if !document.text[line_from..end].contains('\n') {
                found.line = end;
            }
        }
        found
    }
}
