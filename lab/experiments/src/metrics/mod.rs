//! The metrics of a run: one registry for `msctp-lab sim --metric`, sweeps and the policy comparison.
//!
//! A metric is written `NAME[:SUBJECT][@TIME]`, as `link.drops:wlan/forward`, `path.cwnd@31s` or
//! `association.goodput@30s..40s`. It is computed from the run's [`Summary`] and [`Series`] alone, so that a
//! run on real stacks has the same metrics. A new metric is an entry of [`METRICS`].

mod associations;
mod catalogue;
mod curves;
mod flow;
mod handovers;
mod network;
mod optimum;
mod paths;
mod repair;

use std::fmt;

use msctp_lab_schemes::catalogue::suggest;
use msctp_sim::scenario::{AppKind, Scenario};
use msctp_sim::summary::AssociationSummary;
use msctp_sim::{Series, Summary};
use msctp_units::{Span, Time};
use serde::Serialize;

pub use self::catalogue::METRICS;

/// Interval of the throughput series of a run whose scenario sets none. It is short enough to show a
/// handover.
pub const INTERVAL: Span = Span::from_millis(100);

/// Enables the probes of every time series except those of single chunks. None of them changes the run.
pub fn enable_series(scenario: &mut Scenario) {
    let probes = &mut scenario.probes;
    probes.throughput.get_or_insert(INTERVAL);
    probes.deliveries = true;
    probes.queues.get_or_insert(INTERVAL);
    probes.trace = true;
    probes.messages = true;
}

/// The unit of a metric, as its symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A rate in bit/s.
    Rate,
    /// A size in bytes.
    Bytes,
    /// A time in seconds.
    Seconds,
    /// A share or ratio.
    Ratio,
    /// A count of the objects that the text names.
    Count(&'static str),
}

impl Unit {
    /// Returns the symbol for tables and JSON.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Rate => "bit/s",
            Self::Bytes => "B",
            Self::Seconds => "s",
            Self::Ratio => "1",
            Self::Count(what) => what,
        }
    }
}

/// Kind of the object that the `:SUBJECT` of a metric names. Without a subject the metric covers all objects
/// of the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The metric has no subject.
    Run,
    /// An SCTP association.
    Association,
    /// A TCP connection.
    Tcp,
    /// A link or a link direction, such as `wlan` or `wlan/forward`.
    Link,
    /// One link, which must be named.
    OneLink,
    /// A video application.
    Video,
    /// A `cbr` application or a TCP connection.
    Other,
    /// An SCTP association or a TCP connection.
    Flow,
}

impl Subject {
    /// Returns the word for errors and lists.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Run => "",
            Self::Association => "association",
            Self::Tcp => "tcp connection",
            Self::Link | Self::OneLink => "link",
            Self::Video => "video application",
            Self::Other => "cbr application or tcp connection",
            Self::Flow => "association or tcp connection",
        }
    }

    /// Returns the subjects of this kind in a scenario.
    fn names(self, scenario: &Scenario) -> Vec<String> {
        let apps = |wanted: fn(&AppKind) -> bool| {
            scenario.apps.iter().filter(move |app| wanted(&app.kind)).map(|app| app.name.clone())
        };
        let tcp = || scenario.tcp.iter().map(|tcp| tcp.name.clone());
        match self {
            Self::Run => Vec::new(),
            Self::Association => scenario.associations.iter().map(|a| a.name.clone()).collect(),
            Self::Tcp => tcp().collect(),
            Self::Link | Self::OneLink => {
                let ways =
                    |name: &str| [name.to_owned(), format!("{name}/forward"), format!("{name}/reverse")];
                scenario.links.iter().flat_map(|link| ways(&link.name)).collect()
            }
            Self::Video => apps(|kind| matches!(kind, AppKind::Video { .. })).collect(),
            Self::Other => apps(|kind| matches!(kind, AppKind::Cbr { .. })).chain(tcp()).collect(),
            Self::Flow => scenario.associations.iter().map(|a| a.name.clone()).chain(tcp()).collect(),
        }
    }
}

