//! Reads a sweep file. The first fault is reported with its line, its key and what is allowed, before
//! anything runs.

mod axes;
mod claims;
mod overlap;
mod quantities;
mod views;

use std::cell::RefCell;
use std::path::Path;

use msctp_sim::scenario::compose::{self, Text};
use msctp_sim::scenario::document::{Document, Section};
use msctp_sim::scenario::{Problem, Scenario, ScenarioError, Schemes};
use sha2::{Digest, Sha256};
use toml::de::{DeTable, DeValue};

pub(super) use self::axes::plain_text;
use self::axes::{axes, fill, fill_known, overrides};
use self::claims::{claims, evidence};
use self::quantities::{columns, contrasts};
pub(super) use self::quantities::{constant, selector};
pub(super) use self::views::axes as axes_of;
use super::estimate::estimates;
use super::{
    Cell, Column, Draw, Drawn, DrawnValue, Of, Quantity, Selector, Sweep, TableSpec, contains, without_asides,
};
use crate::metrics::{Wanted, enable_series};
use crate::paper::Paper;
use crate::report::Source;
use crate::sweep::formula::Formula;
use crate::sweep::real::Real;

/// A function that returns the text of a file by its path, or the reason why it cannot be read.
type Open<'f> = dyn Fn(&str) -> Result<String, String> + 'f;

const KEYS: [&str; 22] = [
    "title",
    "description",
    "scenario",
    "seeds",
    "series",
    "set",
    "axis",
    "metric",
    "curve",
    "comparison",
    "estimate",
    "with",
    "table",
    "figure",
    "claim",
    "judged",
    "quick",
    "real",
    "paper",
    "term",
    "set_up",
    "finding",
];

/// Maximum number of runs, so that a mistyped range of seeds is rejected instead of filling the memory.
const MOST_RUNS: usize = 1_000_000;

impl Sweep {
    /// Reads and checks a sweep file and every scenario of it. `file` is its path, for errors. Paths of
    /// scenarios are relative to its folder, and `open` reads them.
    ///
    /// # Errors
    /// The file is invalid. The error names the line and the key of the first fault, and the allowed values.
    pub fn read(text: &str, file: &str, open: &Open<'_>) -> Result<Self, ScenarioError> {
        Self::with_schemes(text, file, open, Schemes::none())
    }

    /// Reads a sweep like [`read`](Self::read), for scenarios that may name `schemes`. A store identifies
    /// schemes only by name: use no store for schemes that change.
    ///
    /// # Errors
    /// Same as [`read`](Self::read).
    pub fn with_schemes(
        text: &str,
        file: &str,
        open: &Open<'_>,
        schemes: Schemes,
    ) -> Result<Self, ScenarioError> {
        Self::read_part(text, file, open, &Part::default(), schemes)
    }

    /// Reads a part of a sweep file.
    pub(super) fn read_part(
        text: &str,
        file: &str,
        open: &Open<'_>,
        part: &Part<'_>,
        schemes: Schemes,
    ) -> Result<Self, ScenarioError> {
        let alone = Text::new(text, file);
        let document = Document::parse(&alone)?;
        let sources = RefCell::new(vec![source(file, text)]);
        let sweep = Reader { file, open, part, schemes, sources }.sweep(&document.root);
        sweep.map_err(|problem| document.locate(problem))
    }
}

/// The part of a sweep to read: some claims with their cells, and further overrides.
#[derive(Debug, Default)]
pub(crate) struct Part<'p> {
    /// The claims; empty: everything.
    pub(crate) claims: &'p [String],
    /// Further overrides in the form of `--set`, applied after those of the file.
    pub(crate) overrides: &'p [String],
    /// Further overrides of a scenario's cells, by the name of its file.
    pub(crate) files: &'p [(String, Vec<String>)],
    /// Texts for `{name}` that replace those of the file's `with`.
    pub(crate) with: &'p [(String, String)],
    /// True to read also the findings' checks, and every metric and curve for a report.
    pub(crate) report: bool,
}

