//! The summary of every scenario is valid under `docs/summary.schema.json`.

use std::fs;
use std::path::{Path, PathBuf};

use msctp_sim::Simulation;
use msctp_sim::scenario::{Scenario, Schemes};
use msctp_units::{Span, Time};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the first fault of a value. Supports the words that the schema uses, and rejects others.
fn fault(schema: &Value, all: &Value, value: &Value, place: &str) -> Option<String> {
    let wrong = |what: &str| Some(format!("{place}: {what}: {value}"));
    for (word, rule) in schema.as_object().expect("a schema is an object") {
        let found = match word.as_str() {
            "$schema" | "$defs" | "title" | "description" | "required" => None,
            "$ref" => {
                let target = rule.as_str().and_then(|path| all.pointer(path.strip_prefix('#')?));
                fault(target.expect("a definition"), all, value, place)
            }
            "anyOf" => {
                let mut ways = rule.as_array().expect("a list").iter();
                let valid = ways.any(|way| fault(way, all, value, place).is_none());
                if valid { None } else { wrong("none of its types") }
            }
            "type" => {
                let is = |name: &Value| match name.as_str().expect("a type") {
                    "null" => value.is_null(),
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "integer" => value.is_u64() || value.is_i64(),
                    "number" => value.is_number(),
                    other => panic!("type {other}"),
                };
                let valid = rule.as_array().map_or_else(|| is(rule), |names| names.iter().any(is));
                if valid { None } else { wrong("another type") }
            }
            "minimum" => match value.as_f64() {
                Some(number) if number < rule.as_f64().expect("a number") => wrong("too small"),
                _ => None,
            },
            "items" => {
                let items = value.as_array().into_iter().flatten().enumerate();
                items.filter_map(|(i, item)| fault(rule, all, item, &format!("{place}[{i}]"))).next()
            }
            "additionalProperties" => {
                let known = &schema["properties"];
                let mut keys = value.as_object().into_iter().flat_map(|object| object.keys());
                keys.find(|key| known.get(*key).is_none())
                    .map(|key| format!("{place}: {key} is not in the schema"))
            }
            "properties" => {
                let Some(object) = value.as_object() else { continue };
                let mut properties = rule.as_object().expect("properties").iter();
                properties.find_map(|(key, rule)| match object.get(key) {
                    Some(member) => fault(rule, all, member, &format!("{place}.{key}")),
                    None => Some(format!("{place}: {key} is missing")),
                })
            }
            other => panic!("{place}: the validator does not know {other}"),
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

fn schema() -> Value {
    let text = fs::read_to_string(root().join("docs/summary.schema.json")).expect("the schema");
    serde_json::from_str(&text).expect("JSON")
}

/// Runs a scenario for at most this virtual time.
fn summary(file: &Path, most: Span) -> Value {
    let text = fs::read_to_string(file).expect("a scenario");
    let folder = file.parent().expect("a folder");
    let open = |name: &str| fs::read_to_string(folder.join(name)).map_err(|error| error.to_string());
    let name = file.display().to_string();
    let mut scenario = Scenario::with_schemes(&text, &name, &[], &open, &Schemes::none())
        .unwrap_or_else(|error| panic!("{error}"));
    scenario.probes.throughput = Some(Span::from_millis(100));
    let mut simulation = Simulation::new(&scenario, None).expect("checked");
    let end = simulation.end().min(Time::ZERO + most);
    simulation.run_in_pieces(end, |_| true);
    serde_json::to_value(simulation.summary()).expect("JSON")
}

#[test]
fn the_summary_of_every_scenario_is_valid() {
    let schema = schema();
    let entries = fs::read_dir(root().join("scenarios")).expect("a folder").flatten();
    let files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    assert!(files.len() > 15, "{files:?}");
    let mut filled = std::collections::BTreeSet::new();
    for file in files {
        // One has handovers and verdicts; the first seconds of the others show their keys.
        let most = match file.file_stem().and_then(|stem| stem.to_str()) {
            Some("handover") => Span::from_secs(30),
            // 10,000 mobiles.
            Some("mobiles") => Span::from_millis(50),
            _ => Span::from_secs(2),
        };
        let value = summary(&file, most);
        assert_eq!(fault(&schema, &schema, &value, "summary"), None, "{}", file.display());
        for (key, value) in value.as_object().expect("an object") {
            if value.as_array().is_none_or(|list| !list.is_empty()) && !value.is_null() {
                filled.insert(key.clone());
            }
        }
    }
    for key in ["associations", "tcp", "cbr", "video", "links", "actions", "mobile_ip", "middleboxes"] {
        assert!(filled.contains(key), "no scenario has {key}");
    }
}

#[test]
fn the_validator_finds_a_missing_key_a_new_key_and_another_type() {
    let schema = schema();
    let valid = summary(&root().join("scenarios/tcp.toml"), Span::from_secs(2));
    let of = |value: &Value| fault(&schema, &schema, value, "summary");
    assert_eq!(of(&valid), None);
    let mut missing = valid.clone();
    missing["tcp"][0]["to_server"].as_object_mut().expect("a flow").remove("goodput_bps");
    assert_eq!(of(&missing).as_deref(), Some("summary.tcp[0].to_server: goodput_bps is missing"));
    let mut new = valid.clone();
    new["tcp"][0]["goodput"] = 1.into();
    assert_eq!(of(&new).as_deref(), Some("summary.tcp[0]: goodput is not in the schema"));
    let mut text = valid;
    text["seed"] = "1".into();
    assert_eq!(of(&text).as_deref(), Some("summary.seed: another type: \"1\""));
}
