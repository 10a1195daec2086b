//! The reference's figures, ours, and the differences.

use serde::Serialize;

use super::case::{Case, Ways};
use super::measure::Figures;
use super::metric::Metric;
use crate::stats::Mean;
use crate::words::visible;

/// Percentage above which a difference needs an explanation.
pub const NOTABLE_PERCENT: f64 = 3.0;

/// msctp's figure for a metric of a case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ours {
    /// Mean over the seeds.
    pub mean: f64,
    /// Half-width of the 95 % interval; `None` for a single run.
    pub half_width: Option<f64>,
    /// (msctp's − ns-2's) / ns-2's in %; `None` if only ns-2's is zero.
    pub difference_percent: Option<f64>,
}

impl Ours {
    /// Returns true if the difference needs an explanation.
    #[must_use]
    pub fn is_notable(&self) -> bool {
        self.difference_percent.is_none_or(|percent| percent.abs() > NOTABLE_PERCENT)
    }
}

/// One metric of one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Network.
    pub case: String,
    /// Transport.
    pub parameters: String,
    /// Name of the metric.
    pub metric: String,
    /// ns-2's mean.
    pub ns2: f64,
    /// Half-width of the 95 % interval of ns-2's figure; `None` without one.
    pub ns2_half_width: Option<f64>,
    /// msctp's figure with the RFCs' behaviour; `None` if no run gave one.
    pub rfcs: Option<Ours>,
    /// msctp's figure with ns-2's behaviour, as far as options express it; `None` if no run gave one.
    pub ns2_ways: Option<Ours>,
    #[serde(skip)]
    digits: usize,
}

impl Comparison {
    /// Returns msctp's figure with this behaviour.
    #[must_use]
    pub fn ours(&self, ways: Ways) -> Option<&Ours> {
        match ways {
            Ways::Rfcs => self.rfcs.as_ref(),
            Ways::Ns2 => self.ns2_ways.as_ref(),
        }
    }

    /// Formats ns-2's figure.
    #[must_use]
    pub fn ns2_text(&self) -> String {
        figure(self.ns2, self.ns2_half_width, self.digits)
    }

    /// Formats msctp's figure.
    #[must_use]
    pub fn ours_text(&self, ways: Ways) -> String {
        self.ours(ways).map_or_else(|| "–".to_owned(), |o| figure(o.mean, o.half_width, self.digits))
    }

    /// Formats the difference.
    #[must_use]
    pub fn difference_text(&self, ways: Ways) -> String {
        match self.ours(ways) {
            None => "–".to_owned(),
            Some(Ours { difference_percent: None, .. }) => "from 0".to_owned(),
            // Adding zero removes the sign of a rounded −0.0.
            Some(Ours { difference_percent: Some(percent), .. }) => {
                let rounded = (percent * 10.0).round() / 10.0 + 0.0;
                if rounded == 0.0 { "0.0 %".to_owned() } else { format!("{rounded:+.1} %") }
            }
        }
    }
}

/// Formats a mean, with its interval if the runs differ.
fn figure(mean: f64, half_width: Option<f64>, digits: usize) -> String {
    match half_width {
        Some(half_width) if half_width > 0.0 => {
            format!("{mean:.digits$} ± {}", visible(format!("{half_width:.digits$}")))
        }
        _ => format!("{mean:.digits$}"),
    }
}

/// Compares the runs of a case with the reference. `runs` returns the figures of all seeds.
pub(super) fn compare<'r>(case: &Case, runs: impl Fn(Ways) -> Vec<&'r Figures>) -> Vec<Comparison> {
    let [rfcs, ns2_ways] = Ways::ALL.map(runs);
    case.reference
        .iter()
        .map(|row| Comparison {
            case: row.case.clone(),
            parameters: row.parameters.clone(),
            metric: row.metric.name(),
            ns2: row.mean,
            ns2_half_width: row.half_width.filter(|_| row.seeds > 1),
            rfcs: ours(row.mean, row.metric, &rfcs),
            ns2_ways: ours(row.mean, row.metric, &ns2_ways),
            digits: row.metric.digits(),
        })
        .collect()
}

