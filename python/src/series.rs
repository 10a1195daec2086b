//! The time series of a run as columns: those of `msctp-lab sim --series`.

use msctp_lab_schemes::catalogue::suggest;
use msctp_sim::Series;
use msctp_sim::series::TraceSeries;
use msctp_units::{Rate, Span, Time};

use crate::columns::Columns;

/// Returns the series called `name`, or the one with a column of this name, reduced to that column and those
/// that identify its rows.
pub(crate) fn tables(series: &Series, name: &str) -> Result<Columns, String> {
    let of = |name: &str| match name {
        "throughput" => Some(throughput(series)),
        "window" => Some(window(series)),
        "rtt" => Some(rtt(series)),
        "estimate" => Some(estimate(series)),
        "queue" => Some(queue(series)),
        "message" => Some(message(series)),
        _ => None,
    };
    if let Some(columns) = of(name) {
        return Ok(columns);
    }
    let column = COLUMNS.iter().find(|(column, _)| *column == name);
    let Some((found, mut columns)) = column.and_then(|&(_, table)| Some((name, of(table)?))) else {
        let known = SERIES.iter().copied().chain(COLUMNS.iter().map(|&(column, _)| column));
        let remedy = suggest(name, known);
        return Err(format!("there is no series \"{name}\"{remedy}; msctp.SERIES lists them"));
    };
    columns.retain(|column| column == found || KEYS.contains(&column));
    Ok(columns)
}

/// The series.
const SERIES: [&str; 6] = ["throughput", "window", "rtt", "estimate", "queue", "message"];

/// Columns that identify a row.
const KEYS: [&str; 7] = ["time_s", "association", "side", "path", "direction", "app", "number"];

/// The other columns, with their series.
const COLUMNS: [(&str, &str); 15] = [
    ("bit_per_s", "throughput"),
    ("cwnd", "window"),
    ("ssthresh", "window"),
    ("flight_size", "window"),
    ("sample_s", "rtt"),
    ("srtt_s", "rtt"),
    ("rto_s", "rtt"),
    ("capacity_bit_per_s", "estimate"),
    ("available_bit_per_s", "estimate"),
    ("min_rtt_s", "estimate"),
    ("loss_ppm", "estimate"),
    ("packets", "queue"),
    ("bytes", "queue"),
    ("generated_s", "message"),
    ("delivered_s", "message"),
];

/// Converts a time to the number of seconds to which the decimal text in the CSV files parses.
fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

fn at(time: Time) -> f64 {
    seconds(time.as_nanos())
}

fn span(span: Span) -> f64 {
    seconds(span.as_nanos())
}

fn throughput(series: &Series) -> Columns {
    let mut rows = Vec::new();
    for of in &series.delivery {
        let all = std::iter::once(("all".to_owned(), &of.total));
        for (path, bins) in all.chain(of.per_path.iter().map(|(path, bins)| (path.to_string(), bins))) {
            rows.push((of, path, bins, bins.rates().map(Rate::as_bps).collect::<Vec<_>>()));
        }
    }
    let each = || rows.iter().flat_map(|row| (0..row.3.len()).map(move |number| (row, number)));
    Columns::new()
        .real("time_s", each().map(|(row, n)| span(row.2.interval * n as u64)).collect())
        .key("association", each().map(|(row, _)| row.0.association.as_str()))
        .key("side", each().map(|(row, _)| row.0.side))
        .key("path", each().map(|(row, _)| row.1.as_str()))
        .integer("bit_per_s", each().map(|(row, n)| row.3[n]))
}

/// A row of the windows or round-trip times of an association or TCP connection.
type Traced<'s, V> = (&'s str, &'static str, Time, String, [V; 3]);

