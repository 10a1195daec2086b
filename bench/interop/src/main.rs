//! Runs our SCTP against other stacks over real sockets, checks every exchange at both ends, captures it, and
//! reads the capture with tshark. `scripts/interop` builds the peers and runs this. Peers are driven only by
//! the lines of `peer`.

#![expect(clippy::disallowed_methods, reason = "real peers live in real time")]

mod capture;
mod checks;
mod frames;
mod input;
mod message;
mod net;
mod peer;
mod report;
mod sockets;
mod world;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use msctp_proto::{Config, Event};

use crate::checks::Check;
use crate::frames::Frames;
use crate::net::Net;
use crate::report::{Outcome, Row};
use crate::world::{Stop, World};

/// Environment variable that is set inside our own network namespace.
const INSIDE: &str = "MSCTP_INTEROP_INSIDE";

/// The peer with all features. The others are for WebRTC, and our end uses that profile with them.
const MULTIHOMED: &str = "usrsctp";

/// A known fault of a peer. A check that fails in this way is reported as the peer's fault.
struct PeersFault {
    peer: &'static str,
    check: &'static str,
    /// Texts that the failure contains, all of them.
    seen: &'static [&'static str],
    why: &'static str,
}

const PEERS_FAULTS: [PeersFault; 3] = [
    PeersFault {
        peer: "dcsctp",
        check: "shutdown by the peer",
        seen: &["stream 0: ", "of 100 messages arrived", "our last event: Closed"],
        why: "version 0.1.16 sends SHUTDOWN when nothing is unacknowledged, whatever its send queue holds \
(`maybe_send_shutdown` in its `socket/shutdown.rs`; RFC 9260 §9.2: all data queued is delivered first)",
    },
    PeersFault {
        peer: "pion",
        check: "shutdown by the peer",
        seen: &["our last event: Lost(ProtocolViolation", "SHUTDOWN for what was not sent"],
        why: "version 1.8.39 puts a TSN of its own into the Cumulative TSN Ack of its SHUTDOWN instead of the last one it received \
(RFC 9260 §3.3.8); it acknowledges what we never sent, and we abort",
    },
    PeersFault {
        peer: "pion",
        check: "PR-SCTP by us, lifetime",
        seen: &["the last message at the peer: not in time"],
        why: "version 1.8.39 ignores a FORWARD-TSN for a stream of which nothing has arrived yet, and then waits for the \
abandoned messages for ever (`handleForwardTSN`; RFC 3758 §3.6)",
    },
];

struct Arguments {
    /// NAME=PROGRAM of each peer.
    peers: Vec<(String, String)>,
    /// Folder of the captures.
    out: PathBuf,
    /// Document in which the tables are replaced.
    table: Option<PathBuf>,
    /// Runs only the checks with this in their name.
    only: Option<String>,
}

const USAGE: &str = "usage: msctp-interop [--out DIR] [--table FILE] [--only TEXT] NAME=PROGRAM…";

fn arguments() -> Option<Arguments> {
    let mut arguments =
        Arguments { peers: Vec::new(), out: PathBuf::from("captures"), table: None, only: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--out" => arguments.out = words.next()?.into(),
            "--table" => arguments.table = Some(words.next()?.into()),
            "--only" => arguments.only = Some(words.next()?),
            peer => {
                let (name, program) = peer.split_once('=')?;
                arguments.peers.push((name.to_owned(), program.to_owned()));
            }
        }
    }
    (!arguments.peers.is_empty()).then_some(arguments)
}

/// Returns the command that enters a new network namespace: as root, or as root of a user namespace.
fn way_inside() -> Option<&'static [&'static str]> {
    let ways: [&[&str]; 2] = [&["--net"], &["--user", "--map-root-user", "--net"]];
    let works = |way: &&[&str]| {
        let mut unshare = Command::new("unshare");
        unshare.args(*way).arg("true").stdout(Stdio::null()).stderr(Stdio::null());
        unshare.status().is_ok_and(|status| status.success())
    };
    ways.into_iter().find(works)
}