/// Computes msctp's figure. Returns `None` if a run lacks it, since the mean of the others would be another
/// quantity.
fn ours(ns2: f64, metric: Metric, runs: &[&Figures]) -> Option<Ours> {
    let values: Option<Vec<f64>> = runs.iter().map(|figures| figures.get(&metric).copied()).collect();
    let mean = Mean::of(&values?)?;
    let difference_percent =
        if ns2 == 0.0 { (mean.mean == 0.0).then_some(0.0) } else { Some((mean.mean - ns2) / ns2 * 100.0) };
    Some(Ours {
        mean: mean.mean,
        half_width: Some(mean.half_width).filter(|half_width| half_width.is_finite()),
        difference_percent,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{case, reference};
    use super::*;

    fn compared(text: &str, ours: &[f64]) -> Comparison {
        let header = "case,protocol,parameters,seeds,metric,mean,ci95";
        let rows = reference::parse(&format!("{header}\n{text}\n")).unwrap();
        let cases = case::cases(rows).unwrap();
        let metric = cases[0].reference[0].metric;
        let runs: Vec<Figures> = ours.iter().map(|&value| Figures::from([(metric, value)])).collect();
        let mut compared = compare(&cases[0], |_| runs.iter().collect());
        assert_eq!(compared.len(), 1);
        compared.remove(0)
    }

    #[test]
    fn differences_are_signed_and_in_per_cent_of_ns2() {
        let c = compared("a,sctp,stock,1,goodput_kbps,1000,", &[1020.0]);
        assert_eq!(c.difference_text(Ways::Rfcs), "+2.0 %");
        assert!(!c.rfcs.unwrap().is_notable());
        let c = compared("a,sctp,stock,1,goodput_kbps,1000,", &[960.0]);
        assert_eq!(
            (c.difference_text(Ways::Ns2), c.ns2_ways.unwrap().is_notable()),
            ("-4.0 %".to_owned(), true)
        );
        assert_eq!(compared("a,sctp,stock,1,rtx,1000,", &[999.9]).difference_text(Ways::Ns2), "0.0 %");
    }

    #[test]
    fn zero_equals_only_zero() {
        assert_eq!(compared("a,sctp,stock,1,rtx,0,", &[0.0]).difference_text(Ways::Rfcs), "0.0 %");
        let some = compared("a,sctp,stock,1,rtx,0,", &[2.0]);
        assert_eq!(some.difference_text(Ways::Rfcs), "from 0");
        assert!(some.rfcs.unwrap().is_notable());
    }

    #[test]
    fn intervals_are_shown_for_several_seeds() {
        let c = compared("c_wlan_loss0.01,sctp,stock_big,3,goodput_kbps,5,0.5", &[4.0, 5.0, 6.0]);
        assert_eq!(c.ns2_text(), "5.0 ± 0.5");
        assert_eq!(c.ours_text(Ways::Rfcs), "5.0 ± 2.5");
        let c = compared("c_wlan_loss0.01,sctp,stock_big,3,goodput_kbps,5,0.01", &[5.0, 5.01, 4.99]);
        assert_eq!(
            (c.ns2_text(), c.ours_text(Ways::Rfcs)),
            ("5.0 ± <0.1".to_owned(), "5.0 ± <0.1".to_owned())
        );
        let c = compared("c_wlan_loss0.01,sctp,stock_big,3,timeouts,0,0", &[0.0, 0.0, 0.0]);
        assert_eq!(c.ours_text(Ways::Rfcs), "0.00", "equal runs have no interval");
        let c = compared("a,sctp,stock,1,t_cum10,0.392222,", &[0.38]);
        assert_eq!((c.ns2_text(), c.ours_text(Ways::Rfcs)), ("0.3922".to_owned(), "0.3800".to_owned()));
    }

    #[test]
    fn a_figure_missing_in_a_run_is_none() {
        let c = compared("c_wlan_loss0.01,sctp,stock_big,2,rtx,5,", &[]);
        assert_eq!((c.ours_text(Ways::Ns2), c.difference_text(Ways::Ns2)), ("–".to_owned(), "–".to_owned()));
    }
}
