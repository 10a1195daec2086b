//! Reads a sweep file. The first fault is reported with its line, its key and what is allowed, before
//! anything runs.

use std::cell::RefCell;
use std::path::Path;

use msctp_schemes::catalogue::suggest;
use msctp_sim::scenario::compose::{self, Text};
use msctp_sim::scenario::document::{Document, Section};
use msctp_sim::scenario::{Problem, Scenario, ScenarioError};
use msctp_units::{Rate, Span};
use sha2::{Digest, Sha256};
use toml::de::{DeTable, DeValue};

use super::{
    Against, Axis, Cell, ClaimSpec, Column, Contrast, FigureSpec, How, Quantity, Relation, Selector, Sweep,
    TableSpec, Value,
};
use crate::metrics::{Unit, Wanted};
use crate::report::Source;

/// Returns the text of a file by its path, or the reason why it cannot be read.
type Open<'f> = dyn Fn(&str) -> Result<String, String> + 'f;

const KEYS: [&str; 11] = [
    "title",
    "description",
    "scenario",
    "seeds",
    "set",
    "axis",
    "metric",
    "comparison",
    "table",
    "figure",
    "claim",
];

/// The largest number of runs; a mistyped range of seeds is rejected instead of filling the memory.
const MOST_RUNS: usize = 1_000_000;

impl Sweep {
    /// Reads and checks a sweep file and every scenario of it. `file` is its path, for errors; paths of
    /// scenarios are relative to its folder. `open` reads them.
    ///
    /// # Errors
    /// The first fault, with its line, its key and what is allowed.
    pub fn read(text: &str, file: &str, open: &Open<'_>) -> Result<Self, ScenarioError> {
        let alone = Text::new(text, file);
        let document = Document::parse(&alone)?;
        let sweep =
            Reader { file, open, sources: RefCell::new(vec![source(file, text)]) }.sweep(&document.root);
        sweep.map_err(|problem| document.locate(problem))
    }
}

impl Sweep {
    /// Adds a table and a figure of every metric if the file has none.
    fn add_defaults(&mut self) {
        let metrics = || (0..self.metrics.len()).map(Quantity::Metric);
        if self.tables.is_empty() {
            let table = |cells| TableSpec {
                title: self.label(cells).to_owned(),
                rows: (!self.axes.is_empty()).then_some(0),
                columns: (self.axes.len() > 1).then_some(1),
                cells,
                note: None,
                tones: None,
                at: Selector::new(),
            };
            self.tables = metrics().map(table).collect();
        }
        let several = |axis: &usize| self.axes[*axis].values.len() > 1;
        let numeric = |axis: &usize| self.axes[*axis].values.iter().all(|value| value.number.is_some());
        let axes = || (0..self.axes.len()).filter(several);
        if self.figures.is_empty()
            && let Some(x) = axes().rfind(numeric).or_else(|| axes().next())
        {
            let figure = |y| FigureSpec {
                title: self.label(y).to_owned(),
                x,
                y,
                series: axes().find(|axis| *axis != x),
                at: Selector::new(),
            };
            self.figures = metrics().map(figure).collect();
        }
    }
}

/// Returns a file for the provenance.
fn source(path: &str, text: &str) -> Source {
    Source { path: path.to_owned(), sha256: hex(text.as_bytes()), text: text.to_owned() }
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Reader<'r> {
    file: &'r str,
    open: &'r Open<'r>,
    /// The files read so far.
    sources: RefCell<Vec<Source>>,
}

