//! Sweeps: experiments as data. A TOML file names a scenario, axes of overrides, seeds, metrics, comparisons,
//! tables, figures and claims; [`Sweep::read`] checks it, [`Sweep::run`] runs it on all cores, and
//! [`Outcome::report`] lays out the same page as the papers have. docs/sweeps.md describes the keys.

mod bundled;
mod claim;
mod curve;
mod estimate;
mod expression;
mod figure;
mod findings;
mod formula;
mod needed;
mod outcome;
mod points;
mod read;
pub(crate) mod real;
mod record;
mod repeat;
mod report;
mod text;

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;

use msctp_link::egprs::{CodingConfig, CodingProcess};
use msctp_sim::random::component_seed;
use msctp_sim::scenario::{Scenario, Schemes};
use msctp_units::Span;

pub(crate) use self::bundled::bundled_part;
pub use self::bundled::{bundled, compare};
use self::estimate::Estimate;
pub use self::expression::Expression;
use self::formula::Formula;
pub use self::outcome::{Outcome, Values};
pub(crate) use self::read::Part;
use self::real::Real;
pub use self::record::Recorded;
use self::text::Shown;
use crate::figure::Mark;
use crate::metrics::{Unit, Wanted};
use crate::paper::Paper;
use crate::report::Source;
use crate::reproduce::Effort;

/// A sweep file that was read and checked.
#[derive(Debug)]
pub struct Sweep {
    /// Path of the file.
    pub file: String,
    /// Title of the page.
    pub title: String,
    /// Paragraph about the question; may be empty.
    pub description: String,
    /// Seeds of every cell. They are the same, so that cells are compared under the same losses and traffic.
    pub seeds: Vec<u64>,
    /// True to write the time series of every run into the report.
    pub series: bool,
    /// The axes, in the order of the file.
    pub axes: Vec<Axis>,
    /// The metrics, in the order of the file.
    pub metrics: Vec<Column>,
    /// The curves, in the order of the file.
    pub curves: Vec<Column>,
    /// The combinations of the axes' values that are run. The last axis varies fastest.
    pub cells: Vec<Cell>,
    /// The files on which the runs depend: the sweep, then the scenarios, then the files that they name.
    pub sources: Vec<Source>,
    /// Every combination that the file allows, run or not.
    grid: Vec<Vec<usize>>,
    /// True if a part of the seeds or cells was left out.
    reduced: bool,
    /// The axis whose values are judged separately. The first value decides.
    judged: Option<usize>,
    /// The publication, if the sweep reproduces one.
    paper: Option<Paper>,
    /// The part of `--quick`: number of seeds, and values of axes.
    quick: Option<(usize, Selector)>,
    /// The part that runs on real stacks.
    real: Option<Real>,
    /// The schemes that its scenarios may name.
    schemes: Schemes,
    contrasts: Vec<Contrast>,
    estimates: Vec<Estimate>,
    /// Texts for `{name}` in every cell, with their names.
    with: Vec<(String, String)>,
    tables: Vec<TableSpec>,
    figures: Vec<FigureSpec>,
    claims: Vec<ClaimSpec>,
    /// The checks of each of the publication's findings.
    evidence: Vec<Vec<CheckSpec>>,
}

/// A dimension of the sweep.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Name of the axis.
    pub name: String,
    /// Name of the axis for readers, with a unit if it has one.
    pub label: String,
    /// Values of the axis.
    pub values: Vec<Value>,
    /// Groups of the axis' values.
    groups: Vec<Group>,
    /// True if the further values are counterfactual. Where the axis is not named, claims, tables and figures
    /// then use the first value.
    aside: bool,
}

/// A group of an axis' values, which share keys and a panel of a figure.
#[derive(Clone, Debug)]
struct Group {
    name: String,
    label: String,
}

/// A value of an axis.
#[derive(Clone, Debug, Default)]
pub struct Value {
    /// Name of the value, such as `adaptive` or `0.01`.
    pub name: String,
    /// Description for readers; may be empty.
    pub about: String,
    /// Name for readers where it stands without the axis' name; empty without one.
    label: String,
    /// Short name for narrow places; empty for the name itself.
    short: String,
    /// Position on a numeric axis of a figure; `None` if the value is not a number.
    number: Option<f64>,
    /// Scenario that the value selects; `None` for the sweep's.
    scenario: Option<String>,
    /// The overrides, in the form of `--set`.
    set: Vec<String>,
    /// Overrides that differ between seeds.
    draws: Vec<Draw>,
    /// Texts that replace `{name}` in metrics.
    with: Vec<(String, String)>,
    /// Values of other axes with which the value is combined. Axes that are not named allow all.
    only: Selector,
    /// Number of the first seeds under which its cells run; `None` for all.
    seeds: Option<usize>,
    group: Option<usize>,
    /// True if it is one of `values`, not a table of its own.
    listed: bool,
}

