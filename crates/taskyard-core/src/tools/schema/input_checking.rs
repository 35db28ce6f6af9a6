//! Checks a value against a shape. Finds the same issues as zod 4, in the same order.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::dialect::native;
use crate::tools::schema::input_shape::{Field, Object, Shape, Unknown};
use crate::{ClientVersion, Rules};

/// The rules of the client that uses the older zod.
const OLD_CLIENT: Rules = Rules::Client(ClientVersion::V2_1_34);

/// Returns the fields of a valid input, or all its issues.
///
/// Client rules drop some unknown keys, as the client does. Strict rules drop none.
pub fn check(object: &Object, input: &Value, rules: Rules) -> Result<Map<String, Value>, Vec<Issue>> {
    let mut check = Check::new(rules);
    match check.object(object, Some(input)) {
        Value::Object(fields) if check.issues.is_empty() => Ok(fields),
        _ => Err(check.issues),
    }
}

/// The state of a check. A returned value is only meaningful if there are no issues.
struct Check {
    rules: Rules,
    path: Vec<Step>,
    issues: Vec<Issue>,
}

impl Check {
    fn new(rules: Rules) -> Self {
        Self { rules, path: Vec::new(), issues: Vec::new() }
    }

    fn shape(&mut self, shape: &Shape, value: Option<&Value>) -> Value {
        match (shape, value) {
            (Shape::Text, Some(value @ Value::String(_))) | (Shape::Flag, Some(value @ Value::Bool(_))) => {
                value.clone()
            }
            (Shape::Null, Some(Value::Null)) => Value::Null,
            (Shape::Integer, Some(Value::Number(number))) if number.is_i64() || number.is_u64() => {
                number.clone().into()
            }
            (Shape::FilledText(message), value) => self.filled_text(message, value),
            (Shape::Number { minimum, maximum }, Some(value @ Value::Number(_))) => {
                self.range(*minimum, *maximum, value);
                value.clone()
            }
            (Shape::Choice(words), value) => self.word(words, value),
            (Shape::Word(word), value) => self.word(&[*word], value),
            (Shape::AnyOf(shapes), value) => self.any_of(shapes, value),
            (Shape::List(shape), Some(Value::Array(items))) => {
                let checked = |(index, item)| self.within(Step::Index(index), |check| check.shape(shape, Some(item)));
                Value::Array(items.iter().enumerate().map(checked).collect())
            }
            (Shape::Record, Some(Value::Object(object))) if self.is_plain(object) => {
                // JavaScript would set the prototype with this key, so zod skips it.
                let kept = object.iter().filter(|(key, _)| !self.rules.is_client() || *key != "__proto__");
                Value::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect())
            }
            (Shape::Object(object), value) => self.object(object, value),
            (Shape::Text, value) => self.wrong_type("string", value),
            (Shape::Flag, value) => self.wrong_type("boolean", value),
            (Shape::Null, value) => self.wrong_type("null", value),
            (Shape::Integer, value) => self.wrong_type("int", value),
            (Shape::Number { .. }, value) => self.wrong_type("number", value),
            (Shape::List(_), value) => self.wrong_type("array", value),
            (Shape::Record, value) => self.wrong_type("record", value),
        }
    }

    /// Returns whether zod accepts an object as a record. The zod of 2.1.34 looks up the object's `constructor`, even
    /// if that is a key of the input, and expects it to have a `prototype` with `isPrototypeOf`.
    fn is_plain(&self, object: &Map<String, Value>) -> bool {
        let Some(constructor) = object.get("constructor").filter(|_| self.rules == OLD_CLIENT) else { return true };
        constructor
            .get("prototype")
            .and_then(Value::as_object)
            .is_some_and(|prototype| prototype.contains_key("isPrototypeOf"))
    }

    /// zod checks the length of any value that has one, not only of strings.
    fn filled_text(&mut self, message: &str, value: Option<&Value>) -> Value {
        let checked = self.shape(&Shape::Text, value);
        let empty = match value {
            Some(Value::String(text)) => text.is_empty().then_some("string"),
            Some(Value::Array(items)) => items.is_empty().then_some("array"),
            Some(Value::Object(object)) => {
                let length = object.get("length");
                length.filter(|length| length.as_f64().is_none_or(|length| length < 1.0)).map(|_| "unknown")
            }
            _ => None,
        };
        if let Some(origin) = empty {
            self.found(Wrong::TooSmall { origin, minimum: 1, message: message.to_owned() });
        }
        checked
    }

    /// Checks the fields in order, then looks for unknown keys.
    fn object(&mut self, object: &Object, value: Option<&Value>) -> Value {
        let Some(Value::Object(given)) = value else { return self.wrong_type("object", value) };
        let mut checked = Map::new();
        for field in object.fields {
            if let Some(value) = self.field(field, given.get(field.name)) {
                checked.insert(field.name.to_owned(), value);
            }
        }
        let is_unknown = |key: &&String| !object.fields.iter().any(|field| field.name == **key);
        match object.unknown {
            Unknown::Dropped if self.rules.is_client() => {}
            Unknown::Refused | Unknown::Dropped => {
                let keys: Vec<String> = native::keys(given).into_iter().filter(is_unknown).cloned().collect();
                if !keys.is_empty() {
                    let allowed = || object.fields.iter().map(|field| field.name).collect();
                    self.found(Wrong::UnknownKeys { keys, allowed: (!self.rules.is_client()).then(allowed) });
                }
            }
            Unknown::Kept => checked.extend(
                given.iter().filter(|(key, _)| is_unknown(key)).map(|(key, value)| (key.clone(), value.clone())),
            ),
        }
        Value::Object(checked)
    }

    fn field(&mut self, field: &Field, value: Option<&Value>) -> Option<Value> {
        if value.is_none() {
            match field.preset {
                Some(preset) => return Some(preset.to_json()),
                None if !field.is_required => return None,
                None => {}
            }
        }
        Some(self.within(Step::Key(field.name.to_owned()), |check| check.shape(&field.shape, value)))
    }

    /// zod reports a missing word or a value of another type like any invalid word.
    fn word(&mut self, words: &[&'static str], value: Option<&Value>) -> Value {
        match value {
            Some(Value::String(word)) if words.contains(&word.as_str()) => Value::String(word.clone()),
            _ => {
                self.found(Wrong::Value(words.to_vec()));
                Value::Null
            }
        }
    }

    fn any_of(&mut self, shapes: &[Shape], value: Option<&Value>) -> Value {
        let mut branches = Vec::with_capacity(shapes.len());
        for shape in shapes {
            let mut branch = Self::new(self.rules);
            let checked = branch.shape(shape, value);
            if branch.issues.is_empty() {
                return checked;
            }
            branches.push(branch.issues);
        }
        // A value that matches a shape except for unknown keys was meant to have that shape: strict rules report
        // those keys.
        let only_keys = |issues: &&Vec<Issue>| {
            let named = |issue: &Issue| matches!(issue.wrong, Wrong::UnknownKeys { allowed: Some(_), .. });
            issues.iter().all(named)
        };
        match branches.iter().find(only_keys) {
            Some(meant) => {
                let placed = |issue: &Issue| Issue { path: [&self.path[..], &issue.path].concat(), ..issue.clone() };
                let placed: Vec<Issue> = meant.iter().map(placed).collect();
                self.issues.extend(placed);
            }
            None => self.found(Wrong::Union(branches)),
        }
        Value::Null
    }

    fn range(&mut self, minimum: i64, maximum: i64, value: &Value) {
        let number = value.as_f64().unwrap_or(f64::NAN);
        if number < minimum as f64 {
            let message = format!("Too small: expected number to be >={minimum}");
            self.found(Wrong::TooSmall { origin: "number", minimum, message });
        }
        if number > maximum as f64 {
            let message = format!("Too big: expected number to be <={maximum}");
            self.found(Wrong::TooBig { origin: "number", maximum, message });
        }
    }

    fn wrong_type(&mut self, expected: &'static str, value: Option<&Value>) -> Value {
        self.found(Wrong::Type { expected, received: Received::of(value) });
        Value::Null
    }

    fn within<T>(&mut self, step: Step, check: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step);
        let checked = check(self);
        self.path.pop();
        checked
    }

    fn found(&mut self, wrong: Wrong) {
        self.issues.push(Issue { path: self.path.clone(), wrong });
    }
}

