//! Reads the axes of a sweep.

use msctp_sim::scenario::Problem;
use msctp_sim::scenario::document::Section;
use msctp_units::Span;
use toml::de::DeValue;

use super::quantities::selector_of;
use crate::sweep::formula::Formula;
use crate::sweep::{Axis, Draw, DrawnValue, Group, Sweep, Value};

pub(super) fn axes(top: &Section<'_, '_>) -> Result<Vec<Axis>, Problem> {
    let mut axes = Vec::new();
    for (name, section) in sections(top)? {
        let groups = groups(&section)?;
        let values = match section.has("value") {
            true if section.has("set") || section.has("values") => {
                let message = format!("want either set and values, or tables headed [[axis.{name}.value]]");
                return Err(Problem::new(section.path(), message));
            }
            true => tabled(&section, &groups)?,
            false => listed(&section)?,
        };
        if values.is_empty() {
            return Err(Problem::new(section.key("values"), "is empty: want at least one value"));
        }
        for (number, value) in values.iter().enumerate() {
            if values[..number].iter().any(|other| other.name == value.name) {
                let message = format!("{} is listed twice: want different values", value.name);
                return Err(Problem::new(section.key("values"), message));
            }
        }
        let label = section.text("label")?.unwrap_or(&name).to_owned();
        let groups = groups.into_iter().map(|(group, _)| group).collect();
        let aside = section.flag("aside")?.unwrap_or(false);
        axes.push(Axis { name, label, values, groups, aside });
    }
    // The values that `only` names are known now.
    for (number, (_, section)) in sections(top)?.into_iter().enumerate() {
        for (value, (path, table)) in section.items("value")?.into_iter().enumerate() {
            let inner = Section::open(table, path, &VALUE)?;
            axes[number].values[value].only = selector_of(&inner, "only", &axes)?.unwrap_or_default();
        }
    }
    Ok(axes)
}

/// The keys that groups and values share.
const SHARED: [&str; 6] = ["name", "label", "scenario", "set", "draw", "with"];
/// The keys of a value.
const VALUE: [&str; 11] =
    ["name", "label", "scenario", "set", "draw", "with", "about", "short", "only", "seeds", "group"];

fn sections<'d, 't>(top: &Section<'d, 't>) -> Result<Vec<(String, Section<'d, 't>)>, Problem> {
    let keys = ["label", "set", "values", "value", "group", "aside"];
    let open = |(name, table): (String, _)| {
        let section = Section::open(table, format!("axis.{name}"), &keys)?;
        Ok((name, section))
    };
    top.named("axis")?.into_iter().map(open).collect()
}

/// Reads `[[axis.NAME.group]]`, each with the keys that its values share.
fn groups(section: &Section<'_, '_>) -> Result<Vec<(Group, Value)>, Problem> {
    let mut groups = Vec::new();
    for (path, table) in section.items("group")? {
        let inner = Section::open(table, path, &SHARED)?;
        let value = shared(&inner, Value::default())?;
        groups.push((Group { name: value.name.clone(), label: value.label().to_owned() }, value));
    }
    Ok(groups)
}

/// Reads the keys that groups and values share. A value extends those of its group.
fn shared(inner: &Section<'_, '_>, group: Value) -> Result<Value, Problem> {
    let mut value = Value {
        name: inner.required("name", inner.text("name")?, "\"…\"")?.to_owned(),
        label: inner.text("label")?.unwrap_or_default().to_owned(),
        scenario: inner.text("scenario")?.map(str::to_owned).or(group.scenario),
        ..group
    };
    value.set.extend(overrides(inner, "set")?);
    if let Some(with) = inner.value("with") {
        let DeValue::Table(table) = with else {
            return Err(inner.wrong_type("with", with, "texts by name, such as { moved = \"60s\" }"));
        };
        value.with.extend(
            table.iter().map(|(name, text)| (name.get_ref().to_string(), plain_text(text.get_ref()))),
        );
    }
    value.draws.extend(draws(inner, &value)?);
    Ok(value)
}