fn main() -> ExitCode {
    let Some(arguments) = arguments() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    if std::env::var_os(INSIDE).is_none() {
        let Some(way) = way_inside() else {
            eprintln!("interop: needs network namespaces (root, or user namespaces): left out");
            return ExitCode::from(u8::from(std::env::var_os("MSCTP_NEED_NETNS").is_some()));
        };
        let error =
            Command::new("unshare").args(way).arg("--").args(std::env::args_os()).env(INSIDE, "1").exec();
        eprintln!("interop: unshare: {error}");
        return ExitCode::FAILURE;
    }
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("interop: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the checks; true if none failed.
fn run(arguments: &Arguments) -> Result<bool, String> {
    fs::create_dir_all(&arguments.out).map_err(|e| format!("{}: {e}", arguments.out.display()))?;
    let wanted =
        |check: &&Check| arguments.only.as_ref().is_none_or(|text| check.name.contains(text.as_str()));
    let mut rows = Vec::new();
    let mut number = 0;
    for (peer, program) in &arguments.peers {
        for check in checks::all().filter(wanted).filter(|check| peer == MULTIHOMED || check.for_all) {
            number += 1;
            let row = perform(check, peer, program, number, &arguments.out);
            println!("{row}");
            rows.push(row);
        }
    }
    if let Some(table) = &arguments.table {
        let failed = |e: &dyn std::fmt::Display| format!("{}: {e}", table.display());
        let page = fs::read_to_string(table).map_err(|e| failed(&e))?;
        let page = report::replaced(&page, &rows).map_err(|e| failed(&e))?;
        fs::write(table, page).map_err(|e| failed(&e))?;
    }
    println!("{}", report::summary(&rows));
    Ok(!rows.iter().any(|row| matches!(row.outcome, Outcome::Failed(_))))
}

fn perform(check: &Check, peer: &str, program: &str, number: u8, out: &Path) -> Row {
    let file = out.join(format!("{peer}-{}.pcapng", check.name.replace([' ', ','], "-")));
    let mut row = Row {
        peer: peer.to_owned(),
        check: check.name,
        what: check.what,
        frames: 0,
        outcome: Outcome::Passed,
    };
    match exchange(check, program, Net::new(number, check.v6), &file, &mut row) {
        Ok(()) => {}
        Err(Stop::Failed(seen)) => {
            let is_it = |fault: &&PeersFault| {
                fault.peer == peer
                    && fault.check == check.name
                    && fault.seen.iter().all(|part| seen.contains(part))
            };
            row.outcome = match PEERS_FAULTS.iter().find(is_it) {
                Some(&PeersFault { why, .. }) => Outcome::PeersFault { seen, why },
                None => Outcome::Failed(seen),
            };
        }
        Err(Stop::Unsupported(why)) => row.outcome = Outcome::Unsupported(why),
    }
    row
}

fn exchange(check: &Check, program: &str, net: Net, file: &Path, row: &mut Row) -> Result<(), Stop> {
    let mut config = if row.peer == MULTIHOMED { Config::default() } else { Config::webrtc() };
    (check.config)(&mut config);
    let mut world = World::new(net, program, config, file)?;
    row.peer = world.peer_name.clone();
    world.ask(if check.v6 { "begin 6" } else { "begin" })?;
    let result = (check.run)(&mut world).map_err(|stop| match stop {
        Stop::Failed(why) => {
            // Those of messages have their bytes.
            let told = world.events.iter().rev().find(|event| !matches!(event, Event::SendFailed(_)));
            let last = told.map_or("nothing".to_owned(), |event| format!("{event:?}"));
            Stop::Failed(format!("{why}; our last event: {last}"))
        }
        unsupported @ Stop::Unsupported(_) => unsupported,
    });
    row.frames = world.finish().map_err(|e| format!("{}: {e}", file.display()))?;
    // Faults of the packets are reported even if the exchange failed: they may be the reason.
    let frames = Frames::read(file, |address| [0, 1].map(|link| net.ours(link)).contains(&address));
    result?;
    let frames = frames?;
    if frames.0.len() as u64 != row.frames {
        return Err(format!("tshark reads {} of {} frames", frames.0.len(), row.frames).into());
    }
    Ok((check.frames)(&frames)?)
}