/// The `@TIME` of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The metric covers the whole run and has no time.
    Never,
    /// An instant, required: `@31s`.
    Instant,
    /// A range, optional: `@30s..40s`, `@30s..`.
    Range,
}

/// The time series that a metric needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// The summary suffices.
    None,
    /// Delivered bytes per interval.
    Throughput,
    /// Every delivery.
    Deliveries,
    /// Windows, round trips and primary switches of the associations.
    Trace,
    /// An SCTP association or a TCP connection, with every packet recorded.
    Chunks,
    /// Samples of the queues.
    Queues,
    /// The messages of the video applications.
    Messages,
}

/// A metric of the registry.
pub struct Metric {
    /// Name of the metric, such as `handover.gap`.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: Unit,
    /// Meaning and computation of the metric.
    pub meaning: &'static str,
    /// Kind of object that `:SUBJECT` names.
    pub subject: Subject,
    /// Use of `@TIME`.
    pub when: When,
    /// Time series that the metric needs.
    pub probe: Probe,
    compute: Compute,
}

/// A metric in the list of `msctp-lab scenario metrics --json`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Entry {
    /// Name of the metric.
    pub name: &'static str,
    /// Symbol of the unit.
    pub unit: &'static str,
    /// Kind of object that `:SUBJECT` names; empty if the metric has no subject.
    pub subject: &'static str,
    /// True if the subject must be named.
    pub subject_required: bool,
    /// `never`, `instant` (required) or `range` (optional).
    pub time: &'static str,
    /// The x axis of a curve; empty if the metric is a number.
    pub x: &'static str,
    /// Meaning of the metric.
    pub meaning: &'static str,
}

/// Computation of a metric.
#[derive(Clone, Copy)]
enum Compute {
    /// The metric is one number.
    Value(fn(&Results<'_>, &Wanted) -> Result<f64, String>),
    /// Values by x, and the name of x.
    Curve(&'static str, fn(&Results<'_>, &Wanted) -> Points),
}

/// The points of a curve by x, or the reason why there is none.
pub type Points = Result<Vec<(f64, f64)>, String>;

impl fmt::Debug for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metric").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The results of a run.
#[derive(Clone, Copy, Debug)]
pub struct Results<'r> {
    /// The scenario.
    pub scenario: &'r Scenario,
    /// Summary of the run.
    pub summary: &'r Summary,
    /// Time series of the run.
    pub series: &'r Series,
}

/// A metric with its subject and time, as parsed from a user's text.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The metric.
    pub metric: &'static Metric,
    /// The subject; `None` for all.
    pub subject: Option<String>,
    /// First instant; `None` for the metric's default.
    from: Option<Time>,
    /// End of the range, not included; `None` for the end of the run.
    to: Option<Time>,
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.metric.name)?;
        if let Some(subject) = &self.subject {
            write!(f, ":{subject}")?;
        }
        let span = |at: Time| at.since(Time::ZERO);
        match (self.metric.when, self.from) {
            (When::Instant, Some(at)) => write!(f, "@{}", span(at)),
            (When::Range, Some(from)) => {
                write!(f, "@{}..", span(from))?;
                self.to.map_or(Ok(()), |to| write!(f, "{}", span(to)))
            }
            _ => Ok(()),
        }
    }
}