/// Reads `draw = { "app.file-{1..3}.start" = ["1s", "31s", "stream-{i}"] }`.
fn draws(section: &Section<'_, '_>, value: &Value) -> Result<Vec<Draw>, Problem> {
    let example = "{ \"app.file.start\" = [\"1s\", \"31s\"] }";
    let table = match section.value("draw") {
        None => return Ok(Vec::new()),
        Some(DeValue::Table(table)) => table,
        Some(other) => {
            return Err(section.wrong_type("draw", other, &format!("times by key, such as {example}")));
        }
    };
    let mut draws = Vec::new();
    for (name, ends) in table {
        let key = name.get_ref();
        let problem = |why: String| Problem::new(format!("{}.{key}", section.key("draw")), why);
        if let DeValue::Table(table) = ends.get_ref() {
            let path = format!("{}.{key}", section.key("draw"));
            let keys = ["handover", "plus", "packets", "from", "within", "first", "stream"];
            let inner = Section::open(table, path, &keys)?;
            let value = if inner.has("packets") { packets(&inner, key)? } else { after_handover(&inner)? };
            draws.push(Draw { key: key.to_string(), value });
            continue;
        }
        let texts: Vec<String> = super::list(ends.get_ref()).into_iter().map(plain_text).collect();
        let own = texts.len() < 3;
        let (from, to, stream) = match &texts[..] {
            [formula] => {
                let formula = replace(formula, &value.with).map_err(problem)?;
                let value = DrawnValue::Formula(Formula::parse(&formula, &["seed"]).map_err(problem)?);
                let keys = expanded(key).map_err(problem)?;
                draws.extend(keys.into_iter().map(|(key, _)| Draw { key, value: value.clone() }));
                continue;
            }
            [from, to] => (from, to, key.as_ref()),
            [from, to, stream] => (from, to, stream.as_str()),
            _ => {
                return Err(problem(format!(
                    "want two times, and a stream if another draws too, such as {example}, \
                     or a formula of the seed, such as \"30s + 137ms * seed\""
                )));
            }
        };
        let time = |text: &String| {
            let text = replace(text, &value.with).map_err(problem)?;
            text.parse::<Span>().map_err(|why| problem(format!("\"{text}\" is {why}")))
        };
        let (from, to) = (time(from)?, time(to)?);
        if to < from {
            return Err(problem(format!("{to} is before {from}: want the earlier time first")));
        }
        for (key, i) in expanded(key).map_err(problem)? {
            let stream = if own { key.clone() } else { stream.replace("{i}", &i) };
            draws.push(Draw { key, value: DrawnValue::Uniform { from, to, stream } });
        }
    }
    Ok(draws)
}

/// Reads `{ handover = "cell", plus = "200s" }`.
fn after_handover(inner: &Section<'_, '_>) -> Result<DrawnValue, Problem> {
    let link = inner.required("handover", inner.text("handover")?, "\"a link's name\"")?.to_owned();
    super::reject_unused(inner, "handover", &["from", "within", "first", "stream"])?;
    let plus = inner.span("plus")?.unwrap_or(Span::ZERO);
    Ok(DrawnValue::Handover { link, plus, process: None })
}

/// Reads `{ packets = 6, from = 202, within = 12, first = [202, 204, 208, 210, 213, 214] }`.
fn packets(inner: &Section<'_, '_>, key: &str) -> Result<DrawnValue, Problem> {
    super::reject_unused(inner, "packets", &["handover", "plus"])?;
    let most = i128::from(u32::MAX);
    let within = inner.required("within", inner.integer("within", 1, 100_000)?, "12")?;
    let packets = inner.required("packets", inner.integer("packets", 1, i128::from(within) + 1)?, "6")?;
    Ok(DrawnValue::Packets {
        packets,
        from: inner.required("from", inner.integer("from", 0, most)?, "202")?,
        within,
        first: inner.integers("first")?.unwrap_or_default(),
        stream: inner.text("stream")?.unwrap_or(key).to_owned(),
    })
}