impl Value {
    /// Returns its name for a small place.
    fn short(&self) -> &str {
        if self.short.is_empty() { &self.name } else { &self.short }
    }

    /// Returns its name for readers.
    fn label(&self) -> &str {
        if self.label.is_empty() { &self.name } else { &self.label }
    }
}

/// An override that differs between seeds, in most cases of a time.
#[derive(Clone, Debug, PartialEq)]
struct Draw {
    key: String,
    value: DrawnValue,
}

/// The value of a seed.
#[derive(Clone, Debug, PartialEq)]
enum DrawnValue {
    /// Uniform between two times, drawn from the random stream with this label.
    Uniform { from: Span, to: Span, stream: String },
    /// A formula of the seed.
    Formula(Formula),
    /// The packets to lose instead of a time: `from` and others of the `within` after it, not all in a row.
    /// Seed 1 has `first`.
    Packets { packets: usize, from: u64, within: u64, first: Vec<u64>, stream: String },
    /// A fixed time after the cell change of an EGPRS link, whose time depends on the seed.
    Handover { link: String, plus: Span, process: Option<CodingConfig> },
}

/// A value that a [`Draw`] has for a seed.
#[derive(Clone, Debug, PartialEq)]
enum Drawing {
    /// A time in milliseconds.
    Time(f64),
    /// Numbers of lost packets.
    Packets(Vec<u64>),
}

impl Drawing {
    /// Orders two values of the same draw: times, or lost packets by the last one.
    fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Time(a), Self::Time(b)) => a.total_cmp(b),
            (Self::Packets(a), Self::Packets(b)) => a.iter().max().cmp(&b.iter().max()),
            (Self::Time(_), Self::Packets(_)) => Ordering::Less,
            (Self::Packets(_), Self::Time(_)) => Ordering::Greater,
        }
    }
}

/// Returns the time of the cell change in a link's radio conditions, in seconds; zero without one.
fn cell_change(link: &str, process: &CodingConfig, seed: u64) -> f64 {
    // The stream is the simulator's own.
    let stream = component_seed(seed, &format!("link/{link}/coding"));
    let Ok(mut process) = CodingProcess::new(process.clone(), stream) else { return 0.0 };
    while let Some(at) = process.next_change() {
        while let Some(change) = process.change(at) {
            if change.handover {
                return at.as_secs_f64();
            }
        }
    }
    0.0
}

impl Draw {
    /// Returns the override for a seed; times are rounded to the millisecond.
    fn set(&self, seed: u64) -> String {
        match self.drawn(seed) {
            Drawing::Time(ms) => format!("{}={ms:.0}ms", self.key),
            Drawing::Packets(all) => {
                let all: Vec<String> = all.iter().map(u64::to_string).collect();
                // Without a space, so that a shell's loop does not split it.
                format!("{}={{packets=[{}]}}", self.key, all.join(","))
            }
        }
    }

    /// Returns the value of a seed.
    fn drawn(&self, seed: u64) -> Drawing {
        let ms = |span: Span| span.as_secs_f64() * 1000.0;
        Drawing::Time(match &self.value {
            DrawnValue::Packets { packets, from, within, first, stream } => {
                return Drawing::Packets(if seed == 1 && !first.is_empty() {
                    first.clone()
                } else {
                    let offsets = lost_packets((*packets, *within), seed, stream);
                    offsets.into_iter().map(|offset| from + offset).collect()
                });
            }
            DrawnValue::Uniform { from, to, stream } => {
                let draw = component_seed(seed, stream);
                let share = u32::from_be_bytes([draw[0], draw[1], draw[2], draw[3]]);
                ms(*from) + f64::from(share) / 4_294_967_296.0 * (ms(*to) - ms(*from))
            }
            // Its one operand, the seed, has a value; a division by zero gives the start of the run.
            DrawnValue::Handover { link, plus, process } => {
                let change = process.as_ref().map_or(0.0, |process| cell_change(link, process, seed));
                (change + plus.as_secs_f64()) * 1000.0
            }
            DrawnValue::Formula(formula) => formula.value(&|_| Ok(seed as f64)).map_or(0.0, |s| s * 1000.0),
        })
    }
}

