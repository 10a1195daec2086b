//! The atlas as text and as maps.

use std::fmt::Write;
use std::path::Path;
use std::{fs, io};

use super::{Charted, Dimension, Mapped, Range, decide, rule};
use crate::claims::{Boxed, Claim, Deciding, Grade, Rule};
use crate::figure::{Axis, Chart, Mark, Point, Series, Style};
use crate::output::write_file;
use crate::report::ReportError;

/// Name of the file with the atlas as data.
const JSON: &str = "atlas.json";

impl Deciding {
    /// Returns the split in words.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Self { axis, split, below, above, explains, chance, .. } = self;
        let of = self.grade.words("paper");
        let explains = explains * 100.0;
        let sides = format!(
            "up to {split} it is {of} at {} of {} points, beyond at {} of {}",
            below[0], below[1], above[0], above[1]
        );
        match self.is_chance() {
            false => format!(
                "Of the parameters, {axis} separates best: {sides}, which explains {explains:.0} % of the variation (p = {chance:.3})."
            ),
            true => format!(
                "No parameter separates the points better than chance; the best is {axis}: {sides} (p = {chance:.2})."
            ),
        }
    }

    /// Returns true if points with permuted grades are often separated as well.
    #[must_use]
    pub fn is_chance(&self) -> bool {
        self.chance > decide::CHANCE
    }
}

impl Mapped {
    /// Returns the number of points with a grade.
    #[must_use]
    pub fn count(&self, grade: Grade) -> usize {
        self.at.iter().filter(|place| place.grade == grade).count()
    }

    /// Returns the summary for `claims.json`.
    #[must_use]
    pub fn summary(&self, seeds: u64, quick: bool) -> Boxed {
        Boxed {
            points: self.points,
            seeds,
            quick,
            reproduced: self.holds,
            contradicted: self.count(Grade::Contradicted),
            share: self.share_of_box,
            interval: self.interval,
            deciding: self.deciding.clone(),
            rule: self.rule(),
        }
    }

    /// Returns the rule of two parameters that best separates the points; `None` if all have one grade.
    #[must_use]
    pub fn rule(&self) -> Option<Rule> {
        rule::rule(&self.axes, &self.at)
    }

    /// Returns a line for each check that is not reproduced at all points, the check that fails at most
    /// points first. Checks with the same text count as one. Empty for an atlas without checks.
    #[must_use]
    pub fn by_check(&self) -> Vec<String> {
        let line = |want: &String| {
            let same: Vec<usize> = (0..self.checks.len()).filter(|&one| self.checks[one] == *want).collect();
            let grades: Vec<Grade> = self.at.iter().filter_map(|place| place.grade_of(&same)).collect();
            let of = |grade: Grade| grades.iter().filter(|other| **other == grade).count();
            let (held, against) = (of(Grade::Reproduced), of(Grade::Contradicted) + of(Grade::NoEffect));
            let open = self.points - held - against;
            let rule = rule::rule_of_checks(&self.axes, &self.at, &same).filter(Rule::predicts);
            let rule = rule.as_ref().and_then(|rule| Some((rule, rule.best()?)));
            let rule = rule.map_or(String::new(), |(rule, best)| {
                format!(
                    " ({} at {} of {} where {}; this rule explains {:.0} % at points left out)",
                    rule.grade.words("paper"),
                    best.those,
                    best.of,
                    best.place,
                    rule.held_out * 100.0
                )
            });
            let words =
                format!("{want}: reproduced at {held}, contradicted at {against}, undecided at {open}{rule}");
            (held < self.points).then_some((against, held, words))
        };
        let first = |(number, want): &(usize, &String)| !self.checks[..*number].contains(want);
        let mut lines: Vec<_> =
            self.checks.iter().enumerate().filter(first).filter_map(|(_, want)| line(want)).collect();
        lines.sort_by_key(|(against, held, _)| (std::cmp::Reverse(*against), *held));
        lines.into_iter().map(|(.., words)| words).collect()
    }

    /// Returns a sentence about the parameter on which the effect of the first part depends most. Returns
    /// `None` if no dependence exceeds chance. The effect of a claim with one grade at all points can still
    /// depend on a parameter.
    #[must_use]
    pub fn moved_by(&self) -> Option<String> {
        let found = decide::driver(&self.axes, &self.at, 0)?;
        let explains = found.explains * 100.0;
        Some(format!(
            "the parameter that decides the size of the effect is “{}”: it explains {explains:.0} % of the variance of “{}” over the \
             points.",
            found.label,
            self.checks.first()?
        ))
    }