impl Sweep {
    /// Restricts tables and figures to the first value of a counterfactual axis, and to one value of an axis
    /// on which their quantities do not depend, unless they name the axis.
    fn restrict_views(&mut self) {
        let (mut tables, mut figures) = (std::mem::take(&mut self.tables), std::mem::take(&mut self.figures));
        let of_figures = figures.iter_mut().flat_map(|figure| &mut figure.tables);
        for table in tables.iter_mut().chain(of_figures) {
            let named: Vec<usize> = table.rows.iter().copied().chain(table.columns).collect();
            without_asides(&mut table.at, &self.axes, &named);
            self.fix_unused(&mut table.at, &[&table.cells[..], &table.notes[..]].concat(), &named);
        }
        for panel in figures.iter_mut().flat_map(|figure| &mut figure.panels) {
            let (x, y) = match panel.draw {
                Drawn::Over { x, y, .. } => (Some(x), Some(y)),
                Drawn::Curve { .. } => (None, None),
            };
            let named: Vec<usize> = panel.series.iter().copied().chain(x).collect();
            without_asides(&mut panel.at, &self.axes, &named);
            self.fix_unused(&mut panel.at, y.as_slice(), &named);
        }
        (self.tables, self.figures) = (tables, figures);
    }

    /// Adds a table and a figure of every metric, if the file has none and does not belong to a publication.
    fn add_defaults(&mut self) {
        if self.paper.is_some() {
            return;
        }
        let metrics = || (0..self.metrics.len()).map(Quantity::Metric);
        if self.tables.is_empty() {
            let table = |cells| TableSpec {
                title: self.label(cells).to_owned(),
                rows: (0..self.axes.len().min(1)).collect(),
                columns: (self.axes.len() > 1).then_some(1),
                cells: vec![cells],
                notes: Vec::new(),
                seed: None,
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
            let series = axes().find(|axis| *axis != x);
            let figures =
                metrics().enumerate().map(|(number, y)| self.default_figure(number + 1, x, y, series));
            self.figures = figures.collect();
        }
    }
}

/// Returns a file for the provenance.
fn source(path: &str, text: &str) -> Source {
    Source { path: path.to_owned(), sha256: hex(text.as_bytes()), text: text.to_owned() }
}

/// Returns the SHA-256 of some bytes.
pub(super) fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Reader<'r> {
    file: &'r str,
    open: &'r Open<'r>,
    schemes: Schemes,
    part: &'r Part<'r>,
    /// The files read so far.
    sources: RefCell<Vec<Source>>,
}