/// Draws the offsets of lost packets: zero, and others of the `within` after it, which are not all in a row.
fn lost_packets((packets, within): (usize, u64), seed: u64, stream: &str) -> Vec<u64> {
    let draw = |attempt: u32| {
        let place = |offset: &u64| component_seed(seed, &format!("{stream}/{attempt}/{offset}"));
        let mut all: Vec<u64> = (1..=within).collect();
        all.sort_by_cached_key(place);
        let mut offsets: Vec<u64> = std::iter::once(0).chain(all).take(packets).collect();
        offsets.sort_unstable();
        offsets
    };
    let in_row = |offsets: &Vec<u64>| offsets.last().is_some_and(|last| (*last as usize) < packets);
    // One packet, or all of them, are always in a row.
    if packets < 2 || packets as u64 > within {
        return draw(0);
    }
    (0..1000).map(draw).find(|offsets| !in_row(offsets)).unwrap_or_else(|| draw(0))
}

/// A metric or a curve of the sweep.
#[derive(Clone, Debug)]
pub struct Column {
    /// Name in the file and in tables.
    pub name: String,
    /// Name for readers.
    pub label: String,
    of: Of,
    /// The metric as written in the file, and its meaning.
    written: String,
    meaning: String,
    /// Name of a curve's x axis.
    x: &'static str,
    /// Length in seconds of the intervals over which a curve is averaged; zero for none.
    every: f64,
    /// Mark that draws the curve.
    mark: Mark,
    unit: Shown,
    /// Range of valid values. A run with a value outside of it is not the experiment and fails.
    between: Option<[String; 2]>,
    /// The smallest difference of two means that counts.
    grain: f64,
    /// Values of axes for which the metric is computed.
    only: Selector,
}

/// Source of a metric's value.
#[derive(Clone, Debug)]
enum Of {
    /// Text of an entry of the registry, with `{name}` for texts from an axis' values.
    Registry(String),
    /// A formula over the metrics above it, with `{name}` as well.
    Formula(String),
}

/// A combination of values.
#[derive(Debug)]
pub struct Cell {
    /// Index of the value on each axis.
    pub values: Vec<usize>,
    /// The overrides of the scenario file that do not depend on the seed.
    pub overrides: Vec<String>,
    /// Number of seeds under which the cell runs.
    seeds: usize,
    draws: Vec<Draw>,
    /// Path of the scenario file.
    pub path: String,
    /// The scenario with the overrides of the first seed.
    pub scenario: Scenario,
    /// The metrics of the registry with the ranges of their values; `None` if not computed here.
    metrics: Vec<Option<Wanted>>,
    ranges: Vec<Option<[f64; 2]>>,
    curves: Vec<Option<Wanted>>,
    /// The formulas of the computed metrics.
    formulas: Vec<Option<Formula>>,
    /// SHA-256 of everything on which the runs depend, except the seed.
    hash: String,
}

impl Cell {
    /// Returns the overrides of the scenario file in the run of a seed.
    #[must_use]
    pub fn overrides(&self, seed: u64) -> Vec<String> {
        let drawn = self.draws.iter().map(|draw| draw.set(seed));
        self.overrides.iter().cloned().chain(drawn).collect()
    }
}

/// A choice of values on some axes, in ascending order of axes.
type Selector = Vec<(usize, Vec<usize>)>;

/// Returns true if a choice contains a combination.
fn contains(selector: &Selector, values: &[usize]) -> bool {
    selector.iter().all(|(axis, chosen)| chosen.contains(&values[*axis]))
}

/// Adds the first value of each counterfactual axis to a choice that does not name the axis.
fn without_asides(at: &mut Selector, axes: &[Axis], named: &[usize]) {
    let aside = |axis: &usize| axes[*axis].aside && !named.contains(axis);
    let missing = (0..axes.len()).filter(aside).filter(|axis| at.iter().all(|(of, _)| of != axis));
    let missing: Vec<_> = missing.map(|axis| (axis, vec![0])).collect();
    at.extend(missing);
    at.sort_unstable();
}

