//! A shape as JSON Schema.

use serde_json::{Map, Value, json};

use super::shape::{Object, Preset, Shape, Unknown};

/// Returns the JSON Schema of an object.
///
/// It allows other keys only where they are kept: where the check drops them, a model that follows the schema sends none.
pub(crate) fn json_schema(object: &Object) -> Value {
    let properties: Map<String, Value> = object
        .fields
        .iter()
        .map(|field| {
            let mut property = shape_schema(&field.shape);
            if !field.description.is_empty() {
                property["description"] = field.description.into();
            }
            if let Some(preset) = field.preset.filter(|preset| *preset != Preset::Blank) {
                property["default"] = preset.to_json();
            }
            (field.name.to_owned(), property)
        })
        .collect();
    let required: Vec<&str> = object.fields.iter().filter(|field| field.is_required).map(|field| field.name).collect();
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["additionalProperties"] = if object.unknown == Unknown::Kept { json!({}) } else { Value::Bool(false) };
    schema
}

fn shape_schema(shape: &Shape) -> Value {
    match shape {
        Shape::Text => json!({ "type": "string" }),
        Shape::FilledText(_) => json!({ "type": "string", "minLength": 1 }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Null => json!({ "type": "null" }),
        Shape::Integer => json!({ "type": "integer" }),
        Shape::Number { minimum, maximum } => json!({ "type": "number", "minimum": minimum, "maximum": maximum }),
        Shape::Choice(words) => json!({ "type": "string", "enum": words }),
        Shape::Word(word) => json!({ "type": "string", "const": word }),
        Shape::AnyOf(shapes) => json!({ "anyOf": shapes.iter().map(shape_schema).collect::<Vec<_>>() }),
        Shape::List(items) => json!({ "type": "array", "items": shape_schema(items) }),
        Shape::Record => json!({ "type": "object", "additionalProperties": {} }),
        Shape::Object(object) => json_schema(object),
    }
}