/// One issue and its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// The path to the value.
    pub(crate) path: Vec<Step>,
    /// What is wrong with it.
    pub wrong: Wrong,
}

/// One step of the path to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Into a field of an object.
    Key(String),
    /// Into an element of an array.
    Index(usize),
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It has another type.
    Type {
        /// The expected type.
        expected: &'static str,
        /// The actual type.
        received: Received,
    },
    /// It has unknown keys.
    UnknownKeys {
        /// The unknown keys.
        keys: Vec<String>,
        /// The allowed keys; `None` under client rules, whose messages do not list them.
        allowed: Option<Vec<&'static str>>,
    },
    /// It cannot be combined with another parameter, because one of the two would be ignored. The schema allows both.
    Clash {
        /// The other parameter.
        with: &'static str,
    },
    /// It is none of the allowed words.
    Value(Vec<&'static str>),
    /// It matches none of several shapes; contains the issues found for each.
    Union(Vec<Vec<Issue>>),
    /// The key that selects one of several shapes has an unknown value.
    Discriminator(&'static str),
    /// It is too small.
    TooSmall {
        /// The type of the value.
        origin: &'static str,
        /// The minimum.
        minimum: i64,
        /// The message to report.
        message: String,
    },
    /// It is too big.
    TooBig {
        /// The type of the value.
        origin: &'static str,
        /// The maximum.
        maximum: i64,
        /// The message to report.
        message: String,
    },
}

/// The type of a value, in JavaScript's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// Missing.
    Undefined,
    /// Null.
    Null,
    /// A boolean.
    Boolean,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl Received {
    /// Returns the type of a value; `None` is undefined.
    pub(crate) const fn of(value: Option<&Value>) -> Self {
        match value {
            None => Self::Undefined,
            Some(Value::Null) => Self::Null,
            Some(Value::Bool(_)) => Self::Boolean,
            Some(Value::Number(_)) => Self::Number,
            Some(Value::String(_)) => Self::String,
            Some(Value::Array(_)) => Self::Array,
            Some(Value::Object(_)) => Self::Object,
        }
    }
}

impl fmt::Display for Received {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Undefined => "undefined",
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        })
    }
}