/// Returns a combination in which the values of a choice replace its own.
fn moved(values: &[usize], selector: &Selector) -> Vec<usize> {
    let mut moved = values.to_vec();
    for (axis, chosen) in selector {
        moved[*axis] = *chosen.first().unwrap_or(&moved[*axis]);
    }
    moved
}

/// Way of comparing two runs with the same seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// a − b.
    Difference,
    /// a / b − 1.
    Relative,
    /// a / b.
    Ratio,
    /// 1 − a / b.
    Shortfall,
}

/// A paired comparison: a metric of every cell against that of another.
#[derive(Clone, Debug)]
struct Contrast {
    name: String,
    label: String,
    metric: usize,
    against: Selector,
    how: How,
}

/// A metric, a comparison or an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Metric(usize),
    Contrast(usize),
    Estimate(usize),
}

#[derive(Clone, Debug)]
struct TableSpec {
    title: String,
    rows: Vec<usize>,
    columns: Option<usize>,
    /// Quantities of the table's cells; several are a column each.
    cells: Vec<Quantity>,
    /// Further values in each cell.
    notes: Vec<Quantity>,
    /// Seed whose values are shown instead of the means.
    seed: Option<u64>,
    /// Values from which the cell's note, or the cell without a note, counts as good and as bad. Their order
    /// determines whether less or more is better.
    tones: Option<(f64, f64)>,
    at: Selector,
}

#[derive(Clone, Debug)]
struct FigureSpec {
    /// Label, such as `Fig. 3`. Claims refer to it.
    label: String,
    title: String,
    caption: String,
    tables: Vec<TableSpec>,
    panels: Vec<PanelSpec>,
    /// True if all panels have the same vertical axis.
    same_scale: bool,
}

/// A chart over an axis' values or of curves, repeated for each combination of the axes that it does not
/// name.
#[derive(Clone, Debug)]
struct PanelSpec {
    slug: String,
    /// Caption of the chart; if empty, the quantity over the axis.
    caption: String,
    draw: Drawn,
    series: Vec<usize>,
    at: Selector,
    /// The part of the x axis that is shown.
    range: Option<[f64; 2]>,
    marks: Vec<(String, MarkedAt)>,
    /// The cell whose curve is subtracted.
    against: Selector,
    /// Points of known true values.
    truth: Vec<[f64; 2]>,
}

/// Place of a mark on the x axis.
#[derive(Clone, Copy, Debug, PartialEq)]
enum MarkedAt {
    X(f64),
    /// Each point of a curve.
    Points(usize),
}

/// Content of a chart.
#[derive(Clone, Debug)]
enum Drawn {
    /// A quantity over an axis' values, evenly spaced if `even`.
    Over { x: usize, y: Quantity, even: bool, intervals: bool },
    /// Curves, the means over the seeds.
    Curve {
        curves: Vec<usize>,
        /// True to draw dots, side by side for the curves.
        dots: bool,
        intervals: Intervals,
        /// Draw the first seed's curve too.
        one_run: bool,
        /// Seed whose curve is drawn instead of the mean.
        seed: Option<u64>,
    },
}

/// The points of a curve that show their intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Intervals {
    All,
    None,
    /// Number of points between two intervals, and offset in points between those of two curves.
    Every(usize, usize),
}

/// The other side of a claim's comparison.
#[derive(Clone, Debug)]
enum Against {
    Cells(Selector),
    Constant(f64),
}

/// The smallest relevant effect of a check.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Relevant {
    /// A share of the other side's mean.
    Share(f64),
    /// A value in the metric's unit.
    Value(f64),
}

/// The relation of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    /// The whole interval of the paired difference is below zero, and the mean difference is at least a
    /// share.
    Below,
    /// The whole interval of the paired difference is above zero, and the mean difference is at least a
    /// share.
    Above,
    /// The whole interval lies inside the margin.
    Within,
    /// The whole interval lies inside the margin, or inside the smallest difference that counts.
    Level,
    /// The whole interval is at least the other side's mean, or a share of it.
    AtLeast,
    /// The whole interval is at most the other side's mean, or a share of it.
    AtMost,
    /// The whole interval is not below the other side by more than the margin or the smallest difference that
    /// counts.
    NotBelow,
    /// The whole interval is not above the other side by more than the margin or the smallest difference that
    /// counts.
    NotAbove,
    /// More than half of the runs are above.
    MostlyAbove,
    /// At most a share of the runs is above.
    RarelyAbove,
    /// Both sides have the same sign, or one is zero.
    Agrees,
}

