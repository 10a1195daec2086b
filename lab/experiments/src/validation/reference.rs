//! The reference: results of ns-2's SCTP and TCP, committed in `validation/ns2.csv`.

use super::metric::Metric;

/// The committed file.
const COMMITTED: &str = include_str!("../../../../validation/ns2.csv");

const HEADER: &str = "case,protocol,parameters,seeds,metric,mean,ci95";

/// A figure of the reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Network, such as `c_wlan_loss0.01`.
    pub case: String,
    /// Transport, such as `stock_big`; for TCP with its name first, such as `reno w718`.
    pub parameters: String,
    /// Number of seeds behind the mean.
    pub seeds: u64,
    /// Metric.
    pub metric: Metric,
    /// Mean over the seeds.
    pub mean: f64,
    /// Half-width of the 95 % interval; `None` if the reference has none.
    pub half_width: Option<f64>,
}

/// The reference is malformed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("ns2.csv:{line}: {what}")]
pub struct ReferenceError {
    /// Number of the line, from 1.
    pub line: usize,
    /// The fault, and the allowed values.
    pub what: String,
}

/// Returns the committed reference.
///
/// # Errors
/// The reference is malformed.
pub(super) fn committed() -> Result<Vec<Row>, ReferenceError> {
    parse(COMMITTED)
}

/// Parses a reference: comma-separated values without quotes.
///
/// # Errors
/// A line is malformed. The error names the first.
pub(super) fn parse(text: &str) -> Result<Vec<Row>, ReferenceError> {
    let mut lines = text.lines().enumerate();
    if lines.next().map(|(_, header)| header) != Some(HEADER) {
        return Err(ReferenceError { line: 1, what: format!("want the header {HEADER}") });
    }
    lines
        .filter(|(_, line)| !line.is_empty())
        .map(|(number, line)| row(line).map_err(|what| ReferenceError { line: number + 1, what }))
        .collect()
}

fn row(line: &str) -> Result<Row, String> {
    let fields: Vec<&str> = line.split(',').collect();
    let &[case, protocol, parameters, seeds, metric, mean, half_width] = fields.as_slice() else {
        return Err(format!("{} fields: want 7", fields.len()));
    };
    let parameters = match protocol {
        "sctp" => parameters.to_owned(),
        "reno" | "newreno" | "sack1" => format!("{protocol} {parameters}"),
        _ => return Err(format!("protocol {protocol}: want sctp, reno, newreno or sack1")),
    };
    let number = |name: &str, text: &str| {
        text.parse::<f64>().ok().filter(|n| n.is_finite()).ok_or(format!("{name} {text}: want a number"))
    };
    Ok(Row {
        case: case.to_owned(),
        parameters,
        seeds: seeds
            .parse()
            .ok()
            .filter(|&n| n > 0)
            .ok_or(format!("seeds {seeds}: want a number above 0"))?,
        metric: Metric::named(metric).ok_or(format!("metric {metric}: unknown"))?,
        mean: number("mean", mean)?,
        half_width: if half_width.is_empty() { None } else { Some(number("ci95", half_width)?) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_reference_has_every_case() {
        let rows = committed().unwrap();
        assert_eq!(rows.len(), 122 + 474);
        let first = &rows[0];
        assert_eq!((first.case.as_str(), first.parameters.as_str()), ("a", "stock"));
        assert_eq!((first.metric, first.mean, first.half_width), (Metric::Rtx, 0.0, None));
        let handover = rows.iter().find(|row| row.parameters == "cons_stock load=0.8").unwrap();
        assert_eq!((handover.seeds, handover.mean, handover.half_width), (10, 2135.72, Some(9.55)));
    }

    #[test]
    fn an_error_names_the_line() {
        let wrong = |line: &str| parse(&format!("{HEADER}\n{line}\n")).unwrap_err().to_string();
        assert_eq!(wrong("a,sctp,stock,1,rtx,0"), "ns2.csv:2: 6 fields: want 7");
        assert_eq!(
            wrong("a,tahoe,w44,1,rtx,0,"),
            "ns2.csv:2: protocol tahoe: want sctp, reno, newreno or sack1"
        );
        assert_eq!(wrong("a,sctp,stock,0,rtx,0,"), "ns2.csv:2: seeds 0: want a number above 0");
        assert_eq!(wrong("a,sctp,stock,1,rtx,many,"), "ns2.csv:2: mean many: want a number");
        assert_eq!(wrong("a,sctp,stock,1,rate,0,"), "ns2.csv:2: metric rate: unknown");
        assert_eq!(parse("").unwrap_err().line, 1);
    }
}
