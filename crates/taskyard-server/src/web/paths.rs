//! Building URL paths.

use std::fmt::Write as _;

/// Appends a path segment with percent-encoding.
pub(crate) fn push_part(address: &mut String, part: &str) {
    for byte in part.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'~' | b'.' => address.push(char::from(byte)),
            other => drop(write!(address, "%{other:02X}")),
        }
    }
}

/// Fills in the variables of a template such as `/lists/{list}/tasks/{task.id}`. Returns `None` if the value of one
/// is unknown.
pub(crate) fn filled(template: &str, value_of: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut path = String::new();
    for part in template.split('/').skip(1) {
        path.push('/');
        match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
            Some(name) => push_part(&mut path, &value_of(name)?),
            None => path.push_str(part),
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::{filled, push_part};

    #[test]
    fn a_part_is_written_byte_by_byte_unless_it_stands_for_itself() {
        for (part, written) in [("a-B_1~.x", "a-B_1~.x"), ("", ""), ("東", "%E6%9D%B1"), ("%?#&", "%25%3F%23%26")] {
            let mut path = String::from("/");
            push_part(&mut path, part);
            assert_eq!(path, format!("/{written}"));
        }
    }

    #[test]
    fn what_is_filled_in_is_one_part_of_the_path() {
        let value_of = |name: &str| match name {
            "list" => Some("a/b c?".to_owned()),
            "task.id" => Some("7".to_owned()),
            _ => None,
        };
        assert_eq!(filled("/lists/{list}/tasks/{task.id}", value_of).unwrap(), "/lists/a%2Fb%20c%3F/tasks/7");
        assert_eq!(filled("/messages", value_of).unwrap(), "/messages");
        assert_eq!(filled("/jobs/{job.id}", value_of), None);
    }
}