impl Wanted {
    /// Parses `NAME[:SUBJECT][@TIME]`.
    ///
    /// # Errors
    /// The text is invalid. The error names the fault and the allowed values.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (rest, time) = match text.split_once('@') {
            Some((rest, time)) => (rest, Some(time)),
            None => (text, None),
        };
        let (name, subject) = match rest.split_once(':') {
            Some((name, subject)) => (name, Some(subject)),
            None => (rest, None),
        };
        let metric = METRICS.iter().find(|metric| metric.name == name).ok_or_else(|| {
            let remedy = suggest(name, METRICS.iter().map(|metric| metric.name));
            format!("there is no metric \"{name}\"{remedy}; msctp-lab scenario metrics lists them")
        })?;
        if subject.is_some() && metric.subject == Subject::Run {
            return Err(format!("{name} has no subject: want {name} without \":{}\"", subject.unwrap_or("")));
        }
        if subject.is_none() && metric.subject == Subject::OneLink {
            return Err(format!("{name} needs a link: want its name, such as {name}:wlan"));
        }
        if subject == Some("") {
            return Err(format!("want the name of a {} after \"{name}:\"", metric.subject.word()));
        }
        let (from, to) = metric.times(time)?;
        Ok(Self { metric, subject: subject.map(str::to_owned), from, to })
    }

    /// Checks that the subject exists in a scenario, and that the times lie in its duration.
    ///
    /// # Errors
    /// The subject or a time is invalid. The error names the allowed values.
    pub fn check(&self, scenario: &Scenario) -> Result<(), String> {
        let names = self.metric.subject.names(scenario);
        if let Some(subject) = &self.subject
            && !names.contains(subject)
        {
            let word = self.metric.subject.word();
            let remedy = suggest(subject, names.iter().map(String::as_str));
            return Err(format!("{self}: the scenario has no {word} \"{subject}\"{remedy}"));
        }
        if names.is_empty() && self.metric.subject != Subject::Run {
            return Err(format!("{self}: the scenario has no {}", self.metric.subject.word()));
        }
        let end = Time::ZERO + scenario.duration;
        if let Some(late) = [self.from, self.to].into_iter().flatten().find(|&at| at > end) {
            let (late, end) = (late.since(Time::ZERO), scenario.duration);
            return Err(format!("{self}: {late} is after the end of the run: want at most {end}"));
        }
        Ok(())
    }

    /// Enables the probes that the metric needs. None of them changes the run.
    pub fn enable(&self, scenario: &mut Scenario) {
        let probes = &mut scenario.probes;
        match self.metric.probe {
            Probe::None => {}
            Probe::Deliveries => probes.deliveries = true,
            Probe::Throughput => drop(probes.throughput.get_or_insert(INTERVAL)),
            Probe::Trace => probes.trace = true,
            Probe::Chunks => (probes.trace, probes.chunks) = (true, true),
            Probe::Queues => drop(probes.queues.get_or_insert(INTERVAL)),
            Probe::Messages => probes.messages = true,
        }
        // The range of a metric that the summary has otherwise needs the deliveries over time.
        if self.metric.when == When::Range && self.from.is_some() && self.metric.probe == Probe::None {
            probes.deliveries = true;
        }
    }

    /// Computes the value from a run's results, in the metric's unit.
    ///
    /// # Errors
    /// The run has no value. The error is the reason, such as "no association handed over".
    pub fn value(&self, results: &Results<'_>) -> Result<f64, String> {
        let value = match self.metric.compute {
            Compute::Value(compute) => compute(results, self),
            Compute::Curve(..) => {
                Err("is a curve, not a number: want it in a sweep's [curve.NAME]".to_owned())
            }
        };
        value.map_err(|why| format!("{self}: {why}"))
    }

    /// Computes the points of a curve from a run's results, by x, in the metric's unit.
    ///
    /// # Errors
    /// The run has no points. The error is the reason.
    pub fn curve(&self, results: &Results<'_>) -> Points {
        let points = match self.metric.compute {
            Compute::Curve(_, compute) => compute(results, self),
            Compute::Value(_) => Err("is a number, not a curve".to_owned()),
        };
        points.map_err(|why| format!("{self}: {why}"))
    }

    /// Returns the metric's range, or the whole run without one.
    fn range(&self) -> std::ops::Range<Time> {
        self.from.unwrap_or(Time::ZERO)..self.to.unwrap_or(Time::MAX)
    }

    /// Returns true if the metric covers this subject.
    fn covers(&self, name: &str) -> bool {
        self.subject.as_deref().is_none_or(|subject| subject == name)
    }

    /// Returns true if the metric covers this link direction, such as `wlan/forward`.
    fn covers_direction(&self, direction: &str) -> bool {
        let link = direction.rsplit_once('/').map_or(direction, |(link, _)| link);
        self.subject.as_deref().is_none_or(|subject| subject == direction || subject == link)
    }
}

