//! A command line as bash has it: one text up to the cursor.

/// What is typed so far, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CommandLine {
    /// The words, the one at the cursor last; it may be empty.
    pub(super) words: Vec<String>,
    /// What readline takes for a word of its own before the end of the last one: it is not typed again.
    pub(super) typed_before: String,
}

/// Takes a command line apart as a shell does, as far as quotes and backslashes go. What stands before the last separator counts for nothing.
pub(super) fn take_apart(line: &str) -> CommandLine {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), character) if character == open => quote = None,
            (Some('"'), '\\') | (None, '\\') => word.extend(characters.next()),
            (Some(_), character) => word.push(character),
            (None, '\'' | '"') => quote = Some(character),
            (None, ';' | '|' | '&' | '(') => {
                words.clear();
                word.clear();
            }
            (None, character) if character.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            (None, character) => word.push(character),
        }
    }
    let end = word.rfind([':', '=']).map_or(0, |at| at + 1);
    let typed_before = word[..end].to_owned();
    words.push(word);
    CommandLine { words, typed_before }
}

/// Returns a word so that bash takes it as it is.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "-_./:=@%+,~^#".contains(character);
    let mut quoted = String::new();
    for character in word.chars() {
        if !is_plain(character) {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::{CommandLine, quoted, take_apart};

    #[test]
    fn a_line_is_taken_apart_as_a_shell_does() {
        let line = |text: &str| take_apart(text).words;
        assert_eq!(line("taskyard done "), ["taskyard", "done", ""]);
        assert_eq!(
            line("cd x && taskyard  create 'a b' \"c \\\" d\" e\\ f"),
            ["taskyard", "create", "a b", "c \" d", "e f"]
        );
        let CommandLine { words, typed_before } = take_apart("taskyard list --list=ro");
        assert_eq!((words[2].as_str(), typed_before.as_str()), ("--list=ro", "--list="));
        assert_eq!(take_apart("taskyard list status:pen").typed_before, "status:");
    }

    #[test]
    fn a_word_with_spaces_stays_one() {
        assert_eq!(quoted("a b$c"), "a\\ b\\$c");
        assert_eq!(quoted("--list=rocket"), "--list=rocket");
    }
}