#[derive(Clone, Debug)]
struct ClaimSpec {
    id: String,
    figure: String,
    says: String,
    /// Text of the conditions of a claim that is judged once; empty if it is judged under each value of
    /// `judged`.
    conditions: String,
    checks: Vec<CheckSpec>,
}

/// A part of a claim, checked in every combination of the axes that it does not name.
#[derive(Clone, Debug)]
struct CheckSpec {
    at: Selector,
    what: Wants,
    /// The smallest relevant effect; `None` for the margin, else the smallest difference that counts.
    relevant: Option<Relevant>,
}

/// The requirement of a check.
#[derive(Clone, Debug)]
enum Wants {
    /// A relation of two means. With several values in `a`, each must hold.
    Relation {
        of: Quantity,
        a: Selector,
        relation: Relation,
        than: Quantity,
        against: Against,
        /// Margin relative to the mean of the other side.
        margin: f64,
        /// Values of axes over which both sides are averaged, seed by seed. None of them may have the
        /// reversed relation.
        over: Selector,
        /// True if runs without a value do not count, where runs are counted.
        skip: bool,
    },
    /// The mean of the cells with this value of an axis is above that of each other value.
    Best { of: Quantity, a: Selector, axis: usize },
    /// The mean is nearer to that of one cell than to that of another.
    Nearer { of: Quantity, a: Selector, to: Selector, than_to: Selector },
    /// The mean curve has its minimum between two x, below its first value.
    Lowest { curve: usize, from: f64, to: f64 },
    /// No curve is below another's, at equidistant points starting at one x.
    NotBehind { curve: usize, a: Selector, behind: Selector, from: f64, every: f64 },
    /// From this x on the mean curve rises, and a straight line explains this share of its variance.
    Linear { curve: usize, from: f64, share: f64 },
    /// Of the points of a curve in all runs of the cells, most are above a number.
    MostPoints { curve: usize, above: f64 },
    /// The mean of a curve's points in all runs of some cells is more than this many times that of others.
    Times { curve: usize, a: Selector, to: Selector, times: f64 },
    /// Several checks, all of which must hold; they count as one.
    All(Vec<CheckSpec>),
}

