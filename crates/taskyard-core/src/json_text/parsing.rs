//! Parsing JSON that JavaScript may have written.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

use super::without_lone_surrogates;

/// Parses JSON as `serde_json` does, and takes half a surrogate pair for U+FFFD. Where there is none it costs nothing.
pub fn from_slice<T: DeserializeOwned>(json: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(json).or_else(|error| match without_lone_surrogates(json) {
        Cow::Owned(whole) => serde_json::from_slice(&whole),
        Cow::Borrowed(_) => Err(error),
    })
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
}
