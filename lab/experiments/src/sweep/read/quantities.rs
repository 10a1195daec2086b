//! Reads metrics, curves and comparisons, and choices of axes' values.

use msctp_lab_schemes::catalogue::suggest;
use msctp_sim::scenario::Problem;
use msctp_sim::scenario::document::Section;
use msctp_units::{Rate, Span};
use toml::de::DeValue;

use super::axes::plain_text;
use super::list;
use crate::figure::Mark;
use crate::metrics::{Unit, Wanted};
use crate::sweep::formula::Formula;
use crate::sweep::text::Shown;
use crate::sweep::{Axis, Column, Contrast, How, Of, Quantity, Selector, Sweep};

/// Reads `[metric.NAME]` or `[curve.NAME]`.
pub(super) fn columns(top: &Section<'_, '_>, kind: &str, sweep: &Sweep) -> Result<Vec<Column>, Problem> {
    let mut columns: Vec<Column> = Vec::new();
    for (name, table) in top.named(kind)? {
        let keys: &[&str] = match kind {
            "metric" => &["of", "is", "label", "unit", "between", "grain", "only"],
            _ => &["of", "label", "unit", "only", "every", "mark", "grain"],
        };
        let section = Section::open(table, format!("{kind}.{name}"), keys)?;
        let column = match section.text("is")? {
            Some(_) if section.has("of") => {
                return Err(Problem::new(section.path(), "want either of or is, not both"));
            }
            Some(formula) => computed(&section, &name, formula, &columns)?,
            None => registered(&section, &name, kind, sweep)?,
        };
        columns.push(Column { only: selector(&section, "only", sweep)?.unwrap_or_default(), ..column });
    }
    Ok(columns)
}

/// Reads a metric that is computed from those above it.
fn computed(section: &Section<'_, '_>, name: &str, text: &str, above: &[Column]) -> Result<Column, Problem> {
    let known: Vec<&str> = above.iter().map(|column| column.name.as_str()).collect();
    if !text.contains('{') {
        Formula::parse(text, &known).map_err(|why| Problem::new(section.key("is"), why))?;
    }
    let unit = match section.text("unit")? {
        None => Shown::of(Unit::Count("")),
        Some(symbol) => Shown::parse(symbol, None).map_err(|why| Problem::new(section.key("unit"), why))?,
    };
    column(
        section,
        (name, name),
        Of::Formula(text.to_owned()),
        unit,
        (text, "computed from other metrics", ""),
    )
}

/// Reads a metric or curve of the registry.
fn registered(section: &Section<'_, '_>, name: &str, kind: &str, sweep: &Sweep) -> Result<Column, Problem> {
    let example = if kind == "metric" { "\"handover.gap\"" } else { "\"path.cwnd.curve\"" };
    let of = section.required("of", section.text("of")?, example)?;
    // The unit does not depend on a cell's values: any will do.
    let problem = |why: String| Problem::new(section.key("of"), why);
    let filled = match of.contains('{') {
        true => super::fill(of, sweep, &sweep.grid[0]).map_err(problem)?,
        false => of.to_owned(),
    };
    let wanted = Wanted::parse(&filled).map_err(problem)?;
    if wanted.metric.is_curve() != (kind == "curve") {
        let other = if kind == "metric" { "[curve.NAME]" } else { "[metric.NAME]" };
        return Err(problem(format!("{} belongs into {other}", wanted.metric.name)));
    }
    let unit = match section.text("unit")? {
        None => Shown::of(wanted.metric.unit),
        Some(symbol) => Shown::parse(symbol, Some(wanted.metric.unit))
            .map_err(|why| Problem::new(section.key("unit"), why))?,
    };
    let about = (of, wanted.metric.meaning, wanted.metric.x());
    column(section, (name, &wanted.to_string()), Of::Registry(of.to_owned()), unit, about)
}