impl Reader<'_> {
    fn sweep(self, root: &DeTable<'_>) -> Result<Sweep, Problem> {
        let top = Section::open(root, String::new(), &KEYS)?;
        let name =
            Path::new(self.file).file_stem().map_or(self.file, |stem| stem.to_str().unwrap_or("sweep"));
        let mut sweep = Sweep {
            file: self.file.to_owned(),
            title: top.text("title")?.unwrap_or(name).to_owned(),
            description: top.text("description")?.unwrap_or_default().to_owned(),
            seeds: seeds(&top)?,
            axes: axes(&top)?,
            metrics: metrics(&top)?,
            cells: Vec::new(),
            sources: Vec::new(),
            contrasts: Vec::new(),
            tables: Vec::new(),
            figures: Vec::new(),
            claims: Vec::new(),
        };
        sweep.contrasts = contrasts(&top, &sweep)?;
        for (path, table) in top.items("table")? {
            sweep.tables.push(self::table(table, path, &sweep)?);
        }
        for (path, table) in top.items("figure")? {
            sweep.figures.push(figure(table, path, &sweep)?);
        }
        sweep.add_defaults();
        for (path, table) in top.items("claim")? {
            let claim = claim(table, path.clone(), &sweep)?;
            if sweep.claims.iter().any(|other| other.id == claim.id) {
                let message = format!("\"{}\" is used twice: want ids that differ", claim.id);
                return Err(Problem::new(format!("{path}.id"), message));
            }
            sweep.claims.push(claim);
        }
        sweep.cells = self.cells(&top, &sweep)?;
        sweep.sources = self.sources.into_inner();
        Ok(sweep)
    }

    fn cells(&self, top: &Section<'_, '_>, sweep: &Sweep) -> Result<Vec<Cell>, Problem> {
        let default = top.text("scenario")?;
        let base = overrides(top, "set")?;
        let count = sweep.axes.iter().map(|axis| axis.values.len()).product::<usize>();
        if count.saturating_mul(sweep.seeds.len()) > MOST_RUNS {
            let message =
                format!("{count} cells with {} seeds: want at most {MOST_RUNS} runs", sweep.seeds.len());
            return Err(Problem::new("seeds", message));
        }
        let mut cells = Vec::with_capacity(count);
        for values in sweep.combinations(&[], &[]) {
            let chosen = || values.iter().map(|&(axis, value)| &sweep.axes[axis].values[value]);
            let own = chosen().filter_map(|value| value.scenario.as_deref()).next_back();
            let example = "\"walk.toml\", or one in every value of an axis";
            let name = top.required("scenario", own.or(default), example)?;
            let set = base.iter().chain(chosen().flat_map(|value| &value.set)).cloned();
            let values: Vec<usize> = values.iter().map(|&(_, value)| value).collect();
            cells.push(self.cell(sweep, values, name, set.collect())?);
        }
        Ok(cells)
    }

    fn cell(
        &self,
        sweep: &Sweep,
        values: Vec<usize>,
        name: &str,
        overrides: Vec<String>,
    ) -> Result<Cell, Problem> {
        let path = beside(self.file, name);
        let text = self.text(&path).map_err(|why| Problem::new("scenario", why))?;
        let others = RefCell::new(String::new());
        let open = |name: &str| {
            let path = beside(&path, name);
            let text = self.text(&path)?;
            others.borrow_mut().push_str(&format!("{path} {}\n", hex(text.as_bytes())));
            Ok(text)
        };
        let within = |why: String| {
            let named = sweep.named(&values);
            if named.is_empty() { why } else { format!("with {named}: {why}") }
        };
        let mut scenario = Scenario::from_toml_and_files(&text, &path, &overrides, &open)
            .map_err(|error| Problem::new("scenario", within(error.to_string())))?;
        for column in &sweep.metrics {
            column
                .of
                .check(&scenario)
                .map_err(|why| Problem::new(format!("metric.{}.of", column.name), within(why)))?;
        }
        sweep.metrics.iter().for_each(|column| column.of.enable(&mut scenario));
        let metrics = sweep.metrics.iter().map(|column| column.of.to_string()).collect::<Vec<_>>().join(" ");
        let hash = format!("{text}\n{}{}\n{metrics}", others.into_inner(), overrides.join("\n"));
        Ok(Cell { values, overrides, path, scenario, hash: hex(hash.as_bytes()) })
    }

    /// Returns the text of a file, which is read once.
    fn text(&self, path: &str) -> Result<String, String> {
        if let Some(known) = self.sources.borrow().iter().find(|source| source.path == path) {
            return Ok(known.text.clone());
        }
        let text = (self.open)(path)?;
        self.sources.borrow_mut().push(source(path, &text));
        Ok(text)
    }
}

