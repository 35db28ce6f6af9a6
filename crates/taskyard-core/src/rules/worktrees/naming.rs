//! Names of branches and worktree directories.

use crate::TaskId;

/// Prefix of the branches of tasks.
pub const PREFIX: &str = "taskyard/";
/// Maximum length of the id and of the words of the subject in a name.
const LONGEST: usize = 40;

/// Returns the name of a task's worktree: its id, words of its subject, and from the second attempt on the attempt's
/// number.
pub fn worktree_name(task: &TaskId, subject: &str, attempt: u64) -> String {
    let (id, words) = (words(task.as_str(), LONGEST), words(subject, LONGEST));
    let mut name = if words.is_empty() { id } else { format!("{id}-{words}") };
    if attempt > 1 {
        name.push_str(&format!("-{attempt}"));
    }
    name
}

/// Returns the branch of a worktree.
pub fn branch_name(worktree: &str) -> String {
    format!("{PREFIX}{worktree}")
}

/// Returns the text as lower-case letters, digits and single hyphens, which is safe in a branch name, a path and a
/// shell. Keeps as many whole words as fit.
fn words(text: &str, longest: usize) -> String {
    let mut words = String::new();
    let parts = text.split(|character: char| !character.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    for part in parts {
        let gap = usize::from(!words.is_empty());
        if words.len() + gap + part.len() > longest {
            if words.is_empty() {
                words.push_str(&part[..longest]);
            }
            break;
        }
        if gap > 0 {
            words.push('-');
        }
        words.push_str(part);
    }
    words.make_ascii_lowercase();
    words
}

#[cfg(test)]
mod tests {
    use super::{branch_name, worktree_name};
    use crate::TaskId;

    fn name(subject: &str) -> String {
        worktree_name(&TaskId::number(7), subject, 1)
    }

    #[test]
    fn names_are_words_that_every_shell_and_git_take() {
        assert_eq!(name("Write the parser!"), "7-write-the-parser");
        assert_eq!(name("  ../.. ;rm -rf $HOME `x`\n"), "7-rm-rf-home-x");
        assert_eq!(name("日本語"), "7");
        assert_eq!(name("Über-Straße.lock"), "7-ber-stra-e-lock");
        assert_eq!(worktree_name(&TaskId::stored("a/b.c"), "x", 3), "a-b-c-x-3");
        assert_eq!(branch_name("7-x"), "taskyard/7-x");
    }

    #[test]
    fn long_subjects_are_cut_between_words() {
        assert_eq!(name(&"word ".repeat(20)), "7-word-word-word-word-word-word-word-word");
        assert_eq!(name(&"x".repeat(100)), format!("7-{}", "x".repeat(40)));
    }
}
