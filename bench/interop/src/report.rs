//! The table of results.

use std::fmt;

/// What came out of a check.
#[derive(Debug)]
pub enum Outcome {
    Passed,
    Failed(String),
    Unsupported(String),
    /// It failed in the way that is known of the peer.
    PeersFault {
        seen: String,
        why: &'static str,
    },
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => write!(f, "passed"),
            Self::Failed(why) => write!(f, "**failed**: {why}"),
            Self::Unsupported(why) => write!(f, "not supported by the peer: {why}"),
            Self::PeersFault { seen, why } => write!(f, "the peer's fault: {why} (seen: {seen})"),
        }
    }
}

/// One check with one peer.
#[derive(Debug)]
pub struct Row {
    /// `NAME VERSION`.
    pub peer: String,
    pub check: &'static str,
    pub what: &'static str,
    /// Frames in its capture.
    pub frames: u64,
    pub outcome: Outcome,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {} ({} frames)", self.peer, self.check, self.outcome, self.frames)
    }
}

/// How many of each.
pub fn summary(rows: &[Row]) -> String {
    let count = |is: fn(&Outcome) -> bool| rows.iter().filter(|row| is(&row.outcome)).count();
    format!(
        "{} passed, {} failed, {} not supported by the peer, {} through its fault; {} frames, each read by tshark without a malformed packet or a \
bad checksum unless a row says otherwise",
        count(|outcome| matches!(outcome, Outcome::Passed)),
        count(|outcome| matches!(outcome, Outcome::Failed(_))),
        count(|outcome| matches!(outcome, Outcome::Unsupported(_))),
        count(|outcome| matches!(outcome, Outcome::PeersFault { .. })),
        rows.iter().map(|row| row.frames).sum::<u64>(),
    )
}

const HEAD: &str = "# Interoperability

Our core over UDP (RFC 6951) against other SCTP stacks, each in a network namespace of its own with two links to ours; those made for WebRTC in that profile (`Config::webrtc`). Written by

    scripts/interop

which builds the peers that the machine has what for, runs every check, and has tshark read every capture (`bench/interop/captures`).
What each row asserts is in [`bench/interop`](../bench/interop).
";

/// The page.
pub fn document(rows: &[Row]) -> String {
    let mut text = format!("{HEAD}\n{}.\n", summary(rows));
    let mut peer = "";
    for row in rows {
        if row.peer != peer {
            peer = &row.peer;
            text += &format!("\n## {peer}\n\n| check | exchanged and asserted | result |\n|---|---|---|\n");
        }
        let result = row.outcome.to_string().replace('|', "\\|").replace('\n', " ");
        text += &format!("| {} | {} | {result} |\n", row.check, row.what);
    }
    text
}
