//! A command line as a user types it, word by word.

/// Takes a command line apart as a shell does: spaces part words, quotes hold them together. None where a quote is not closed.
pub fn command_words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (Some('"') | None, '\\') => word.get_or_insert_default().push(letters.next()?),
            (Some(_), letter) => word.get_or_insert_default().push(letter),
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (None, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::command_words;

    #[test]
    fn quotes_hold_words_together() {
        let words = command_words(r#"create "Write the docs"  --tag 'a b' -d "" x\ y"#).unwrap();
        assert_eq!(words, ["create", "Write the docs", "--tag", "a b", "-d", "", "x y"]);
    }

    #[test]
    fn a_quote_that_is_not_closed_is_no_command() {
        assert_eq!(command_words("note 3 \"not yet"), None);
        assert_eq!(command_words("note 3 x\\"), None);
        assert_eq!(command_words("  "), Some(Vec::new()));
    }
}
