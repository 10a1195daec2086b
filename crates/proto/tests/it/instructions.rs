//! The cost of a data packet in instructions: of both ends of the core together, and of a simulated packet
//! with its links, queues and events. Unlike times, they are the same on a busy machine. Features add costs
//! a few instructions at a time, which no benchmark on a shared machine shows.
//!
//! Skipped if valgrind is not installed, unless `MSCTP_NEED_VALGRIND` is set. The counts are those of
//! valgrind's processor on x86-64, where CRC32c takes 2000 instructions because it has no AVX-512. Other
//! architectures have no expected counts.

use std::process::Command;

use crate::release;

/// An example that prints its number of data packets, and its package.
type Program = (&'static str, &'static str);

/// Arguments: mebibytes and case.
const PUMP: Program = ("msctp-proto", "pump");
/// Arguments: virtual seconds and case. Its hosts leave checksums to the network.
const SIMULATE: Program = ("msctp-sim", "simulate");

/// Cases: name, amounts of a short and a long run, instructions per data packet. The difference of the runs
/// is the cost of packets, without the set-up.
///
/// After an improvement, update the number. After a regression, look for its cause first: run
/// `valgrind --tool=callgrind target/release/examples/pump 24 0`, then `callgrind_annotate`, before and
/// after.
const EXPECTED: [Case; 4] = [
    Case { name: "64 KiB windows", program: PUMP, case: 0, amounts: [4, 24], instructions: 8_515 },
    Case { name: "8 MiB windows", program: PUMP, case: 2, amounts: [4, 24], instructions: 7_856 },
    Case {
        name: "8 MiB windows, 1 in 1000 lost",
        program: PUMP,
        case: 3,
        amounts: [16, 96],
        instructions: 8_761,
    },
    Case { name: "simulated, one flow", program: SIMULATE, case: 0, amounts: [10, 40], instructions: 9_514 },
];
/// Tolerance in percent, for the compiler's choice of inlining.
const MARGIN: u64 = 3;

struct Case {
    name: &'static str,
    program: Program,
    case: u32,
    amounts: [u32; 2],
    instructions: u64,
}

/// Builds the example in release mode and returns its path.
fn build((package, example): Program) -> String {
    release::build(&["build", "--package", package, "--example", example], example)
}

/// Returns the number that follows `before` in the text.
fn number_after(text: &str, before: &str) -> u64 {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("no {before:?} in {text}")).1.trim_start();
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next().expect("there is a first part");
    digits.parse().unwrap_or_else(|_| panic!("no number behind {before:?} in {text}"))
}

/// Returns the instructions of a run, and its data packets.
fn run(program: &str, amount: u32, case: u32) -> (u64, u64) {
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", program])
        .args([amount.to_string(), case.to_string()])
        .output()
        .expect("valgrind runs");
    let (said, found) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    (number_after(&found, "Collected :"), number_after(&said, "data packet ("))
}

/// It has no short form: the counts are those of a build for release, which takes minutes.
#[test]
#[ignore = "builds for release, and a minute under valgrind"]
fn slow_a_packet_costs_no_more_instructions_than_it_did() {
    if !cfg!(target_arch = "x86_64") {
        eprintln!("skipped: the counts are those of x86-64");
        return;
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        assert!(std::env::var_os("MSCTP_NEED_VALGRIND").is_none(), "valgrind is not installed");
        eprintln!("skipped: valgrind is not installed");
        return;
    }
    let built: Vec<(Program, String)> = [PUMP, SIMULATE].map(|program| (program, build(program))).into();
    let mut dearer = Vec::new();
    for Case { name, program, case, amounts, instructions } in EXPECTED {
        let (_, path) = built.iter().find(|(known, _)| *known == program).expect("every program is built");
        let [short, long] = amounts.map(|amount| run(path, amount, case));
        let cost = (long.0 - short.0) / (long.1 - short.1);
        println!("{name}: {cost} instructions per data packet, expected {instructions}");
        if cost * 100 > instructions * (100 + MARGIN) {
            dearer.push(format!("{name}: {cost} instead of {instructions}"));
        }
    }
    assert!(
        dearer.is_empty(),
        "instructions per data packet, more than {MARGIN} % above what they were: {dearer:#?}\n\
         Find what costs more: `valgrind --tool=callgrind target/release/examples/pump 24 0` of this tree and of one before \
         the change, `callgrind_annotate` of both. Cut it; if it is worth its price, write the new number into EXPECTED \
         and into docs/results/performance.md (`scripts/measure instructions`)."
    );
}