/// One run: a cell and a seed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Index of the cell.
    pub cell: usize,
    /// Seed of every random stream.
    pub seed: u64,
    /// Text of the cell's values and the seed, for messages.
    name: String,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Sweep {
    /// Restricts the sweep to an effort: `--quick` runs the file's `[quick]`, else the first three seeds. A
    /// number of seeds replaces those of the file, counted from 1.
    #[must_use]
    pub fn reduced(mut self, effort: &Effort) -> Self {
        let all = self.seeds.len();
        if effort.quick {
            let (seeds, at) = self.quick.clone().unwrap_or((3, Selector::new()));
            self.seeds.truncate(seeds);
            self.cells.retain(|cell| contains(&at, &cell.values));
        }
        if let Some(seeds) = effort.seeds {
            self.seeds = (1..=seeds).collect();
        }
        self.reduced = self.seeds.len() < all || self.cells.len() < self.grid.len();
        self
    }

    /// Returns true if a part of the seeds or cells was left out.
    #[must_use]
    pub fn is_reduced(&self) -> bool {
        self.reduced
    }

    /// Restricts the sweep to the cells with a value of an axis, `axis = value`, and to some seeds.
    ///
    /// # Errors
    /// There is no such axis or value, or no cell has the value.
    pub(crate) fn restricted(mut self, value: &str, seeds: Vec<u64>) -> Result<Self, String> {
        let (axis, values) = self.axis_values(value)?;
        self.cells.retain(|cell| values.contains(&cell.values[axis]));
        if self.cells.is_empty() {
            return Err(format!("no cell has {value}"));
        }
        (self.seeds, self.reduced) = (seeds, true);
        Ok(self)
    }

    /// Returns the identifiers of the claims.
    #[must_use]
    pub fn claim_ids(&self) -> Vec<String> {
        self.claims.iter().map(|claim| claim.id.clone()).collect()
    }

    /// Returns the runs.
    #[must_use]
    pub fn keys(&self) -> Vec<Key> {
        let key = |cell: usize, seed: u64| {
            let named = self.named(&self.cells[cell].values);
            let name =
                if named.is_empty() { format!("seed {seed}") } else { format!("{named}, seed {seed}") };
            Key { cell, seed, name }
        };
        (0..self.cells.len())
            .flat_map(|cell| self.seeds_of(cell).iter().map(move |&seed| key(cell, seed)))
            .collect()
    }

    /// Returns the most seeds under which the axes' values let a cell run; `usize::MAX` for all.
    fn most_seeds(&self, values: &[usize]) -> usize {
        let seeds = self.axes.iter().zip(values).filter_map(|(axis, &value)| axis.values[value].seeds);
        seeds.min().unwrap_or(usize::MAX)
    }

    /// Returns the seeds of a cell.
    fn seeds_of(&self, cell: usize) -> &[u64] {
        &self.seeds[..self.seeds.len().min(self.cells[cell].seeds)]
    }

    /// Returns the text of a cell's values, such as `policy adaptive, loss 0.01`.
    fn named(&self, values: &[usize]) -> String {
        let part = |(axis, &value): (usize, &usize)| self.word(axis, value);
        values.iter().enumerate().map(part).collect::<Vec<_>>().join(", ")
    }

    /// Returns the text of a combination's values, on the axes that have several values in cells.
    fn open_values(&self, values: &[usize]) -> String {
        let open = |axis: usize| self.cells.iter().any(|cell| cell.values[axis] != values[axis]);
        let words = (0..values.len()).filter(|&axis| open(axis)).map(|axis| self.word(axis, values[axis]));
        words.collect::<Vec<_>>().join(", ")
    }

    /// Returns the text of a value: its label, or its name after that of its axis.
    fn word(&self, axis: usize, value: usize) -> String {
        let of = &self.axes[axis].values[value];
        if of.label.is_empty() { format!("{} {}", self.axes[axis].name, of.name) } else { of.label.clone() }
    }

    /// Returns the values of a choice in words.
    fn selected(&self, selector: &Selector) -> String {
        let word = |(axis, values): &(usize, Vec<usize>)| {
            values.iter().map(|&value| self.word(*axis, value)).collect::<Vec<_>>().join(" or ")
        };
        selector.iter().map(word).collect::<Vec<_>>().join(", ")
    }

    /// Returns the index of the cell with these values; `None` if it is not run.
    fn cell(&self, values: &[usize]) -> Option<usize> {
        self.cells.binary_search_by(|cell| cell.values.as_slice().cmp(values)).ok()
    }

    /// Returns the combinations of the values of a choice on all axes except those in `free`, each once in
    /// the order of the file.
    fn combinations(&self, at: &Selector, free: &[usize]) -> Vec<Selector> {
        let chosen = self.grid.iter().filter(|values| contains(at, values));
        let axes: Vec<usize> = (0..self.axes.len()).filter(|axis| !free.contains(axis)).collect();
        let part = |values: &Vec<usize>| axes.iter().map(|&axis| (axis, vec![values[axis]])).collect();
        chosen.map(part).collect::<BTreeSet<Selector>>().into_iter().collect()
    }

    fn unit(&self, quantity: Quantity) -> Shown {
        match quantity {
            Quantity::Metric(metric) => self.metrics[metric].unit,
            Quantity::Contrast(contrast) => match self.contrasts[contrast].how {
                How::Difference => self.metrics[self.contrasts[contrast].metric].unit,
                How::Relative | How::Ratio | How::Shortfall => Shown::of(Unit::Ratio),
            },
            Quantity::Estimate(estimate) => self.estimates[estimate].unit,
        }
    }

    fn label(&self, quantity: Quantity) -> &str {
        match quantity {
            Quantity::Metric(metric) => &self.metrics[metric].label,
            Quantity::Contrast(contrast) => &self.contrasts[contrast].label,
            Quantity::Estimate(estimate) => &self.estimates[estimate].label,
        }
    }

    /// Returns the smallest difference of two means that counts.
    fn grain(&self, quantity: Quantity) -> f64 {
        match quantity {
            Quantity::Metric(metric) => self.metrics[metric].grain,
            Quantity::Contrast(contrast) => match self.contrasts[contrast].how {
                How::Difference => self.metrics[self.contrasts[contrast].metric].grain,
                How::Relative | How::Ratio | How::Shortfall => 0.0,
            },
            Quantity::Estimate(estimate) => self.estimates[estimate].grain,
        }
    }
}

#[cfg(test)]
mod papers_tests;
#[cfg(test)]
mod series_tests;
#[cfg(test)]
mod tests;