/// Rejects names that an axis shares with a metric or comparison, or that two columns of a table would have.
fn check_names(sweep: &Sweep) -> Result<(), Problem> {
    if let Some(axis) = sweep.axes.iter().find(|axis| sweep.of_cells().any(|(name, _)| name == axis.name)) {
        let message = "a metric or comparison has this name: want names that differ";
        return Err(Problem::new(format!("axis.{}", axis.name), message));
    }
    if let Some(name) = sweep.ambiguous_column() {
        let kind = if sweep.axes.iter().any(|axis| axis.name == name) { "axis" } else { "metric" };
        let message = format!("the tables would have two columns \"{name}\": want another name");
        return Err(Problem::new(format!("{kind}.{name}"), message));
    }
    Ok(())
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
            series: top.flag("series")?.unwrap_or_default(),
            axes: axes(&top)?,
            metrics: Vec::new(),
            curves: Vec::new(),
            cells: Vec::new(),
            sources: Vec::new(),
            grid: Vec::new(),
            reduced: false,
            judged: None,
            paper: Paper::read(&top)?,
            quick: None,
            real: None,
            schemes: self.schemes.clone(),
            contrasts: Vec::new(),
            estimates: Vec::new(),
            with: self.with(&top)?,
            tables: Vec::new(),
            figures: Vec::new(),
            claims: Vec::new(),
            evidence: Vec::new(),
        };
        sweep.grid = grid(&sweep)?;
        sweep.judged = quantities::axis(&top, "judged", &sweep)?;
        sweep.metrics = columns(&top, "metric", &sweep)?;
        sweep.curves = columns(&top, "curve", &sweep)?;
        if sweep.metrics.is_empty() {
            let message = "missing: want a table [metric.NAME] with of = \"handover.gap\"";
            return Err(Problem::new("metric", message));
        }
        sweep.contrasts = contrasts(&top, &sweep)?;
        check_names(&sweep)?;
        estimates(&top, &mut sweep)?;
        sweep.quick = quick(&top, &sweep)?;
        sweep.real = Real::read(&top, &sweep)?;
        for (path, table) in top.items("table")? {
            sweep.tables.push(views::table(table, path, &sweep)?);
        }
        for (number, (path, table)) in top.items("figure")?.into_iter().enumerate() {
            sweep.figures.push(views::figure(table, path, number + 1, &sweep)?);
        }
        sweep.add_defaults();
        sweep.restrict_views();
        sweep.claims = claims(&top, &sweep)?;
        sweep.evidence = evidence(&top, &sweep)?;
        sweep.check_findings()?;
        if !self.part.claims.is_empty() {
            sweep.claims.retain(|claim| self.part.claims.contains(&claim.id));
            if !self.part.report {
                sweep.only_needed();
            }
        }
        sweep.cells = self.cells(&top, &sweep)?;
        sweep.sources = self.sources.into_inner();
        Ok(sweep)
    }

    fn cells(&self, top: &Section<'_, '_>, sweep: &Sweep) -> Result<Vec<Cell>, Problem> {
        let default = top.text("scenario")?;
        let base = overrides(top, "set")?;
        if base.iter().any(|set| set.starts_with("seed=")) {
            let message = "the seed of a scenario has no effect in a sweep: want seeds = \"1..30\"";
            return Err(Problem::new("set.seed", message));
        }
        let mut cells = Vec::with_capacity(sweep.grid.len());
        let needed = (!self.part.claims.is_empty()).then(|| {
            let mut cells = sweep.cells_of_claims();
            if self.part.report {
                cells.extend(sweep.cells_of_evidence());
            }
            cells
        });
        let wanted = |values: &Vec<usize>| needed.as_ref().is_none_or(|needed| needed.contains(values));
        for values in sweep.grid.iter().filter(|values| wanted(values)) {
            overlap::check_keys(sweep, values)?;
            let chosen = || sweep.axes.iter().zip(values).map(|(axis, &value)| &axis.values[value]);
            let own = chosen().filter_map(|value| value.scenario.as_deref()).next_back();
            let example = "\"walk.toml\", or one in every value of an axis";
            let name = top.required("scenario", own.or(default), example)?;
            let name = fill_known(name, sweep, values);
            let set = base.iter().chain(chosen().flat_map(|value| &value.set));
            let of_file = self.part.files.iter().filter(|(file, _)| *file == name).flat_map(|(_, set)| set);
            let set = set.chain(self.part.overrides).chain(of_file);
            let set = set.map(|set| fill_known(set, sweep, values)).collect();
            let draws = draws(sweep, values)?;
            cells.push(self.cell(sweep, values, &name, (set, draws))?);
        }
        Ok(cells)
    }

    fn cell(
        &self,
        sweep: &Sweep,
        values: &[usize],
        name: &str,
        (overrides, draws): (Vec<String>, Vec<Draw>),
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
            let named = sweep.named(values);
            if named.is_empty() { why } else { format!("with {named}: {why}") }
        };
        let read =
            |overrides: &[String]| Scenario::with_schemes(&text, &path, overrides, &open, &self.schemes);
        let draws = timed(draws, &|| read(&overrides))?;
        let first: Vec<String> =
            overrides.iter().cloned().chain(draws.iter().map(|draw| draw.set(sweep.seeds[0]))).collect();
        let mut scenario = read(&first).map_err(|error| {
            Problem::new(overlap::culprit(sweep, values, &read, &first), within(error.to_string()))
        })?;
        let seeds = sweep.most_seeds(values);
        let own = &sweep.seeds[..sweep.seeds.len().min(seeds)];
        overlap::check_draws(&draws, &overrides, own, &read).map_err(|(set, why)| {
            let place = overlap::culprit(sweep, values, &read, &set);
            Problem::new(place, within(why))
        })?;
        let wanted = |kind: &str, columns: &[Column]| {
            let one = |column: &Column| self.wanted(sweep, values, column, &scenario, kind);
            columns.iter().map(one).collect::<Result<Vec<_>, Problem>>()
        };
        let located = |problem: Problem| Problem::new(problem.key, within(problem.message));
        let metrics = wanted("metric", &sweep.metrics).map_err(located)?;
        let curves = wanted("curve", &sweep.curves).map_err(located)?;
        let formulas =
            sweep.metrics.iter().enumerate().map(|(number, column)| formula(sweep, values, number, column));
        let formulas = formulas.collect::<Result<Vec<_>, Problem>>().map_err(located)?;
        let ranges = sweep.metrics.iter().map(|column| range(sweep, values, column));
        let ranges = ranges.collect::<Result<Vec<_>, Problem>>().map_err(located)?;
        metrics.iter().chain(&curves).flatten().for_each(|wanted| wanted.enable(&mut scenario));
        if sweep.series {
            enable_series(&mut scenario);
        }
        let metric = |(number, column): (usize, &Column)| {
            let of = metrics[number].as_ref().map(Wanted::to_string);
            format!("\n{:?}", (&column.name, of, &formulas[number], ranges[number]))
        };
        let curve = |(wanted, column): (&Option<Wanted>, &Column)| {
            format!("\n{:?}", (wanted.as_ref().map(Wanted::to_string), column.every))
        };
        let computed: String = (sweep.metrics.iter().enumerate().map(metric))
            .chain(curves.iter().zip(&sweep.curves).map(curve))
            // Results without series are not reused in a sweep with them, nor the other way round.
            .chain(sweep.series.then(|| "\nseries".to_owned()))
            .collect();
        let draws_text: String = draws.iter().map(|draw| format!("\n{draw:?}")).collect();
        let hash = format!("{text}\n{}{}{draws_text}\n{computed}", others.into_inner(), overrides.join("\n"));
        let values = values.to_vec();
        let hash = hex(hash.as_bytes());
        Ok(Cell { values, overrides, seeds, draws, path, scenario, metrics, ranges, curves, formulas, hash })
    }

    /// Returns the metric or curve of the registry in a cell; `None` if it is not computed there.
    fn wanted(
        &self,
        sweep: &Sweep,
        values: &[usize],
        column: &Column,
        scenario: &Scenario,
        kind: &str,
    ) -> Result<Option<Wanted>, Problem> {
        let Of::Registry(text) = &column.of else { return Ok(None) };
        if !contains(&column.only, values) {
            return Ok(None);
        }
        let key = || format!("{kind}.{}.of", column.name);
        let text = fill(text, sweep, values).map_err(|why| Problem::new(key(), why))?;
        let wanted = Wanted::parse(&text).map_err(|why| Problem::new(key(), why))?;
        wanted.check(scenario).map_err(|why| Problem::new(key(), why))?;
        Ok(Some(wanted))
    }

    /// Reads `with = "parameters.toml"`: texts for `{name}`, the keys of a file's `[parameters]`.
    fn with(&self, top: &Section<'_, '_>) -> Result<Vec<(String, String)>, Problem> {
        let Some(name) = top.text("with")? else { return Ok(Vec::new()) };
        let problem = |why: String| Problem::new("with", why);
        let path = beside(self.file, name);
        let text = self.text(&path).map_err(problem)?;
        let parsed = DeTable::parse(&text).map_err(|e| problem(format!("{path}: {}", e.message())))?;
        let Some(DeValue::Table(table)) = parsed.get_ref().get("parameters").map(toml::Spanned::get_ref)
        else {
            return Err(problem(format!("{path} has no table [parameters]")));
        };
        let own = table.iter().map(|(name, text)| (name.get_ref().to_string(), plain_text(text.get_ref())));
        let own = own.filter(|(name, _)| self.part.with.iter().all(|(other, _)| other != name));
        Ok(own.chain(self.part.with.iter().cloned()).collect())
    }

    /// Returns the text of a file. Reads each file once.
    fn text(&self, path: &str) -> Result<String, String> {
        if path.is_empty() {
            return Err(
                "is the folder of this file: want the path of a file, such as \"walk.toml\"".to_owned()
            );
        }
        if let Some(known) = self.sources.borrow().iter().find(|source| source.path == path) {
            return Ok(known.text.clone());
        }
        let text = (self.open)(path)?;
        self.sources.borrow_mut().push(source(path, &text));
        Ok(text)
    }
}