    /// Returns the sentence that sums up the points.
    #[must_use]
    pub fn sentence(&self) -> String {
        let [low, high] = self.interval.map(|end| end * 100.0);
        let share = format!(
            "{} is reproduced at {} of {} points of its box: {:.0} % of it ({low:.0} to {high:.0} %)",
            self.claim,
            self.holds,
            self.points,
            self.share_of_box * 100.0
        );
        let against = self.count(Grade::Contradicted);
        let share = match (self.holds, against) {
            (0, 1..) => format!("{share}, and contradicted at {against}"),
            _ => share,
        };
        let single = self.deciding.as_ref().map(Deciding::sentence);
        let rule = self.rule().map(|rule| rule.sentence());
        [Some(format!("{share}.")), single, rule].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// Returns the map over the two axes of the rule. Without a rule, uses the two axes that separate best.
    #[must_use]
    pub fn map(&self) -> Chart {
        let mut axes: Vec<usize> = self.rule().map_or_else(Vec::new, |rule| rule.numbers.to_vec());
        let single = decide::deciding(&self.axes, &self.at);
        axes.extend(
            single.iter().map(|split| split.number).filter(|axis| !axes.contains(axis)).collect::<Vec<_>>(),
        );
        axes.extend((0..self.axes.len()).filter(|axis| !axes.contains(axis)).collect::<Vec<_>>());
        let (x, y) = (axes[0], axes[1]);
        let grades = Grade::ALL.into_iter().zip(Style::MEASURED);
        let series = grades.filter_map(|(grade, style)| {
            let places = self.at.iter().filter(|place| place.grade == grade);
            let mut points: Vec<Point> =
                places.map(|place| Point::new(place.values[x], place.values[y])).collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            let name = grade.words("paper").to_owned();
            (!points.is_empty()).then_some(Series {
                name,
                style,
                points,
                mark: Mark::Dots,
                ..Series::default()
            })
        });
        Chart {
            title: format!("{}: where it holds", self.claim),
            x: axis(&self.axes[x]),
            y: axis(&self.axes[y]),
            series: series.collect(),
            markers: Vec::new(),
        }
    }
}

/// Returns the axis of a map.
fn axis(of: &Dimension) -> Axis {
    match &of.range {
        Range::Numbers { from, to, .. } => Axis::new(&of.label, *from, *to),
        Range::Choice(values) => Axis { label: of.label.clone(), ..Axis::named("", values.clone()) },
    }
}

impl Charted {
    /// Returns the atlas as Markdown.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for claim in &self.claims {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "## {}\n\n{}\n\n{}\n", claim.claim, claim.statement, claim.sentence());
            let grades = Grade::ALL.map(|grade| format!("{} {}", claim.count(grade), grade.words("paper")));
            let _ = writeln!(text, "Points, with {} seeds each: {}.\n", self.seeds, grades.join(" · "));
            let _ = writeln!(text, "| parameter | range | why it is open |\n|---|---|---|");
            for axis in &claim.axes {
                let range = match &axis.range {
                    Range::Numbers { from, to, .. } => format!("{from} to {to}"),
                    Range::Choice(values) => values.join(", "),
                };
                let _ = writeln!(text, "| {}: {} | {range} | {} |", axis.name, axis.label, axis.why);
            }
            text.push('\n');
        }
        text
    }

    /// Adds the share of the box and the deciding parameter to each claim.
    pub fn add_to(&self, ledger: &mut [Claim]) {
        for claim in ledger {
            let mapped = self.claims.iter().find(|mapped| mapped.claim == *claim.id);
            claim.region = mapped.map(|mapped| mapped.summary(self.seeds, self.quick));
        }
    }

    /// Reads the `atlas.json` of a folder; `None` if there is none.
    ///
    /// # Errors
    /// The file cannot be read, or is not an atlas.
    pub fn read(dir: &Path) -> Result<Option<Self>, ReportError> {
        let path = dir.join(JSON);
        match fs::read(&path) {
            Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(ReportError::File { path, source }),
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| {
                let why =
                    format!("is not of this version of msctp: {error}; delete it, or repeat it with --atlas");
                ReportError::File { path, source: io::Error::new(io::ErrorKind::InvalidData, why) }
            }),
        }
    }

    /// Writes `atlas.md`, `atlas.json` and a map of each claim into a folder.
    ///
    /// # Errors
    /// The file system fails.
    pub fn write(&self, dir: &Path) -> Result<(), ReportError> {
        let keep = |name: String, text: &str| {
            let path = dir.join(name);
            write_file(&path, text.as_bytes()).map_err(|source| ReportError::File { path, source })
        };
        keep("atlas.md".to_owned(), &self.text())?;
        keep(JSON.to_owned(), &serde_json::to_string_pretty(self)?)?;
        for claim in &self.claims {
            keep(format!("{}.svg", claim.claim.to_lowercase()), &claim.map().to_svg_file()?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atlas::{Atlas, Part};

    #[test]
    fn a_claims_parts_say_where_each_of_them_fails() {
        let charted = Atlas::of("kim-koh", false).unwrap().unwrap().drawn(|_| Grade::Contradicted);
        let mut mapped = charted.claims[1].clone();
        mapped.checks = ["holds", "fails here", "fails here", "fails"].map(str::to_owned).to_vec();
        for place in &mut mapped.at {
            let low = place.values[0] < 22.0;
            let here = if low { Grade::Reproduced } else { Grade::Contradicted };
            let grades = [Grade::Reproduced, Grade::Reproduced, here, Grade::Contradicted];
            place.checks = grades.map(|grade| Part { grade, effect: None }).to_vec();
        }
        let parts = mapped.by_check();
        assert_eq!(parts.len(), 2, "what holds everywhere is not named: {parts:?}");
        assert_eq!(parts[0], "fails: reproduced at 0, contradicted at 32, undecided at 0");
        assert!(
            parts[1].starts_with("fails here: reproduced at ") && parts[1].contains("queue ≤ "),
            "{parts:?}"
        );
    }
}
