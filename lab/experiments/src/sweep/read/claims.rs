//! Reads the claims.

use std::collections::BTreeSet;

use msctp_sim::scenario::Problem;
use msctp_sim::scenario::document::Section;

use super::quantities::{axis, constant, other_side, quantity, selector};
use super::reject_unused;
use crate::metrics::Unit;
use crate::paper::FINDING;
use crate::sweep::{
    Against, CheckSpec, ClaimSpec, Quantity, Relation, Relevant, Selector, Sweep, Wants, contains, moved,
    without_asides,
};

/// The place where a relation is written.
type Relations = [(&'static str, Relation); 11];

const RELATIONS: Relations = [
    ("below", Relation::Below),
    ("above", Relation::Above),
    ("within", Relation::Within),
    ("level", Relation::Level),
    ("at_least", Relation::AtLeast),
    ("at_most", Relation::AtMost),
    ("not_below", Relation::NotBelow),
    ("not_above", Relation::NotAbove),
    ("mostly_above", Relation::MostlyAbove),
    ("rarely_above", Relation::RarelyAbove),
    ("agrees", Relation::Agrees),
];

/// The keys of a check.
const CHECK: [&str; 30] = [
    "metric",
    "a",
    "below",
    "above",
    "within",
    "level",
    "at_least",
    "at_most",
    "not_below",
    "not_above",
    "mostly_above",
    "rarely_above",
    "agrees",
    "than",
    "margin",
    "missing",
    "at",
    "over",
    "best",
    "nearer",
    "to_than",
    "curve",
    "linear",
    "from",
    "lowest",
    "every",
    "relevant",
    "times",
    "to",
    "part",
];

/// The keys of a check of a curve.
const CURVE: [&str; 12] = [
    "curve",
    "at",
    "a",
    "relevant",
    "linear",
    "from",
    "lowest",
    "not_below",
    "every",
    "mostly_above",
    "times",
    "to",
];

/// Returns the keys of a check except these.
fn keys_beside(used: &[&str]) -> Vec<&'static str> {
    CHECK.into_iter().filter(|key| !used.contains(key)).collect()
}

pub(super) fn claims(top: &Section<'_, '_>, sweep: &Sweep) -> Result<Vec<ClaimSpec>, Problem> {
    let mut claims: Vec<ClaimSpec> = Vec::new();
    for (path, table) in top.items("claim")? {
        let own = ["id", "figure", "says", "conditions", "check"];
        let section = Section::open(table, path.clone(), &[&own[..], &CHECK].concat())?;
        let id = section.required("id", section.text("id")?, "\"H1\"")?.to_owned();
        if claims.iter().any(|other| other.id == id) {
            let message = format!("\"{id}\" is used twice: want ids that differ");
            return Err(Problem::new(format!("{path}.id"), message));
        }
        let at = selector(&section, "at", sweep)?.unwrap_or_default();
        let mut checks = Vec::new();
        for (path, table) in section.items("check")? {
            checks.push(check(&Section::open(table, path, &CHECK)?, &at, sweep)?);
        }
        match checks.is_empty() {
            true => checks.push(check(&section, &at, sweep)?),
            false => {
                reject_unused(&section, "check", &keys_beside(&["at", "relevant"]))?;
                share_relevant(&section, sweep, &mut checks)?;
            }
        }
        let says = section.text("says")?.map(str::to_owned);
        let says = says.unwrap_or_else(|| sweep.statement(&checks));
        claims.push(ClaimSpec {
            id,
            figure: section.text("figure")?.unwrap_or_default().to_owned(),
            says,
            conditions: section.text("conditions")?.unwrap_or_default().to_owned(),
            checks,
        });
    }
    Ok(claims)
}

/// Reads the checks of the findings, by finding.
pub(super) fn evidence(top: &Section<'_, '_>, sweep: &Sweep) -> Result<Vec<Vec<CheckSpec>>, Problem> {
    let mut evidence = Vec::new();
    for (path, table) in top.items("finding")? {
        let section = Section::open(table, path, &FINDING)?;
        let mut checks = Vec::new();
        for (path, table) in section.items("check")? {
            checks.push(check(&Section::open(table, path, &CHECK)?, &Selector::new(), sweep)?);
        }
        if checks.is_empty() {
            let message = "missing: want a [[finding.check]], a relation that fails if the finding is wrong";
            return Err(Problem::new(section.key("check"), message));
        }
        evidence.push(checks);
    }
    Ok(evidence)
}

/// Reads a check. On a counterfactual axis that it does not name, it has the first value, and on an axis on
/// which its quantities do not depend any value.
fn check(section: &Section<'_, '_>, outer: &Selector, sweep: &Sweep) -> Result<CheckSpec, Problem> {
    let mut check = check_of(section, outer, sweep)?;
    let named = check.named_axes();
    without_asides(&mut check.at, &sweep.axes, &named);
    let quantities = check.quantities();
    sweep.fix_unused(&mut check.at, &quantities, &named);
    check.relevant = relevant(section, sweep, &check.what)?;
    check_cells(&check, sweep).map_err(|why| Problem::new(section.key("a"), why))?;
    check_over(&check, sweep).map_err(|why| Problem::new(section.key("over"), why))?;
    Ok(check)
}

/// Checks that no cell is compared with itself.
fn check_cells(check: &CheckSpec, sweep: &Sweep) -> Result<(), String> {
    let none = Selector::new();
    let (others, over) = match &check.what {
        Wants::Relation { of, than, against: Against::Cells(other), over, .. } if of == than => {
            (vec![other], over)
        }
        Wants::NotBehind { behind, .. } => (vec![behind], &none),
        Wants::Nearer { to, than_to, .. } => (vec![to, than_to], &none),
        _ => return Ok(()),
    };
    let at = Sweep::at(check, &none);
    for values in sweep.grid.iter().filter(|values| contains(&at, values)) {
        let sides = std::iter::once(values.clone()).chain(others.iter().map(|other| moved(values, other)));
        // The values of `over` are averaged on every side.
        let mut sides: Vec<Vec<usize>> = sides.map(|side| moved(&side, over)).collect();
        sides.sort_unstable();
        if let Some(twice) = sides.windows(2).find(|pair| pair[0] == pair[1]) {
            let named = sweep.named(&twice[0]);
            return Err(format!("compares a cell with itself ({named}): want different cells"));
        }
    }
    Ok(())
}

/// Checks that both sides of a relation are averaged over the same values: an `only` can leave out some of
/// one side.
fn check_over(check: &CheckSpec, sweep: &Sweep) -> Result<(), String> {
    let Wants::Relation { against: Against::Cells(other), over, .. } = &check.what else { return Ok(()) };
    let at = Sweep::at(check, &Selector::new());
    for values in sweep.grid.iter().filter(|values| !over.is_empty() && contains(&at, values)) {
        let averaged = |values: &[usize]| -> BTreeSet<Selector> {
            let cells = sweep.spread(values, over);
            let part = |cell: &Vec<usize>| over.iter().map(|(axis, _)| (*axis, vec![cell[*axis]])).collect();
            cells.iter().map(part).collect()
        };
        let (own, other) = (averaged(values), averaged(&moved(values, other)));
        if let Some(one) = own.symmetric_difference(&other).next().filter(|_| !other.is_empty()) {
            return Err(format!(
                "with {}: only one side has a cell with {}: want values that both sides have",
                sweep.named(values),
                sweep.selected(one)
            ));
        }
    }
    Ok(())
}

/// Copies the claim's own `relevant` to the checks that have none and whose unit it fits.
fn share_relevant(section: &Section<'_, '_>, sweep: &Sweep, checks: &mut [CheckSpec]) -> Result<(), Problem> {
    let (mut fits, mut fault) = (!section.has("relevant"), None);
    for check in checks {
        match relevant(section, sweep, &check.what) {
            Ok(found) => {
                fits |= found.is_some();
                check.relevant = check.relevant.or(found);
            }
            Err(problem) => fault = Some(problem),
        }
    }
    fault.filter(|_| !fits).map_or(Ok(()), Err)
}

/// Reads `relevant`: `"2%"` of the other side's mean if that is a mean, else a value in the metric's unit. A
/// check without an effect of that kind has none.
fn relevant(section: &Section<'_, '_>, sweep: &Sweep, what: &Wants) -> Result<Option<Relevant>, Problem> {
    if !section.has("relevant") {
        return Ok(None);
    }
    let (of, cells) = match what {
        Wants::Relation { of, against, .. } => (*of, matches!(against, Against::Cells(_))),
        Wants::Best { of, .. } | Wants::Nearer { of, .. } => (*of, true),
        _ => return Ok(None),
    };
    let is_text = section.is_string("relevant");
    if cells && is_text && section.text("relevant")?.is_some_and(|text| text.ends_with('%')) {
        return Ok(percent(section, "relevant")?.map(Relevant::Share));
    }
    Ok(Some(Relevant::Value(constant(section, "relevant", sweep.unit(of))?)))
}

fn check_of(section: &Section<'_, '_>, outer: &Selector, sweep: &Sweep) -> Result<CheckSpec, Problem> {
    let mut at = selector(section, "at", sweep)?.unwrap_or_default();
    at.extend(
        outer.iter().filter(|(axis, _)| at.iter().all(|(own, _)| own != axis)).cloned().collect::<Vec<_>>(),
    );
    at.sort_unstable();
    if section.has("part") {
        reject_unused(section, "part", &keys_beside(&["part", "at"]))?;
        let mut parts = Vec::new();
        for (path, table) in section.items("part")? {
            parts.push(check(&Section::open(table, path, &CHECK)?, &at, sweep)?);
        }
        return Ok(CheckSpec { at, relevant: None, what: Wants::All(parts) });
    }
    if section.has("curve") {
        reject_unused(section, "curve", &keys_beside(&CURVE))?;
        return Ok(CheckSpec { at, relevant: None, what: of_curve(section, sweep)? });
    }
    let of = section.required("metric", quantity(section, "metric", sweep)?, "\"a metric's name\"")?;
    let a = selector(section, "a", sweep)?.unwrap_or_default();
    let what = if let Some(axis) = axis(section, "best", sweep)? {
        reject_unused(section, "best", &keys_beside(&["metric", "a", "at", "relevant", "best"]))?;
        Wants::Best { of, a, axis }
    } else if let Some(to) = other_side(section, "nearer", sweep)? {
        let own = ["metric", "a", "at", "relevant", "nearer", "to_than"];
        reject_unused(section, "nearer", &keys_beside(&own))?;
        let than_to = other_side(section, "to_than", sweep)?;
        let than_to = section.required("to_than", than_to, "{ policy = \"conservative\" }")?;
        Wants::Nearer { of, a, to, than_to }
    } else {
        relation(section, sweep, of, a)?
    };
    Ok(CheckSpec { at, relevant: None, what })
}

/// Reads `below = { policy = "inherit" }` or another relation of a quantity in the cells `a`.
fn relation(section: &Section<'_, '_>, sweep: &Sweep, of: Quantity, a: Selector) -> Result<Wants, Problem> {
    let given: Vec<_> = RELATIONS.into_iter().filter(|(key, _)| section.has(key)).collect();
    let [(key, relation)] = given[..] else {
        let names = RELATIONS.map(|(key, _)| key).join(", ");
        let message = format!("want exactly one of {names}, such as below = {{ policy = \"inherit\" }}");
        return Err(Problem::new(section.path(), message));
    };
    let own = ["metric", "a", "at", "relevant", key, "than", "margin", "over", "missing"];
    reject_unused(section, key, &keys_beside(&own))?;
    let counts = matches!(relation, Relation::MostlyAbove | Relation::RarelyAbove);
    let agrees = relation == Relation::Agrees;
    let number = !section.is_table(key);
    let unused = [
        ("over", counts || agrees, "the values in a, for each of which it must hold"),
        ("missing", !counts, "it with mostly_above or rarely_above"),
        ("margin", agrees || relation == Relation::MostlyAbove, "none"),
        ("than", agrees || number, "it with a relation to other cells"),
    ];
    if let Some((unused, _, want)) = unused.into_iter().find(|(unused, is, _)| *is && section.has(unused)) {
        return Err(Problem::new(section.key(unused), format!("has no effect with {key}: want {want}")));
    }
    if number && agrees || !number && counts {
        let want = if counts { "a number" } else { "a cell, such as { policy = \"inherit\" }" };
        return Err(Problem::new(section.key(key), format!("has no such value: want {want}")));
    }
    let than = quantity(section, "than", sweep)?.unwrap_or(of);
    let kind = |quantity| match sweep.unit(quantity).unit {
        Unit::Count(_) => Unit::Count(""),
        unit => unit,
    };
    if kind(of) != kind(than) {
        let message = format!("has another unit than {}: want the same unit", sweep.label(of));
        return Err(Problem::new(section.key("than"), message));
    }
    let skip = section.choice("missing", &[("skip", true)])?.unwrap_or(false);
    let over = selector(section, "over", sweep)?.unwrap_or_default();
    let against = match number {
        false => Against::Cells(other_side(section, key, sweep)?.unwrap_or_default()),
        true => Against::Constant(constant(section, key, sweep.unit(of))?),
    };
    if let Against::Cells(cells) = &against
        && let Some(&(axis, _)) = cells.iter().find(|(axis, _)| a.iter().all(|(own, _)| own != axis))
    {
        let name = &sweep.axes[axis].name;
        let message = format!("names no {name}, but {key} does: want a = {{ {name} = \"…\" }}");
        return Err(Problem::new(section.key("a"), message));
    }
    let shares = matches!(relation, Relation::AtLeast | Relation::AtMost);
    let margin = margin(section, if shares { 1.0 } else { 0.0 })?;
    if relation == Relation::Within && margin == 0.0 {
        return Err(Problem::new(section.key("margin"), format!("missing: want margin = \"5%\" with {key}")));
    }
    Ok(Wants::Relation { of, a, relation, than, against, margin, over, skip })
}

/// Reads `curve = "transfer"` with `from = 30` and `linear = "80%"`, with `lowest = [33, 37]`, with `a`,
/// `not_below` and `every`, with `mostly_above = 0`, or with `a`, `times = 2` and `to`.
fn of_curve(section: &Section<'_, '_>, sweep: &Sweep) -> Result<Wants, Problem> {
    let name = section.text("curve")?.unwrap_or_default();
    let curve = sweep.curves.iter().position(|curve| curve.name == name);
    let curve =
        curve.ok_or_else(|| Problem::new(section.key("curve"), format!("there is no [curve.{name}]")))?;
    if let Some(&[from, to]) = section.numbers("lowest")?.as_deref() {
        return Ok(Wants::Lowest { curve, from, to });
    }
    if section.has("mostly_above") {
        let above = constant(section, "mostly_above", sweep.curves[curve].unit)?;
        return Ok(Wants::MostPoints { curve, above });
    }
    if let Some(times) = section.number("times")? {
        let cells = |key| section.required(key, selector(section, key, sweep)?, "{ policy = \"adaptive\" }");
        return Ok(Wants::Times { curve, a: cells("a")?, to: cells("to")?, times });
    }
    let from = section.number("from")?.unwrap_or(0.0);
    if let Some(behind) = other_side(section, "not_below", sweep)? {
        let a = section.required("a", selector(section, "a", sweep)?, "{ policy = \"adaptive\" }")?;
        let every = section.number("every")?.filter(|every| *every > 0.0);
        let every = section.required("every", every, "10")?;
        return Ok(Wants::NotBehind { curve, a, behind, from, every });
    }
    let share = percent(section, "linear")?;
    let share = section.required("linear", share, "\"80%\"")?;
    Ok(Wants::Linear { curve, from, share })
}

/// Reads `margin = "2%"`.
fn margin(section: &Section<'_, '_>, without: f64) -> Result<f64, Problem> {
    Ok(percent(section, "margin")?.unwrap_or(without))
}

fn percent(section: &Section<'_, '_>, key: &str) -> Result<Option<f64>, Problem> {
    let Some(text) = section.text(key)? else { return Ok(None) };
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let share = percent.filter(|percent| (0.0..=1000.0).contains(percent)).map(|percent| percent / 100.0);
    share.map(Some).ok_or_else(|| {
        let message = format!("\"{text}\" is not a {key}: want a share, such as \"2%\"");
        Problem::new(section.key(key), message)
    })
}