/// Returns the draws of a cell.
fn draws(sweep: &Sweep, values: &[usize]) -> Result<Vec<Draw>, Problem> {
    let mut draws = Vec::new();
    for (axis, &value) in sweep.axes.iter().zip(values) {
        let value = &axis.values[value];
        for draw in &value.draws {
            let filled = axes::filled(draw, sweep, values);
            draws.push(filled.map_err(|why| Problem::new(overlap::place(axis, value), why))?);
        }
    }
    Ok(draws)
}

/// Attaches the link's process to each draw that follows a cell change. `scenario` reads the scenario without
/// draws.
fn timed(
    mut draws: Vec<Draw>,
    scenario: &dyn Fn() -> Result<Scenario, ScenarioError>,
) -> Result<Vec<Draw>, Problem> {
    for draw in &mut draws {
        let DrawnValue::Handover { link, process, .. } = &mut draw.value else { continue };
        let scenario = scenario().map_err(|error| Problem::new("scenario", error.to_string()))?;
        let found = scenario.links.into_iter().find(|known| known.name == *link);
        let coding = found.and_then(|link| link.coding).map(|coding| coding.process);
        let coding = coding.ok_or_else(|| {
            let message = format!("the scenario has no link \"{link}\" with a coding process");
            Problem::new("draw", message)
        })?;
        *process = Some(coding);
    }
    Ok(draws)
}

