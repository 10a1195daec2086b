//! The JSON schema of scenario files, for editors: names, types, help and defaults of keys.
//!
//! It requires nothing, because a template or another file may supply any key. Times and rates may hold
//! `{i}`.

use serde_json::{Map, Value, json};

use super::{Default, Key, Kind, SCENARIO, Table, tables};

/// Returns the schema (JSON Schema, draft 2020-12).
#[must_use]
pub fn schema() -> Value {
    let mut schema = object(&SCENARIO);
    let own = schema.as_object_mut().expect("an object");
    own.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    own.insert("title".to_owned(), json!("msctp-lab scenario"));
    let properties = own.get_mut("properties").and_then(Value::as_object_mut).expect("its keys");
    let path = json!({ "type": "string" });
    let extends = json!({
        "description": "Scenario files whose keys apply where this one has none.",
        "anyOf": [path, { "type": "array", "items": path }],
    });
    properties.insert("extends".to_owned(), extends);
    let template = json!({
        "description": "Keys that several items share, by the template's name.",
        "type": "object",
        "additionalProperties": { "type": "object" },
    });
    properties.insert("template".to_owned(), template);
    schema
}

/// Returns the schema of a table, with the keys of all tables of the same path.
fn object(table: &Table) -> Value {
    let base = |path: &'static str| path.split('[').next().unwrap_or(path);
    let mut properties = Map::new();
    let mut add = |key: &Key| {
        let value = described(key);
        match properties.get_mut(key.name) {
            None => drop(properties.insert(key.name.to_owned(), value)),
            Some(known) if *known == value => {}
            // A key that several types have, each with a meaning of its own.
            Some(known) => match known.get_mut("anyOf").and_then(Value::as_array_mut) {
                Some(several) => several.push(value),
                None => *known = json!({ "anyOf": [known.clone(), value] }),
            },
        }
    };
    table.keys.iter().for_each(&mut add);
    let same = tables().into_iter().filter(|other| !table.path.is_empty() && base(other.path) == table.path);
    same.filter(|other| other.path != table.path).flat_map(|other| other.keys).for_each(add);
    json!({
        "type": "object",
        "description": table.help,
        "properties": properties,
        "additionalProperties": false,
    })
}

fn described(key: &Key) -> Value {
    let mut value = kind(&key.kind);
    let own = value.as_object_mut().expect("an object");
    let default = match key.default {
        Default::Required => " Required.".to_owned(),
        Default::Is(value) => format!(" Default: {value}."),
        Default::Means(means) => format!(" Default: {means}."),
    };
    own.insert("description".to_owned(), json!(format!("{}{default}", key.help)));
    value
}

fn kind(of: &Kind) -> Value {
    match of {
        Kind::Text | Kind::Name(_) | Kind::File | Kind::Address => json!({ "type": "string" }),
        Kind::Time => json!({ "type": "string", "pattern": "^[0-9.]+ ?(ns|us|ms|s|min|h)$|[{]i" }),
        Kind::Rate => json!({ "type": "string", "pattern": "^[0-9.]+ ?(bps|kbps|Mbps|Gbps)$|[{]i" }),
        Kind::Integer(_, least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Kind::Number(_) => json!({ "type": "number" }),
        Kind::Probability => json!({ "type": "number", "minimum": 0, "maximum": 1 }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Addresses | Kind::Texts => {
            json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] })
        }
        Kind::Numbers => json!({ "type": "array", "items": { "type": "number" } }),
        Kind::Words(words) => json!({ "enum": words }),
        Kind::Names(names) => json!({ "enum": names() }),
        Kind::Table(table) => object(table),
        Kind::Tables(table) => {
            let mut item = object(table);
            if !table.path.contains('.') {
                let own = item.get_mut("properties").and_then(Value::as_object_mut).expect("its keys");
                let template =
                    json!({ "type": "string", "description": "The template whose keys it shares." });
                own.insert("template".to_owned(), template);
                let count = json!({ "type": "integer", "minimum": 1, "description": "Makes as many copies; {i} is the number of each." });
                own.insert("count".to_owned(), count);
            }
            json!({ "type": "array", "items": item })
        }
        Kind::Named(table) => json!({ "type": "object", "additionalProperties": object(table) }),
        Kind::Options => json!({ "type": "object" }),
        Kind::Either(kinds) => json!({ "anyOf": kinds.iter().map(kind).collect::<Vec<_>>() }),
    }
}
