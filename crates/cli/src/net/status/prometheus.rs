//! The status in the text format of Prometheus (version 0.0.4).

use std::fmt::Write;

use super::document::{AssociationStatus, Document, PathStatus};

/// A metric of all processes: name, type, help.
type Metric = (&'static str, &'static str, &'static str);

/// Reads a value of a process.
type OfProcess = fn(&Document) -> f64;

/// Reads a value of an association; `None` if it has none.
type OfAssociation = fn(&AssociationStatus) -> Option<f64>;

/// Reads a value of a path; `None` if it has none.
type OfPath = fn(&PathStatus) -> Option<f64>;

const ASSOCIATION: [(Metric, OfAssociation); 6] = [
    (("msctp_association_age_seconds", "gauge", "Time since the association came up."), |a| {
        Some(a.age_seconds)
    }),
    (("msctp_association_acked_bytes_total", "counter", "User bytes that the peer acknowledged."), |a| {
        Some(a.acked_bytes as f64)
    }),
    (("msctp_association_delivered_bytes_total", "counter", "User bytes received and read."), |a| {
        Some(a.delivered_bytes as f64)
    }),
    (("msctp_association_buffered_bytes", "gauge", "User bytes in the send buffer."), |a| {
        Some(a.buffered_bytes as f64)
    }),
    (("msctp_association_moves_total", "counter", "Changes of the primary path."), |a| {
        Some(a.move_count as f64)
    }),
    (("msctp_association_connections", "gauge", "Connections of other programs that it carries."), |a| {
        a.connections.map(|n| n as f64)
    }),
];

const PATH: [(Metric, OfPath); 10] = [
    (("msctp_path_up", "gauge", "1 if the path is active, else 0."), |p| {
        Some(f64::from(u8::from(p.state == "active")))
    }),
    (("msctp_path_primary", "gauge", "1 if the path is the primary, else 0."), |p| {
        Some(f64::from(u8::from(p.primary)))
    }),
    (("msctp_path_srtt_seconds", "gauge", "Smoothed round-trip time."), |p| p.srtt_ms.map(|ms| ms / 1e3)),
    (("msctp_path_cwnd_bytes", "gauge", "Congestion window."), |p| Some(p.cwnd_bytes as f64)),
    (("msctp_path_flight_bytes", "gauge", "Bytes sent and not acknowledged."), |p| {
        Some(p.flight_bytes as f64)
    }),
    (("msctp_path_sent_bytes_total", "counter", "Bytes of SCTP packets sent."), |p| {
        Some(p.sent_bytes as f64)
    }),
    (("msctp_path_received_bytes_total", "counter", "Bytes of SCTP packets received."), |p| {
        Some(p.received_bytes as f64)
    }),
    (("msctp_path_lost_chunks_total", "counter", "DATA chunks declared lost."), |p| {
        Some(p.lost_chunks as f64)
    }),
    (("msctp_path_retransmitted_chunks_total", "counter", "DATA chunks retransmitted."), |p| {
        Some(p.retransmitted_chunks as f64)
    }),
    (("msctp_path_timeouts_total", "counter", "T3-rtx expirations."), |p| Some(p.timeouts as f64)),
];

/// Formats the status of processes.
pub(super) fn text(documents: &[Document]) -> String {
    let mut out = String::new();
    let process =
        |document: &Document| labels(&[("command", &document.command), ("pid", &document.pid.to_string())]);
    head(&mut out, ("msctp_info", "gauge", "The version of msctp and how the process encrypts."));
    for document in documents {
        let pairs = [("version", &*document.msctp_version), ("security", &*document.security)];
        line(&mut out, "msctp_info", &[process(document), labels(&pairs)], 1.0);
    }
    for (metric, read) in PROCESS {
        head(&mut out, metric);
        for document in documents {
            line(&mut out, metric.0, &[process(document)], read(document));
        }
    }
    head(&mut out, ("msctp_refused_total", "counter", "What was refused, by reason."));
    for document in documents {
        for (reason, count) in &document.refused {
            let labels = [process(document), labels(&[("reason", reason)])];
            line(&mut out, "msctp_refused_total", &labels, *count as f64);
        }
    }
    for (metric, read) in ASSOCIATION {
        head(&mut out, metric);
        for (document, association) in each(documents) {
            if let Some(value) = read(association) {
                line(&mut out, metric.0, &[process(document), named(association)], value);
            }
        }
    }
    for (metric, read) in PATH {
        head(&mut out, metric);
        for (document, association) in each(documents) {
            for path in &association.paths {
                let id = path.id.to_string();
                let pairs = labels(&[("path", &id), ("local", &path.local), ("remote", &path.remote)]);
                if let Some(value) = read(path) {
                    line(&mut out, metric.0, &[process(document), named(association), pairs], value);
                }
            }
        }
    }
    out
}

const PROCESS: [(Metric, OfProcess); 3] = [
    (("msctp_uptime_seconds", "gauge", "Time since the process started."), |d| d.uptime_seconds),
    (("msctp_associations", "gauge", "Associations that are up."), |d| d.associations.len() as f64),
    (("msctp_associations_total", "counter", "Associations that came up."), |d| d.association_count as f64),
];

fn each(documents: &[Document]) -> impl Iterator<Item = (&Document, &AssociationStatus)> {
    documents.iter().flat_map(|document| document.associations.iter().map(move |one| (document, one)))
}

/// Returns the label of an association. The peer's address is that of its paths.
fn named(association: &AssociationStatus) -> String {
    labels(&[("association", &association.id)])
}

fn head(out: &mut String, (name, kind, help): Metric) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn line(out: &mut String, name: &str, labels: &[String], value: f64) {
    let _ = writeln!(out, "{name}{{{}}} {value}", labels.join(","));
}

fn labels(pairs: &[(&str, &str)]) -> String {
    let escaped = |value: &str| value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    let pairs = pairs.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
    pairs.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        assert_eq!(labels(&[("a", "x\"y\\z\n"), ("b", "")]), r#"a="x\"y\\z\n",b="""#);
    }
}
