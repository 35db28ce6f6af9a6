//! Addresses of the web within a text, which pages show as links.

use std::ops::Range;

const SCHEMES: [&str; 2] = ["https://", "http://"];

/// Returns where the addresses of the web are in a text. What ends a sentence does not belong to the address before it.
pub fn web_addresses(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = SCHEMES.iter().filter_map(|scheme| Some(from + text[from..].find(scheme)?)).min() {
        let rest = &text[start..];
        let end =
            rest.find(|one: char| one.is_whitespace() || matches!(one, '<' | '>' | '"' | '`')).unwrap_or(rest.len());
        let address = without_end_of_sentence(&rest[..end]);
        let is_word = !text[..start].ends_with(char::is_alphanumeric);
        let has_host = address.split_once("://").is_some_and(|(_, host)| host.starts_with(char::is_alphanumeric));
        if is_word && has_host {
            found.push(start..start + address.len());
        }
        from = start + end;
    }
    found
}

/// Takes away what ends a sentence, and a bracket that was opened before the address.
fn without_end_of_sentence(address: &str) -> &str {
    let mut left = address;
    loop {
        let shorter = left.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_']);
        let is_left_open = |open: char, close: char| {
            shorter.ends_with(close) && shorter.matches(close).count() > shorter.matches(open).count()
        };
        match is_left_open('(', ')') || is_left_open('[', ']') {
            true => left = &shorter[..shorter.len() - 1],
            false => return shorter,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::web_addresses;

    #[test]
    fn addresses_are_found_without_the_sentence_around_them() {
        let found = |text: &'static str| -> Vec<&str> { web_addresses(text).into_iter().map(|at| &text[at]).collect() };
        assert_eq!(
            found("see https://a.example/b_c?d=1&e, and http://ü.example."),
            ["https://a.example/b_c?d=1&e", "http://ü.example"]
        );
        assert_eq!(
            found("(https://a.example/wiki/X_(Y)) [https://b.example]"),
            ["https://a.example/wiki/X_(Y)", "https://b.example"]
        );
        assert_eq!(found("https:// xhttp://a.example http://."), [""; 0]);
    }
}
