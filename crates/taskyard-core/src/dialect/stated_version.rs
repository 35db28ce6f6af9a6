//! The version that a file states about itself, and whether this release knows it.

use serde_json::{Map, Value};

/// A file states a version above the newest one that this release knows. It is neither read nor written: it may hold what would
/// be lost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("its version is {stated}, and {newest} is the newest that this taskyard knows")]
pub struct NewerVersion {
    /// The version, as the file states it.
    pub stated: String,
    /// The newest version that is known.
    pub(crate) newest: u64,
}

/// Returns the `version` of a file's root: 1 if it states none, or none that is a number.
///
/// Other programs write it as a number or as text (`"2"`, `"3.1"`). Of a text its first two numbers count.
pub(super) fn stated_version(root: &Map<String, Value>, newest: u64) -> Result<u64, NewerVersion> {
    let (number, stated) = match root.get("version") {
        Some(Value::Number(number)) => (number.as_f64(), number.to_string()),
        Some(Value::String(text)) => (leading_number(text), text.escape_debug().to_string()),
        _ => (None, String::new()),
    };
    let number = number.unwrap_or(1.0);
    match number > newest as f64 {
        true => Err(NewerVersion { stated, newest }),
        // Below the newest version, so that no precision is lost.
        false => Ok(number.max(0.0) as u64),
    }
}

/// Returns 3.1 of `v3.1.0-beta`.
fn leading_number(text: &str) -> Option<f64> {
    let text = text.trim().trim_start_matches(['v', 'V']);
    let numbers = text.split(|character: char| !character.is_ascii_digit()).take(2).collect::<Vec<_>>();
    let is_followed_by_point = text.as_bytes().get(numbers[0].len()) == Some(&b'.');
    match numbers[..] {
        [major, minor] if is_followed_by_point => format!("{major}.{minor}0").parse().ok(),
        _ => numbers[0].parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{NewerVersion, stated_version};

    fn version(stated: Value) -> Result<u64, NewerVersion> {
        let root = json!({ "version": stated });
        stated_version(root.as_object().unwrap(), 2)
    }

    #[test]
    fn known_versions_are_read_in_every_spelling() {
        let known = [json!(2), json!(2.0), json!("2"), json!("v2"), json!("2.0.0"), json!(" 2 ")];
        assert_eq!(known.map(|stated| version(stated).unwrap()), [2; 6]);
        let first = [json!(1), json!(null), json!("1.9"), json!("draft"), json!({}), json!(true), json!("")];
        assert_eq!(first.map(|stated| version(stated).unwrap()), [1; 7]);
        assert_eq!([json!(0), json!(-7), json!("0.3")].map(|stated| version(stated).unwrap()), [0; 3]);
    }

    #[test]
    fn newer_versions_are_told_in_every_spelling() {
        for stated in [json!(3), json!(2.1), json!(u64::MAX), json!(1e300), json!("3"), json!("v3"), json!("2.1.0")] {
            let told = version(stated.clone()).unwrap_err();
            assert_eq!((told.stated, told.newest), (stated.as_str().map_or(stated.to_string(), str::to_owned), 2));
        }
    }
}