/// Returns the path of a file that another file names.
fn beside(file: &str, name: &str) -> String {
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    compose::beside(&folder.to_string_lossy(), name)
}

/// Reads `seeds = "1..30"` or `seeds = [1, 7]`.
fn seeds(top: &Section<'_, '_>) -> Result<Vec<u64>, Problem> {
    let want = "want seeds = \"1..30\" (both included), or a list, as [1, 7]";
    let seeds = if top.is_string("seeds") {
        let text = top.text("seeds")?.unwrap_or_default();
        let range = text
            .split_once("..")
            .and_then(|(from, to)| Some((from.trim().parse::<u64>().ok()?, to.trim().parse::<u64>().ok()?)));
        match range {
            Some((from, to)) if from <= to && to - from < MOST_RUNS as u64 => (from..=to).collect(),
            _ => return Err(Problem::new("seeds", format!("\"{text}\" is not a range of seeds: {want}"))),
        }
    } else {
        top.required("seeds", top.integers("seeds")?, "\"1..30\"")?
    };
    let mut sorted = seeds.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if seeds.is_empty() || sorted.len() != seeds.len() {
        return Err(Problem::new("seeds", format!("want at least one seed, and each once: {want}")));
    }
    Ok(seeds)
}

fn axes(top: &Section<'_, '_>) -> Result<Vec<Axis>, Problem> {
    let mut axes = Vec::new();
    for (name, table) in top.named("axis")? {
        let section = Section::open(table, format!("axis.{name}"), &["label", "set", "values", "value"])?;
        let values = match section.has("value") {
            true if section.has("set") || section.has("values") => {
                let message = format!("want either set and values, or tables headed [[axis.{name}.value]]");
                return Err(Problem::new(section.path(), message));
            }
            true => tabled(&section)?,
            false => listed(&section)?,
        };
        if values.is_empty() {
            return Err(Problem::new(section.key("values"), "is empty: want at least one value"));
        }
        for (number, value) in values.iter().enumerate() {
            if values[..number].iter().any(|other| other.name == value.name) {
                let message = format!("{} is there twice: want values that differ", value.name);
                return Err(Problem::new(section.key("values"), message));
            }
        }
        let label = section.text("label")?.unwrap_or(&name).to_owned();
        axes.push(Axis { name, label, values });
    }
    Ok(axes)
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
        Some(other) => return Err(section.wrong_type("values", other, &format!("a list, as {example}"))),
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
                "{} has {} parts for {} keys: want one for each, as {example}",
                toml_text(value),
                parts.len(),
                keys.len()
            );
            return Err(Problem::new(section.key("values"), message));
        }
        let name = parts.iter().map(|part| plain_text(part)).collect::<Vec<_>>().join(" ");
        let set = keys.iter().zip(&parts).map(|(key, part)| format!("{key}={}", override_text(part)));
        let number = if keys.len() == 1 { number(value) } else { None };
        out.push(Value { name, about: String::new(), number, scenario: None, set: set.collect() });
    }
    Ok(out)
}

/// Reads `[[axis.NAME.value]]`.
fn tabled(section: &Section<'_, '_>) -> Result<Vec<Value>, Problem> {
    let mut values = Vec::new();
    for (path, table) in section.items("value")? {
        // The path of the key without the number, so that its line is found by name.
        let inner = Section::open(table, path, &["name", "about", "scenario", "set"])?;
        values.push(Value {
            name: inner.required("name", inner.text("name")?, "\"…\"")?.to_owned(),
            about: inner.text("about")?.unwrap_or_default().to_owned(),
            number: None,
            scenario: inner.text("scenario")?.map(str::to_owned),
            set: overrides(&inner, "set")?,
        });
    }
    Ok(values)
}

