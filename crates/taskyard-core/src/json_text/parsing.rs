//! Parsing JSON that JavaScript may have written.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

use super::numbers::endless_numbers;
use super::without_lone_surrogates;

/// Parses JSON as `serde_json` does, and takes half a surrogate pair for U+FFFD and a number that is larger than any float for null. Where
/// there is neither it costs nothing.
pub fn from_slice<T: DeserializeOwned>(json: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(json).or_else(|error| match parseable(json) {
        Cow::Owned(whole) => serde_json::from_slice(&whole),
        Cow::Borrowed(_) => Err(error),
    })
}

/// Replaces what JavaScript may write and the parser refuses by something as long: half a surrogate pair by U+FFFD, a number that is larger than
/// any float by null. Borrows what has neither.
pub fn parseable(json: &[u8]) -> Cow<'_, [u8]> {
    let mut replaced = without_lone_surrogates(json);
    for range in endless_numbers(json) {
        let null = b"null".iter().copied().chain(std::iter::repeat(b' '));
        replaced.to_mut()[range].iter_mut().zip(null).for_each(|(byte, with)| *byte = with);
    }
    replaced
}

/// Parses JSON as [`from_slice`] does.
pub fn from_str<T: DeserializeOwned>(json: &str) -> Result<T, serde_json::Error> {
    from_slice(json.as_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::from_str;

    #[test]
    fn half_a_pair_is_read_as_the_replacement_character() {
        let value: Value = from_str(r#"{"a\udc00":"\ud83d","b":"\ud83d\ude00"}"#).unwrap();
        assert_eq!((&value["a\u{fffd}"], &value["b"]), (&Value::from("\u{fffd}"), &Value::from("😀")));
        assert!(from_str::<Value>(r#"{"a":"\ud83d"#).is_err());
    }

    #[test]
    fn a_number_without_end_is_nothing_as_to_javascript() {
        let value: Value = from_str(r#"{"a":[1e400,-1e999,2],"b":"1e400 \udc00"}"#).unwrap();
        assert_eq!(value, serde_json::json!({ "a": [null, null, 2], "b": "1e400 \u{fffd}" }));
    }
}