/// Expands `app.video-{2..5}.start` to a key for each number, with the number. A `{name}` is kept.
fn expanded(key: &str) -> Result<Vec<(String, String)>, String> {
    let inside = key.split_once('{').and_then(|(before, rest)| Some((before, rest, rest.split_once('}')?.0)));
    let (before, rest) = match inside {
        Some((before, rest, range)) if !is_name(range) => (before, rest),
        None if key.contains('{') => return Err(format!("\"{key}\" has no }} for a {{")),
        _ => return Ok(vec![(key.to_owned(), String::new())]),
    };
    let range = rest.split_once('}').and_then(|(range, after)| {
        let (from, to) = range.split_once("..")?;
        Some((from.trim().parse::<u32>().ok()?, to.trim().parse::<u32>().ok()?, after))
    });
    match range {
        Some((from, to, after)) if from <= to && to - from < 10_000 => {
            Ok((from..=to).map(|i| (format!("{before}{i}{after}"), i.to_string())).collect())
        }
        _ => Err(format!("\"{key}\" has no range of numbers: want one, such as app.video-{{2..5}}.start")),
    }
}

/// Returns true for a name that a value's `with` replaces.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Replaces each `{name}` in a text by the text that the values of a cell define for it.
pub(super) fn fill(text: &str, sweep: &Sweep, values: &[usize]) -> Result<String, String> {
    replace(text, &texts(sweep, values).cloned().collect::<Vec<_>>())
}

/// Returns the texts for `{name}` in a cell, with their names.
fn texts<'s>(sweep: &'s Sweep, values: &'s [usize]) -> impl Iterator<Item = &'s (String, String)> {
    let chosen = sweep.axes.iter().zip(values).flat_map(|(axis, &value)| &axis.values[value].with);
    sweep.with.iter().chain(chosen)
}

/// Replaces each `{name}` in an override that the values of a cell define. Other braces are TOML's.
pub(super) fn fill_known(text: &str, sweep: &Sweep, values: &[usize]) -> String {
    texts(sweep, values)
        .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

/// Returns a draw with the texts of a cell in its key, the name of its stream and that of its link. A stream
/// without a name of its own has that of the key as written.
pub(super) fn filled(draw: &Draw, sweep: &Sweep, values: &[usize]) -> Result<Draw, String> {
    let mut value = draw.value.clone();
    match &mut value {
        DrawnValue::Uniform { stream, .. } | DrawnValue::Packets { stream, .. } if *stream != draw.key => {
            *stream = fill(stream, sweep, values)?;
        }
        DrawnValue::Handover { link, .. } => *link = fill(link, sweep, values)?,
        _ => {}
    }
    Ok(Draw { key: fill_known(&draw.key, sweep, values), value })
}

fn replace(text: &str, with: &[(String, String)]) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, next) = after.split_once('}').ok_or_else(|| format!("\"{text}\" has no }} for a {{"))?;
        let known = with.iter().rfind(|(known, _)| known == name);
        let (_, value) = known
            .ok_or_else(|| format!("no axis value defines {{{name}}}: want with = {{ {name} = \"…\" }}"))?;
        out.push_str(before);
        out.push_str(value);
        rest = next;
    }
    out.push_str(rest);
    Ok(out)
}

/// Reads `set = "KEY"` with `values = […]`, or several keys with a list of values for each step.
fn listed(section: &Section<'_, '_>) -> Result<Vec<Value>, Problem> {
    let keys: Vec<String> = match section.value("set") {
        Some(DeValue::Array(keys)) => keys
            .iter()
            .map(|key| match key.get_ref() {
                DeValue::String(key) => Ok(key.to_string()),
                other => Err(section.wrong_type("set", other, "a key of the scenario in quotes")),
            })
            .collect::<Result<_, _>>()?,
        _ => vec![section.required("set", section.text("set")?, "\"link.wlan.loss\"")?.to_owned()],
    };
    let example = if keys.len() == 1 { "[0, 0.01]" } else { "[[0, \"2Mbps\"], [0.01, \"4Mbps\"]]" };
    let values = match section.value("values") {
        Some(DeValue::Array(values)) => values,
        Some(other) => {
            return Err(section.wrong_type("values", other, &format!("a list, such as {example}")));
        }
        None => return Err(Problem::new(section.key("values"), format!("missing: want values = {example}"))),
    };
    let mut out = Vec::new();
    for value in values.iter().map(toml::Spanned::get_ref) {
        let parts: Vec<&DeValue<'_>> = match value {
            DeValue::Array(parts) if keys.len() > 1 => parts.iter().map(toml::Spanned::get_ref).collect(),
            other => vec![other],
        };
        if parts.len() != keys.len() {
            let message = format!(
                "{} has {} parts for {} keys: want one for each, such as {example}",
                toml_text(value),
                parts.len(),
                keys.len()
            );
            return Err(Problem::new(section.key("values"), message));
        }
        let name = parts.iter().map(|part| plain_text(part)).collect::<Vec<_>>().join(" ");
        let set = keys.iter().zip(&parts).map(|(key, part)| format!("{key}={}", override_text(part)));
        let number = if keys.len() == 1 { number(value) } else { None };
        out.push(Value { name, number, set: set.collect(), listed: true, ..Value::default() });
    }
    Ok(out)
}

