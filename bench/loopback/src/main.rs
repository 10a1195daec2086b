//! Throughput of SCTP stacks, QUIC and plain sockets between two processes on loopback. See README.md.

mod associations;
mod children;
mod document;
mod job;
mod requests;
mod stacks;
mod table;

use std::process::ExitCode;

const USAGE: &str = "\
loopback server STACK ADDRESS LEN            one end: says `ready`, then `received BYTES NANOSECONDS`
loopback client STACK ADDRESS LEN SECONDS    the other
loopback table [--seconds S] [--rounds N] [--only NAMES] [--out FILE] [NAME=PROGRAM …]
loopback holder STACK ADDRESS COUNT          one end of many associations
loopback opener STACK ADDRESS COUNT          the other: goes on with each line on stdin
loopback associations [--rounds N] [--out FILE]
loopback requests [--rounds N] [--out FILE]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["server", stack, rest @ ..] => job::Job::read(rest).and_then(|job| stacks::server(stack, &job)),
        ["client", stack, rest @ ..] => job::Job::read(rest).and_then(|job| stacks::client(stack, &job)),
        ["table", rest @ ..] => table::run(rest),
        ["holder", stack, rest @ ..] => job::Job::read(rest).and_then(|job| stacks::hold(stack, &job)),
        ["opener", stack, rest @ ..] => job::Job::read(rest).and_then(|job| stacks::open(stack, &job)),
        ["associations", rest @ ..] => associations::run(rest),
        ["requests", rest @ ..] => requests::run(rest),
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("loopback: {why}");
            ExitCode::FAILURE
        }
    }
}