impl Metric {
    /// Returns the metric for lists.
    #[must_use]
    pub fn entry(&self) -> Entry {
        let time = match self.when {
            When::Never => "never",
            When::Instant => "instant",
            When::Range => "range",
        };
        let &Self { name, unit, subject, meaning, .. } = self;
        let subject_required = subject == Subject::OneLink;
        let (unit, subject) = (unit.symbol(), subject.word());
        Entry { name, unit, subject, subject_required, time, x: self.x(), meaning }
    }

    /// Returns true if the metric is a curve, for `[curve.NAME]` of a sweep.
    #[must_use]
    pub fn is_curve(&self) -> bool {
        matches!(self.compute, Compute::Curve(..))
    }

    /// Returns the name of a curve's x axis; empty for a number.
    #[must_use]
    pub fn x(&self) -> &'static str {
        match self.compute {
            Compute::Curve(x, _) => x,
            Compute::Value(_) => "",
        }
    }

    /// Parses the `@TIME`.
    fn times(&self, text: Option<&str>) -> Result<(Option<Time>, Option<Time>), String> {
        let name = self.name;
        let time = |text: &str| {
            let span: Result<Span, _> = text.parse();
            span.map(|span| Time::ZERO + span).map_err(|error| format!("{name}@: \"{text}\" is {error}"))
        };
        match (self.when, text) {
            (When::Never, Some(text)) => {
                Err(format!("{name} covers the whole run: want {name} without \"@{text}\""))
            }
            (When::Instant, None) => Err(format!("{name} needs a time: want {name}@31s")),
            (When::Instant, Some(text)) => Ok((Some(time(text)?), None)),
            (_, None) => Ok((None, None)),
            (_, Some(text)) => {
                let (from, to) = text.split_once("..").ok_or_else(|| {
                    format!("{name}@{text} is an instant: want a range, such as {name}@30s..40s")
                })?;
                let (from, to) = (time(from)?, if to.is_empty() { None } else { Some(time(to)?) });
                if to.is_some_and(|to| to <= from) {
                    return Err(format!(
                        "{name}@{text} ends before it begins: want a range, such as @30s..40s"
                    ));
                }
                Ok((Some(from), to))
            }
        }
    }
}

/// Returns the instant that is `seconds` after the start of a run.
fn instant(seconds: f64) -> Time {
    Time::from_nanos((seconds * 1e9).round() as u64)
}

/// Returns the user bytes that an end of an association received in `window` from `from` on.
///
/// # Errors
/// The run ended before the window, or the deliveries were not recorded.
fn received(
    results: &Results<'_>,
    association: &str,
    side: impl Fn(&str) -> bool,
    from: Time,
    window: Span,
) -> Result<u64, String> {
    let end = instant(results.summary.duration);
    let mut of = results.series.deliveries.iter();
    let found = of.find(|of| of.association == association && side(of.side));
    found.ok_or("the deliveries were not recorded")?.within(from, window, end).ok_or_else(|| {
        let (from, end) = (from.as_secs_f64(), end.as_secs_f64());
        let to = from + window.as_secs_f64();
        format!("the run ends at {end:.3} s, before the window [{from:.3} s, {to:.3} s] ends")
    })
}

/// Returns the associations that the metric covers.
fn associations<'r>(results: &Results<'r>, wanted: &Wanted) -> impl Iterator<Item = &'r AssociationSummary> {
    results.summary.associations.iter().filter(|association| wanted.covers(&association.name))
}

/// Returns the mean, or an error with this text without a value.
fn mean(values: &[f64], none: &str) -> Result<f64, String> {
    match values.len() {
        0 => Err(none.to_owned()),
        n => Ok(values.iter().sum::<f64>() / n as f64),
    }
}

/// Returns the largest value, or an error with this text without a value.
fn largest(values: impl IntoIterator<Item = f64>, none: &str) -> Result<f64, String> {
    values.into_iter().reduce(f64::max).ok_or_else(|| none.to_owned())
}

#[cfg(test)]
mod tests;