/// Reads `[[axis.NAME.value]]`.
fn tabled(section: &Section<'_, '_>, groups: &[(Group, Value)]) -> Result<Vec<Value>, Problem> {
    let mut values = Vec::new();
    for (path, table) in section.items("value")? {
        // The path of the key without the number, so that its line is found by name.
        let inner = Section::open(table, path, &VALUE)?;
        let names: Vec<(&str, usize)> =
            groups.iter().enumerate().map(|(number, (group, _))| (group.name.as_str(), number)).collect();
        let group = inner.choice("group", &names)?;
        let mut value = shared(&inner, group.map_or_else(Value::default, |group| groups[group].1.clone()))?;
        value.group = group;
        value.number = value.name.parse().ok();
        value.seeds = inner.integer("seeds", 1, i128::from(u32::MAX))?;
        value.about = inner.text("about")?.unwrap_or_default().to_owned();
        value.short = inner.text("short")?.unwrap_or_default().to_owned();
        values.push(value);
    }
    Ok(values)
}

/// Reads `set = { "link.wlan.rate" = "2Mbps" }`.
pub(super) fn overrides(section: &Section<'_, '_>, key: &str) -> Result<Vec<String>, Problem> {
    let table = match section.value(key) {
        None => return Ok(Vec::new()),
        Some(DeValue::Table(table)) => table,
        Some(other) => {
            return Err(section.wrong_type(
                key,
                other,
                "a table, such as { \"link.wlan.rate\" = \"2Mbps\" }",
            ));
        }
    };
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    let one = |(name, value): (&toml::Spanned<std::borrow::Cow<'_, str>>, &toml::Spanned<DeValue<'_>>)| {
        let (name, value) = (name.get_ref(), value.get_ref());
        if !name.contains('.') && matches!(value, DeValue::Table(_)) {
            let message = "want the whole key in quotes, such as \"link.wlan.rate\" = \"2Mbps\"";
            return Err(Problem::new(format!("{}.{name}", section.key(key)), message));
        }
        let keys = expanded(name).map_err(|why| Problem::new(format!("{}.{name}", section.key(key)), why))?;
        Ok(keys.into_iter().map(|(name, _)| format!("{name}={}", override_text(value))).collect::<Vec<_>>())
    };
    let all = entries.into_iter().map(one).collect::<Result<Vec<_>, Problem>>()?;
    Ok(all.into_iter().flatten().collect())
}

/// Returns a value as the text of an override. A string has no quotes unless it would read as another value.
fn override_text(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) if DeValue::parse(text).is_err() => text.to_string(),
        other => toml_text(other),
    }
}

/// Returns a value as a name: a string without quotes.
pub(in crate::sweep) fn plain_text(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => text.to_string(),
        other => toml_text(other),
    }
}

/// Returns a value as TOML on one line.
fn toml_text(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(date) => date.to_string(),
        DeValue::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| toml_text(item.get_ref())).collect();
            format!("[{}]", items.join(", "))
        }
        DeValue::Table(table) => {
            let mut entries: Vec<_> = table.iter().collect();
            entries.sort_by_key(|(name, _)| name.span().start);
            let entry =
                |(name, value): (&toml::Spanned<std::borrow::Cow<'_, str>>, &toml::Spanned<DeValue<'_>>)| {
                    format!("{} = {}", name.get_ref(), toml_text(value.get_ref()))
                };
            format!("{{ {} }}", entries.into_iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(number) => number.as_str().parse().ok(),
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => None,
    }
}