/// Reads the keys that every metric has.
fn column(
    section: &Section<'_, '_>,
    (name, label): (&str, &str),
    of: Of,
    unit: Shown,
    (written, meaning, x): (&str, &str, &'static str),
) -> Result<Column, Problem> {
    let between = match section.value("between") {
        None => None,
        Some(value) => match &list(value).into_iter().map(plain_text).collect::<Vec<_>>()[..] {
            [from, to] => Some([from.clone(), to.clone()]),
            _ => return Err(section.wrong_type("between", value, "two values, such as [\"30s\", \"35s\"]")),
        },
    };
    let grain = match section.has("grain") {
        true => constant(section, "grain", unit)?,
        false => 0.0,
    };
    let label = section.text("label")?.unwrap_or(label).to_owned();
    let (name, written, meaning) = (name.to_owned(), written.to_owned(), meaning.to_owned());
    let every = section.span("every")?.map_or(0.0, Span::as_secs_f64);
    let marks = [("line", Mark::Line), ("steps", Mark::Steps), ("dots", Mark::Dots)];
    let mark = section.choice("mark", &marks)?.unwrap_or_default();
    let only = Selector::new();
    Ok(Column { name, label, of, written, meaning, x, every, mark, unit, between, grain, only })
}

pub(super) fn contrasts(top: &Section<'_, '_>, sweep: &Sweep) -> Result<Vec<Contrast>, Problem> {
    let mut contrasts: Vec<Contrast> = Vec::new();
    for (name, table) in top.named("comparison")? {
        let path = format!("comparison.{name}");
        let section = Section::open(table, path, &["metric", "against", "as", "label"])?;
        if sweep.metrics.iter().any(|metric| metric.name == name) {
            return Err(Problem::new(section.path(), "a metric has this name: want names that differ"));
        }
        let metric = metric_of(&section, sweep)?;
        let against = other_side(&section, "against", sweep)?;
        let against = section.required("against", against, "{ policy = \"conservative\" }")?;
        let ways = [
            ("difference", How::Difference),
            ("relative", How::Relative),
            ("ratio", How::Ratio),
            ("shortfall", How::Shortfall),
        ];
        let how = section.choice("as", &ways)?.unwrap_or(How::Difference);
        let word = match how {
            How::Difference => "difference from",
            How::Relative => "relative difference from",
            How::Ratio => "ratio to",
            How::Shortfall => "shortfall from",
        };
        let label = format!("{}: {word} {}", sweep.metrics[metric].label, sweep.selected(&against));
        let label = section.text("label")?.unwrap_or(&label).to_owned();
        contrasts.push(Contrast { name, label, metric, against, how });
    }
    Ok(contrasts)
}

/// Reads `metric = "gap"`.
pub(super) fn metric_of(section: &Section<'_, '_>, sweep: &Sweep) -> Result<usize, Problem> {
    let name = section.required("metric", section.text("metric")?, "\"a metric's name\"")?;
    let known = || sweep.metrics.iter().map(|metric| metric.name.as_str());
    known().position(|known| known == name).ok_or_else(|| {
        let remedy = suggest(name, known());
        Problem::new(section.key("metric"), format!("there is no [metric.{name}]{remedy}"))
    })
}

/// Reads the name of a metric, comparison or estimate.
pub(super) fn quantity(
    section: &Section<'_, '_>,
    key: &str,
    sweep: &Sweep,
) -> Result<Option<Quantity>, Problem> {
    section.text(key)?.map(|name| named_quantity(section.key(key), name, sweep)).transpose()
}

/// Finds the metric, comparison or estimate of this name.
pub(super) fn named_quantity(key: String, name: &str, sweep: &Sweep) -> Result<Quantity, Problem> {
    sweep.quantity(name).map_err(|why| Problem::new(key, why))
}

/// Reads the name of an axis.
pub(super) fn axis(section: &Section<'_, '_>, key: &str, sweep: &Sweep) -> Result<Option<usize>, Problem> {
    section.text(key)?.map(|name| find_axis(section.key(key), name, &sweep.axes)).transpose()
}

pub(super) fn find_axis(key: String, name: &str, axes: &[Axis]) -> Result<usize, Problem> {
    let known = || axes.iter().map(|axis| axis.name.as_str());
    known()
        .position(|known| known == name)
        .ok_or_else(|| Problem::new(key, format!("there is no axis \"{name}\"{}", suggest(name, known()))))
}

/// Reads `{ policy = "adaptive", loss = [0, 0.01] }`.
pub(in crate::sweep) fn selector(
    section: &Section<'_, '_>,
    key: &str,
    sweep: &Sweep,
) -> Result<Option<Selector>, Problem> {
    selector_of(section, key, &sweep.axes)
}

pub(super) fn selector_of(
    section: &Section<'_, '_>,
    key: &str,
    axes: &[Axis],
) -> Result<Option<Selector>, Problem> {
    let table = match section.value(key) {
        None => return Ok(None),
        Some(DeValue::Table(table)) => table,
        Some(other) => {
            return Err(section.wrong_type(key, other, "values of axes, such as { policy = \"adaptive\" }"));
        }
    };
    let mut chosen = Selector::new();
    for (name, value) in table {
        let name = name.get_ref();
        let at = format!("{}.{name}", section.key(key));
        let axis = find_axis(at.clone(), name, axes)?;
        let known = || axes[axis].values.iter().map(|value| value.name.as_str());
        let mut places = Vec::new();
        for wanted in list(value.get_ref()).into_iter().map(plain_text) {
            let place = known().position(|known| known == wanted).ok_or_else(|| {
                let remedy = suggest(&wanted, known());
                Problem::new(at.clone(), format!("the axis {name} has no value \"{wanted}\"{remedy}"))
            })?;
            places.push(place);
        }
        places.sort_unstable();
        chosen.push((axis, places));
    }
    chosen.sort_unstable();
    Ok(Some(chosen))
}

/// Reads the cell with which others are compared: one value on each axis.
pub(super) fn other_side(
    section: &Section<'_, '_>,
    key: &str,
    sweep: &Sweep,
) -> Result<Option<Selector>, Problem> {
    let cell = selector(section, key, sweep)?;
    let list = cell.iter().flatten().find(|(_, values)| values.len() != 1);
    list.map_or(Ok(()), |(axis, values)| {
        let name = &sweep.axes[*axis].name;
        let message = format!("has {} values: want one, and a comparison of its own with each", values.len());
        Err(Problem::new(format!("{}.{name}", section.key(key)), message))
    })?;
    Ok(cell)
}

/// Reads a value in a metric's unit: a number in the unit of the file, or a string with a unit.
pub(in crate::sweep) fn constant(section: &Section<'_, '_>, key: &str, unit: Shown) -> Result<f64, Problem> {
    if !section.is_string(key) {
        let number = section.required(key, section.number(key)?, "{ policy = \"inherit\" }, or a number")?;
        return match number.is_finite() {
            true => Ok(unit.own(number)),
            false => Err(Problem::new(section.key(key), format!("{number} is not finite: want a number"))),
        };
    }
    let text = section.text(key)?.unwrap_or_default();
    number(text, unit).map_err(|why| Problem::new(section.key(key), why))
}

/// Parses a value in a unit.
pub(super) fn number(text: &str, unit: Shown) -> Result<f64, String> {
    let named = |why: String| format!("\"{text}\" is {why}");
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    match unit.unit {
        Unit::Rate => {
            text.parse::<Rate>().map(|rate| rate.as_bps() as f64).map_err(|why| named(why.to_string()))
        }
        Unit::Seconds => text.parse::<Span>().map(Span::as_secs_f64).map_err(|why| named(why.to_string())),
        Unit::Ratio if percent.is_some() => Ok(percent.unwrap_or_default() / 100.0),
        _ => match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(unit.own(number)),
            _ => Err(named("no number".to_owned())),
        },
    }
}