impl Issue {
    /// Creates the issue of a parameter that cannot be combined with another one.
    pub(crate) fn clash(name: &str, with: &'static str) -> Self {
        Self { path: vec![Step::Key(name.to_owned())], wrong: Wrong::Clash { with } }
    }

    /// Returns the path as the client writes it, such as `todos[1].status`.
    pub(crate) fn place(&self) -> String {
        let mut place = String::new();
        for (number, step) in self.path.iter().enumerate() {
            match step {
                Step::Index(index) => place.push_str(&format!("[{index}]")),
                Step::Key(key) if number == 0 => place.push_str(key),
                Step::Key(key) => place.push_str(&format!(".{key}")),
            }
        }
        place
    }

    /// Returns zod's message.
    pub(crate) fn message(&self) -> String {
        self.wrong.message()
    }

    /// Returns the issue as zod serializes it, with the keys in zod's order.
    pub fn to_json(&self) -> Value {
        let mut object = self.wrong.to_json();
        let path = self.path.iter().map(|step| match step {
            Step::Key(key) => json!(key),
            Step::Index(index) => json!(index),
        });
        object.insert("path".to_owned(), path.collect());
        object.insert("message".to_owned(), self.message().into());
        Value::Object(object)
    }
}

impl Wrong {
    fn to_json(&self) -> Map<String, Value> {
        let object = match self {
            Self::Type { expected, .. } => json!({ "expected": expected, "code": "invalid_type" }),
            Self::UnknownKeys { keys, .. } => json!({ "code": "unrecognized_keys", "keys": keys }),
            Self::Clash { .. } => json!({ "code": "custom" }),
            Self::Value(words) => json!({ "code": "invalid_value", "values": words }),
            Self::Union(branches) => {
                let told = |issues: &Vec<Issue>| issues.iter().map(Issue::to_json).collect::<Value>();
                let errors: Value = branches.iter().map(told).collect();
                json!({ "code": "invalid_union", "errors": errors })
            }
            Self::Discriminator(key) => json!({
                "code": "invalid_union", "errors": [], "note": "No matching discriminator", "discriminator": key,
            }),
            Self::TooSmall { origin, minimum, .. } => {
                json!({ "origin": origin, "code": "too_small", "minimum": minimum, "inclusive": true })
            }
            Self::TooBig { origin, maximum, .. } => {
                json!({ "origin": origin, "code": "too_big", "maximum": maximum, "inclusive": true })
            }
        };
        match object {
            Value::Object(object) => object,
            _ => Map::new(),
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Type { expected, received } => format!("Invalid input: expected {expected}, received {received}"),
            Self::UnknownKeys { keys, .. } => {
                let plural = if keys.len() > 1 { "s" } else { "" };
                format!("Unrecognized key{plural}: {}", quoted(keys, ", "))
            }
            Self::Clash { with } => format!("cannot be given together with `{with}`"),
            Self::Value(words) if words.len() == 1 => format!("Invalid input: expected {}", quoted(words, "")),
            Self::Value(words) => format!("Invalid option: expected one of {}", quoted(words, "|")),
            Self::Union(_) | Self::Discriminator(_) => "Invalid input".to_owned(),
            Self::TooSmall { message, .. } | Self::TooBig { message, .. } => message.clone(),
        }
    }
}