/// Returns the path of a file that another file names.
pub(super) fn beside(file: &str, name: &str) -> String {
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    compose::beside(&folder.to_string_lossy(), name)
}

/// Reads `seeds = "1..30"` or `seeds = [1, 7]`.
fn seeds(top: &Section<'_, '_>) -> Result<Vec<u64>, Problem> {
    let want = "want seeds = \"1..30\" (both included), or a list, such as [1, 7]";
    let seeds = if top.is_string("seeds") {
        let text = top.text("seeds")?.unwrap_or_default();
        let range = text
            .split_once("..")
            .and_then(|(from, to)| Some((from.trim().parse::<u64>().ok()?, to.trim().parse::<u64>().ok()?)));
        match range {
            Some((from, to)) if from <= to && to - from < MOST_RUNS as u64 => (from..=to).collect(),
            Some((from, to)) if from <= to => {
                let message =
                    format!("\"{text}\" has more than {MOST_RUNS} seeds: want at most {MOST_RUNS} runs");
                return Err(Problem::new("seeds", message));
            }
            _ => return Err(Problem::new("seeds", format!("\"{text}\" is not a range of seeds: {want}"))),
        }
    } else {
        let negative = top
            .value("seeds")
            .and_then(|seeds| list(seeds).into_iter().map(plain_text).find(|seed| seed.starts_with('-')));
        if let Some(seed) = negative {
            return Err(Problem::new("seeds", format!("{seed} is negative: {want}")));
        }
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

/// Returns every combination of the axes' values that their `only` allow.
fn grid(sweep: &Sweep) -> Result<Vec<Vec<usize>>, Problem> {
    let all = sweep.axes.iter().map(|axis| axis.values.len()).product::<usize>();
    if all.saturating_mul(sweep.seeds.len()) > MOST_RUNS {
        let message = format!("{all} cells with {} seeds: want at most {MOST_RUNS} runs", sweep.seeds.len());
        return Err(Problem::new("seeds", message));
    }
    let mut grid: Vec<Vec<usize>> = vec![Vec::new()];
    for axis in &sweep.axes {
        let longer = |values: &Vec<usize>| {
            (0..axis.values.len()).map(|value| [&values[..], &[value]].concat()).collect::<Vec<_>>()
        };
        grid = grid.iter().flat_map(longer).collect();
    }
    let allowed = |values: &Vec<usize>| {
        sweep.axes.iter().zip(values).all(|(axis, &value)| contains(&axis.values[value].only, values))
    };
    grid.retain(allowed);
    if grid.is_empty() {
        Err(Problem::new("axis", "every combination is excluded: want fewer only"))
    } else {
        Ok(grid)
    }
}

/// Returns the formula of a computed metric in a cell, over the metrics above it.
fn formula(
    sweep: &Sweep,
    values: &[usize],
    number: usize,
    column: &Column,
) -> Result<Option<Formula>, Problem> {
    let Of::Formula(text) = &column.of else { return Ok(None) };
    if !contains(&column.only, values) {
        return Ok(None);
    }
    let problem = |why| Problem::new(format!("metric.{}.is", column.name), why);
    let text = fill(text, sweep, values).map_err(problem)?;
    let known: Vec<&str> = sweep.metrics[..number].iter().map(|column| column.name.as_str()).collect();
    Formula::parse(&text, &known).map(Some).map_err(problem)
}

/// Returns the range of a metric in a cell.
fn range(sweep: &Sweep, values: &[usize], column: &Column) -> Result<Option<[f64; 2]>, Problem> {
    let Some(ends) = column.between.as_ref().filter(|_| contains(&column.only, values)) else {
        return Ok(None);
    };
    let end = |text: &String| {
        let problem = |why| Problem::new(format!("metric.{}.between", column.name), why);
        let text = fill(text, sweep, values).map_err(problem)?;
        quantities::number(&text, column.unit).map_err(problem)
    };
    let [from, to] = [end(&ends[0])?, end(&ends[1])?];
    if from <= to {
        return Ok(Some([from, to]));
    }
    let message = format!("{} is above {}: want the smaller value first", ends[0], ends[1]);
    Err(Problem::new(format!("metric.{}.between", column.name), message))
}

/// Reads `[quick]`: the seeds and cells of `--quick`.
fn quick(top: &Section<'_, '_>, sweep: &Sweep) -> Result<Option<(usize, Selector)>, Problem> {
    let Some(section) = top.section("quick", &["seeds", "at"])? else { return Ok(None) };
    let seeds = section.integer("seeds", 1, sweep.seeds.len() as i128)?.unwrap_or(3);
    Ok(Some((seeds, selector(&section, "at", sweep)?.unwrap_or_default())))
}

/// Rejects keys that have no effect beside another.
pub(super) fn reject_unused(section: &Section<'_, '_>, beside: &str, keys: &[&str]) -> Result<(), Problem> {
    match keys.iter().find(|key| section.has(key)) {
        None => Ok(()),
        Some(key) => {
            let message = format!("has no effect beside {beside}: want one of them");
            Err(Problem::new(section.key(key), message))
        }
    }
}

/// Returns the values of a list, or a single value as a list.
pub(super) fn list<'d, 't>(value: &'d DeValue<'t>) -> Vec<&'d DeValue<'t>> {
    match value {
        DeValue::Array(items) => items.iter().map(toml::Spanned::get_ref).collect(),
        one => vec![one],
    }
}