/// Reads `set = { "link.wlan.rate" = "2Mbps" }`.
fn overrides(section: &Section<'_, '_>, key: &str) -> Result<Vec<String>, Problem> {
    let table = match section.value(key) {
        None => return Ok(Vec::new()),
        Some(DeValue::Table(table)) => table,
        Some(other) => {
            return Err(section.wrong_type(key, other, "a table, as { \"link.wlan.rate\" = \"2Mbps\" }"));
        }
    };
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    let one = |(name, value): (&toml::Spanned<std::borrow::Cow<'_, str>>, &toml::Spanned<DeValue<'_>>)| {
        let (name, value) = (name.get_ref(), value.get_ref());
        if !name.contains('.') && matches!(value, DeValue::Table(_)) {
            let message = "want the whole key in quotes, as \"link.wlan.rate\" = \"2Mbps\"";
            return Err(Problem::new(format!("{}.{name}", section.key(key)), message));
        }
        Ok(format!("{name}={}", override_text(value)))
    };
    entries.into_iter().map(one).collect()
}

/// Returns a value as the text of an override: a string without quotes where that is not another value.
fn override_text(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) if DeValue::parse(text).is_err() => text.to_string(),
        other => toml_text(other),
    }
}

/// Returns a value as a name: a string without quotes.
fn plain_text(value: &DeValue<'_>) -> String {
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

fn metrics(top: &Section<'_, '_>) -> Result<Vec<Column>, Problem> {
    let mut metrics = Vec::new();
    for (name, table) in top.named("metric")? {
        let section = Section::open(table, format!("metric.{name}"), &["of", "label"])?;
        let of = section.required("of", section.text("of")?, "\"handover.gap\"")?;
        let of = Wanted::parse(of).map_err(|fault| Problem::new(section.key("of"), fault))?;
        let label = section.text("label")?.map_or_else(|| of.to_string(), str::to_owned);
        metrics.push(Column { name, label, of });
    }
    if metrics.is_empty() {
        return Err(Problem::new("metric", "missing: want a table [metric.NAME] with of = \"handover.gap\""));
    }
    Ok(metrics)
}

fn contrasts(top: &Section<'_, '_>, sweep: &Sweep) -> Result<Vec<Contrast>, Problem> {
    let mut contrasts: Vec<Contrast> = Vec::new();
    for (name, table) in top.named("comparison")? {
        let path = format!("comparison.{name}");
        let section = Section::open(table, path, &["metric", "against", "as", "label"])?;
        if sweep.metrics.iter().any(|metric| metric.name == name) {
            return Err(Problem::new(section.path(), "a metric has this name: want names that differ"));
        }
        let metric = metric_of(&section, sweep)?;
        let against = selector(&section, "against", sweep)?;
        let against = section.required("against", against, "{ policy = \"conservative\" }")?;
        let ways =
            [("difference", How::Difference), ("relative", How::Relative), ("shortfall", How::Shortfall)];
        let how = section.choice("as", &ways)?.unwrap_or(How::Difference);
        let word = match how {
            How::Difference => "difference from",
            How::Relative => "relative difference from",
            How::Shortfall => "shortfall from",
        };
        let label = format!("{}: {word} {}", sweep.metrics[metric].label, sweep.selected(&against));
        let label = section.text("label")?.unwrap_or(&label).to_owned();
        contrasts.push(Contrast { name, label, metric, against, how });
    }
    Ok(contrasts)
}

/// Reads `metric = "gap"`.
fn metric_of(section: &Section<'_, '_>, sweep: &Sweep) -> Result<usize, Problem> {
    let name = section.required("metric", section.text("metric")?, "\"a metric's name\"")?;
    let known = || sweep.metrics.iter().map(|metric| metric.name.as_str());
    known().position(|known| known == name).ok_or_else(|| {
        let remedy = suggest(name, known());
        Problem::new(section.key("metric"), format!("there is no [metric.{name}]{remedy}"))
    })
}

/// Reads the name of a metric or comparison.
fn quantity(section: &Section<'_, '_>, key: &str, sweep: &Sweep) -> Result<Option<Quantity>, Problem> {
    let Some(name) = section.text(key)? else { return Ok(None) };
    let metrics = || sweep.metrics.iter().map(|metric| metric.name.as_str());
    let contrasts = || sweep.contrasts.iter().map(|contrast| contrast.name.as_str());
    let metric = metrics().position(|known| known == name).map(Quantity::Metric);
    let contrast = contrasts().position(|known| known == name).map(Quantity::Contrast);
    metric.or(contrast).map(Some).ok_or_else(|| {
        let remedy = suggest(name, metrics().chain(contrasts()));
        Problem::new(section.key(key), format!("there is no metric or comparison \"{name}\"{remedy}"))
    })
}

/// Reads the name of an axis.
fn axis(section: &Section<'_, '_>, key: &str, sweep: &Sweep) -> Result<Option<usize>, Problem> {
    section.text(key)?.map(|name| find_axis(section.key(key), name, sweep)).transpose()
}

fn find_axis(key: String, name: &str, sweep: &Sweep) -> Result<usize, Problem> {
    let known = || sweep.axes.iter().map(|axis| axis.name.as_str());
    known()
        .position(|known| known == name)
        .ok_or_else(|| Problem::new(key, format!("there is no axis \"{name}\"{}", suggest(name, known()))))
}

/// Reads `{ policy = "adaptive", loss = 0.01 }`.
fn selector(section: &Section<'_, '_>, key: &str, sweep: &Sweep) -> Result<Option<Selector>, Problem> {
    let table = match section.value(key) {
        None => return Ok(None),
        Some(DeValue::Table(table)) => table,
        Some(other) => {
            return Err(section.wrong_type(key, other, "values of axes, as { policy = \"adaptive\" }"));
        }
    };
    let mut chosen = Selector::new();
    for (name, value) in table {
        let (name, wanted) = (name.get_ref(), plain_text(value.get_ref()));
        let at = format!("{}.{name}", section.key(key));
        let axis = find_axis(at.clone(), name, sweep)?;
        let known = || sweep.axes[axis].values.iter().map(|value| value.name.as_str());
        let place = known().position(|known| known == wanted).ok_or_else(|| {
            let remedy = suggest(&wanted, known());
            Problem::new(at, format!("the axis {name} has no value \"{wanted}\"{remedy}"))
        })?;
        chosen.push((axis, place));
    }
    chosen.sort_unstable();
    Ok(Some(chosen))
}

fn table(table: &DeTable<'_>, path: String, sweep: &Sweep) -> Result<TableSpec, Problem> {
    let keys = ["title", "rows", "columns", "cells", "note", "good", "bad", "at"];
    let section = Section::open(table, path, &keys)?;
    let cells = section.required("cells", quantity(&section, "cells", sweep)?, "\"a metric's name\"")?;
    let tones = match (section.number("good")?, section.number("bad")?) {
        (Some(good), Some(bad)) if good != bad => Some((good, bad)),
        (None, None) => None,
        _ => {
            let message = "want good and bad together, and different, as good = 0.02 and bad = 0.1";
            return Err(Problem::new(section.path(), message));
        }
    };
    Ok(TableSpec {
        title: section.text("title")?.unwrap_or(sweep.label(cells)).to_owned(),
        rows: axis(&section, "rows", sweep)?,
        columns: axis(&section, "columns", sweep)?,
        cells,
        note: quantity(&section, "note", sweep)?,
        tones,
        at: selector(&section, "at", sweep)?.unwrap_or_default(),
    })
}

fn figure(table: &DeTable<'_>, path: String, sweep: &Sweep) -> Result<FigureSpec, Problem> {
    let section = Section::open(table, path, &["title", "x", "y", "series", "at"])?;
    let y = section.required("y", quantity(&section, "y", sweep)?, "\"a metric's name\"")?;
    Ok(FigureSpec {
        title: section.text("title")?.unwrap_or(sweep.label(y)).to_owned(),
        x: section.required("x", axis(&section, "x", sweep)?, "\"an axis\"")?,
        y,
        series: axis(&section, "series", sweep)?,
        at: selector(&section, "at", sweep)?.unwrap_or_default(),
    })
}

fn claim(table: &DeTable<'_>, path: String, sweep: &Sweep) -> Result<ClaimSpec, Problem> {
    let keys = ["id", "says", "metric", "a", "below", "above", "within", "margin"];
    let section = Section::open(table, path, &keys)?;
    let id = section.required("id", section.text("id")?, "\"H1\"")?.to_owned();
    let metric = metric_of(&section, sweep)?;
    let a = selector(&section, "a", sweep)?.unwrap_or_default();
    let relations = [("below", Relation::Below), ("above", Relation::Above), ("within", Relation::Within)];
    let given: Vec<_> = relations.into_iter().filter(|(key, _)| section.has(key)).collect();
    let [(key, relation)] = given[..] else {
        let message = "want exactly one of below, above and within, as below = { policy = \"inherit\" }";
        return Err(Problem::new(section.path(), message));
    };
    let against = match section.is_table(key) {
        true => Against::Cells(selector(&section, key, sweep)?.unwrap_or_default()),
        false => Against::Constant(constant(&section, key, sweep.metrics[metric].of.metric.unit)?),
    };
    if let Against::Cells(cells) = &against
        && let Some(&(axis, _)) = cells.iter().find(|(axis, _)| a.iter().all(|(own, _)| own != axis))
    {
        let name = &sweep.axes[axis].name;
        let message = format!("names no {name}, but {key} does: want a = {{ {name} = \"…\" }}");
        return Err(Problem::new(section.key("a"), message));
    }
    let margin = margin(&section)?;
    if relation == Relation::Within && margin == 0.0 {
        return Err(Problem::new(section.key("margin"), "missing: want margin = \"5%\" with within"));
    }
    let says = section.text("says")?.map(str::to_owned);
    let mut claim = ClaimSpec { id, says: String::new(), metric, a, relation, against, margin };
    claim.says = says.unwrap_or_else(|| sweep.statement(&claim));
    Ok(claim)
}

/// Reads `margin = "2%"`.
fn margin(section: &Section<'_, '_>) -> Result<f64, Problem> {
    let Some(text) = section.text("margin")? else { return Ok(0.0) };
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    percent.filter(|percent| (0.0..=1000.0).contains(percent)).map(|percent| percent / 100.0).ok_or_else(
        || {
            let message = format!("\"{text}\" is not a margin: want a share of the other mean, as \"2%\"");
            Problem::new(section.key("margin"), message)
        },
    )
}

/// Reads a value in a metric's unit: a number, or a string with a unit.
fn constant(section: &Section<'_, '_>, key: &str, unit: Unit) -> Result<f64, Problem> {
    if !section.is_string(key) {
        return section.required(key, section.number(key)?, "{ policy = \"inherit\" }, or a number");
    }
    match unit {
        Unit::Rate => {
            section.parsed::<Rate>(key, "\"2Mbps\"").map(|rate| rate.map(|rate| rate.as_bps() as f64))
        }
        Unit::Seconds => section.parsed::<Span>(key, "\"200ms\"").map(|span| span.map(Span::as_secs_f64)),
        _ => section.number(key),
    }
    .and_then(|value| section.required(key, value, "a number"))
}
