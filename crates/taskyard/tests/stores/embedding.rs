//! What a program that embeds the library finds of it in its own code.

use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Number(f64),
    Text(String),
}

#[derive(Debug, PartialEq, Deserialize)]
struct Inner {
    ratio: f64,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Outer {
    #[serde(flatten)]
    inner: Inner,
}

#[test]
fn numbers_of_the_host_program_are_what_they_are_without_us() {
    assert_eq!(serde_json::from_str::<Untagged>("1.5").unwrap(), Untagged::Number(1.5));
    assert_eq!(serde_json::from_str::<Outer>(r#"{"ratio":0.25}"#).unwrap(), Outer { inner: Inner { ratio: 0.25 } });
    assert_eq!(serde_json::from_str::<Value>("1.50").unwrap(), json!(1.5));
}
