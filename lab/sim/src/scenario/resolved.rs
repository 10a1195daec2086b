//! A scenario as one document: its files merged, its overrides, templates and counts applied.

use serde_json::{Map, Number, Value};
use toml::de::{DeTable, DeValue};

use super::compose;
use super::document::Document;
use super::error::ScenarioError;

/// Returns a scenario's keys as JSON, for a record of the run. `open` is that of [`compose::texts`].
///
/// # Errors
/// Same as for the composition. Keys and values are not checked.
pub fn resolved(
    text: &str,
    file: &str,
    overrides: &[String],
    open: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Value, ScenarioError> {
    let texts = compose::texts(text, file, open)?;
    let document = Document::compose(&texts, overrides)?;
    Ok(table(&document.root))
}

fn table(from: &DeTable<'_>) -> Value {
    let member = |(key, value): (&toml::Spanned<std::borrow::Cow<'_, str>>, &toml::Spanned<DeValue<'_>>)| {
        (key.get_ref().to_string(), of(value.get_ref()))
    };
    Value::Object(from.iter().map(member).collect::<Map<_, _>>())
}

fn of(from: &DeValue<'_>) -> Value {
    match from {
        DeValue::String(text) => text.to_string().into(),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => number.into(),
            Err(_) => number.to_string().into(),
        },
        DeValue::Float(number) => {
            let value = number.as_str().parse().ok().and_then(Number::from_f64);
            value.map_or_else(|| number.to_string().into(), Value::Number)
        }
        DeValue::Boolean(flag) => (*flag).into(),
        DeValue::Datetime(time) => time.to_string().into(),
        DeValue::Array(items) => items.iter().map(|item| of(item.get_ref())).collect(),
        DeValue::Table(inner) => table(inner),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_counts_and_overrides_are_in_the_document() {
        let text = "extends = \"base.toml\"\n[template.t]\nrate = \"1Mbps\"\n[[link]]\nname = \"l-{i}\"\ntemplate = \"t\"\n\
                    queue = { packets = 5 }\nup = true\nloss = 0.5\ncount = 2\n";
        let base = |_: &str| Ok("duration = \"9s\"\nseed = 0x10\n".to_owned());
        let overrides = ["link.l-2.rate=3Mbps".to_owned(), "seed=7".to_owned()];
        let document = resolved(text, "a.toml", &overrides, &base).expect("composed");
        let link = |name: &str, rate: &str| serde_json::json!({"name": name, "rate": rate, "queue": {"packets": 5}, "up": true, "loss": 0.5});
        assert_eq!(document["link"], serde_json::json!([link("l-1", "1Mbps"), link("l-2", "3Mbps")]));
        assert_eq!((&document["duration"], &document["seed"]), (&"9s".into(), &7.into()));
        let plain = resolved(text, "a.toml", &[], &base).expect("composed");
        assert_eq!(plain["seed"], 16);
    }
}