/// Quotes words and joins them. zod does not escape their contents.
fn quoted(words: &[impl AsRef<str>], between: &str) -> String {
    words.iter().map(|word| format!("\"{}\"", word.as_ref())).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{OLD_CLIENT, check};
    use crate::tools::schema::{Field, Object, Preset, Shape, Unknown};
    use crate::{ClientVersion, Rules};

    const CLIENT: Rules = Rules::Client(ClientVersion::V2_1_325);

    const ITEM: Object = Object {
        fields: &[
            Field::required("name", Shape::FilledText("Name cannot be empty")),
            Field::required("kind", Shape::Choice(&["a", "b"])),
            Field::optional("rows", Shape::List(&Shape::List(&Shape::Text))),
        ],
        unknown: Unknown::Dropped,
    };
    const INPUT: Object = Object {
        fields: &[
            Field::optional("items", Shape::List(&Shape::Object(ITEM))),
            Field::optional("time", Shape::Number { minimum: 0, maximum: 10 }),
            Field::optional("state", Shape::AnyOf(&[Shape::Choice(&["on", "off"]), Shape::Word("gone")])),
            Field::optional("more", Shape::Record),
            Field::optional("now", Shape::Flag),
            Field::preset("often", Shape::Number { minimum: 1, maximum: 9 }, Preset::Number(3)),
        ],
        unknown: Unknown::Refused,
    };

    /// Returns each issue as `code path message`.
    fn issues(input: Value) -> Vec<String> {
        let told = |issue: &super::Issue| {
            let json = issue.to_json();
            format!("{} {} {}", json["code"].as_str().unwrap(), issue.place(), json["message"].as_str().unwrap())
        };
        check(&INPUT, &input, CLIENT).unwrap_err().iter().map(told).collect()
    }

    #[test]
    fn valid_fields_come_back_in_field_order() {
        let input = json!({ "more": {"a": [null]}, "time": 10, "state": "gone", "items": [
            {"extra": 1, "rows": [["x"], []], "kind": "b", "name": "n"}] });
        let checked = check(&INPUT, &input, CLIENT).unwrap();
        let text = r#"{"items":[{"name":"n","kind":"b","rows":[["x"],[]]}],"time":10,"state":"gone","more":{"a":[null]},"often":3}"#;
        assert_eq!(serde_json::to_string(&checked).unwrap(), text);
    }

    #[test]
    fn issues_come_in_field_order_with_unknown_keys_last() {
        let input = json!({ "zz": 1, "2": 1, "1": 1, "now": "yes", "more": [], "time": -1, "items": [
            {"name": "", "kind": "c", "rows": [["x", 1], 5]}, {"name": null}, "x"] });
        assert_eq!(
            issues(input),
            [
                "too_small items[0].name Name cannot be empty",
                "invalid_value items[0].kind Invalid option: expected one of \"a\"|\"b\"",
                "invalid_type items[0].rows[0][1] Invalid input: expected string, received number",
                "invalid_type items[0].rows[1] Invalid input: expected array, received number",
                "invalid_type items[1].name Invalid input: expected string, received null",
                "invalid_value items[1].kind Invalid option: expected one of \"a\"|\"b\"",
                "invalid_type items[2] Invalid input: expected object, received string",
                "too_small time Too small: expected number to be >=0",
                "invalid_type more Invalid input: expected record, received array",
                "invalid_type now Invalid input: expected boolean, received string",
                "unrecognized_keys  Unrecognized keys: \"1\", \"2\", \"zz\"",
            ]
        );
    }

    #[test]
    fn an_older_zod_asks_a_record_for_its_constructor() {
        let old = |constructor: Value| check(&INPUT, &json!({ "more": {"constructor": constructor} }), OLD_CLIENT);
        for constructor in [json!(1), json!(null), json!("x"), json!({"x": 1}), json!({"prototype": {}})] {
            let issue = old(constructor).unwrap_err().remove(0);
            assert_eq!(issue.message(), "Invalid input: expected record, received object");
        }
        assert!(old(json!({"prototype": {"isPrototypeOf": 1}})).is_ok());
        for rules in [CLIENT, Rules::Strict] {
            assert!(check(&INPUT, &json!({ "more": {"constructor": 1} }), rules).is_ok());
        }
        assert!(check(&INPUT, &json!({ "more": {"a": {"constructor": 1}, "prototype": 2} }), OLD_CLIENT).is_ok());
    }

    #[test]
    fn keys_that_are_kept_come_after_the_fields_as_they_are() {
        const OPEN: Object = Object { unknown: Unknown::Kept, ..ITEM };
        let checked = check(&OPEN, &json!({ "zz": [null], "kind": "a", "name": "n" }), CLIENT).unwrap();
        assert_eq!(serde_json::to_string(&checked).unwrap(), r#"{"name":"n","kind":"a","zz":[null]}"#);
        assert!(check(&OPEN, &json!({ "zz": 1, "kind": "c", "name": "n" }), CLIENT).is_err());
    }

    #[test]
    fn strict_rules_leave_out_no_key_of_an_item() {
        let input = json!({ "items": [{"name": "n", "kind": "a", "extra": 1}] });
        assert!(check(&INPUT, &input, CLIENT).is_ok());
        let issues = check(&INPUT, &input, Rules::Strict).unwrap_err();
        assert_eq!(issues.len(), 1);
        assert_eq!(issues[0].place(), "items[0]");
        let more = json!({ "more": {"__proto__": 1} });
        assert_eq!(check(&INPUT, &more, Rules::Strict).unwrap()["more"], json!({ "__proto__": 1 }));
        assert_eq!(check(&INPUT, &more, CLIENT).unwrap()["more"], json!({}));
    }

    #[test]
    fn strict_rules_name_the_unknown_keys_of_the_shape_meant() {
        const ONE: Shape =
            Shape::Object(Object { fields: &[Field::required("type", Shape::Word("one"))], unknown: Unknown::Dropped });
        const EITHER: Object = Object {
            fields: &[Field::required("value", Shape::AnyOf(&[Shape::Text, ONE]))],
            unknown: Unknown::Refused,
        };
        let input = json!({ "value": {"type": "one", "extra": 1} });
        assert!(check(&EITHER, &input, CLIENT).is_ok());
        let issues = check(&EITHER, &input, Rules::Strict).unwrap_err();
        assert_eq!((issues.len(), issues[0].place().as_str()), (1, "value"));
    }

    #[test]
    fn a_union_tells_what_each_of_its_shapes_found() {
        assert_eq!(issues(json!({ "state": 5 })), ["invalid_union state Invalid input"]);
        let found = check(&INPUT, &json!({ "state": "x" }), CLIENT).unwrap_err()[0].to_json();
        assert_eq!(found["errors"][1][0]["message"], "Invalid input: expected \"gone\"");
        assert_eq!(found["errors"][0][0]["path"], json!([]));
    }

    #[test]
    fn what_is_no_object_is_one_issue_without_a_place() {
        assert_eq!(issues(json!([1])), ["invalid_type  Invalid input: expected object, received array"]);
        assert_eq!(issues(Value::Null), ["invalid_type  Invalid input: expected object, received null"]);
    }
}