fn window(series: &Series) -> Columns {
    let sctp = series.traces.iter().flat_map(|of| {
        let (w, paths) = (&of.window, of.paths());
        (0..w.at.len()).map(move |i| -> Traced<'_, u64> {
            let path = paths.of(w.path[i]).to_owned();
            (&of.association, of.side, w.at[i], path, [w.cwnd[i], w.ssthresh[i], w.flight_size[i]])
        })
    });
    let tcp = series.tcp.iter().flat_map(|of| {
        let row = |&(at, cwnd, ssthresh, flight): &(Time, u64, u64, u64)| -> Traced<'_, u64> {
            (&of.connection, of.side, at, of.path.clone(), [cwnd, ssthresh, flight])
        };
        of.window.iter().map(row)
    });
    let rows: Vec<_> = sctp.chain(tcp).collect();
    let unlimited = |ssthresh: u64| if ssthresh == u64::MAX { f64::NAN } else { ssthresh as f64 };
    traced(&rows)
        .integer("cwnd", rows.iter().map(|row| row.4[0]))
        .real("ssthresh", rows.iter().map(|row| unlimited(row.4[1])).collect())
        .integer("flight_size", rows.iter().map(|row| row.4[2]))
}

fn rtt(series: &Series) -> Columns {
    let sctp = series.traces.iter().flat_map(|of| {
        let (r, paths) = (&of.rtt, of.paths());
        (0..r.at.len()).map(move |i| -> Traced<'_, Span> {
            let path = paths.of(r.path[i]).to_owned();
            (&of.association, of.side, r.at[i], path, [r.sample[i], r.srtt[i], r.rto[i]])
        })
    });
    let tcp = series.tcp.iter().flat_map(|of| {
        let row = |&(at, sample, srtt, rto): &(Time, Span, Span, Span)| -> Traced<'_, Span> {
            (&of.connection, of.side, at, of.path.clone(), [sample, srtt, rto])
        };
        of.rtt.iter().map(row)
    });
    let rows: Vec<_> = sctp.chain(tcp).collect();
    let column = |number: usize| rows.iter().map(|row| span(row.4[number])).collect();
    traced(&rows).real("sample_s", column(0)).real("srtt_s", column(1)).real("rto_s", column(2))
}

fn traced<V>(rows: &[Traced<'_, V>]) -> Columns {
    Columns::new()
        .real("time_s", rows.iter().map(|row| at(row.2)).collect())
        .key("association", rows.iter().map(|row| row.0))
        .key("side", rows.iter().map(|row| row.1))
        .key("path", rows.iter().map(|row| row.3.as_str()))
}

fn estimate(series: &Series) -> Columns {
    let each = || series.traces.iter().flat_map(|of| (0..of.estimate.at.len()).map(move |i| (of, i)));
    let rows = || each().map(|(of, i)| (&of.estimate, i));
    let named = |of: &TraceSeries| {
        let paths = of.paths();
        of.estimate.path.iter().map(|&path| paths.of(path).to_owned()).collect::<Vec<_>>()
    };
    let paths: Vec<String> = series.traces.iter().flat_map(named).collect();
    Columns::new()
        .real("time_s", rows().map(|(e, i)| at(e.at[i])).collect())
        .key("association", each().map(|(of, _)| of.association.as_str()))
        .key("side", each().map(|(of, _)| of.side))
        .key("path", paths.iter().map(String::as_str))
        .integer("capacity_bit_per_s", rows().map(|(e, i)| e.capacity[i].as_bps()))
        .integer("available_bit_per_s", rows().map(|(e, i)| e.available[i].as_bps()))
        .real("min_rtt_s", rows().map(|(e, i)| span(e.min_rtt[i])).collect())
        .integer("loss_ppm", rows().map(|(e, i)| u64::from(e.loss_ppm[i])))
}

fn queue(series: &Series) -> Columns {
    let each = || series.queues.iter().flat_map(|of| (0..of.at.len()).map(move |i| (of, i)));
    Columns::new()
        .real("time_s", each().map(|(of, i)| at(of.at[i])).collect())
        .key("direction", each().map(|(of, _)| of.direction.as_str()))
        .integer("packets", each().map(|(of, i)| of.packets[i]))
        .integer("bytes", each().map(|(of, i)| of.bytes[i]))
}

fn message(series: &Series) -> Columns {
    let each = || series.messages.iter().flat_map(|of| (0..of.generated.len()).map(move |i| (of, i)));
    Columns::new()
        .key("app", each().map(|(of, _)| of.app.as_str()))
        .integer("number", each().map(|(_, i)| i as u64))
        .real("generated_s", each().map(|(of, i)| at(of.generated[i])).collect())
        .real("delivered_s", each().map(|(of, i)| of.delivered[i].map_or(f64::NAN, at)).collect())
}
